/**
 * Makes examples of responses. It sends the document's own examples of requests to a gateway in front of the demo's seed. Every operation
 * begins with the seed, every request comes a second later, and times are rounded to the hour, so that the same code makes the same bytes.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mock } from 'node:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jobEnded, prepareDemo } from './demo-state.ts';
import { newApiKey } from '../src/caller/api-key.ts';
import { fetchOnceServed } from './fetch-once-served.ts';
import { scopes } from '../src/request/scopes.ts';
import { startSandbox } from '../sandbox/server.ts';

/** The time at which all requests are sent, within an hour. */
const NOW = new Date('2026-11-20T08:00:00.000Z');
const HOUR_MS = 3_600_000;
/** The span of times that are made during the run. Times outside of it belong to the seed, and are kept. */
const MONTH_MS = 30 * 24 * HOUR_MS;
const TICK_MS = 20;
const PAGE_SIZE = 2;
/** The size of a page of events. Events of orders that a slow machine was too late for lie between those of the example. */
const PAGE_OF_EVENTS = 100;

type Examples = Record<string, Record<string, unknown>>;

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly {
    name: string;
    in: string;
    required?: boolean;
    example?: unknown;
  }[];
  readonly requestBody?: {
    content: Record<string, { examples?: Record<string, { value: object | string }> }>;
  };
  readonly responses: Readonly<Record<string, { content?: object }>>;
}
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface Gateway {
  getHttpServer(): { listen(port: number, host: string): unknown; address(): { port: number } };
  listen(port: number, host: string): Promise<unknown>;
  close(): Promise<void>;
}

/** Parts of the build that make a gateway and its document. */
export interface Build {
  readonly makeGateway: (environment: Record<string, string>) => Promise<Gateway>;
  readonly documentOf: (gateway: Gateway) => Document;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  /** The body. A text is a file in CSV. */
  readonly body?: object | string;
  readonly headers?: Record<string, string>;
}

/** Bodies of the document's examples of a request, by name. */
type Bodies = Readonly<Record<string, object | string>>;

/** The changes of the first example of a request that lead to further responses. */
const VARIANTS: Readonly<Record<string, readonly ((usual: Sent, bodies: Bodies) => Sent)[]>> = {
  placeOrder: [
    (usual) => ({
      ...usual,
      body: { ...(usual.body as object), channelOrderId: 'SO-2006', syncMode: 'async' },
    }),
  ],
  disableLocks: [(usual) => ({ ...usual, body: { assetNums: ['8000001003', '8000009999'] } })],
  enableLocks: [(usual) => ({ ...usual, body: { assetNums: ['8000001003', '8000009999'] } })],
  addMembers: [
    (usual) => ({
      ...usual,
      body: {
        members: [
          { account: 'evan', password: 'first-login-1', name: 'Evan Hart' },
          { account: 'anna', password: 'first-login-2', name: 'Anna Berg' },
        ],
      },
    }),
  ],
};

/** The example of a request that has effects. */
const BEST: Readonly<Record<string, string>> = { dryRunPlaceOrder: 'deleteAsset' };

/** The responses that show the copy of the estate. How much of it the gateway has read differs in each run. */
const SEEN_AT = NOW.toISOString();
const FIXED: Examples = {
  listEstate: {
    '200': {
      items: [
        {
          ...{ enterpriseGlobalId: 'ent-harbour', assetId: 'ast-1002', assetNum: '8000001002' },
          ...{ licenseType: 'cloud_account', productId: '9007199254747001', productUri: 'cloud.model' },
          ...{ productName: 'Cloud Model', packageNum: null, startsAt: '2026-01-05T08:00:00.000Z' },
          ...{ endsAt: '2027-01-05T08:00:00.000Z', trial: false, limitConcurrent: 5 },
          ...{ memberGlobalId: 'mem-harbour-anna', lent: false, online: true, lastOnlineAt: SEEN_AT },
          ...{ locked: false, frozen: false, licenseOrderId: 'lic-5003', channelOrderId: 'SO-0003' },
          ...{ crmProductId: null, seenAt: SEEN_AT },
        },
      ],
      ...{ page: 1, pageSize: 2, total: 1, totalPages: 1 },
    },
  },
  getEstateSummary: {
    '200': {
      seenAt: SEEN_AT,
      enterprises: [{ enterpriseGlobalId: 'ent-harbour', state: 'whole', reason: null, seenAt: SEEN_AT }],
      ...{ assets: 1, products: 1, unassigned: 0 },
      endingByMonth: [{ month: '2027-01', products: 1, licences: 5 }],
      byProduct: [
        {
          ...{ productUri: 'cloud.model', productName: 'Cloud Model', assets: 1, licences: 5, unassigned: 0 },
          nextEndsAt: '2027-01-05T08:00:00.000Z',
        },
      ],
    },
  },
  refreshEstate: {},
};

