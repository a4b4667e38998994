import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { OrderLedger } from '../../src/order-ledger/order-ledger.service.ts';
import type { SendOnce } from '../../src/upstream/upstream-path.ts';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { Fleet } from '../support/fleet.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { orderOf } from '../support/order-body.ts';
import { ask, type RunningRedis, startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** Placing orders and following them (docs/api.md, section 3), recorded in the process and in Redis. */

const ORDERS = '/v1/license-orders';
const ENCRYPTION_KEYS = newEncryptionKey('k1');
const CALLERS = [
  {
    name: 'crm',
    scopes: ['orders:read', 'orders:write', 'orders:settle'],
    enterprises: ['*'],
    channels: ['crm'],
  },
  {
    name: 'partner',
    scopes: ['orders:read', 'orders:write'],
    enterprises: ['*'],
    channels: ['partner', 'shop'],
  },
];

let sandbox: TestSandbox;
let redis: RunningRedis;
const { ended } = endings();

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  redis = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await redis.stop();
  await sandbox.close();
});

async function start(environment: Record<string, string> = {}): Promise<TestGateway> {
  return ended(await TestGateway.start(sandbox, environment, CALLERS));
}
const withRedis = (environment: Record<string, string> = {}) =>
  start({ GUARD_REDIS_URL: redis.url, ENCRYPTION_KEYS, ...environment });

let numbers = 0;
const newNumber = () => `SO-${++numbers}`;

const placeOf = (number: string) => `${ORDERS}/crm/${number}`;
const settle = (gateway: TestGateway, number: string, body: object, options: object = {}) =>
  gateway.post(`${placeOf(number)}/settlement`, { reason: 'seen in the list of assets', ...body }, options);
const stateOf = async (gateway: TestGateway, number: string) =>
  (await gateway.get(placeOf(number))).body['state'];
const sends = async () => (await sandbox.journal('batchOrder')).length;
const commitsOf = async (number: string) =>
  (await sandbox.commits()).filter(({ channelOrderId }) => channelOrderId === number);
const isReplay = ({ headers }: TestAnswer) => headers.get('idempotent-replayed') === 'true';

/** An order that the platform carried out, with a lost response. */
async function inDoubt(gateway: TestGateway): Promise<string> {
  const number = newNumber();
  await sandbox.fault({
    operation: 'batchOrder',
    phase: 'after',
    times: 1,
    action: { reset: 'before-headers' },
  });
  expect((await gateway.post(ORDERS, orderOf(number))).status).toBe(502);
  return number;
}

/** Makes the record look this much older, since a test cannot wait 15 minutes. */
async function age(number: string, ms: number): Promise<void> {
  await ask(redis, async (client) => {
    const [key = ''] = await client.keys(`{*:guard}:order/crm/${number}`);
    const submittedAt = Number(await client.hget(key, 'submittedAt'));
    await client.hset(key, 'submittedAt', submittedAt - ms);
  });
}

