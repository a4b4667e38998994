import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { prepareDemo } from '../../scripts/demo-state.ts';
import { routes } from '../support/contract.ts';
import { orderOf } from '../support/order-body.ts';
import { askDatabase } from '../support/postgres.ts';
import { ask } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

/** The dry run of every write at the platform: all of it up to where something would be sent or recorded. */

const HARBOUR = '/v1/enterprises/ent-harbour';
const callers = [
  { name: 'harbour', scopes: ['members:write', 'locks:write'], enterprises: ['ent-harbour'], users: ['*'] },
  { name: 'reader', scopes: ['orders:read'], enterprises: ['*'] },
  { name: 'limited', scopes: ['orders:write'], enterprises: ['*'], channels: ['*'], budgets: { orders: 3 } },
  { name: 'tidy', scopes: ['orders:write'], enterprises: ['*'], channels: ['*'], budgets: { deletions: 3 } },
];
const stack = useStack({
  redis: true,
  database: 'postgres',
  callers,
  environment: { WEBHOOK_HOSTS: '127.0.0.1' },
});
const { sandbox, gateway } = stack;
const NONE = {
  ...{ enterpriseGlobalId: null, assetId: null, assetNum: null, productUri: null },
  ...{ memberGlobalId: null, account: null, readable: true },
};
beforeEach(() => prepareDemo({ gatewayUrl: gateway.url, key: gateway.key, sandboxUrl: sandbox.url }));

const dry = (path: string, options: object = {}) => gateway.request('POST', `${path}/dry-run`, options);
const writes = async () => (await sandbox.calls()).filter(({ method }) => method !== 'GET').length;

/** All rows of the database, but for who works on what, and how far the webhook of the demo is; and the sessions, which Redis has. */
async function recorded(): Promise<readonly unknown[]> {
  const moving = '{cursor, last_delivered_at, failing_since, pending, version}';
  return Promise.all([
    ask(stack.redis(), async (client) => (await client.keys('*:ses:*')).sort()),
    askDatabase(
      stack.databaseUrl(),
      `SELECT relname, query_to_xml(
        format('SELECT to_jsonb(kept) - %L::text[] AS kept FROM %I AS kept ORDER BY kept', '${moving}', relname), true, true, '')::text
      FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(current_schema())
        AND relname NOT IN ('tasks', 'deliveries', 'numbers', 'attempts') ORDER BY relname`,
    ),
  ]);
}

/** Every write that changes something at the platform. */
const WRITES = [
  ...['bindCustomer', 'createEnterprise', 'updateCustomer', 'placeOrder', 'disableLocks', 'enableLocks'],
  ...['reserveAssetNums', 'addMembers', 'importMembers', 'updateMember', 'deleteMember'],
  ...['resetMemberPassword', 'setMemberAssetNums', 'changeMemberAssetNums', 'lendAssets'],
];
const runs = routes.flatMap((route) => {
  const of = route.operation['x-dry-run-of'];
  const write = routes.find(({ operation }) => operation.operationId === of);
  return write ? [{ id: write.operation.operationId, route, write }] : [];
});

it('every write at the platform has one, on its own path, and no other operation', () => {
  expect(runs.map(({ id }) => id).toSorted()).toEqual(WRITES.toSorted());
  for (const { id, route, write } of runs) {
    const name = `dryRun${id.charAt(0).toUpperCase()}${id.slice(1)}`;
    expect([route.method, route.operation.operationId, write.operation['x-dry-run']]).toEqual([
      ...['POST', name, name],
    ]);
    expect(route.template).toMatch(new RegExp(`^${RegExp.escape(write.template)}/dry-run(/delete|/patch)?$`));
  }
});

