import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { newEncryptionKey } from '../support/canary.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { orderOf } from '../support/order-body.ts';
import { until, watchCommands } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const MERIDIAN = '/v1/enterprises/ent-meridian/assets';
const CUSTOMERS = '/v1/customers?channelCode=crm&channelCustomerId=CH-1001';
const MEMBERS = '/v1/enterprises/ent-harbour/members';
const LOCK = '8000001003';

const CALLERS = [
  { name: 'all', scopes: ['orders:read'], enterprises: ['*'] },
  { name: 'harbour', scopes: ['orders:read'], enterprises: ['ent-harbour'] },
  { name: 'same', scopes: ['orders:read', 'orders:write'], enterprises: ['ent-harbour'] },
  { name: 'nobody', scopes: ['locks:write'], enterprises: ['*'] },
  {
    name: 'limited',
    scopes: ['orders:read'],
    enterprises: ['*'],
    rateLimit: { requests: 1_000, perSeconds: 3_600 },
  },
  ...['held', 'missing', 'wrong', 'foreign'].map((name) => ({
    name: `once-${name}`,
    scopes: ['orders:read'],
    enterprises: ['ent-harbour'],
    rateLimit: { requests: 1, perSeconds: 3_600 },
  })),
];
const environment = { CACHE_TTL_MS: '60000', ENCRYPTION_KEYS: newEncryptionKey() };
/** Has no Redis. */
const alone = new TestGateway(CALLERS);
/** Shares the stack's Redis, by way of the proxy. */
const otherReplica = new TestGateway(CALLERS);
let proxy: FaultProxy;
let store: Redis;

// This hook stands before the stack's own, because the replicas end while Redis is there.
afterAll(async () => {
  store.disconnect();
  await Promise.all([otherReplica.stop(), alone.stop()]);
  await proxy.close();
});
const stack = useStack({ environment, callers: CALLERS, redis: true });
const { sandbox, gateway: replica } = stack;

beforeAll(async () => {
  proxy = await FaultProxy.start(stack.redis().port);
  store = new Redis(stack.redis().url);
  await Promise.all([
    otherReplica.open(sandbox, { ...environment, REDIS_URL: `redis://127.0.0.1:${proxy.port}` }),
    alone.open(sandbox, { CACHE_TTL_MS: '60000' }),
  ]);
});
beforeEach(startAnew);

async function startAnew(): Promise<void> {
  // A write that names no enterprise empties the caches, which know nothing of the reset.
  for (const gateway of [alone, replica, otherReplica])
    await gateway.post('/v1/asset-num-reservations', { size: 1 });
  for (const key of await store.keys('r5:*')) await store.del(key);
  await sandbox.reset();
}

/**
 * Acts again where it failed while a replica was without Redis: on a busy machine Redis may be later than the gateway waits, and then the
 * cache promises less.
 */
async function withRedis(act: () => Promise<void>): Promise<void> {
  const outages = () =>
    [replica, otherReplica]
      .flatMap(({ logLines }) => logLines)
      .filter((line) => line.includes('"redis-away"')).length;
  for (let tries = 1; ; tries++) {
    const before = outages();
    try {
      return await act();
    } catch (error) {
      if (outages() === before || tries === 10) throw error;
      await startAnew();
    }
  }
}

const calls = async (operation = 'listAssets') => (await sandbox.journal(operation)).length;
const fresh = { headers: { 'cache-control': 'no-cache' } };
/** The request has an explicit `Cache-Control`, since fetch adds `no-cache` to conditional requests without one. */
const knowing = ({ headers }: TestAnswer) => ({
  headers: { 'if-none-match': headers.get('etag') ?? '', 'cache-control': 'max-age=0' },
});

function isLocked({ body }: TestAnswer): boolean | undefined {
  const items = body['items'] as { assetNum: string; locked: boolean }[];
  return items.find(({ assetNum }) => assetNum === LOCK)?.locked;
}

async function lock(gateway: TestGateway, locked: boolean): Promise<void> {
  const path = `/v1/enterprises/ent-harbour/locks/${locked ? 'disable' : 'enable'}`;
  expect((await gateway.post(path, { assetNums: [LOCK] })).status).toBe(200);
}

type Results = Record<'hit' | 'miss' | 'error', number>;

