/**
 * What the examples of the API page need beside the sandbox's seed: an order that the gateway placed, since the gateway reads records
 * of its own orders only, and the password of a user who logs in.
 */

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

export async function prepareDemo({ gatewayUrl, key, sandboxUrl }: Demo): Promise<void> {
  await send('PUT', `${sandboxUrl}/__sandbox/users`, LOGIN);
  await send('POST', `${gatewayUrl}/v1/license-orders`, ORDER, { 'x-api-key': key });
}

async function send(
  method: string,
  url: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<void> {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`);
}