/** Statuses of responses that the demo does not give. */
const NOT_SHOWN: Readonly<Record<string, readonly string[]>> = { ready: ['503'] };

export async function responseExamples(build: Build): Promise<Examples> {
  mock.timers.enable({ apis: ['Date'], now: NOW });
  const password = randomBytes(12).toString('base64url');
  const folder = mkdtempSync(join(tmpdir(), 'gateway-examples-'));
  const sandbox = await startSandbox({ appKey: 'demo', appSecret: 'demo', seedPassword: password });
  const { key, hash } = newApiKey();
  const callersFile = join(folder, 'callers.json');
  const usersFile = join(folder, 'users.json');
  const caller = { name: 'demo', scopes, enterprises: ['*'], channels: ['crm'], users: ['default'] };
  writeFileSync(callersFile, JSON.stringify({ callers: [{ ...caller, keys: [hash] }] }));
  writeFileSync(usersFile, JSON.stringify({ default: { username: 'admin@harbour', password } }));
  const gateway = await build.makeGateway({
    LOG_LEVEL: 'silent',
    PORT: '0',
    MANAGEMENT_PORT: '0',
    CACHE_TTL_MS: '0',
    // A slow machine needs longer than the usual deadlines, and an example must not show that.
    UPSTREAM_DEADLINE_MS: '600000',
    UPSTREAM_ORDER_DEADLINE_MS: '600000',
    UPSTREAM_BASE_URL: sandbox.url,
    UPSTREAM_TOKEN_URL: sandbox.tokenUrl,
    UPSTREAM_APP_KEY: 'demo',
    UPSTREAM_APP_SECRET: 'demo',
    CALLERS_FILE: callersFile,
    UPSTREAM_USERS_FILE: usersFile,
    WEBHOOK_HOSTS: '127.0.0.1',
  });
  await gateway.listen(0, '127.0.0.1');
  const url = `http://127.0.0.1:${gateway.getHttpServer().address().port}`;
  const send = async ({ method, path, body, headers }: Sent): Promise<{ status: number; body: unknown }> => {
    const isFile = typeof body === 'string';
    // Lists are sorted by time, and two orders of the same moment by their name.
    mock.timers.tick(1_000);
    const response = await fetchOnceServed(url + path, {
      method,
      headers: {
        'x-api-key': key,
        ...(body && { 'content-type': isFile ? 'text/csv' : 'application/json' }),
        ...headers,
      },
      ...(body && { body: isFile ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = /^application\/(problem\+)?json/.test(response.headers.get('content-type') ?? '');
    const result = isJson ? (JSON.parse(text) as { jobId?: string }) : undefined;
    // The next import of the enterprise is refused until this one has ended.
    const { jobId } = result ?? {};
    if (response.status === 202 && jobId !== undefined) await waited(() => jobEnded(url, key, jobId));
    return { status: response.status, body: result };
  };
  try {
    const prepare = () => waited(() => prepareDemo({ gatewayUrl: url, key, sandboxUrl: sandbox.url }));
    await prepare();
    return await collect(build.documentOf(gateway), send, prepare, sandbox.url);
  } finally {
    await gateway.close();
    await sandbox.close();
    rmSync(folder, { recursive: true });
    mock.timers.reset();
  }
}

/**
 * Runs work while the clock goes on, so that a postponed task becomes due. Between requests the clock stands still, and the gateway
 * searches for no order.
 */
async function waited<T>(work: () => Promise<T>): Promise<T> {
  const clock = setInterval(() => mock.timers.tick(TICK_MS), TICK_MS);
  try {
    return await work();
  } finally {
    clearInterval(clock);
  }
}

async function collect(
  document: Document,
  send: (sent: Sent) => Promise<{ status: number; body: unknown }>,
  prepare: () => Promise<void>,
  sandboxUrl: string,
): Promise<Examples> {
  const control = (path: string, body: object) =>
    fetch(`${sandboxUrl}/__sandbox${path}`, { method: 'POST', body: JSON.stringify(body) });
  const examples: Examples = {};
  const login = requestOf(
    'post',
    '/v1/sessions',
    document.paths['/v1/sessions']?.['post'] ?? { operationId: '', responses: {} },
  );
  const operations = Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, template, operation })),
  );
  // Operations on the order come first, because the gateway keeps its record after a reset of the platform, but the platform forgets the
  // assets.
  const onOrders = ({ template }: { template: string }) => template.startsWith('/v1/license-orders');
  // Jobs are read before further imports add to their list.
  const onJobs = ({ method, template }: { method: string; template: string }) =>
    template.startsWith('/v1/jobs') && method !== 'post';
  for (const { method, template, operation } of [
    ...operations.filter(onOrders),
    ...operations.filter(onJobs),
    ...operations.filter((each) => !onOrders(each) && !onJobs(each)),
  ]) {
    const { operationId, responses } = operation;
    // A stream has no example, and may have no end.
    if (responses['200']?.content && 'text/event-stream' in responses['200'].content) continue;
    if (FIXED[operationId]) {
      if (Object.keys(FIXED[operationId]).length > 0) examples[operationId] = FIXED[operationId];
      continue;
    }
    // The event that this operation sends again is in no example.
    if (operationId === 'redeliver') continue;
    const bodies = bodiesOf(operation);
    const best = bodies[BEST[operationId] ?? ''];
    const usual = { ...requestOf(method, template, operation), ...(best && { body: best }) };
    const found: Record<string, unknown> = {};
    for (const change of [(sent: Sent) => sent, ...(VARIANTS[operationId] ?? [])]) {
      if (!onOrders({ template })) {
        await control('/reset', {});
        await prepare();
      }
      if (operationId === 'listGaps') await departFromInterface(send, control);
      const session = operation.parameters?.some(({ name, required }) => name === 'X-Session-Id' && required)
        ? await send(login)
        : undefined;
      const headers = session && {
        'x-session-id': (session.body as { sessionId: string }).sessionId,
      };
      const asked = change(usual, bodies);
      let { path } = asked;
      if (path.includes(EXAMPLE_JOB)) path = path.replace(EXAMPLE_JOB, await jobOfDemo(send));
      if (path.includes(EXAMPLE_WEBHOOK))
        path = path.replace(EXAMPLE_WEBHOOK, await newWebhook(document, send));
      const { status, body } = await send({ ...asked, path, ...(headers && { headers }) });
      if (status >= 300)
        throw new Error(
          `${operationId}: ${status} ${JSON.stringify(body)} (a new operation needs its handler in sandbox/handlers.ts)`,
        );
      if (body !== undefined) found[status] ??= presentable(operationId, body);
    }
    const missing = Object.entries(responses).filter(
      ([status, { content }]) =>
        /^[2]|503/.test(status) &&
        JSON.stringify(content ?? {}).includes('"application/json"') &&
        found[status] === undefined &&
        !NOT_SHOWN[operationId]?.includes(status),
    );
    if (missing.length > 0)
      throw new Error(`${operationId}: no example of ${missing.map(([status]) => status).join()}`);
    if (Object.keys(found).length > 0) examples[operationId] = found;
  }
  return examples;
}