async function results(gateway: TestGateway): Promise<Results> {
  const lines = (await gateway.metrics()).matchAll(
    /^gateway_read_cache_total\{operation="listAssets",result="(\w+)"\} (\d+)$/gm,
  );
  const counted = Object.fromEntries([...lines].map(([, result, count]) => [result, Number(count)]));
  return { hit: 0, miss: 0, error: 0, ...counted };
}

/** Lists are stored in Redis a moment after the response. */
async function kept(): Promise<void> {
  await until('Redis has the list', async () => (await store.keys('r5:*')).length > 0);
}

describe.each([
  ['of one process', [alone, alone], (): void => undefined],
  ['that replicas share', [replica, otherReplica], kept],
] as const)('the cache %s', (_, replicas, isShared) => {
  it('serves a second read without the platform, says its age, and counts it', async () => {
    const [one, other] = replicas;
    const [before, beforeAtOther] = [await results(one), await results(other)];
    const first = await one.get(ASSETS);
    expect(first.headers.has('age')).toBe(false);
    expect(first.headers.get('server-timing')).toMatch(/^upstream;dur=.*, total;dur=/);
    await isShared();
    for (const gateway of [one, other, other]) {
      const second = await gateway.get(ASSETS);
      expect(second.status).toBe(200);
      expect(second.text).toBe(first.text);
      expect(second.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
      expect(second.headers.get('age')).toMatch(/^\d+$/);
      expect(second.headers.get('server-timing')).toMatch(/^total;dur=\d+\.\d$/);
    }
    expect(await calls()).toBe(1);
    expect((await results(one)).miss - before.miss).toBe(1);
    expect((await results(other)).hit - beforeAtOther.hit).toBeGreaterThanOrEqual(2);
  });

  it('serves a long response of many scripts with the same bytes and length each time, and again after a 304', async () => {
    const [one] = replicas;
    const customer = { customerId: 'cus-1', enterpriseName: 'Werft «Größe» 港湾 ⚓🚢'.repeat(200) };
    const data = Array.from({ length: 20 }, (_each, at) => ({ ...customer, customerId: `cus-${at}` }));
    await sandbox.fault({ operation: 'queryCustomers', times: 1, action: { patch: { data } } });
    const first = await one.get(CUSTOMERS);
    expect((first.body['items'] as object[])[19]).toMatchObject({ ...customer, customerId: 'cus-19' });
    for (let times = 0; times < 3; times++) {
      const again = await one.get(CUSTOMERS);
      expect(again.text).toBe(first.text);
      expect(again.headers.get('age')).toMatch(/^\d+$/);
      expect(again.headers.get('content-length')).toBe(String(Buffer.byteLength(first.text)));
      expect((await one.get(CUSTOMERS, knowing(first))).status).toBe(304);
    }
  });

  it('is bypassed by no-cache, and keeps the new response', async () => {
    const [one, other] = replicas;
    await one.get(ASSETS);
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { patch: { data: [] } } });
    const refreshed = await one.get(ASSETS, fresh);
    expect(refreshed.body['items']).toEqual([]);
    expect(refreshed.headers.has('age')).toBe(false);
    expect((await one.get(ASSETS)).body['items']).toEqual([]);
    expect((await other.get(ASSETS)).headers.has('age')).toBe(true);
    expect(await calls()).toBe(2);
  });

  it('keeps different requests apart, and ignores the order of their parameters', async () => {
    const [one] = replicas;
    await one.get(ASSETS);
    await one.get(`${ASSETS}?extendCode=site`);
    await one.get(MERIDIAN);
    await one.get(CUSTOMERS);
    await one.get('/v1/customers?channelCustomerId=CH-1001&channelCode=crm');
    await one.get(`${CUSTOMERS}&defaultOnly=true`);
    expect(await calls()).toBe(3);
    expect(await calls('queryCustomers')).toBe(2);
  });

  it('is not what a write decides by, nor what a dry run shows', async () => {
    const [one] = replicas;
    const path = '/v1/enterprises/ent-harbour';
    const anna = `${path}/members/mem-harbour-anna`;
    // The flag that a lock is lent is missing, so the list of lent locks decides.
    const lent = { assetNum: '8000001007', assetId: 'ast-1007', cloudAccountGlobalId: 'mem-harbour-anna' };
    const showing = async (data: object[]) => {
      await sandbox.control('DELETE', '/faults');
      for (const operation of ['listAssetNums', 'listLentLocks'])
        await sandbox.fault({ operation, action: { code: 0, codeAs: 'integer', status: 200, data } });
    };
    await showing([]);
    for (const list of ['asset-nums', 'lent-locks'])
      expect((await one.get(`${path}/${list}`)).body['total']).toBe(0);
    expect((await one.get(anna)).status).toBe(200);
    await showing([lent]);
    const set = await one.request('PUT', `${anna}/asset-nums`, { body: { assetNums: [] } });
    expect(set.body).toEqual({ assigned: [], withdrawn: [], kept: [] });
    expect(await calls('changePrivileges')).toBe(0);
    await showing([]);
    expect((await one.get(`${path}/asset-nums`, fresh)).body['total']).toBe(0);
    await showing([lent]);
    const deletion = await one.post(`${anna}/dry-run/delete`, undefined);
    expect(deletion.body['effects']).toMatchObject([
      { kind: 'member-removed' },
      { kind: 'number-withdrawn', assetNum: lent.assetNum },
    ]);
    const loan = { lentLockNum: '8000001006', assetIds: [lent.assetId] };
    await showing([]);
    expect((await one.get(`${path}/asset-nums`, fresh)).body['total']).toBe(0);
    await showing([{ ...lent, borrowedFlag: false }]);
    const loans = await one.post(`${anna}/loans/dry-run`, loan);
    expect(loans.body['effects']).toMatchObject([{ kind: 'loan-made', assetNum: lent.assetNum }]);
  });

  it('never shares writes', async () => {
    const [one] = replicas;
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => one.post('/v1/asset-num-reservations', { size: 1 })),
    );
    expect(await calls('obtainAssetNums')).toBe(5);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(5);
  });

  it('keeps no failure', async () => {
    const [one] = replicas;
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { code: '60010' } });
    const { status, headers } = await one.get(ASSETS);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.has('etag')).toBe(false);
    expect((await one.get(ASSETS)).status).toBe(200);
    expect(await calls()).toBe(2);
  });

  it('keeps no overview, which may lack failed parts, but keeps its lists, and tags it', async () => {
    const [one] = replicas;
    const path = '/v1/enterprises/ent-harbour/overview';
    await sandbox.fault({ operation: 'listLentLocks', times: 1, action: { code: '60010' } });
    const lacking = await one.get(path);
    expect(lacking.body['unreachable']).toHaveLength(1);
    const whole = await one.get(path, knowing(lacking));
    expect(whole.status).toBe(200);
    expect(whole.body['unreachable']).toEqual([]);
    expect(whole.headers.has('age')).toBe(true);
    expect((await one.get(path, knowing(whole))).status).toBe(304);
  });

  it('shows a write to all readers while many read and write', () =>
    withRedis(async () => {
      const [one, other] = replicas;
      const done = new AbortController();
      let [begun, completed] = [0, 0];
      const seen: { right: boolean; write: number }[] = [];
      // State n is locked for odd n. A read that began after write n ended, and ended before n + 1 began, sees n.
      const readers = replicas.flatMap((gateway) =>
        Array.from({ length: 4 }, async () => {
          while (!done.signal.aborted) {
            const write = completed;
            const locked = isLocked(await gateway.get(ASSETS));
            if (write === begun) seen.push({ right: locked === (write % 2 === 1), write });
          }
        }),
      );
      for (let write = 1; write <= 16; write++) {
        begun = write;
        await lock(write % 2 ? one : other, write % 2 === 1);
        completed = write;
        // Reads happened in between, also on a slow machine.
        const before = seen.length;
        while (seen.length === before) await wait(1);
      }
      done.abort();
      await Promise.all(readers);
      expect(seen.filter(({ right }) => !right)).toEqual([]);
      expect(seen.length).toBeGreaterThanOrEqual(16);
    }));

  it('keeps out a slow read that saw the state before a write', async () => {
    const [one, other] = replicas;
    await one.get(CUSTOMERS);
    await sandbox.fault({ operation: 'listAssets', times: 1, phase: 'after', action: { delayMs: 300 } });
    const slow = one.get(ASSETS);
    await sandbox.untilSpoiled(1, slow);
    await lock(other, true);
    expect(isLocked(await one.get(ASSETS))).toBe(true);
    expect(isLocked(await slow)).toBe(false);
    expect(isLocked(await one.get(ASSETS))).toBe(true);
    expect(isLocked(await other.get(ASSETS))).toBe(true);
  });

  it('invalidates what a failed write may have changed', async () => {
    const [one, other] = replicas;
    expect(isLocked(await one.get(ASSETS))).toBe(false);
    await sandbox.fault({ operation: 'disableLocks', phase: 'after', action: { close: 'before-headers' } });
    expect(
      (await other.post('/v1/enterprises/ent-harbour/locks/disable', { assetNums: [LOCK] })).status,
    ).toBeGreaterThanOrEqual(500);
    expect(isLocked(await one.get(ASSETS))).toBe(true);
  });

  it('never serves a caller with the response for another right or another user', async () => {
    const [one] = replicas;
    const [all, harbour, same] = [one.keys['all'], one.keys['harbour'], one.keys['same']];
    await one.get(ASSETS, { key: all });
    await one.get(ASSETS, { key: harbour });
    expect(await calls()).toBe(2);
    await one.get(ASSETS, { key: same });
    expect(await calls()).toBe(2);
    await one.get(MERIDIAN, { key: all });
    expect((await one.get(MERIDIAN, { key: harbour })).status).toBe(403);
    expect((await one.get(ASSETS, { key: one.keys['nobody'] })).status).toBe(403);
    expect((await one.get(ASSETS, { key: null })).status).toBe(401);

    const members = await one.get(MEMBERS);
    expect(members.status).toBe(200);
    expect((await one.get(MEMBERS)).headers.has('age')).toBe(true);
    expect(await calls('listMembers')).toBe(1);
    await one.get(MEMBERS, { headers: { 'x-acting-user': 'anna' }, undocumented: true });
    expect(await calls('listMembers')).toBe(2);
  });

  it('invalidates what a member write changed in its enterprise, and keeps the rest', async () => {
    const [one, other] = replicas;
    const before = await one.get(MEMBERS);
    await one.get(MERIDIAN);
    const change = { account: 'anna', name: 'Anna Other' };
    const path = `${MEMBERS}/mem-harbour-anna`;
    expect((await other.request('PATCH', path, { body: change })).status).toBe(204);
    const after = await one.get(MEMBERS);
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
    expect(after.text).toContain('Anna Other');
    await one.get(MERIDIAN);
    expect(await calls()).toBe(1);
  });
});

