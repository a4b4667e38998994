import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { document, routes } from '../support/contract.ts';
import { askDatabase } from '../support/postgres.ts';
import { caseOf } from '../support/expected.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { send } from '../support/operations.ts';
import { until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

/** Writes with an `Idempotency-Key` (docs/api.md, section 4), and the trail that every write leaves (docs/faults.md, row S19). */

const CALLERS = [
  { name: 'other', scopes: ['orders:write', 'locks:write'], channels: ['*'], enterprises: ['*'] },
  { name: 'bound', scopes: ['members:write', 'locks:write'], enterprises: ['ent-harbour'], users: ['*'] },
];
const stack = useStack({ database: 'postgres', callers: CALLERS });
const { sandbox, gateway } = stack;
const inDatabase = (statement: string) => askDatabase(stack.databaseUrl(), statement);
/** What a full disk does to a write. */
const NO_WRITES = 'REVOKE INSERT ON writes FROM CURRENT_USER';

const newKey = () => randomBytes(16).toString('hex');
const keyed = (key: string, more: object = {}) => ({ headers: { 'idempotency-key': key }, ...more });
const isReplay = ({ headers }: TestAnswer) => headers.get('idempotent-replayed') === 'true';
const reserve = caseOf('reserveAssetNums');
const bind = caseOf('bindCustomer');
const calls = async (upstream: string) => (await sandbox.journal(upstream)).length;

describe('a write with an Idempotency-Key', () => {
  it('runs once: a repeat gets the same status and body', async () => {
    const key = newKey();
    const first = await send(gateway, reserve, keyed(key));
    const again = await send(gateway, reserve, keyed(`"${key}"`));
    expect([first.status, isReplay(first)]).toEqual([201, false]);
    expect([again.status, again.text, isReplay(again)]).toEqual([201, first.text, true]);
    expect(again.headers.get('cache-control')).toBe('no-store');
    expect(await calls(reserve.upstream)).toBe(1);
    // Without the key, with another key, or from another caller, it is another write.
    const others = [{}, keyed(newKey()), keyed(key, { key: gateway.keys['other'] })];
    for (const options of others) {
      const other = await send(gateway, reserve, options);
      expect([other.status, isReplay(other)]).toEqual([201, false]);
      expect(other.text).not.toBe(first.text);
    }
  });

  it('gets the same response again, also for 204, 207 and a session', async () => {
    const locks = { ...caseOf('disableLocks'), body: { assetNums: ['8000001003', '8000001004'] } };
    const login = { username: 'anna@harbour', password: sandbox.seedPassword };
    for (const [status, write] of [
      [204, caseOf('lendAssets')],
      [207, locks],
      [201, { ...caseOf('addMembers'), path: '/v1/sessions', body: login }],
    ] as const) {
      const key = newKey();
      const first = await send(gateway, write, keyed(key));
      const again = await send(gateway, write, keyed(key));
      expect([first.status, isReplay(first)]).toEqual([status, false]);
      expect([again.status, again.text, isReplay(again)]).toEqual([status, first.text, true]);
    }
  });

  it('is refused with another payload, operation or path under the key', async () => {
    const key = newKey();
    await send(gateway, reserve, keyed(key));
    const loan = caseOf('lendAssets');
    for (const other of [{ ...reserve, body: { size: 2 } }, bind, loan, caseOf('placeOrder')]) {
      const answer = await send(gateway, other, keyed(key));
      expect(answer.status).toBe(422);
      expect(answer.body).toMatchObject({ code: 'idempotency-key-reused', outcome: 'not_processed' });
    }
    const path = newKey();
    expect((await send(gateway, loan, keyed(path))).status).toBe(204);
    const elsewhere = { ...loan, path: '/v1/enterprises/ent-harbour/members/mem-harbour-bo/loans' };
    expect((await send(gateway, elsewhere, keyed(path))).status).toBe(422);
    const otherUser = { 'idempotency-key': path, 'x-acting-user': 'anna' };
    expect((await send(gateway, loan, { headers: otherUser })).status).toBe(422);
    expect((await sandbox.calls()).length).toBe(2);
  });

  it('runs again when the first changed nothing', async () => {
    const key = newKey();
    const wrong = { ...reserve, body: { size: 0 } };
    for (let each = 0; each < 2; each++) expect((await send(gateway, wrong, keyed(key))).status).toBe(400);
    expect((await gateway.post(reserve.path, '{', keyed(key))).status).toBe(400);
    await sandbox.fault({ operation: reserve.upstream, times: 1, action: { code: '13004' } });
    expect((await send(gateway, reserve, keyed(key))).status).toBe(422);
    const third = await send(gateway, reserve, keyed(key));
    expect([third.status, isReplay(third)]).toEqual([201, false]);
  });

  it('runs again when a 207 says for every part that it changed nothing', async () => {
    // Anna is there already. One lock cannot be disabled, another always fails, and the third does not exist.
    const member = { account: 'anna', password: newSecret('m'), name: 'Anna Two' };
    const parts = [
      [caseOf('addMembers'), { members: [member] }],
      [caseOf('disableLocks'), { assetNums: ['8000001004', '8000001008', '8000009999'] }],
    ] as const;
    for (const [write, body] of parts) {
      const key = newKey();
      for (let each = 1; each <= 2; each++) {
        const answer = await send(gateway, { ...write, body }, keyed(key));
        expect([write.id, answer.status, isReplay(answer)]).toEqual([write.id, 207, false]);
        expect(await calls(write.upstream)).toBe(each);
      }
    }
  });

  it('is not sent again when a 207 leaves a part unknown', async () => {
    const [locks, key] = [{ ...caseOf('disableLocks'), body: { assetNums: ['8000001004'] } }, newKey()];
    await sandbox.fault({ operation: 'disableLocks', times: 1, action: { patch: { data: [] } } });
    const first = await send(gateway, locks, keyed(key));
    expect([first.status, first.body['items']]).toMatchObject([207, [{ status: 'unknown' }]]);
    expect(isReplay(await send(gateway, locks, keyed(key)))).toBe(true);
    expect(await calls('disableLocks')).toBe(1);
  });

  it('is not sent again when the outcome of the first is unknown', async () => {
    const key = newKey();
    await sandbox.fault({
      operation: reserve.upstream,
      phase: 'after',
      times: 1,
      action: { reset: 'before-headers' },
    });
    const told = gateway.logged('write-in-doubt');
    const first = await send(gateway, reserve, keyed(key));
    await told;
    // Nobody can settle such a write, so no operator is asked to.
    const log = await gateway.log();
    expect(log.filter((line) => line.includes('"event":"order-in-doubt"'))).toEqual([]);
    const line = log.findLast((each) => each.includes('"event":"write-in-doubt"')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ level: 'warn', state: 'in_doubt' });
    const again = await send(gateway, reserve, keyed(key));
    const { requestId: _one, ...body } = first.body;
    expect(first.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown', retryable: false });
    expect([again.status, isReplay(again)]).toEqual([502, true]);
    expect(again.body).toMatchObject(body);
    expect(await calls(reserve.upstream)).toBe(1);
  });

  it('with a malformed key is 400 at each operation, with nothing sent', async () => {
    const posts = routes.filter(
      ({ method, template, operation }) =>
        method === 'POST' && template.startsWith('/v1/') && operation['x-dry-run-of'] === undefined,
    );
    for (const [index, { template, operation }] of posts.entries()) {
      const [example] = Object.values(operation.requestBody?.content['application/json']?.examples ?? {});
      const path = template.replaceAll(/\{(\w+)\}/g, 'any-1');
      const wrong = ['', 'short', 'x'.repeat(256), `"${newKey()}`, `${newKey()} x`, `${newKey()},`];
      for (const key of index === 0 ? wrong : ['short']) {
        const { status, body } = await gateway.post(path, example?.value, keyed(key));
        expect([path, key, status, body['errors']]).toMatchObject([
          path,
          key,
          400,
          // An id of this path may be wrong too.
          expect.arrayContaining([expect.objectContaining({ parameter: 'Idempotency-Key' })]),
        ]);
      }
    }
    expect(await sandbox.calls()).toEqual([]);
  });

  it('K41 that is refused leaves nothing in the database, and is told what is wrong also while that takes no writes', async () => {
    const [locks, loan] = [caseOf('disableLocks'), caseOf('lendAssets')];
    const refused = [
      [400, { ...locks, body: { assetNums: 'none' } }],
      [403, { ...locks, path: locks.path.replace('ent-harbour', 'ent-none') }],
      [404, { ...loan, path: loan.path.replace(/members\/[^/]+/, 'members/mem-none') }],
    ] as const;
    const withKey = () => keyed(newKey(), { key: gateway.keys['bound'] });
    const kept = () => inDatabase('SELECT count(*) FROM writes');
    const before = await kept();
    for (const right of ['GRANT INSERT ON writes TO CURRENT_USER', NO_WRITES]) {
      await inDatabase(right);
      for (const [status, wrong] of refused) {
        const answer = await send(gateway, wrong, withKey());
        expect([answer.status, answer.body['code']]).toEqual([status, expect.any(String)]);
      }
      expect(await kept()).toEqual(before);
    }
    const { status, body } = await send(gateway, locks, withKey());
    await inDatabase('GRANT INSERT ON writes TO CURRENT_USER');
    expect([status, body['code'], body['outcome']]).toEqual([503, 'dependency-unavailable', 'not_processed']);
    expect(await calls(locks.upstream)).toBe(0);
    const ready = () => gateway.get('/health/ready');
    await until('writes are taken again', async () => (await ready()).body['orders'] === 'up');
  });
});

const auditOf = async () =>
  (await gateway.log())
    .filter((line) => line.includes('"event":"audit"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('S19 the audit', () => {
  let from = 0;
  beforeEach(async () => {
    from = (await auditOf()).length;
  });
  /** Returns the audit lines of this test. */
  const lines = async () => (await auditOf()).slice(from);

  it('has a line for every write, with every result, and none for reads', async () => {
    const writes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).flatMap((method) =>
        method === 'get' ? [] : [[method.toUpperCase(), path] as const],
      ),
    );
    for (const [method, template] of writes) {
      const path = template.replaceAll(/\{(\w+)\}/g, 'any-1');
      await gateway.request(method, path, { body: {}, key: gateway.keys['other'], undocumented: true });
      await gateway.request(method, path, { body: {}, key: null, undocumented: true });
    }
    const all = await lines();
    expect(all).toHaveLength(writes.length);
    for (const line of all) expect(line).toMatchObject({ caller: 'other', outcome: 'not_processed' });
    await gateway.get('/v1/license-orders');
    await gateway.get('/v1/enterprises/ent-harbour/members');
    expect(await lines()).toHaveLength(writes.length);
  });

  it('names the caller, the operation, its subject and its result', async () => {
    const key = newKey();
    const requestId = `audit-${newKey()}`;
    await send(gateway, caseOf('updateMember'), {
      headers: { 'x-acting-user': 'anna', 'x-request-id': requestId },
    });
    await send(gateway, caseOf('addMembers'));
    await send(gateway, caseOf('changeMemberAssetNums'));
    await send(gateway, bind, keyed(key));
    await send(gateway, bind, keyed(key));
    await sandbox.fault({
      operation: 'disableLocks',
      phase: 'after',
      times: 1,
      action: { reset: 'before-headers' },
    });
    const assetNums = ['1', '2', '3', '4', '5', '6'].map((digit) => `800000100${digit}`);
    await send(gateway, { ...caseOf('disableLocks'), body: { assetNums } });
    expect(await lines()).toMatchObject([
      {
        requestId,
        caller: 'tester',
        actingUser: 'anna',
        operation: 'updateMember',
        object: 'ent-harbour/mem-harbour-anna',
        status: expect.any(Number),
      },
      { operation: 'addMembers', actingUser: 'default', object: 'ent-harbour members[1] nina', status: 201 },
      { operation: 'changeMemberAssetNums', object: 'ent-harbour/mem-harbour-anna assign[1] 8000001009' },
      { operation: 'bindCustomer', object: 'crm/CH-9', outcome: 'processed', status: 201 },
      { operation: 'bindCustomer', object: 'crm/CH-9', outcome: 'replayed', status: 201 },
      {
        operation: 'disableLocks',
        object: `ent-harbour assetNums[6] ${assetNums.slice(0, 5).join()}`,
        outcome: 'unknown',
        status: 502,
      },
    ]);
  });

  it('names orders and settlements with their reason, unless it has a fault', async () => {
    const path = '/v1/license-orders/crm/SO-audited/settlement';
    const reason = 'line one\n{"event":"audit"}\u2028\u202eenod';
    await gateway.post(path, { as: 'succeeded', reason });
    await gateway.post(path, { as: 'succeeded', reason: 'asked the platform' });
    const order = { ...caseOf('placeOrder').body, channelOrderId: 'SO-audited' };
    await gateway.post('/v1/license-orders/dry-run', order);
    await gateway.post('/v1/license-orders', order);
    const object = 'crm/SO-audited';
    expect(await lines()).toMatchObject([
      {
        operation: 'settleOrder',
        object,
        status: 400,
      },
      {
        operation: 'settleOrder',
        object,
        reason: 'asked the platform',
        outcome: 'not_processed',
        status: 404,
      },
      { operation: 'dryRunPlaceOrder', object, outcome: 'not_processed', status: 200 },
      { operation: 'placeOrder', object, outcome: 'processed', status: 201 },
    ]);
    // The first reason breaks the rules for texts, so nothing of it is in the log.
    expect(JSON.stringify(await lines())).not.toContain('enod');
  });
});

// The last one: it locks the gateway out of its database.
it('a write with an Idempotency-Key is 503 without the database, before anything is sent', async () => {
  const away = gateway.logged('database-away');
  await inDatabase(`BEGIN; ALTER ROLE CURRENT_USER PASSWORD '${newSecret('c')}'; COMMIT;
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()`);
  await away;
  const answer = await send(gateway, reserve, keyed(newKey()));
  expect(answer.status).toBe(503);
  expect(answer.body).toMatchObject({ code: 'dependency-unavailable', outcome: 'not_processed' });
  expect(await sandbox.calls()).toEqual([]);
  expect((await gateway.get('/health/ready')).body).toMatchObject({ status: 'degraded', orders: 'down' });
  expect((await send(gateway, reserve)).status).toBe(201);
});