function bodiesOf({ requestBody }: Operation): Bodies {
  const { content = {} } = requestBody ?? {};
  const { examples = {} } = content['application/json'] ?? content['text/csv'] ?? {};
  return Object.fromEntries(Object.entries(examples).map(([name, { value }]) => [name, value]));
}

/** Returns the request of the document's examples, with short pages. */
function requestOf(method: string, template: string, operation: Operation): Sent {
  const { parameters = [] } = operation;
  let path = template;
  const query = new URLSearchParams();
  for (const { name, in: place, required, example } of parameters) {
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(String(example)));
    if (place === 'query' && required) query.set(name, String(example));
    if (place === 'query' && (name === 'pageSize' || name === 'limit'))
      query.set(name, String(operation.operationId === 'listEvents' ? PAGE_OF_EVENTS : PAGE_SIZE));
  }
  const [body] = Object.values(bodiesOf(operation));
  return {
    method: method.toUpperCase(),
    path: query.size > 0 ? `${path}?${query}` : path,
    ...(body && { body }),
  };
}

/** Replaces the id of a job in the document. */
const EXAMPLE_JOB = 'example-job';
/** Replaces an id that `createWebhook` returns, in the document. */
const EXAMPLE_WEBHOOK = 'example-webhook';

/** Returns the id of the oldest job, which the demo has made. */
async function jobOfDemo(send: (sent: Sent) => Promise<{ body: unknown }>): Promise<string> {
  const { body } = await send({ method: 'GET', path: '/v1/jobs' });
  const { items } = body as { items: { jobId: string }[] };
  return items.at(-1)?.jobId ?? '';
}

