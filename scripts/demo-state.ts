/**
 * What the examples of the API page need beside the sandbox's seed: an order that the gateway placed, since the gateway reads records
 * of its own orders only, one that an operator settled, one that waits for its day, the password of a user who logs in, an import, and a webhook with a delivery.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fetchOnceServed } from './fetch-once-served.ts';

interface Demo {
  readonly gatewayUrl: string;
  readonly key: string;
  readonly sandboxUrl: string;
}

/** The login in the example of `createSession`. It is published, and works in the sandbox only. */
const LOGIN = { username: 'chen@harbour', password: 'demo-login-1' };

/** The order in the examples of records of orders. */
const ORDER = {
  channelCode: 'crm',
  channelOrderId: 'SO-2000',
  items: [
    {
      orderType: 'new_buy',
      licenseType: 'cloud_account',
      customerType: 'company',
      customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
      assets: [
        {
          startsAt: '2026-01-01T00:00:00.000Z',
          endsAt: '2030-01-01T00:00:00.000Z',
          products: [{ productUri: 'draft.view', productName: 'Draft View', limitConcurrent: 2 }],
        },
      ],
    },
  ],
};

/**
 * The order in the example of a settlement. It names no enterprise, because the gateway would otherwise search for it and might find it
 * before it is settled.
 */
const SETTLED_ORDER = {
  ...ORDER,
  channelOrderId: 'SO-2010',
  items: ORDER.items.map((item) => ({ ...item, customer: { customerId: item.customer.customerId } })),
};
/** The settlement of the example. It is the same, so that the example changes nothing. */
const SETTLEMENT = { as: 'succeeded', reason: 'Found in the list of assets, ticket 4711' };

/** The order in the example of a cancellation. */
const SCHEDULED_ORDER = { ...ORDER, channelOrderId: 'SO-2020' };
const TEN_DAYS_MS = 10 * 24 * 3_600_000;

/**
 * The webhook in the examples. It is switched off, because it has no receiver. The delivery of the event of the order in doubt waits, and
 * no operator sees a failing webhook.
 */
const WEBHOOK = {
  url: 'http://127.0.0.1:8080/hook',
  types: ['license-order.in-doubt'],
  description: 'orders in doubt',
};
const READ_AGAIN_MS = 50;

/** The import in the examples of jobs. Its row fails, so the demo has the members of the seed. */
const IMPORT = 'account,password,name,departmentId\nanna,first-login-3,Anna Berg,10\n';

export async function prepareDemo({ gatewayUrl, key, sandboxUrl }: Demo): Promise<void> {
  await send('PUT', `${sandboxUrl}/__sandbox/users`, LOGIN);
  await send('POST', `${gatewayUrl}/v1/license-orders`, ORDER, { 'x-api-key': key });
  await scheduleOrder(gatewayUrl, key);
  const deliveries = await prepareWebhook(gatewayUrl, key);
  const isDoubted = await settleOrder({ gatewayUrl, key, sandboxUrl });
  const job = (await send('POST', `${gatewayUrl}/v1/enterprises/ent-harbour/member-imports`, IMPORT, {
    'x-api-key': key,
    'content-type': 'text/csv',
    'idempotency-key': 'example-of-import-members-1',
  })) as { jobId: string };
  await jobEnded(gatewayUrl, key, job.jobId);
  if (isDoubted) await notEmpty(deliveries, key);
}

/** Resolves when the list has an item. */
async function notEmpty(url: string, key: string): Promise<void> {
  for (;;) {
    const { total } = (await send('GET', url, undefined, { 'x-api-key': key })) as { total: number };
    if (total > 0) return;
    await sleep(READ_AGAIN_MS);
  }
}

/** Unless it waits, or was placed, since then. */
async function scheduleOrder(gatewayUrl: string, key: string): Promise<void> {
  const headers = { 'x-api-key': key };
  const { channelCode, channelOrderId } = SCHEDULED_ORDER;
  const orders = `${gatewayUrl}/v1/license-orders`;
  const record = await fetchOnceServed(`${orders}/${channelCode}/${channelOrderId}`, { headers });
  const { state } = (await record.json()) as { state?: string };
  if (record.status !== 404 && state !== 'cancelled') return;
  const notBefore = new Date(Date.now() + TEN_DAYS_MS).toISOString();
  await send('POST', orders, { ...SCHEDULED_ORDER, notBefore }, headers);
}

/** Resolves to the URL of its deliveries, which begin with the next order in doubt. */
async function prepareWebhook(gatewayUrl: string, key: string): Promise<string> {
  const all = `${gatewayUrl}/v1/webhooks`;
  const headers = { 'x-api-key': key, 'idempotency-key': 'example-of-the-demo-webhook-1' };
  const { webhookId } = (await send('POST', all, WEBHOOK, headers)) as { webhookId: string };
  await send('PATCH', `${all}/${webhookId}`, { enabled: false }, { 'x-api-key': key });
  return `${all}/${webhookId}/deliveries`;
}

/** Places the order with a lost answer, if there is no record of it, and settles it. Resolves to whether it was in doubt in between. */
async function settleOrder({ gatewayUrl, key, sandboxUrl }: Demo): Promise<boolean> {
  const headers = { 'x-api-key': key };
  const { channelCode, channelOrderId } = SETTLED_ORDER;
  const record = `${gatewayUrl}/v1/license-orders/${channelCode}/${channelOrderId}`;
  const isNew = (await fetchOnceServed(record, { headers })).status === 404;
  if (isNew) {
    const fault = { operation: 'batchOrder', phase: 'after', times: 1, action: { reset: 'before-headers' } };
    await send('POST', `${sandboxUrl}/__sandbox/faults`, fault);
    await fetchOnceServed(`${gatewayUrl}/v1/license-orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(SETTLED_ORDER),
    });
  }
  await send('POST', `${record}/settlement`, SETTLEMENT, headers);
  return isNew;
}

/** Resolves when the job has ended. */
export async function jobEnded(gatewayUrl: string, key: string, jobId: string): Promise<void> {
  const headers = { 'x-api-key': key };
  const events = await fetch(`${gatewayUrl}/v1/jobs/${jobId}/events`, { headers });
  await events.text();
}

async function send(
  method: string,
  url: string,
  body: object | string | undefined,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const response = await fetchOnceServed(url, {
    method,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}
