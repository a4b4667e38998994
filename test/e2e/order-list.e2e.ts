import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { OrderLedgerRedis } from '../../src/order-ledger/order-ledger-redis.ts';
import { OrderLedgerKeeper } from '../../src/order-ledger/order-ledger-keeper.ts';
import { orderName } from '../../src/order-ledger/order-ledger-store.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { type RunningRedis, startRedis } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** Pages of orders from a store with many of them: the cost of a page, and which orders it has. */

/** More with a variable, and then the figures are printed: a million takes some minutes to write. */
const ORDERS = Number(process.env['LISTED_ORDERS'] ?? 20_000);
jest.setTimeout(300_000 + 2 * ORDERS);
const figures: string[] = [];
/** Each of this many enterprises has the same number of orders. */
const ENTERPRISES = 50;
const AT_ONCE = 2_000;
/** Commands that Redis may run for one page: its records, and the search for its position. */
const MOST_COMMANDS = 3_000;
/** Near the newest order no search is needed: each set is counted once, and read once. */
const MOST_FOR_THE_NEWEST = 50;

let sandbox: TestSandbox;
let redis: RunningRedis;
let gateway: GatewayInProcess;
let direct: Redis;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  redis = await startRedis();
  direct = new Redis(redis.url);
  gateway = await startInProcess(
    sandbox,
    { GUARD_REDIS_URL: redis.url, ENCRYPTION_KEYS: newEncryptionKey() },
    [
      { name: 'bound', scopes: ['orders:read'], enterprises: ['ent-1', 'ent-2'], channels: ['crm'] },
      { name: 'of-channel', scopes: ['orders:read'], enterprises: ['*'], channels: ['web'] },
    ],
  );
  const empty = await usedMemory();
  await fill(ORDERS);
  figures.push(
    `${Math.round(((await usedMemory()) - empty) / ORDERS)} bytes of Redis for each of ${ORDERS} orders`,
  );
});
afterAll(async () => {
  if (process.env['LISTED_ORDERS']) process.stdout.write(`${figures.join('\n')}\n`);
  await gateway.stop();
  direct.disconnect();
  await redis.stop();
  await sandbox.close();
});

const usedMemory = async () => Number(/^used_memory:(\d+)/m.exec(await direct.info('memory'))?.[1]);

const SECOND = 1_000_000;
const START = 1_700_000_000;

/** Writes orders as the gateway's scripts do, one a second, of one enterprise after the other. */
async function fill(count: number): Promise<void> {
  const { sealer } = gateway.app.get(OrderLedgerRedis);
  const [epoch] = (await direct.keys('*:guard}:epoch')) as [string];
  const prefix = epoch.slice(0, -'epoch'.length);
  for (let first = 0; first < count; first += AT_ONCE) {
    const pipeline = direct.pipeline();
    for (let index = first; index < Math.min(count, first + AT_ONCE); index++) {
      const enterpriseGlobalId = `ent-${index % ENTERPRISES}`;
      const channelOrderId = `SO-${index}`;
      const key = prefix + orderName('crm', channelOrderId);
      const ordered = [{ sequence: 1, orderType: 'new_buy', enterpriseGlobalId }];
      const order = {
        channelCode: 'crm',
        channelOrderId,
        syncMode: 'sync',
        ordered,
        items: [],
        reason: null,
      };
      const listed = `/crm\n/crm/${enterpriseGlobalId}`;
      const time = (START + index) * SECOND;
      pipeline.hset(key, {
        ...{ version: '1', state: 'succeeded', owner: 'me', fingerprint: 'k:1', listed },
        ...{ submittedAt: time / 1_000, settledAt: time / 1_000, leaseUntil: time / 1_000 },
        details: sealer?.seal(JSON.stringify({ caller: 'tester', order }), key) ?? '',
      });
      for (const base of ['', ...listed.split('\n')])
        pipeline.zadd(`${prefix}orders${base}:succeeded`, time, key);
    }
    await pipeline.exec();
  }
}