async function newWebhook(
  document: Document,
  send: (sent: Sent) => Promise<{ body: unknown }>,
): Promise<string> {
  const create = document.paths['/v1/webhooks']?.['post'] ?? { operationId: '', responses: {} };
  const { body } = await send(requestOf('post', '/v1/webhooks', create));
  return (body as { webhookId: string }).webhookId;
}

/**
 * Makes the platform send a field that its interface does not allow. It does so in every response: the gateway's searches for orders ask for
 * the same list and do not read the field.
 */
async function departFromInterface(
  send: (sent: Sent) => Promise<{ status: number }>,
  control: (path: string, body: object) => Promise<unknown>,
): Promise<void> {
  const action = { odd: { pointer: '/data/0/keyChipType', value: 'five' } };
  await control('/faults', { operation: 'listAssets', action });
  const { status } = await send({ method: 'GET', path: '/v1/enterprises/ent-harbour/assets' });
  if (status !== 200) throw new Error(`the list with the departure: ${status}`);
}

/**
 * Removes the parts that differ in every run: ids of sessions and jobs, durations, and times within the hour. It keeps the first two of the
 * long list of problems.
 */
function presentable(operationId: string, body: unknown): unknown {
  if (operationId === 'listProblems') {
    const lists = Object.entries(body as Record<string, unknown[]>);
    return Object.fromEntries(lists.map(([name, list]) => [name, list.slice(0, 2)]));
  }
  const shown = operationId === 'listEvents' ? firstEvents(body as { items: { type: string }[] }) : body;
  return JSON.parse(JSON.stringify(shown), (key, value: unknown) => {
    if (key === 'sessionId') return 'example-session';
    if (key === 'jobId') return EXAMPLE_JOB;
    if (key === 'webhookId') return EXAMPLE_WEBHOOK;
    if (key === 'secret') return `whsec_${Buffer.from('not a secret, only an example').toString('base64')}`;
    if (key === 'durationMs') return 12;
    return typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? toTheHour(value) : value;
  });
}

/** Returns the first page, numbered as on a machine that is never too late to send an order. */
function firstEvents({ items }: { items: readonly { type: string }[] }): object {
  const numberOf = (index: number) => String(index).padStart(15, '0');
  const shown = items.filter(({ type }) => type !== 'license-order.not-sent').slice(0, PAGE_SIZE);
  return {
    items: shown.map((item, index) => ({ ...item, id: numberOf(index + 1) })),
    next: numberOf(shown.length),
  };
}

function toTheHour(time: string): string {
  const ms = Date.parse(time);
  const isNew = ms >= NOW.getTime() && ms < NOW.getTime() + MONTH_MS;
  return isNew ? new Date(ms - (ms % HOUR_MS)).toISOString() : time;
}