describe.each([
  ['in the process', start],
  ['in Redis', withRedis],
])('an order recorded %s', (_, begin) => {
  it.each([
    ['sync', 201, 'succeeded'],
    ['async', 202, 'accepted'],
  ])('that is %s returns its record, which stays readable', async (syncMode, status, state) => {
    const gateway = await begin();
    const number = newNumber();
    const placed = await gateway.post(ORDERS, orderOf(number, { syncMode }));
    expect(placed.status).toBe(status);
    expect(placed.headers.get('location')).toBe(placeOf(number));
    expect(isReplay(placed)).toBe(false);
    const [commit] = await commitsOf(number);
    expect(placed.body).toMatchObject({
      channelCode: 'crm',
      channelOrderId: number,
      syncMode,
      state,
      reason: null,
    });
    expect(placed.body['items']).toMatchObject([{ sequence: 1, licenseOrderId: commit?.licenseOrderIds[0] }]);
    expect(placed.body['settledAt'] === null).toBe(syncMode === 'async');
    const record = await gateway.get(placed.headers.get('location') as string);
    expect(record.status).toBe(200);
    expect(record.body).toEqual(placed.body);

    const repeated = await gateway.post(ORDERS, orderOf(number, { syncMode }));
    expect(isReplay(repeated)).toBe(true);
    expect([repeated.status, repeated.text]).toEqual([placed.status, placed.text]);
    expect(repeated.headers.get('location')).toBe(placeOf(number));
    expect(await sends()).toBe(1);
  });

  it.each(['{"code":0,"message":"ok","data":null}', '{"code":0,"message":"ok"}', '{"code":0,"data":[]}'])(
    'that is async, with a response without licence orders (%s), is accepted: they are not known yet',
    async (text) => {
      const gateway = await begin();
      const number = newNumber();
      await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { raw: { text } } });
      const { status, body } = await gateway.post(ORDERS, orderOf(number, { syncMode: 'async' }));
      expect([status, body['state']]).toEqual([202, 'accepted']);
      expect(body['items']).toMatchObject([{ sequence: 1, licenseOrderId: null }]);
      expect(await commitsOf(number)).toHaveLength(1);
    },
  );

  it('K33 with another body under the same number is refused', async () => {
    const gateway = await begin();
    const number = newNumber();
    await gateway.post(ORDERS, orderOf(number));
    const other = await gateway.post(ORDERS, orderOf(number, {}, { limitConcurrent: 2 }));
    expect(other.status).toBe(422);
    expect(other.body).toMatchObject({ code: 'idempotency-key-reused', outcome: 'not_processed' });
    expect(other.headers.get('location')).toBe(placeOf(number));
    expect(await sends()).toBe(1);
  });

  it('K34 is the same one under every Idempotency-Key, and a key belongs to one order', async () => {
    const gateway = await begin();
    const [one, other] = [newNumber(), newNumber()];
    const key = `key-${randomBytes(12).toString('hex')}`;
    const keyed = (value: string) => ({ headers: { 'idempotency-key': value } });
    expect((await gateway.post(ORDERS, orderOf(one), keyed(key))).status).toBe(201);
    for (const again of [keyed(`"${key}"`), keyed(`${key}-2`), {}])
      expect(isReplay(await gateway.post(ORDERS, orderOf(one), again))).toBe(true);
    const taken = await gateway.post(ORDERS, orderOf(other), keyed(key));
    expect(taken.status).toBe(422);
    expect(taken.body).toMatchObject({ code: 'idempotency-key-reused' });
    expect(await stateOf(gateway, other)).toBeUndefined();
    const wrong = await gateway.post(ORDERS, orderOf(other), keyed('too short'));
    expect(wrong.status).toBe(400);
    expect(wrong.body['errors']).toMatchObject([{ parameter: 'Idempotency-Key' }]);
    expect(await sends()).toBe(1);
  });

  it('that is under way is not sent again, and cannot be settled', async () => {
    const gateway = await begin();
    const number = newNumber();
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { delayMs: 4_000 } });
    const first = gateway.post(ORDERS, orderOf(number));
    await until('it is sent', async () => (await sandbox.spoiled()) === 1);
    expect(await stateOf(gateway, number)).toBe('sending');
    const again = await gateway.post(ORDERS, orderOf(number));
    expect(again.body).toMatchObject({ code: 'request-in-progress', outcome: 'unknown', retryable: true });
    const early = await settle(gateway, number, { as: 'succeeded' });
    expect(early.body).toMatchObject({
      code: 'order-not-settleable',
      outcome: 'not_processed',
      retryable: true,
    });
    for (const answer of [again, early]) {
      expect(answer.status).toBe(409);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(answer.headers.get('location')).toBe(placeOf(number));
    }
    expect((await first).status).toBe(201);
    expect(isReplay(await gateway.post(ORDERS, orderOf(number)))).toBe(true);
    expect(await commitsOf(number)).toHaveLength(1);
  });

  it('that the platform refused is refused again without a call, and a corrected one may have the number', async () => {
    const gateway = await begin();
    const number = newNumber();
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '13004', message: 'not so' } });
    const refused = await gateway.post(ORDERS, orderOf(number));
    const again = await gateway.post(ORDERS, orderOf(number));
    for (const answer of [refused, again]) {
      expect(answer.status).toBe(422);
      expect(answer.body).toMatchObject({
        code: 'upstream-rejected',
        detail: 'not so',
        outcome: 'not_processed',
      });
    }
    expect([isReplay(refused), isReplay(again)]).toEqual([false, true]);
    expect([await sends(), await stateOf(gateway, number)]).toEqual([1, 'rejected']);
    const corrected = await gateway.post(ORDERS, orderOf(number, {}, { limitConcurrent: 3 }));
    expect([corrected.status, isReplay(corrected)]).toEqual([201, false]);
    expect(await commitsOf(number)).toHaveLength(1);
  });

  it('whose response came too late is in doubt, with the same response until it is settled', async () => {
    const gateway = await begin({ UPSTREAM_ORDER_DEADLINE_MS: '3000' });
    const number = newNumber();
    await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { hang: true } });
    const first = await gateway.post(ORDERS, orderOf(number));
    const again = await gateway.post(ORDERS, orderOf(number));
    for (const answer of [first, again]) {
      expect(answer.status).toBe(504);
      expect(answer.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown', retryable: false });
      expect(answer.headers.get('location')).toBe(placeOf(number));
    }
    expect([isReplay(first), isReplay(again)]).toEqual([false, true]);
    expect((await gateway.get(placeOf(number))).body).toMatchObject({ state: 'in_doubt', settledAt: null });

    const [commit] = await commitsOf(number);
    const items = [{ sequence: 1, licenseOrderId: commit?.licenseOrderIds[0] }];
    const settled = await settle(gateway, number, { as: 'succeeded', items });
    expect(settled.status).toBe(200);
    expect(settled.body).toMatchObject({
      state: 'succeeded',
      items,
      reason: 'seen in the list of assets',
      settledAt: expect.any(String),
    });
    const repeated = await gateway.post(ORDERS, orderOf(number));
    expect([repeated.status, isReplay(repeated)]).toEqual([201, true]);
    expect(repeated.body).toEqual(settled.body);

    const same = await settle(gateway, number, { as: 'succeeded', items });
    expect([same.status, same.body]).toEqual([200, settled.body]);
    for (const other of [{ as: 'not_placed' }, { as: 'succeeded', items, reason: 'once more' }]) {
      const otherwise = await settle(gateway, number, other);
      expect(otherwise.status).toBe(409);
      expect(otherwise.body).toMatchObject({
        code: 'order-not-settleable',
        outcome: 'not_processed',
        retryable: false,
        detail: expect.stringContaining('succeeded'),
      });
      expect(otherwise.headers.get('retry-after')).toBeNull();
    }
    expect(await sends()).toBe(1);
  });

  it('that was only validated leaves nothing behind', async () => {
    const gateway = await begin();
    const number = newNumber();
    const preview = await gateway.post(`${ORDERS}?validateOnly=true`, orderOf(number));
    expect(preview.status).toBe(200);
    expect((await gateway.get(placeOf(number))).body).toMatchObject({ code: 'order-not-found' });
    expect(await sends()).toBe(0);
  });

  it('K32 submitted 200 times at once is placed once', async () => {
    const gateway = await begin();
    const number = newNumber();
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => gateway.post(ORDERS, orderOf(number))),
    );
    const first = answers.filter((answer) => answer.status === 201 && !isReplay(answer));
    expect(first).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === 201) expect(answer.body).toEqual(first[0]?.body);
      else expect([answer.status, answer.headers.get('retry-after')]).toEqual([409, '1']);
    }
    expect([await sends(), (await commitsOf(number)).length]).toEqual([1, 1]);
  });

  it('is found by its own number, with any characters, and by callers of its channel only', async () => {
    const gateway = await begin();
    const number = `№/${newNumber()}?#%2e é`.replaceAll(' ', '_');
    const placed = await gateway.post(ORDERS, orderOf(number));
    expect(placed.status).toBe(201);
    const found = await gateway.get(placed.headers.get('location') as string);
    expect(found.body).toMatchObject({ channelOrderId: number, state: 'succeeded' });
    expect((await gateway.get(placeOf('SO-none'))).body).toMatchObject({ code: 'order-not-found' });
    expect((await settle(gateway, 'SO-none', { as: 'succeeded' })).status).toBe(404);
    const foreign = { key: gateway.keys['partner'] };
    expect((await gateway.get(placed.headers.get('location') as string, foreign)).status).toBe(403);
    expect((await settle(gateway, 'SO-none', { as: 'succeeded' }, foreign)).status).toBe(403);
    const long = '長'.repeat(128);
    expect((await gateway.get(`${ORDERS}/crm/${encodeURIComponent(long)}`)).body).toMatchObject({
      code: 'order-not-found',
    });
    expect((await gateway.get(`${ORDERS}/crm/${'x'.repeat(129)}`)).status).toBe(400);
  });
});