it.each(runs)(
  '$id: nothing is sent, nothing recorded, and what it would send is shown',
  async ({ id, route: { template }, write: { operation } }) => {
    const filled = (path: string) =>
      path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(String(operation.parameters?.find((each) => each.name === name)?.example)),
      );
    const [[type, content] = ['', undefined]] = Object.entries(operation.requestBody?.content ?? {});
    const [example] = Object.values(content?.examples ?? {});
    const key = `dry-run-of-${id}`;
    const options = {
      ...(example && { body: example.value }),
      headers: { ...(example && { 'content-type': type }), 'idempotency-key': key },
    };
    const [sent, before] = [await writes(), await recorded()];
    const { status, body } = await gateway.request('POST', filled(template), options);
    expect([status, body]).toEqual([
      200,
      {
        wouldSend: expect.any(Array),
        effects: expect.any(Array),
        plan: id === 'importMembers' ? expect.any(Object) : null,
      },
    ]);
    const called = (body['wouldSend'] as { operation: string }[]).map((each) => each.operation);
    const upstream = id === 'importMembers' ? 'addMembers' : operation['x-upstream']?.operation;
    expect(called).toEqual([upstream]);
    // The path of the write is enough, also where two writes have it: the body tells which is meant.
    const plain = await gateway.request('POST', filled(template.replace(/\/(delete|patch)$/, '')), options);
    expect(plain.body).toEqual(body);
    expect([await writes(), await recorded()]).toEqual([sent, before]);
  },
);

