import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { newEncryptionKey } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { orderOf } from '../support/order-body.ts';
import { type RunningRedis, startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const MERIDIAN = '/v1/enterprises/ent-meridian/assets';
const CUSTOMERS = '/v1/customers?channelCode=crm&channelCustomerId=CH-1001';
const MEMBERS = '/v1/enterprises/ent-harbour/members';
const LOCK = '8000001003';

let sandbox: TestSandbox;
const { ended, atEnd } = endings();

beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

async function start(
  environment: Record<string, string>,
  callers?: Parameters<typeof TestGateway.start>[2],
): Promise<TestGateway> {
  return ended(await TestGateway.start(sandbox, { CACHE_TTL_MS: '60000', ...environment }, callers));
}

const calls = async (operation = 'listAssets') => (await sandbox.journal(operation)).length;
const fresh = { headers: { 'cache-control': 'no-cache' } };
/** With an explicit `Cache-Control`, since fetch adds `no-cache` to conditional requests without one. */
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

async function results(gateway: TestGateway): Promise<Record<string, number>> {
  const lines = (await gateway.metrics()).matchAll(
    /^gateway_read_cache_total\{operation="listAssets",result="(\w+)"\} (\d+)$/gm,
  );
  return Object.fromEntries([...lines].map(([, result = '', count]) => [result, Number(count)]));
}

/** Tests of the cache of one process, and of the one that two replicas share. */
function itWorks(replicas: () => Promise<readonly [TestGateway, TestGateway]>): void {
  it('serves a second read without the platform, says its age, and counts it', async () => {
    const [one, other] = await replicas();
    const first = await one.get(ASSETS);
    expect(first.headers.has('age')).toBe(false);
    expect(first.headers.has('server-timing')).toBe(true);
    for (const gateway of [one, other, other]) {
      const second = await gateway.get(ASSETS);
      expect(second.status).toBe(200);
      expect(second.text).toBe(first.text);
      expect(second.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
      expect(second.headers.get('age')).toMatch(/^\d+$/);
      expect(second.headers.has('server-timing')).toBe(false);
    }
    expect(await calls()).toBe(1);
    expect((await results(one))['miss']).toBe(1);
    expect((await results(other))['hit']).toBeGreaterThanOrEqual(2);
  });

  it('is bypassed by no-cache, and keeps the new response', async () => {
    const [one, other] = await replicas();
    await one.get(ASSETS);
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { patch: { data: [] } } });
    const refreshed = await one.get(ASSETS, fresh);
    expect(refreshed.body['items']).toEqual([]);
    expect(refreshed.headers.has('age')).toBe(false);
    expect((await one.get(ASSETS)).body['items']).toEqual([]);
    expect((await other.get(ASSETS)).headers.has('age')).toBe(true);
    expect(await calls()).toBe(2);
  });

  it('never lets a slow read take the place of a refresh that began after it', async () => {
    const [one] = await replicas();
    await one.get(CUSTOMERS);
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { patch: { data: [] }, delayMs: 300 } });
    const slow = one.get(ASSETS);
    await until('the platform has the slow read', async () => (await sandbox.spoiled()) === 1);
    const refreshed = await one.get(ASSETS, fresh);
    expect((await one.get(ASSETS)).text).toBe(refreshed.text);
    expect((await slow).body['items']).toEqual([]);
    expect((await one.get(ASSETS)).text).toBe(refreshed.text);
    expect(await calls()).toBe(2);
  });

  it('keeps different requests apart, and ignores the order of their parameters', async () => {
    const [one] = await replicas();
    await one.get(ASSETS);
    await one.get(`${ASSETS}?extendCode=site`);
    await one.get(MERIDIAN);
    await one.get(CUSTOMERS);
    await one.get('/v1/customers?channelCustomerId=CH-1001&channelCode=crm');
    await one.get(`${CUSTOMERS}&defaultOnly=true`);
    expect(await calls()).toBe(3);
    expect(await calls('queryCustomers')).toBe(2);
  });

  it('shares one call among a hundred equal reads', async () => {
    const [one] = await replicas();
    await one.get(CUSTOMERS);
    await sandbox.fault({ operation: 'listAssets', action: { delayMs: 500 } });
    const answers = await Promise.all(Array.from({ length: 100 }, () => one.get(ASSETS)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(await calls()).toBe(1);
    const { miss, shared = 0, hit = 0 } = await results(one);
    expect(miss).toBe(1);
    expect(shared + hit).toBe(99);
    expect(shared).toBeGreaterThan(0);
  });

  it('does not share calls with no-cache reads', async () => {
    const [one] = await replicas();
    await one.get(CUSTOMERS);
    await sandbox.fault({ operation: 'listAssets', action: { delayMs: 200 } });
    await Promise.all([one.get(ASSETS), one.get(ASSETS, fresh), one.get(ASSETS, fresh), one.get(ASSETS)]);
    expect(await calls()).toBe(3);
  });

  it('never shares writes', async () => {
    const [one] = await replicas();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => one.post('/v1/asset-num-reservations', { size: 1 })),
    );
    expect(await calls('obtainAssetNums')).toBe(5);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(5);
  });

  it('keeps no failure, and shares one only among the waiting requests', async () => {
    const [one] = await replicas();
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { code: '60010', delayMs: 1_000 } });
    const answers = await Promise.all([one.get(ASSETS), one.get(ASSETS)]);
    for (const { status, headers } of answers) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.has('etag')).toBe(false);
    }
    const ids = answers.map(({ body }) => body['requestId']);
    expect(new Set(ids).size).toBe(2);
    expect(await calls()).toBe(1);
    expect((await one.get(ASSETS)).status).toBe(200);
    expect(await calls()).toBe(2);
  });

  it('keeps no overview, which may lack failed parts, but keeps its lists, and tags it', async () => {
    const [one] = await replicas();
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

  it('shows a write to the very next read, on every replica', async () => {
    const gateways = await replicas();
    let locked = false;
    for (let round = 0; round < 40; round++) {
      const [writer, reader] = round % 2 ? gateways : gateways.toReversed();
      // Reads before, during and after: overlapping ones may see either state, the last ones only the new.
      const overlapping = gateways.flatMap((gateway) => [gateway.get(ASSETS), gateway.get(ASSETS)]);
      locked = !locked;
      await lock(writer as TestGateway, locked);
      expect(isLocked(await (reader as TestGateway).get(ASSETS))).toBe(locked);
      expect(isLocked(await (writer as TestGateway).get(ASSETS))).toBe(locked);
      await Promise.all(overlapping);
      expect(isLocked(await (reader as TestGateway).get(ASSETS))).toBe(locked);
      expect(isLocked(await (writer as TestGateway).get(ASSETS))).toBe(locked);
    }
  });

  it('shows a write to all readers while many read and write', async () => {
    const gateways = await replicas();
    const done = new AbortController();
    let [begun, completed] = [0, 0];
    let reads = 0;
    const readsSoFar = () => reads;
    // State n is locked for odd n. A read that began after write n ended, and ended before n + 1 began, sees n.
    const readers = gateways.flatMap((gateway) =>
      Array.from({ length: 4 }, async () => {
        while (!done.signal.aborted) {
          const least = completed;
          const seen = isLocked(await gateway.get(ASSETS));
          if (least === begun) {
            expect(seen).toBe(least % 2 === 1);
            reads++;
          }
        }
      }),
    );
    for (let write = 1; write <= 60; write++) {
      begun = write;
      await lock(gateways[write % 2] as TestGateway, write % 2 === 1);
      completed = write;
      // Reads happened in between, also on a slow machine.
      const before = reads;
      while (readsSoFar() === before) await wait(1);
    }
    done.abort();
    await Promise.all(readers);
    expect(reads).toBeGreaterThanOrEqual(60);
  });

  it('keeps out a slow read that saw the state before a write', async () => {
    const [one, other] = await replicas();
    await one.get(CUSTOMERS);
    await sandbox.fault({ operation: 'listAssets', times: 1, phase: 'after', action: { delayMs: 500 } });
    const slow = one.get(ASSETS);
    await until('the platform has the slow read', async () => (await sandbox.spoiled()) === 1);
    await lock(other, true);
    expect(isLocked(await one.get(ASSETS))).toBe(true);
    expect(isLocked(await slow)).toBe(false);
    expect(isLocked(await one.get(ASSETS))).toBe(true);
    expect(isLocked(await other.get(ASSETS))).toBe(true);
  });

  it('invalidates what a failed write may have changed', async () => {
    const [one, other] = await replicas();
    expect(isLocked(await one.get(ASSETS))).toBe(false);
    await sandbox.fault({ operation: 'disableLocks', phase: 'after', action: { close: 'before-headers' } });
    expect(
      (await other.post('/v1/enterprises/ent-harbour/locks/disable', { assetNums: [LOCK] })).status,
    ).toBeGreaterThanOrEqual(500);
    expect(isLocked(await one.get(ASSETS))).toBe(true);
  });

  it('never serves a caller with the response for another right or another user', async () => {
    const [one] = await replicas();
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
    const [one, other] = await replicas();
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
}

const CALLERS = [
  { name: 'all', scopes: ['orders:read'], enterprises: ['*'] },
  { name: 'harbour', scopes: ['orders:read'], enterprises: ['ent-harbour'] },
  { name: 'same', scopes: ['orders:read', 'orders:write'], enterprises: ['ent-harbour'] },
  { name: 'nobody', scopes: ['locks:write'], enterprises: ['*'] },
];

describe('the cache of one process', () => {
  itWorks(async () => {
    const gateway = await start({}, CALLERS);
    return [gateway, gateway];
  });

  it('is not emptied by writes that were refused before anything was sent', async () => {
    const gateway = await start({}, CALLERS);
    await gateway.get(ASSETS);
    expect((await gateway.post('/v1/enterprises/ent-harbour/locks/disable', {})).status).toBe(400);
    expect((await gateway.post('/v1/license-orders?validateOnly=true', {})).status).toBe(400);
    expect((await gateway.get(ASSETS)).headers.has('age')).toBe(true);
  });

  it('ends with the lifetime, which varies a little', async () => {
    const gateway = await start({ CACHE_TTL_MS: '200' });
    const lifetimes = [];
    for (let round = 0; round < 8; round++) {
      // Before the response is kept: what happens between the two makes no lifetime shorter.
      const born = performance.now();
      await gateway.get(ASSETS, fresh);
      while ((await gateway.get(ASSETS)).headers.has('age')) await wait(1);
      lifetimes.push(performance.now() - born);
    }
    expect(Math.min(...lifetimes)).toBeGreaterThan(150);
    // The median: a busy machine may delay some of them.
    expect(lifetimes.toSorted((one, other) => one - other)[4]).toBeLessThan(5_000);
    expect(Math.max(...lifetimes) - Math.min(...lifetimes)).toBeGreaterThan(3);
  });

  it('is off when the lifetime is 0, but tags remain', async () => {
    const gateway = await start({ CACHE_TTL_MS: '0' });
    const first = await gateway.get(ASSETS);
    const second = await gateway.get(ASSETS, knowing(first));
    expect(second.status).toBe(304);
    expect(second.headers.has('age')).toBe(false);
    expect(await calls()).toBe(2);
  });
});

describe('an entity tag', () => {
  it('saves the body when the caller has it, with the headers that belong to it', async () => {
    const gateway = await start({});
    const first = await gateway.get(ASSETS);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const etag = first.headers.get('etag') ?? '';
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await gateway.get(ASSETS, { headers: { 'if-none-match': known } });
      expect(again.status).toBe(304);
      expect(again.text).toBe('');
      expect(again.headers.get('etag')).toBe(etag);
      expect(again.headers.get('cache-control')).toBe('private, no-cache');
      expect(again.headers.has('content-type')).toBe(false);
    }
    expect((await gateway.get(ASSETS, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
    await lock(gateway, true);
    expect((await gateway.get(ASSETS, knowing(first))).status).toBe(200);
  });

  it('outlives the token it was fetched with', async () => {
    const gateway = await start({});
    const first = await gateway.get(ASSETS);
    await sandbox.revokeTokens();
    const second = await gateway.get(ASSETS, fresh);
    expect(await calls()).toBe(3);
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
  });

  it('is on no write, no problem and no health response', async () => {
    const gateway = await start({});
    const answers = [
      await gateway.post('/v1/asset-num-reservations', { size: 1 }),
      await gateway.get('/health/live'),
      await gateway.get('/v1/enterprises/ent.x/assets'),
    ];
    for (const { headers } of answers) expect(headers.has('etag')).toBe(false);
    expect(answers.map(({ headers }) => headers.get('cache-control'))).toEqual([
      'no-store',
      null,
      'no-store',
    ]);
  });

  it('comes with links when the response is a page', async () => {
    const gateway = await start({});
    const page = await gateway.get(`${MEMBERS}?page=2&pageSize=2`);
    expect(page.status).toBe(200);
    const of = (number: number) => `<${MEMBERS}?page=${number}&pageSize=2>`;
    expect(page.headers.get('link')).toBe(
      `${of(1)}; rel="first", ${of(1)}; rel="prev", ${of(3)}; rel="next", ${of(3)}; rel="last"`,
    );
    expect((await gateway.get(`${MEMBERS}?pageSize=2&page=2`)).headers.has('link')).toBe(true);
    expect((await gateway.get(`${ASSETS}/ast-1002`)).headers.has('link')).toBe(false);
  });
});

describe('the cache that replicas share', () => {
  let redis: RunningRedis;
  let store: Redis;
  const encryptionKeys = newEncryptionKey();
  const shared = (more: Record<string, string> = {}) =>
    start({ REDIS_URL: redis.url, ENCRYPTION_KEYS: encryptionKeys, ...more }, CALLERS);

  beforeEach(async () => {
    redis = await startRedis();
    store = new Redis(redis.url, { retryStrategy: () => null });
    store.on('error', () => undefined);
  });
  afterEach(async () => {
    store.disconnect();
    await redis.stop();
  });

  /** Cached lists are stored a moment after the response. */
  async function kept(): Promise<string[]> {
    await until('a list is stored', async () => (await store.keys('r3:*')).length > 0);
    return store.keys('r3:*');
  }

  itWorks(async () => [await shared(), await shared()]);

  it('outlives each of them, expires by itself, and is not readable in Redis', async () => {
    const { text } = await (await shared()).get(ASSETS);
    const [key = ''] = await kept();
    expect(await store.pttl(key)).toBeGreaterThan(50_000);
    expect(await store.pttl(key)).toBeLessThanOrEqual(66_000);
    const value = (await store.get(key)) ?? '';
    expect(value).toMatch(/^v1\.k1\./);
    expect(Buffer.from(value.split('.')[2] ?? '', 'base64url').includes('assetNum')).toBe(false);
    const second = await (await shared()).get(ASSETS);
    expect(second.text).toBe(text);
    expect(await calls()).toBe(1);
  });

  it('asks Redis for the rate of the caller and for the generations in one round trip', async () => {
    const proxy = await FaultProxy.start(redis.port);
    atEnd(() => proxy.close());
    const caller = {
      name: 'limited',
      scopes: ['orders:read'],
      enterprises: ['*'],
      rateLimit: { requests: 1_000, perSeconds: 3_600 },
    };
    const gateway = await start(
      { REDIS_URL: `redis://127.0.0.1:${proxy.port}`, ENCRYPTION_KEYS: encryptionKeys },
      [caller],
    );
    const path = { key: gateway.keys['limited'] ?? '' };
    expect((await gateway.get(ASSETS, path)).status).toBe(200);
    const monitor = await store.monitor();
    const asked = new Set<string>();
    const both = new Promise<void>((resolve) => {
      monitor.on('monitor', (_: string, [command, ...rest]: string[]) => {
        const what = rest.join(' ');
        if (command?.toLowerCase() === 'evalsha' && what.includes(':rate:limited')) asked.add('rate');
        if (command?.toLowerCase() === 'mget' && what.includes(':gen}:')) asked.add('generations');
        if (asked.size === 2) resolve();
      });
    });
    // No reply comes, so a question that waits for the reply to another is never asked.
    await proxy.add({ toxic: 'timeout', ms: 0 });
    const read = gateway.get(ASSETS, path);
    await both;
    monitor.disconnect();
    // Without Redis the gateway counts by itself and asks the platform.
    expect((await read).status).toBe(200);
  });

  it.each([
    ['a miss', {}],
    ['a read past the cache', fresh],
  ])('asks for the generations once for %s, also where a page is made of a list', async (_, options) => {
    const gateway = await shared();
    // Makes the generations.
    await gateway.get(`${ASSETS}?pageSize=1`);
    await store.config('RESETSTAT');
    expect((await gateway.get(`${ASSETS}?pageSize=2`, options)).status).toBe(200);
    expect(/cmdstat_mget:calls=(\d+)/.exec(await store.info('commandstats'))?.[1]).toBe('1');
  });

  it('is invalidated once for each order', async () => {
    const gateway = await shared();
    const monitor = await store.monitor();
    const renewed: string[] = [];
    monitor.on('monitor', (_: string, [command, key = '']: string[]) => {
      if (command?.toLowerCase() === 'set' && key.includes(':gen}:'))
        renewed.push(key.split(':').at(-1) ?? '');
    });
    const order = await gateway.post('/v1/license-orders', orderOf(`N-${randomUUID()}`));
    expect(order.status).toBe(201);
    // Redis shows commands in the order of their execution: what the order did is there once this one is.
    const seen = new Promise<void>((resolve) => {
      monitor.on('monitor', (_: string, [, key]: string[]) => key === 'end' && resolve());
    });
    await store.get('end');
    await seen;
    monitor.disconnect();
    expect(renewed.sort()).toEqual(['all', 'any']);
  });

  it('treats a value that it cannot decrypt as missing', async () => {
    const { text } = await (await shared()).get(ASSETS);
    // The whole list; each process makes pages of it.
    const [key = '', ...others] = await kept();
    expect(others).toEqual([]);
    const value = (await store.get(key)) ?? '';
    const spoilt = ['', 'x', '{"value":{}}', value.slice(0, -8), value.replace('.k1.', '.k2.')];
    for (const each of spoilt) {
      await store.set(key, each);
      expect((await (await shared()).get(ASSETS)).text).toBe(text);
      // Else the store of this gateway would replace the next one.
      await until('the list is stored again', async () => (await store.get(key)) !== each);
    }
    await store.del(key);
    await store.lpush(key, 'a list');
    expect((await (await shared()).get(ASSETS)).text).toBe(text);
    expect(await calls()).toBe(2 + spoilt.length);
  });

  it('returns no old response when its generations are lost', async () => {
    const [one, other] = [await shared(), await shared()];
    expect(isLocked(await one.get(ASSETS))).toBe(false);
    expect(isLocked(await other.get(ASSETS))).toBe(false);
    await lock(one, true);
    for (const key of await store.keys('*:gen}*')) await store.del(key);
    expect(isLocked(await other.get(ASSETS))).toBe(true);
    expect(isLocked(await one.get(ASSETS))).toBe(true);
    await lock(one, false);
    await store.flushall();
    expect(isLocked(await other.get(ASSETS))).toBe(false);
    expect(isLocked(await one.get(ASSETS))).toBe(false);
  });

  it('is a miss during an outage of Redis, and no caller notices', async () => {
    const gateway = await shared();
    await gateway.get(ASSETS);
    const stop = new AbortController();
    const statuses = new Set<number>();
    const reader = (async () => {
      while (!stop.signal.aborted) {
        const answer = await gateway.get(ASSETS);
        statuses.add(answer.status);
      }
    })();
    await wait(50);
    await redis.kill9();
    await wait(200);
    for (const locked of [true, false, true]) {
      await lock(gateway, locked);
      expect(isLocked(await gateway.get(ASSETS))).toBe(locked);
    }
    stop.abort();
    await reader;
    expect([...statuses]).toEqual([200]);
    expect((await results(gateway))['error']).toBeGreaterThan(0);
  });

  it('shows no old response after an outage of Redis during a write, on the replica that wrote', async () => {
    const [one, other] = [await shared(), await shared()];
    expect(isLocked(await one.get(ASSETS))).toBe(false);
    // The server keeps its memory, but sends no reply.
    redis.process.kill('SIGSTOP');
    await lock(one, true);
    expect(isLocked(await one.get(ASSETS))).toBe(true);
    redis.process.kill('SIGCONT');
    const seen = new Set<boolean | undefined>();
    await until('the cache is used again', async () => {
      const answer = await one.get(ASSETS);
      seen.add(isLocked(answer));
      return answer.headers.has('age');
    });
    expect([...seen]).toEqual([true]);
    expect(isLocked(await other.get(ASSETS))).toBe(true);
  });
});
