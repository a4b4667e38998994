import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { orderName } from '../../src/order-ledger/ledger-record.ts';
import { storeKeys } from '../../src/order-ledger/store-keys.ts';
import { environmentName } from '../../src/redis/key-names.ts';
import { Sealer } from '../../src/kit/sealed-store/sealed-store.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { ledgerOrder } from '../support/ledger-order.ts';
import { settings } from '../support/settings.ts';
import { useStack } from '../support/stack.ts';
import { newEncryptionKey } from '../support/canary.ts';

/** Pages of orders from a store with many of them: the cost of a page, and which orders it has. */

const ORDERS = 14_000;
/** Each of this many enterprises has the same number of orders. */
const ENTERPRISES = 50;
const AT_ONCE = 2_000;
/** Commands that Redis may run for one page: its records, and the search for its position. */
const MAX_COMMANDS = 3_000;
/** Near the newest order no search is needed: each set is counted once, and read once. */
const MAX_FOR_THE_NEWEST = 50;

const ENCRYPTION_KEYS = newEncryptionKey();
const stack = useStack({
  database: 'postgres',
  environment: { ENCRYPTION_KEYS },
  callers: [
    { name: 'bound', scopes: ['orders:read'], enterprises: ['ent-1', 'ent-2'], channels: ['crm'] },
    { name: 'of-channel', scopes: ['orders:read'], enterprises: ['*'], channels: ['web'] },
  ],
});
const { sandbox, gateway } = stack;
let direct: Redis;

beforeAll(async () => {
  direct = new Redis(stack.redis().url);
  await fill(ORDERS);
});
afterAll(() => direct.disconnect());

const SECOND = 1_000_000;
const START = 1_700_000_000;

/** Writes orders as the gateway's scripts do, one a second, of one enterprise after the other. */
async function fill(count: number): Promise<void> {
  const { orderStore } = settings({ ORDER_REDIS_URL: stack.redis().url, ENCRYPTION_KEYS });
  const sealer = new Sealer(orderStore.encryptionKeys);
  const { prefix } = storeKeys(environmentName(new URL(sandbox.url)));
  for (let first = 0; first < count; first += AT_ONCE) {
    const pipeline = direct.pipeline();
    for (let index = first; index < Math.min(count, first + AT_ONCE); index++) {
      const enterpriseGlobalId = `ent-${index % ENTERPRISES}`;
      const channelOrderId = `SO-${index}`;
      const key = prefix + orderName('crm', channelOrderId);
      const ordered = [{ sequence: 1, orderType: 'new_buy' as const, enterpriseGlobalId }];
      const order = ledgerOrder(channelOrderId, { ordered });
      const listed = `/crm\n/crm/${enterpriseGlobalId}`;
      const time = (START + index) * SECOND;
      pipeline.hset(key, {
        ...{ version: '1', state: 'succeeded', owner: 'me', fingerprint: 'k:1', listed },
        ...{ submittedAt: time / 1_000, settledAt: time / 1_000, leaseUntil: time / 1_000 },
        details: sealer.seal(JSON.stringify({ caller: 'tester', order }), key),
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
        const key = gateway.keys['bound'] as string;
        answer = await gateway.get(`/v1/license-orders?page=${page}&pageSize=20`, { key });
      });
      expect(answer?.body).toMatchObject({ total: own.length, totalPages: pages });
      expect(numbersOf(answer as TestAnswer)).toEqual(own.slice(20 * (page - 1), 20 * page));
      expect(commands).toBeLessThan(which === 'first' ? MAX_FOR_THE_NEWEST : MAX_COMMANDS);
    },
  );

  it('has the filters of the query, alone and together, names the next one, and is 304 where it is known', async () => {
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
    const { body } = await gateway.get('/v1/license-orders', { key: gateway.keys['of-channel'] ?? '' });
    expect(body['total']).toBe(0);

    const path = '/v1/license-orders?pageSize=2';
    const { headers } = await gateway.get(path);
    expect(headers.get('link')).toContain(`<${path}&page=2>; rel="next"`);
    const known = { 'if-none-match': headers.get('etag') ?? '', 'cache-control': 'max-age=0' };
    expect((await gateway.get(path, { headers: known })).status).toBe(304);
    expect((await gateway.get(`${path}&page=2`, { headers: known })).status).toBe(200);
  });
});