describe('a cache', () => {
  it('is not emptied by writes that were refused before anything was sent', async () => {
    await alone.get(ASSETS);
    expect((await alone.post('/v1/enterprises/ent-harbour/locks/disable', {})).status).toBe(400);
    expect((await alone.post('/v1/license-orders/dry-run', {})).status).toBe(400);
    expect((await alone.get(ASSETS)).headers.has('age')).toBe(true);
  });

  it('K22 serves a caller who waits for the lists of an overview that another one has abandoned', async () => {
    const path = '/v1/enterprises/ent-harbour/overview';
    const hurried = new AbortController();
    const headers = { 'x-api-key': alone.key };
    await sandbox.fault({ operation: 'listLentLocks', times: 1, phase: 'after', action: { delayMs: 2_000 } });
    const abandoned = fetch(alone.url + path, { headers, signal: hurried.signal });
    await sandbox.untilSpoiled(1, abandoned);
    const patient = alone.get(path);
    // The platform has a list of the second overview that no cache shares, so that one waits for the others.
    await until('the second overview reads', async () => (await calls()) === 2);
    hurried.abort();
    await expect(abandoned).rejects.toThrow();
    const { status, body } = await patient;
    expect([status, body['unreachable']]).toEqual([200, []]);
    expect(await calls('listLentLocks')).toBe(1);
  });

  it('of replicas is asked for its generations once, also for a page of a list and past the cache', async () => {
    const asked = async (options: object) => {
      await store.config('RESETSTAT');
      expect((await replica.get(`${ASSETS}?pageSize=2`, options)).status).toBe(200);
      return Number(/cmdstat_mget:calls=(\d+)/.exec(await store.info('commandstats'))?.[1]);
    };
    // Makes the generations.
    await replica.get(`${ASSETS}?pageSize=1`);
    for (const options of [{}, fresh]) {
      const counts = [await asked(options), await asked(options), await asked(options)];
      // The server's count has every question of that moment, not this read's alone.
      expect([counts, Math.min(...counts)]).toEqual([counts, 1]);
    }
  });

  it('is not emptied by the attempts of an order that waits for its time to be sent', async () => {
    // The platform refuses the credentials of the gateway, so that the order waits.
    await sandbox.fault({ operation: 'batchOrder', action: { code: '60000' } });
    const of = `N-${randomUUID()}`;
    const waits = async () => {
      const before = await calls('batchOrder');
      await until('it is tried', async () => (await calls('batchOrder')) > before);
      const record = () => alone.get(`/v1/license-orders/crm/${of}`);
      await until('it waits', async () => (await record()).body['state'] === 'scheduled');
    };
    const notBefore = new Date(Date.now() + 500).toISOString();
    const scheduled = await alone.post('/v1/license-orders', { ...orderOf(of), notBefore });
    expect(scheduled.status).toBe(202);
    await waits();
    await alone.get(ASSETS);
    await waits();
    expect((await alone.get(ASSETS)).headers.has('age')).toBe(true);
    await sandbox.control('DELETE', '/faults');
    await until('it is sent', async () => (await sandbox.commits()).length === 1);
  });

  it('of replicas is invalidated once for each order', async () => {
    const renewed: string[] = [];
    const { promise: isSeen, resolve: see } = Promise.withResolvers<void>();
    const end = await watchCommands(stack.redis(), (line) => {
      const [, generation] = /"set" "[^"]*:gen}:(\w+)"/i.exec(line) ?? [];
      if (generation !== undefined) renewed.push(generation);
      if (line.includes('"end"')) see();
    });
    const order = await replica.post('/v1/license-orders', orderOf(`N-${randomUUID()}`));
    expect(order.status).toBe(201);
    // Redis shows commands in the order of their execution: what the order did is there once this one is.
    await store.get('end');
    await isSeen;
    end();
    expect(renewed.sort()).toEqual(['all', 'any']);
  });

  it('of replicas shows a write as soon as a repeat of it gets the first response', async () => {
    expect(isLocked(await replica.get(ASSETS))).toBe(false);
    const headers = { 'idempotency-key': randomUUID() };
    const write = () =>
      otherReplica.post('/v1/enterprises/ent-harbour/locks/disable', { assetNums: [LOCK] }, { headers });
    await proxy.add({ toxic: 'latency', direction: 'upstream', ms: 100 });
    const first = write();
    await until('a repeat gets the first response', async () => (await write()).status === 200);
    const read = await replica.get(ASSETS);
    await Promise.all([first, proxy.clear()]);
    expect(isLocked(read)).toBe(true);
  });

  it('of replicas shows what an order did late as soon as an operator has settled it', async () => {
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { reset: 'before-headers' } });
    const order = orderOf(`N-${randomUUID()}`);
    expect((await otherReplica.post('/v1/license-orders', order)).status).toBe(502);
    expect(isLocked(await replica.get(ASSETS))).toBe(false);
    await sandbox.control('PATCH', '/state/assets/ast-1003', { locked: true });
    await proxy.add({ toxic: 'latency', direction: 'upstream', ms: 100 });
    const path = `/v1/license-orders/crm/${order.channelOrderId}/settlement`;
    const settled = await otherReplica.post(path, { as: 'succeeded', reason: 'seen at the platform' });
    const read = await replica.get(ASSETS);
    await proxy.clear();
    expect([settled.status, isLocked(read)]).toEqual([200, true]);
  });

  it.each([
    ['held', ASSETS],
    ['missing', `${ASSETS}?extendCode=none`],
    ['wrong', `${ASSETS}?nonsense=1`],
    ['foreign', MERIDIAN],
  ])('refuses a caller beyond its rate, of which another replica knows (%s)', async (name, path) => {
    const key = replica.keys[`once-${name}`] ?? '';
    await otherReplica.get(ASSETS, { key: otherReplica.keys['same'] ?? '' });
    expect((await replica.get(ASSETS, { key })).status).toBe(200);
    const before = await calls();
    const refused = await otherReplica.get(path, { key: otherReplica.keys[`once-${name}`] ?? '' });
    expect(refused).toMatchObject({ status: 429, body: { code: 'too-many-requests' } });
    expect(refused.headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/);
    expect(await calls()).toBe(before);
  });

  it('returns no old response when its generations are lost', async () => {
    expect(isLocked(await replica.get(ASSETS))).toBe(false);
    expect(isLocked(await otherReplica.get(ASSETS))).toBe(false);
    await lock(replica, true);
    await store.flushall();
    expect(isLocked(await otherReplica.get(ASSETS))).toBe(true);
    expect(isLocked(await replica.get(ASSETS))).toBe(true);
  });
});