describe('a dry run', () => {
  it('shows every call with its body, and masks secrets', async () => {
    const members = Array.from({ length: 250 }, (_, index) => {
      return { account: `new${index}`, password: 'first-login-1', name: 'New' };
    });
    const { status, body, text } = await dry(`${HARBOUR}/members`, { body: { members } });
    expect(status).toBe(200);
    const calls = body['wouldSend'] as { operation: string; body: { userList: object[] } }[];
    expect(calls.map((call) => [call.operation, call.body.userList.length])).toEqual([
      ['addMembers', 100],
      ['addMembers', 100],
      ['addMembers', 50],
    ]);
    expect(text).not.toContain('first-login-1');
    expect(calls[0]?.body.userList[0]).toMatchObject({ userName: 'new0', password: '[secret]' });
  });

  it('shows an id beyond 2^53 with all of its digits', async () => {
    const member = {
      account: 'new',
      password: 'first-login-1',
      name: 'New',
      departmentId: '9007199254741001',
    };
    const { text } = await dry(`${HARBOUR}/members`, { body: { members: [member] } });
    expect(text).toContain('"departmentId":"9007199254741001"');
  });

  it('refuses the body `null`, which belongs to no write of the path', async () => {
    const path = `${HARBOUR}/members/mem-harbour-anna/dry-run`;
    expect(await gateway.post(path, null)).toMatchObject({
      status: 400,
      body: { code: 'validation-failed', errors: [{ pointer: '' }] },
    });
  });

  it('shows which locks change, what goes with a member, what is lent, and that a budget is used', async () => {
    const none = { ...NONE, enterpriseGlobalId: 'ent-harbour' };
    const locks = { assetNums: ['8000001003', '8000009999'] };
    const lock = { ...none, assetId: 'ast-1003', assetNum: '8000001003' };
    const effects = async (answer: ReturnType<typeof dry>) => (await answer).body['effects'];
    // While the list is not known to have all assets, the number that it lacks may be that of a lock.
    const hidden = { ...none, assetNum: '8000009999', readable: false };
    expect(await effects(dry(`${HARBOUR}/locks/disable`, { body: locks }))).toEqual([
      { ...lock, kind: 'lock-disabled' },
      { ...hidden, kind: 'lock-disabled' },
    ]);
    expect(await effects(dry(`${HARBOUR}/locks/enable`, { body: locks }))).toEqual([
      { ...hidden, kind: 'lock-enabled' },
    ]);
    const list = async (query: string) =>
      (await gateway.get(`${HARBOUR}/asset-nums?${query}`)).body['items'] as {
        assetId: string;
        assetNum: string;
        memberGlobalId: string | null;
      }[];
    const owned = await list('free=false');
    const owner = owned.find(({ memberGlobalId }) => memberGlobalId !== null)?.memberGlobalId ?? '';
    const member = { ...none, memberGlobalId: owner };
    const { body: known } = await gateway.get(`${HARBOUR}/members/${owner}`);
    const its = owned.filter(({ memberGlobalId }) => memberGlobalId === owner);
    expect(its.length).toBeGreaterThan(0);
    expect(await effects(dry(`${HARBOUR}/members/${owner}`))).toEqual([
      { ...member, kind: 'member-removed', account: String(known['userName']).replace(/@.*/, '') },
      ...its.map(({ assetId, assetNum }) => ({ ...member, kind: 'number-withdrawn', assetId, assetNum })),
    ]);
    const [first] = await list('');
    const body = { lentLockNum: '9000000001', assetIds: [first?.assetId, 'ast-none'] };
    expect(await effects(dry(`${HARBOUR}/members/${owner}/loans`, { body }))).toEqual([
      { ...member, kind: 'loan-made', assetId: first?.assetId, assetNum: first?.assetNum },
      { ...member, kind: 'loan-made', assetId: 'ast-none', readable: false },
    ]);
    const order = orderOf('SO-DRY');
    expect(await effects(dry('/v1/license-orders', { body: order }))).toEqual([]);
    // The platform moves the product out of the other order, and does not say from which asset.
    const transfer = orderOf('SO-DRY', {}, { srcLicenseOrderId: 'lic-5001' });
    expect(await effects(dry('/v1/license-orders', { body: transfer }))).toEqual([
      { ...NONE, kind: 'product-removed', productUri: 'draft.pro', readable: false },
    ]);
    const limited = { body: order, key: gateway.keys['limited'] };
    expect(await effects(dry('/v1/license-orders', limited))).toEqual([{ ...NONE, kind: 'budget-used' }]);
    // A purchase uses nothing of a budget for deletions.
    const tidy = { body: order, key: gateway.keys['tidy'] };
    expect(await effects(dry('/v1/license-orders', tidy))).toEqual([]);
  });

  it('promises no change of an asset that is no lock, or of a lock that perhaps cannot be disabled', async () => {
    const assetNums = ['8000001001', '8000001002', '8000001004'];
    const { body } = await dry(`${HARBOUR}/locks/disable`, { body: { assetNums } });
    expect(body['effects']).toEqual([
      {
        ...NONE,
        kind: 'lock-disabled',
        enterpriseGlobalId: 'ent-harbour',
        assetId: 'ast-1004',
        assetNum: '8000001004',
        readable: false,
      },
    ]);
  });

  it('shows nothing of a member to a caller who may not read members, but what the caller gives', async () => {
    const edit = { account: 'anna', name: 'Anna Berg' };
    const shownTo = async (key?: string) => {
      const { body } = await dry(`${HARBOUR}/members/mem-harbour-anna`, { body: edit, ...(key && { key }) });
      return (body['wouldSend'] as { body: object }[]).at(-1)?.body;
    };
    expect(await shownTo()).toEqual({
      ...{ userName: 'anna', name: 'Anna Berg', departmentId: 10, remark: 'on site' },
      passwordMobile: expect.stringMatching(/^\d{11}$/),
    });
    expect(await shownTo(gateway.keys['harbour'])).toEqual({
      ...{ userName: 'anna', name: 'Anna Berg' },
      ...{ departmentId: '[secret]', remark: '[secret]', passwordMobile: '[secret]' },
    });
  });

  it('says that a lent lock may go with its last own product: what is lent into it does not keep it', async () => {
    const item = {
      ...{ orderType: 'delete_product', licenseType: 'normal_recover_usbkey', srcLicenseOrderId: 'lic-1007' },
      customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
      assets: [{ assetNums: ['8000001007'], products: [{ productUri: 'draft.pro' }] }],
    };
    const body = orderOf('SO-LENT', { items: [item] });
    const lock = { ...NONE, enterpriseGlobalId: 'ent-harbour', assetId: 'ast-1007', assetNum: '8000001007' };
    expect((await dry('/v1/license-orders', { body })).body['effects']).toEqual([
      { ...lock, kind: 'asset-removed', readable: false },
      { ...lock, kind: 'product-removed', productUri: 'draft.pro' },
    ]);
    expect((await gateway.post('/v1/license-orders', body)).status).toBe(201);
    expect((await gateway.get(`${HARBOUR}/assets/ast-1007`)).status).toBe(404);
  });

  it('names the rows of a file that cannot be done', async () => {
    const body = 'account,password,name\nzoe,first-login-1,Zoe\nanna,first-login-1,Anna\n';
    const headers = { 'content-type': 'text/csv' };
    const shown = await dry(`${HARBOUR}/member-imports`, { body, headers });
    expect(shown.body['plan']).toEqual({
      ...{ add: 1, update: 0, unchanged: 0, delete: [] },
      impossible: [{ row: 2, account: 'anna', reason: expect.stringContaining('exists already') }],
    });
  });

  it('uses up no Idempotency-Key, and the write that follows is made', async () => {
    const headers = { 'idempotency-key': 'a-key-of-a-dry-run-1' };
    const before = await writes();
    expect((await dry('/v1/asset-num-reservations', { body: { size: 2 }, headers })).status).toBe(200);
    const made = await gateway.post('/v1/asset-num-reservations', { size: 2 }, { headers });
    expect([made.status, made.headers.get('idempotent-replayed')]).toEqual([201, null]);
    expect(await writes()).toBe(before + 1);
  });

  it('of an order whose number is taken says what the order would get, and sends nothing', async () => {
    const order = orderOf('SO-DRY-TAKEN');
    const orders = '/v1/license-orders';
    const other = { ...order, syncMode: 'async' };
    const tried = async (body: object) => {
      const [run, write] = [await dry(orders, { body }), await gateway.post(orders, body)];
      return [run.body['code'] ?? run.body['wouldSend'], write.body['code'] ?? write.body['state']];
    };
    expect((await gateway.post(orders, order)).status).toBe(201);
    const before = await writes();
    expect(await tried(order)).toEqual([[], 'succeeded']);
    expect(await tried(other)).toEqual(['idempotency-key-reused', 'idempotency-key-reused']);
    const later = { ...orderOf('SO-DRY-LATER'), notBefore: new Date(Date.now() + 86_400_000).toISOString() };
    expect((await gateway.post(orders, later)).status).toBe(202);
    expect(await tried(later)).toEqual([[], 'scheduled']);
    const now = { ...later, notBefore: undefined };
    expect(await tried(now)).toEqual(['idempotency-key-reused', 'idempotency-key-reused']);
    expect(await writes()).toBe(before);
    await gateway.request('DELETE', `${orders}/crm/SO-DRY-LATER`);
    expect((await dry(orders, { body: now })).body['wouldSend']).toHaveLength(1);
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '13004' } });
    const refused = orderOf('SO-DRY-REFUSED');
    expect((await gateway.post(orders, refused)).status).toBe(422);
    expect(await tried(refused)).toEqual(['upstream-rejected', 'upstream-rejected']);
    const corrected = await dry(orders, { body: { ...refused, syncMode: 'async' } });
    expect(corrected.body['wouldSend']).toHaveLength(1);
  });

  it('of an order of a caller with too many records is refused as the order is', async () => {
    const key = String(gateway.keys['limited']);
    const orders = '/v1/license-orders';
    const put = (kind: string, period: string, used: number) =>
      askDatabase(
        stack.databaseUrl(),
        `INSERT INTO uses (platform, caller, period, kind, used) SELECT platform, 'limited', '${period}', '${kind}', ${used} FROM identities`,
      );
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    const now = { key, body: orderOf('SO-DRY-MANY') };
    const later = { key, body: { ...now.body, notBefore: tomorrow } };
    const codes = async (options: typeof now) => {
      const [run, write] = [await dry(orders, options), await gateway.post(orders, options.body, { key })];
      return [run.body['code'], run.headers.get('retry-after'), write.body['code']];
    };
    await put('scheduled', '', 20_000);
    expect(await codes(later)).toEqual(['too-many-requests', '3600', 'too-many-requests']);
    expect((await dry(orders, now)).status).toBe(200);
    await put('bytes', new Date().toISOString().slice(0, 10), 256 * 1024 * 1024);
    expect(await codes(now)).toEqual(['too-many-requests', expect.any(String), 'too-many-requests']);
    await askDatabase(stack.databaseUrl(), `DELETE FROM uses WHERE caller = 'limited'`);
  });

  it('answers as the write would: form, rules, scope, grants, lookups, and what a service knows', async () => {
    const codeOf = async (answer: ReturnType<typeof dry>) => {
      const { status, body } = await answer;
      return [status, body['code'], body['errors']];
    };
    const key = (name: string) => ({ key: gateway.keys[name] as string });
    const before = await writes();
    expect(await codeOf(dry(`${HARBOUR}/locks/disable`, { body: { assetNums: [] } }))).toEqual([
      ...[400, 'validation-failed', [{ pointer: '/assetNums', detail: expect.any(String) }]],
    ]);
    const dora = 'members/mem-harbour-dora';
    expect(await codeOf(dry(`${HARBOUR}/${dora}`, key('reader')))).toMatchObject([403, 'forbidden']);
    const other = `/v1/enterprises/ent-meridian/${dora}`;
    expect(await codeOf(dry(other, key('harbour')))).toMatchObject([403, 'forbidden']);
    for (const options of [key('harbour'), {}])
      expect(await codeOf(dry(`${HARBOUR}/members/mem-nobody`, options))).toMatchObject([
        ...[404, 'member-not-found'],
      ]);
    expect(await writes()).toBe(before);
  });

  it('is refused without its scope', async () => {
    for (const { route } of runs) {
      const path = route.template.replaceAll(/\{\w+\}/g, 'ent-harbour');
      const { status, body } = await gateway.request('POST', path, { key: gateway.keys['reader'] as string });
      expect([path, status, body['code']]).toEqual([path, 403, 'forbidden']);
    }
  });
});

