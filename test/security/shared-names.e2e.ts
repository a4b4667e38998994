import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { Fleet } from '../support/fleet.ts';
import { askDatabase } from '../support/postgres.ts';
import { ask, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/* Every form of key in Redis, and every table of the database. Two callers of two companies use the same names at the same moment, each at a replica of its own. */

const TENANTS = ['harbour', 'meridian'].map((name, index) => ({
  caller: `${name}-hr`,
  enterprise: `ent-${name}`,
  customer: `cus-${name}-default`,
  user: ['default', 'meridian'][index] as string,
  channel: ['crm', 'partner'][index] as string,
})) as unknown as readonly [Tenant, Tenant];
type Tenant = Readonly<Record<'caller' | 'enterprise' | 'customer' | 'user' | 'channel', string>>;

const { atEnd } = endings();

let sandbox: TestSandbox;
let fleet: Fleet;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  fleet = await Fleet.start(sandbox, 2, {
    environment: { CACHE_TTL_MS: '60000', WEBHOOK_HOSTS: '127.0.0.1:1' },
    users: {
      default: { username: 'admin@harbour', password: sandbox.seedPassword },
      meridian: { username: 'admin@meridian', password: sandbox.seedPassword },
    },
    callers: TENANTS.map(({ caller, enterprise, user }) => ({
      name: caller,
      enterprises: [enterprise],
      users: [user],
      budgets: { orders: 1_000 },
    })),
  });
});
beforeEach(async () => {
  await sandbox.reset();
  await sandbox.control('PATCH', '/state/enterprises/ent-meridian', { trialMemberLimit: 10_000 });
});
afterAll(async () => {
  await fleet.stop();
  await sandbox.close();
});

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