/** How many commands Redis runs during an action, those of scripts included. */
async function commandsOf(work: () => Promise<unknown>): Promise<number> {
  await direct.config('RESETSTAT');
  await work();
  const stats = await direct.info('commandstats');
  return [
    ...stats.matchAll(/^cmdstat_(?:zcount|zrevrangebyscore|hmget|zrevrange|hgetall|zrange\w*):calls=(\d+)/gm),
  ]
    .map(([, calls]) => Number(calls))
    .reduce((sum, calls) => sum + calls, 0);
}

const at = (index: number) => new Date((START + index) * 1_000).toISOString();
const numbersOf = ({ body }: TestAnswer) =>
  (body['items'] as { channelOrderId: string }[]).map(({ channelOrderId }) =>
    Number(channelOrderId.slice(3)),
  );

describe('K37 a page of orders', () => {
  it.each(['first', 'middle', 'last'])(
    'of a bound caller costs as little in a large store: the %s',
    async (which) => {
      // For two enterprises of fifty, the newest first.
      const own = Array.from({ length: ORDERS }, (_, index) => index)
        .filter((index) => [1, 2].includes(index % ENTERPRISES))
        .reverse();
      const pages = Math.ceil(own.length / 20);
      const page = { first: 1, middle: Math.ceil(pages / 2), last: pages }[which] as number;
      let answer: TestAnswer | undefined;
      const commands = await commandsOf(async () => {
        const startedAt = performance.now();
        answer = await gateway.get(`/v1/license-orders?page=${page}&pageSize=20`, {
          key: gateway.keys['bound'] as string,
        });
        figures.push(`the ${which} of ${pages} pages: ${Math.round(performance.now() - startedAt)} ms`);
      });
      figures.push(`and ${commands} commands in Redis`);
      expect(answer?.body).toMatchObject({ total: own.length, totalPages: pages });
      expect(numbersOf(answer as TestAnswer)).toEqual(own.slice(20 * (page - 1), 20 * page));
      expect(commands).toBeLessThan(which === 'first' ? MOST_FOR_THE_NEWEST : MOST_COMMANDS);
    },
  );

  it('has the filters of the query, alone and together', async () => {
    const query = `submittedAfter=${at(102)}&submittedBefore=${at(202)}`;
    expect((await gateway.get(`/v1/license-orders?${query}`)).body['total']).toBe(100);
    const own = `${query}&enterpriseGlobalId=ent-2&channelCode=crm&state=succeeded`;
    expect(numbersOf(await gateway.get(`/v1/license-orders?${own}`))).toEqual([152, 102]);
    expect((await gateway.get(`/v1/license-orders?${own}&page=9`)).body).toMatchObject({
      items: [],
      total: 2,
    });
    expect((await gateway.get(`/v1/license-orders?${query}&state=in_doubt`)).body['total']).toBe(0);
    expect((await gateway.get('/v1/license-orders?submittedAfter=yesterday')).status).toBe(400);
  });

  it('has no order outside the grants, with every filter', async () => {
    const key = gateway.keys['bound'] as string;
    const foreign = await gateway.get('/v1/license-orders?enterpriseGlobalId=ent-3', { key });
    expect([foreign.status, foreign.body['code']]).toEqual([403, 'forbidden']);
    const { body } = await gateway.get('/v1/license-orders/crm/SO-3', { key });
    expect(body['code']).toBe('order-not-found');
    expect((await gateway.get('/v1/license-orders/crm/SO-2', { key })).status).toBe(200);
    const channel = await gateway.get('/v1/license-orders', { key: gateway.keys['of-channel'] as string });
    expect(channel.body['total']).toBe(0);
  });

  it('is abandoned when its caller hangs up', async () => {
    const { store } = gateway.app.get(OrderLedgerKeeper);
    const gone = new AbortController();
    const commands = await commandsOf(async () => {
      const page = store.list({}, 0, 1_000, gone.signal);
      gone.abort();
      await expect(page).rejects.toThrow();
    });
    expect(commands).toBeLessThan(100);
  });
});