it.each(['true', 'false', '1'])('validateOnly=%s is refused with the path of the dry run', async (value) => {
  const before = await writes();
  const path = `${HARBOUR}/members/mem-harbour-dora?validateOnly=${value}`;
  const { status, body } = await gateway.request('DELETE', path);
  expect([status, body['errors']]).toEqual([
    400,
    [
      {
        parameter: 'validateOnly',
        detail: expect.stringContaining(
          '`POST /v1/enterprises/{enterpriseGlobalId}/members/{memberGlobalId}/dry-run`',
        ),
      },
    ],
  ]);
  const webhook = { url: 'http://127.0.0.1:9/hook', types: ['*'] };
  const other = await gateway.post(`/v1/webhooks?validateOnly=${value}`, webhook);
  expect([other.status, other.body['errors']]).toEqual([
    ...[400, [{ parameter: 'validateOnly', detail: 'is not a known parameter' }]],
  ]);
  expect(await writes()).toBe(before);
});

it.each(['/v1/webhooks', '/v1/sessions', '/v1/jobs/a-job/retry', '/v1/maintenance'])(
  'POST %s/dry-run is not there, and the answer says which are',
  async (path) => {
    const { status, body } = await dry(path, { body: {} });
    expect([status, body['code']]).toEqual([404, 'not-found']);
    for (const { write } of runs) expect(body['detail']).toContain(`\`POST ${write.template}/dry-run\``);
  },
);

it('no operation of either document has two schemas among its successes', () => {
  for (const file of ['openapi.json', 'openapi-3.0.json']) {
    const { paths } = JSON.parse(readFileSync(`config/${file}`, 'utf8')) as {
      paths: Record<string, Record<string, Documented>>;
    };
    const successes = Object.values(paths).flatMap((item) =>
      Object.values(item).map(({ operationId, responses }) => {
        const done = Object.entries(responses).filter(([status]) => status.startsWith('2'));
        const types = done.flatMap(([, { content = {} }]) => Object.entries(content));
        const json = types.filter(([type]) => type === 'application/json');
        return [operationId, new Set(json.map(([, { schema }]) => JSON.stringify(schema))).size] as const;
      }),
    );
    expect(successes.length).toBeGreaterThan(60);
    expect(successes.filter(([, schemas]) => schemas > 1)).toEqual([]);
  }
});

interface Documented {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: unknown }>> }>
  >;
}