describe('the list of orders', () => {
  const numbersOf = ({ body }: TestAnswer) =>
    (body['items'] as { channelOrderId: string }[]).map(({ channelOrderId }) => channelOrderId);

  it.each([
    ['in the process', () => start()],
    [
      'in Redis',
      async () => {
        await ask(redis, (client) => client.flushall());
        return withRedis();
      },
    ],
  ])('%s is newest first, in pages, of one state, and of the channels that are granted', async (_, begin) => {
    const gateway = await begin();
    const crm = Array.from({ length: 5 }, newNumber);
    const partner = Array.from({ length: 3 }, newNumber);
    for (let index = 0; index < 5; index++) {
      await gateway.post(ORDERS, orderOf(crm[index] as string));
      if (index < 3)
        await gateway.post(ORDERS, orderOf(partner[index] as string, { channelCode: 'partner' }));
    }
    const doubtful = await inDoubt(gateway);

    const all = await gateway.get(ORDERS);
    expect(all.status).toBe(200);
    expect(all.body).toMatchObject({ page: 1, pageSize: 100, total: 9, totalPages: 1 });
    expect(numbersOf(all).slice(0, 3)).toEqual([doubtful, crm[4], crm[3]]);
    const open = await gateway.get(`${ORDERS}?state=in_doubt`);
    expect([open.body['total'], numbersOf(open)]).toEqual([1, [doubtful]]);

    const own = { key: gateway.keys['partner'] };
    const first = await gateway.get(`${ORDERS}?pageSize=2`, own);
    expect(first.body).toMatchObject({ page: 1, pageSize: 2, total: 3, totalPages: 2 });
    expect(numbersOf(first)).toEqual([partner[2], partner[1]]);
    expect(first.headers.get('link')).toContain(`<${ORDERS}?pageSize=2&page=2>; rel="next"`);
    expect(numbersOf(await gateway.get(`${ORDERS}?pageSize=2&page=2`, own))).toEqual([partner[0]]);
    expect(numbersOf(await gateway.get(`${ORDERS}?pageSize=2&page=3`, own))).toEqual([]);
    expect((await gateway.get(`${ORDERS}?state=in_doubt`, own)).body['total']).toBe(0);

    const etag = all.headers.get('etag') as string;
    const known = { headers: { 'if-none-match': etag, 'cache-control': 'max-age=0' } };
    expect((await gateway.get(ORDERS, known)).status).toBe(304);
    await gateway.post(ORDERS, orderOf(newNumber()));
    expect((await gateway.get(ORDERS, known)).status).toBe(200);
    expect((await gateway.get(`${ORDERS}?pageSize=1001`)).status).toBe(400);
    expect((await gateway.get(`${ORDERS}?state=lost`)).status).toBe(400);
  });

  it('is right for a caller whose orders are far apart', async () => {
    await ask(redis, (client) => client.flushall());
    const gateway = await withRedis();
    const far = newNumber();
    await gateway.post(ORDERS, orderOf(far, { channelCode: 'shop' }));
    for (let round = 0; round < 21; round++)
      await Promise.all(Array.from({ length: 10 }, () => gateway.post(ORDERS, orderOf(newNumber()))));
    const near = newNumber();
    await gateway.post(ORDERS, orderOf(near, { channelCode: 'shop' }));
    const answer = await gateway.get(ORDERS, { key: gateway.keys['partner'] });
    expect([answer.body['total'], numbersOf(answer)]).toEqual([2, [near, far]]);
    expect((await gateway.get(ORDERS)).body['total']).toBe(212);
  });
});