async function send(
  place: number,
  { caller, user }: Tenant,
  method: string,
  path: string,
  body: string | null = null,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${fleet.gateways[place]?.url}${path}`, {
    method,
    body,
    headers: { 'x-api-key': fleet.keys[caller] ?? '', 'x-acting-user': user, ...headers },
  });
  const text = await response.text();
  const isJson = /\/(problem\+)?json/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, text, body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {} };
}

function startImport(place: number, tenant: Tenant, key: string, name: string): Promise<Answer> {
  const lines = Array.from({ length: 3 }, (_, row) => `${name}${row},${newSecret('m')},Name ${row}`);
  const file = ['account,password,name', ...lines, ''].join('\n');
  return send(place, tenant, 'POST', `/v1/enterprises/${tenant.enterprise}/member-imports`, file, {
    'content-type': 'text/csv',
    'idempotency-key': key,
  });
}

async function endOf(place: number, tenant: Tenant, jobId: string): Promise<Record<string, unknown>> {
  let job: Answer | undefined;
  await until(`the job of ${tenant.caller} has ended`, async () => {
    job = await send(place, tenant, 'GET', `/v1/jobs/${jobId}`);
    return job.status === 200 && !['queued', 'running'].includes(String(job.body['state']));
  });
  return job?.body ?? {};
}

const E = String.raw`[0-9a-f]{8}`;
const form = (text: string) => new RegExp(`^${text}$`);

/** Every form of key in Redis, what keeps callers and platforms apart, and whether two callers of one name make two keys. */
const FORMS: readonly (readonly [form: RegExp, apart: string, perCaller?: true])[] = [
  [form(`${E}:ses:\\{[0-9a-f]{64}\\}(:lock)?`), 'a random id, and the caller in the sealed value', true],
  [form(String.raw`r5:[\w-]{43}`), 'a digest of platform, application, user, rights and parameters'],
  [form(`\\{${E}:gen\\}:(all|any)`), 'no data: it only makes readers of the platform ask again'],
  [form(`\\{${E}:gen\\}:enterprise:[\\w-]+`), 'no data: the enterprise', true],
  [form(`\\{${E}\\}:tok:app:.+`), 'the application, which all callers of the platform share'],
  [form(`\\{${E}\\}:tok:user:.+`), 'the user; a caller needs the grant of its alias', true],
  [form(`\\{${E}\\}:tok:endpoint:.+`), 'no token: the health of the token endpoint'],
  [form(`${E}:rate:[\\w.-]+`), 'the caller'],
  [form(`${E}:del:[0-9a-f]{64}`), 'the enterprise and the member'],
  [form(`${E}:account-suffix:[0-9a-f]{64}`), 'no data of callers: the enterprise'],
  [
    form(`${E}:(member-page-size|member-list-deleted|gaps|database)`),
    'no data of callers: what all need to know',
  ],
];

/** Every table, and what keeps callers apart in it. The first column of its key is the platform. */
const TABLES: Readonly<Record<string, string>> = {
  attempts: "the order's channel, number and time",
  deliveries: 'an id of a webhook, then of an event',
  estate_assets: 'the enterprise, the same for all callers; a list is cut to those that the caller may see',
  estate_enterprises:
    'the enterprise, the same for all callers; a list is cut to those that the caller may see',
  estate_keys: 'hashes of ids and accounts; what they find is cut to the enterprises that the caller may see',
  estate_rows: 'the enterprise, the same for all callers; a list is cut to those that the caller may see',
  estate_told:
    'the enterprise, the same for all callers; its events are cut to those that the caller may see',
  estate_turns: 'no data of callers',
  estate_written: 'hashes of ids, which are the same for all callers',
  events: 'each names its record; who may not see that does not see the event',
  identities: 'no data of callers: the database itself',
  job_chunks: 'a random id',
  jobs: 'a random id',
  maintenance: 'no data of callers',
  numbers: 'no data of callers: the database itself',
  order_counts: 'numbers only; a list is cut to what the caller may see',
  order_groups: 'the enterprises of an order, named by their digest',
  reservations: 'the caller, then the number',
  tasks: 'ids that are apart already',
  uses: 'the caller',
  webhooks: 'an id that is given out once; a list is cut to those of the caller',
  writes: "the channel and the platform's number, one order for all callers; or the caller, then the key",
};

const storedKeys = async () => (await ask(fleet.redis, (client) => client.keys('*'))).sort();
const inDatabase = (statement: string) => askDatabase(fleet.environment['DATABASE_URL'] as string, statement);

/** The same for both callers, each at its replica, at the same moment. */
function both<T>(work: (place: number, tenant: Tenant) => Promise<T>): Promise<T[]> {
  return Promise.all(TENANTS.map((tenant, place) => work(place, tenant)));
}

function post(
  place: number,
  tenant: Tenant,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const type = { 'content-type': 'application/json' };
  return send(place, tenant, 'POST', path, JSON.stringify(body), { ...type, ...headers });
}

function orderOf({ channel, customer, enterprise }: Tenant, channelOrderId: string): object {
  return {
    channelCode: channel,
    channelOrderId,
    items: [
      {
        orderType: 'new_buy',
        licenseType: 'softkey',
        customer: { customerId: customer, enterpriseGlobalId: enterprise },
        assets: [{ products: [{ productUri: 'draft.pro' }] }],
      },
    ],
  };
}

const login = (place: number, tenant: Tenant) =>
  post(place, tenant, '/v1/sessions', {
    username: tenant.user === 'default' ? 'admin@harbour' : 'admin@meridian',
    password: sandbox.seedPassword,
  });
const statusesOf = (answers: readonly Answer[]) => answers.map(({ status }) => status);

/* The first one: it counts keys. */
it('S24 each form of key in Redis and each table has a reason why no two callers or platforms share one', async () => {
  const done = await both(async (place, tenant) => {
    const { body } = await startImport(place, tenant, 'members-2026-11-26', `key${place}x`);
    await endOf(place, tenant, String(body['jobId']));
    return statusesOf([
      await post(place, tenant, '/v1/webhooks', { url: 'http://127.0.0.1:1/', types: ['*'] }),
      await login(place, tenant),
      await send(place, tenant, 'GET', `/v1/enterprises/${tenant.enterprise}/members`),
      await post(place, tenant, '/v1/asset-num-reservations', { size: 1 }),
      await post(place, tenant, '/v1/license-orders', orderOf(tenant, 'SHARED-1')),
    ]);
  });
  expect(done).toEqual(TENANTS.map(() => [201, 201, 200, 201, 201]));
  const keys = await storedKeys();
  expect(keys.filter((each) => !FORMS.some(([shape]) => shape.test(each)))).toEqual([]);
  // Each caller has its own of what two callers ask for under one name.
  for (const [shape, , perCaller] of FORMS)
    if (perCaller) expect([shape, keys.filter((each) => shape.test(each)).length]).toEqual([shape, 2]);

  const tables = await inDatabase(
    `SELECT relname AS name, attname AS first FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
     JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
     WHERE indisprimary AND relnamespace = current_schema()::regnamespace AND relname <> 'schema_versions' ORDER BY 1`,
  );
  expect(tables).toEqual(
    Object.keys(TABLES)
      .toSorted()
      .map((name) => ({ name, first: 'platform' })),
  );
  const [counts] = await inDatabase(
    `SELECT (SELECT count(*) FROM writes WHERE name LIKE 'order/%/SHARED-1') AS orders, (SELECT count(*) FROM jobs) AS jobs,
       (SELECT count(DISTINCT caller) FROM uses WHERE kind = 'orders') AS budgets`,
  );
  expect(counts).toEqual({ orders: '2', jobs: '2', budgets: '2' });
});

describe('two callers that choose the same name at the same moment', () => {
  it('S24 get the response of their own write under one Idempotency-Key', async () => {
    const key = { 'idempotency-key': `reservation-${newSecret('k')}` };
    const reserve = (place: number, tenant: Tenant) =>
      post(place, tenant, '/v1/asset-num-reservations', { size: 2 }, key);
    const [first, again] = [await both(reserve), await both(reserve)];
    expect(statusesOf(first)).toEqual([201, 201]);
    expect(first[0]?.text).not.toBe(first[1]?.text);
    expect(again.map(({ text }) => text)).toEqual(first.map(({ text }) => text));
  });

  it('S24 place an order each under one number in two channels, and see their own', async () => {
    const placed = await both((place, tenant) =>
      post(place, tenant, '/v1/license-orders', orderOf(tenant, 'SAME-1')),
    );
    expect(statusesOf(placed)).toEqual([201, 201]);
    const listed = await both((place, tenant) => send(place, tenant, 'GET', '/v1/license-orders'));
    for (const [place, { body }] of listed.entries()) {
      const items = body['items'] as { channelCode: string }[];
      expect(new Set(items.map(({ channelCode }) => channelCode))).toEqual(
        new Set([TENANTS[place]?.channel]),
      );
    }
    const foreign = await both((place, tenant) =>
      send(place, tenant, 'GET', `/v1/license-orders/${TENANTS[1 - place]?.channel}/SAME-1`),
    );
    expect(foreign.map(({ status }) => [403, 404].includes(status))).toEqual([true, true]);
  });

  it('S24 place one order at most under one number in one channel, and the other caller sees nothing of it', async () => {
    const placed = await both((place, tenant) =>
      post(place, tenant, '/v1/license-orders', orderOf({ ...tenant, channel: 'shared' }, 'SAME-2')),
    );
    expect(statusesOf(placed).toSorted()).toEqual([201, 422]);
    const winner = placed.findIndex(({ status }) => status === 201);
    expect(placed[1 - winner]?.body['code']).toBe('idempotency-key-reused');
    expect(placed[1 - winner]?.text).not.toContain(TENANTS[winner]?.enterprise);
    const other = TENANTS[1 - winner] as Tenant;
    expect((await send(0, other, 'GET', '/v1/license-orders/shared/SAME-2')).status).toBe(404);
    expect(await sandbox.commits()).toHaveLength(1);
  });
});

it.each(['rejected', 'not_sent', 'cancelled'])(
  'S24 the number of an order that is %s is free for its caller, and does not erase its record for another',
  async (state) => {
    const [own, other] = TENANTS as [Tenant, Tenant];
    const number = `ENDED-${state}`;
    const place = (tenant: Tenant, more: object = {}, to = '') => {
      const order = orderOf({ ...tenant, channel: 'shared' }, number);
      return post(0, tenant, `/v1/license-orders${to}`, { ...order, ...more });
    };
    const read = () => send(0, own, 'GET', `/v1/license-orders/shared/${number}`);
    if (state === 'cancelled') {
      const notBefore = new Date(Date.now() + 86_400_000).toISOString();
      expect((await place(own, { notBefore })).status).toBe(202);
      expect((await send(0, own, 'DELETE', `/v1/license-orders/shared/${number}`)).status).toBe(204);
    } else {
      const code = state === 'rejected' ? '13004' : '60000';
      const rules = await sandbox.fault({ operation: 'batchOrder', times: 9, action: { code } });
      expect((await place(own)).status).toBeGreaterThan(299);
      await sandbox.heal(rules);
    }
    const before = await read();
    expect(before.body).toMatchObject({ state });
    for (const to of ['/dry-run', ''])
      expect((await place(other, {}, to)).body).toMatchObject({
        status: 422,
        code: 'idempotency-key-reused',
      });
    expect(await read()).toEqual(before);
    expect((await place(own, { syncMode: 'async' })).status).toBe(202);
  },
);

it('S24 two platforms that share Redis and database have an order each under one number, and neither sees a record, a job or a token of the other', async () => {
  const other = await TestSandbox.start();
  atEnd(() => other.close());
  const [tenant] = TENANTS;
  const usersFile = join(fleet.folder, 'other-users.json');
  const users = { default: { username: 'admin@harbour', password: other.seedPassword } };
  writeFileSync(usersFile, JSON.stringify(users));
  // The same callers, keys, Redis and database; another platform.
  await fleet.launch({
    UPSTREAM_BASE_URL: other.url,
    UPSTREAM_TOKEN_URL: other.tokenUrl,
    UPSTREAM_APP_KEY: other.appKey,
    UPSTREAM_APP_SECRET: other.appSecret,
    UPSTREAM_USERS_FILE: usersFile,
  });
  const here = [0, fleet.gateways.length - 1] as const;
  const atBoth = <T>(work: (place: number) => Promise<T>) => Promise.all(here.map(work));
  const placed = await atBoth((each) => post(each, tenant, '/v1/license-orders', orderOf(tenant, 'TWO-1')));
  expect(statusesOf(placed)).toEqual([201, 201]);
  expect([(await sandbox.commits()).length, (await other.commits()).length]).toEqual([1, 1]);
  const jobs = () => atBoth(async (each) => (await send(each, tenant, 'GET', '/v1/jobs')).body['total']);
  const [before = 0, none] = (await jobs()) as number[];
  expect(none).toBe(0);
  const ends = await atBoth(async (each) => {
    const { body } = await startImport(each, tenant, 'two-platforms-2026-11', `two${each}x`);
    const { state, succeeded } = await endOf(each, tenant, String(body['jobId']));
    return { state, succeeded };
  });
  expect(ends).toEqual(here.map(() => ({ state: 'succeeded', succeeded: 3 })));
  expect(await jobs()).toEqual([before + 1, 1]);
});