it('K64 an entity tag saves the body when the caller has it, with the headers that belong to it', async () => {
  const first = await alone.get(ASSETS);
  expect(first.headers.get('cache-control')).toBe('private, no-cache');
  const etag = first.headers.get('etag') ?? '';
  const compressed = etag.replace(/"$/, '-gzip"');
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*', compressed]) {
    const again = await alone.get(ASSETS, { headers: { 'if-none-match': known } });
    expect(again.status).toBe(304);
    expect(again.text).toBe('');
    expect(again.headers.get('etag')).toBe(etag);
    expect(again.headers.get('cache-control')).toBe('private, no-cache');
    expect(again.headers.has('content-type')).toBe(false);
  }
  expect((await alone.get(ASSETS, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  await lock(alone, true);
  expect((await alone.get(ASSETS, knowing(first))).status).toBe(200);
});

describe('a Redis that sends no replies', () => {
  afterEach(() => proxy.clear());

  it('was asked for the rate of the caller and for the generations in one round trip', async () => {
    const limited = { key: otherReplica.keys['limited'] ?? '' };
    expect((await otherReplica.get(ASSETS, limited)).status).toBe(200);
    const asked = new Set<string>();
    const { promise: all, resolve } = Promise.withResolvers<void>();
    const end = await watchCommands(stack.redis(), (line) => {
      if (/"evalsha" .*:rate:limited/i.test(line)) asked.add('rate');
      if (/"mget" .*:gen}:/i.test(line)) asked.add('generations');
      if (asked.size === 2) resolve();
    });
    // No reply comes, so a question that waits for the reply to another is never asked.
    await proxy.add({ toxic: 'timeout', ms: 0 });
    const read = otherReplica.get(ASSETS, limited);
    await all;
    end();
    // The gateway counts by itself and asks the platform while Redis is away.
    expect((await read).status).toBe(200);
  });

  it('was asked for the generations and for a list that is not held in one round trip, where the caller has no rate', async () => {
    const all = { key: otherReplica.keys['all'] ?? '' };
    await until('it uses Redis', async () => (await otherReplica.get(ASSETS, all)).headers.has('age'));
    const asked = new Set<string>();
    const { promise: both, resolve } = Promise.withResolvers<void>();
    const end = await watchCommands(stack.redis(), (line) => {
      if (/"mget" .*:gen}:/i.test(line)) asked.add('generations');
      if (/"mget" "r5:/i.test(line)) asked.add('list');
      if (asked.size === 2) resolve();
    });
    await proxy.add({ toxic: 'timeout', ms: 0 });
    const read = otherReplica.get(`${ASSETS}?extendCode=site`, all);
    await both;
    end();
    expect((await read).status).toBe(200);
  });

  it('has an outage during a write: the replica that wrote shows no old response, then or later', async () => {
    expect(isLocked(await replica.get(ASSETS))).toBe(false);
    const { error } = await results(replica);
    // Redis keeps its memory.
    stack.redis().freeze();
    await lock(replica, true);
    expect(isLocked(await replica.get(ASSETS))).toBe(true);
    stack.redis().thaw();
    const seen = new Set<boolean | undefined>();
    await until('the cache is used again', async () => {
      const answer = await replica.get(ASSETS);
      seen.add(isLocked(answer));
      return answer.headers.has('age');
    });
    expect([...seen]).toEqual([true]);
    expect((await results(replica)).error).toBeGreaterThan(error);
    expect(isLocked(await otherReplica.get(ASSETS))).toBe(true);
  });
});