describe('a settlement', () => {
  it('as not placed waits until no process can still send the order, and frees its number', async () => {
    const gateway = await withRedis();
    const number = await inDoubt(gateway);
    await age(number, 5 * 60_000);
    const early = await settle(gateway, number, { as: 'not_placed' });
    expect(early.status).toBe(409);
    expect(early.body).toMatchObject({
      code: 'order-not-settleable',
      outcome: 'not_processed',
      retryable: true,
    });
    const seconds = Number(early.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(400);
    expect(seconds).toBeLessThanOrEqual(600);
    expect(await stateOf(gateway, number)).toBe('in_doubt');

    await age(number, 10 * 60_000);
    const settled = await settle(gateway, number, { as: 'not_placed' });
    expect([settled.status, settled.body['state']]).toEqual([200, 'not_placed']);
    expect((await settle(gateway, number, { as: 'not_placed' })).status).toBe(200);
    const again = await gateway.post(ORDERS, orderOf(number));
    expect([again.status, isReplay(again)]).toEqual([201, false]);
  });

  it.each([
    ['without a reason', { as: 'succeeded', reason: undefined }, '/reason'],
    ['as something else', { as: 'rejected' }, '/as'],
    [
      'as not placed with what was placed',
      { as: 'not_placed', items: [{ sequence: 1, licenseOrderId: 'lic-1' }] },
      '',
    ],
    [
      'with an item twice',
      { as: 'succeeded', items: ['l', 'm'].map((licenseOrderId) => ({ sequence: 1, licenseOrderId })) },
      '',
    ],
  ])('%s is 400', async (_, body, pointer) => {
    const gateway = await start();
    const answer = await settle(gateway, 'SO-any', body);
    expect(answer.status).toBe(400);
    expect(answer.body['errors']).toMatchObject([{ pointer }]);
  });

  it('needs its scope, and can be repeated under its Idempotency-Key', async () => {
    const gateway = await start();
    const number = await inDoubt(gateway);
    const unscoped = { key: gateway.addCaller({ name: 'clerk', scopes: ['orders:write'], channels: ['*'] }) };
    const reread = gateway.logged('callers-reloaded');
    gateway.writeCallers();
    await reread;
    expect((await settle(gateway, number, { as: 'succeeded' }, unscoped)).status).toBe(403);
    const headers = { 'idempotency-key': `settle-${number}-${randomBytes(8).toString('hex')}` };
    const settled = await settle(gateway, number, { as: 'succeeded' }, { headers });
    const again = await settle(gateway, number, { as: 'succeeded' }, { headers });
    expect([settled.status, isReplay(settled)]).toEqual([200, false]);
    expect([again.status, again.text, isReplay(again)]).toEqual([200, settled.text, true]);
  });

  it('O7 as not placed stays when the order appears late, and an alarm tells the operator', async () => {
    const store = { GUARD_REDIS_URL: redis.url, ENCRYPTION_KEYS };
    const gateway = ended(await startInProcess(sandbox, store, CALLERS));
    const number = newNumber();
    let once: SendOnce | undefined;
    const write = {
      caller: 'tester',
      channelCode: 'crm',
      channelOrderId: number,
      syncMode: 'sync',
      ordered: [{ sequence: 1, orderType: 'new_buy', enterpriseGlobalId: null }],
      payloadText: '{}',
      idempotencyKey: undefined,
      deadlineMs: 10_000,
    } as const;
    const sent = gateway.app.get(OrderLedger).order(write, (given) => {
      once = given;
      return Promise.reject(new Error('nobody answered in time'));
    });
    await expect(sent).rejects.toThrow();
    await age(number, 15 * 60_000);
    const settled = await settle(gateway, number, { as: 'not_placed' });
    expect(settled.status).toBe(200);
    const told = gateway.logged('order-conflict');
    once?.late({ data: [{ sequence: 1, licenseOrderId: 'lic-late' }] });
    await told;
    expect(gateway.logLines.join('\n')).toContain('lic-late');
    expect((await gateway.get(placeOf(number))).body).toEqual(settled.body);
  });

  it("lets the next read show the order's changes", async () => {
    const gateway = await start({ CACHE_TTL_MS: '60000' });
    const number = await inDoubt(gateway);
    const reads = async () => (await sandbox.journal('listAssets')).length;
    const assets = '/v1/enterprises/ent-harbour/assets';
    await gateway.get(assets);
    await gateway.get(assets);
    expect(await reads()).toBe(1);
    await settle(gateway, number, { as: 'succeeded' });
    await gateway.get(assets);
    expect(await reads()).toBe(2);
  });
});

describe('the record of an order', () => {
  it('is shared by processes: one of them sends, all of them read it', async () => {
    const fleet = await Fleet.start(sandbox, 2);
    ended(fleet);
    const number = newNumber();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, each) => fleet.post(each % 2, ORDERS, orderOf(number))),
    );
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
    expect(answers.some(({ status }) => status === 201)).toBe(true);
    expect([await sends(), (await commitsOf(number)).length]).toEqual([1, 1]);
    const [one, other] = await Promise.all([0, 1].map((index) => fleet.get(index, placeOf(number))));
    expect(one?.body).toMatchObject({ state: 'succeeded' });
    expect(other?.body).toEqual(one?.body);
  });

  it('O1 is recognised after the encryption key was rotated', async () => {
    const first = await withRedis();
    const number = newNumber();
    const placed = await first.post(ORDERS, orderOf(number));
    const rotated = await withRedis({ ENCRYPTION_KEYS: `${newEncryptionKey('k2')},${ENCRYPTION_KEYS}` });
    const again = await rotated.post(ORDERS, orderOf(number));
    expect([again.status, isReplay(again), again.text]).toEqual([201, true, placed.text]);
    const other = await rotated.post(ORDERS, orderOf(number, { syncMode: 'async' }));
    expect(other.body).toMatchObject({ code: 'idempotency-key-reused' });
    expect(await sends()).toBe(1);
  });

  it('has no secret in it', async () => {
    await ask(redis, (client) => client.flushall());
    const gateway = await withRedis();
    const [licence, refused, member, user] = [newSecret('l'), newSecret('l'), newSecret('m'), newSecret('u')];
    const passwords = [licence, refused, member, user];
    const headers = () => ({ 'idempotency-key': `dump-${randomBytes(12).toString('hex')}` });
    await gateway.post(ORDERS, orderOf(newNumber(), {}, { passwords: [licence] }));
    await sandbox.fault({
      operation: 'batchOrder',
      times: 1,
      action: { code: '13004', message: `not ${refused}` },
    });
    await gateway.post(ORDERS, orderOf(newNumber(), {}, { passwords: [refused] }));
    const members = [{ account: 'dumped', password: member, name: 'Dumped' }];
    const added = await gateway.post(
      '/v1/enterprises/ent-harbour/members',
      { members },
      { headers: headers() },
    );
    expect(added.status).toBe(201);
    const login = { username: 'anna@harbour', password: sandbox.seedPassword };
    const session = await gateway.post('/v1/sessions', login, { headers: headers() });
    expect(session.status).toBe(201);
    await gateway.post('/v1/sessions', { ...login, password: user }, { headers: headers() });

    const everything = await ask(redis, async (client) => {
      const keys = await client.keys('*');
      const values = await Promise.all(
        keys.map(async (key) => {
          const type = await client.type(key);
          if (type === 'hash') return JSON.stringify(await client.hgetall(key));
          if (type === 'zset') return JSON.stringify(await client.zrange(key, '0', '-1'));
          if (type === 'set') return JSON.stringify(await client.smembers(key));
          return client.get(key);
        }),
      );
      return [...keys, ...values].join('\n');
    });
    expect(everything).toContain('order/crm/');
    for (const secret of [...passwords, sandbox.seedPassword, session.body['sessionId'], 'anna@harbour']) {
      expect(everything).not.toContain(secret);
      expect(gateway.logLines.join('\n')).not.toContain(secret);
    }
  });
});
