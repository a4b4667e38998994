import { setImmediate as endOfTurn } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { endings } from '../../test/support/endings.ts';
import { knownStore } from '../../test/support/known-store.ts';
import { ledgerBegin } from '../../test/support/ledger-order.ts';
import { connect, PatientOrderStoreRedis } from '../../test/support/patient-redis.ts';
import { type RunningRedis, startRedis, until } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import type { State } from './ledger-record.ts';
import { MemoryMoveLog } from './memory-move-log.ts';
import { MemoryOrderLedger } from './memory-order-ledger.ts';
import {
  CURSOR,
  cursorOf,
  MAX_MOVES,
  type MoveLog,
  MOVES_KEPT_MS,
  MovesDropped,
  NO_MOVE,
} from './move-log.ts';
import type { OrderLedgerStore } from './order-ledger-store.ts';
import { RedisMoveLog } from './redis-move-log.ts';
import { RedisOrderLedger } from './redis-order-ledger.ts';
import { storeKeys } from './store-keys.ts';

const EPOCH = 'auto:spec';
const { moves: MOVES, importSlots: SLOTS, epoch } = storeKeys('env');
const { atEnd } = endings();

let redis: RunningRedis;
let direct: Redis;
beforeAll(async () => {
  redis = await startRedis();
  direct = new Redis(redis.url);
});
beforeEach(async () => {
  await direct.flushall();
  await direct.set(epoch, EPOCH);
});
afterAll(async () => {
  direct.disconnect();
  await redis.stop();
});

interface Both {
  readonly log: MoveLog;
  readonly ledger: OrderLedgerStore;
}

async function inRedis(replicated = false): Promise<Both> {
  const { orderStore } = settings({ ORDER_REDIS_URL: redis.url, ENCRYPTION_KEYS: newEncryptionKey() });
  const connection = new PatientOrderStoreRedis(orderStore, new RecordedLog().log, new Metrics());
  atEnd(() => connection.onApplicationShutdown());
  await connect(connection);
  const known = knownStore(() => EPOCH, { replicated });
  return {
    log: new RedisMoveLog(connection, 'env', known),
    ledger: new RedisOrderLedger(connection, 'env', known),
  };
}

function inTheProcess(): Promise<Both> {
  const log = new MemoryMoveLog();
  return Promise.resolve({ log, ledger: new MemoryOrderLedger(log) });
}

/** An order that is begun and moves to these states. */
async function movedIn(ledger: OrderLedgerStore, number: string, ...to: State[]): Promise<string> {
  const begin = ledgerBegin(number);
  await ledger.begin(begin);
  for (const state of to) await ledger.move({ name: begin.name, by: 'owner', owner: begin.owner, to: state });
  return begin.name;
}

describe.each([
  ['in Redis', () => inRedis()],
  ['in the process', inTheProcess],
])('the log of moves %s', (_, start) => {
  let log: MoveLog;
  let ledger: OrderLedgerStore;
  beforeEach(async () => {
    ({ log, ledger } = await start());
  });

  const moved = (number: string, ...to: State[]) => movedIn(ledger, number, ...to);
  const read = async (after?: string, count = 1_000) =>
    (await log.read(after, count)).found.map((move) => {
      const { state, details } = ledger.recordIn(move);
      return { id: move.id, is: `${details.order?.channelOrderId} ${state}` };
    });

  it('has each move of an order once, in their order, with the record after it; and no other write', async () => {
    expect(await log.newest()).toBe(NO_MOVE);
    const first = await moved('SO-1', 'in_doubt', 'succeeded');
    await moved('SO-2', 'rejected');
    await ledger.move({ name: first, by: 'operator', to: 'not_placed' });
    const write = ledgerBegin('', { name: 'write/1', details: { caller: 'billing' } });
    await ledger.begin(write);
    await ledger.move({ name: write.name, by: 'owner', owner: write.owner, to: 'in_doubt' });
    const all = await read();
    expect(all.map(({ is }) => is)).toEqual(['SO-1 in_doubt', 'SO-1 succeeded', 'SO-2 rejected']);
    for (const { id } of all) expect(id).toMatch(CURSOR);
    expect(all.map(({ id }) => id).toSorted()).toEqual([...new Set(all.map(({ id }) => id))]);
    expect(await log.newest()).toBe(all.at(-1)?.id);
  });

  it('has the end of a lease, whoever finds it', async () => {
    for (const number of ['SO-swept', 'SO-begun']) await ledger.begin(ledgerBegin(number, { leaseMs: 0 }));
    await ledger.begin(ledgerBegin('SO-begun'));
    await ledger.sweep();
    expect((await read()).map(({ is }) => is).toSorted()).toEqual(['SO-begun in_doubt', 'SO-swept in_doubt']);
  });

  it('gives all to readers of any size while several write, each once', async () => {
    const writers = Array.from({ length: 8 }, async (__, writer) => {
      for (let number = 0; number < 25; number++)
        await moved(`SO-${writer}-${number}`, 'in_doubt', 'succeeded');
    });
    const seen: string[] = [];
    let isOver = false;
    const all = Promise.all(writers).then(() => (isOver = true));
    for (let after: string | undefined; ;) {
      const wasOver = isOver;
      await endOfTurn();
      const page = await read(after, 7);
      seen.push(...page.map(({ is }) => is));
      after = page.at(-1)?.id ?? after;
      if (page.length === 0 && wasOver) break;
    }
    await all;
    expect(seen).toHaveLength(400);
    expect(new Set(seen).size).toBe(400);
    for (let writer = 0; writer < 8; writer++)
      expect(seen.indexOf(`SO-${writer}-9 in_doubt`)).toBeLessThan(seen.indexOf(`SO-${writer}-9 succeeded`));
  });

  it('drops nothing that is young, few and small', async () => {
    await moved('SO-1', 'succeeded');
    await log.trim();
    expect(await read()).toHaveLength(1);
  });
});

describe('what replicas do not have', () => {
  it('nobody is shown, since a failover could lose it', async () => {
    const { log, ledger } = await inRedis();
    const shown = async (from: MoveLog) => ({
      found: (await from.read(undefined, 10)).found.map(({ id }) => id),
      newest: await from.newest(),
    });
    await movedIn(ledger, 'SO-1', 'succeeded');
    const { newest } = await shown(log);
    const replicated = await inRedis(true);
    expect(await shown(replicated.log)).toEqual({ found: [], newest: NO_MOVE });
    const replica = await startRedis(['--replicaof', '127.0.0.1', String(redis.port)]);
    atEnd(() => replica.stop());
    await until('it is shown', async () => (await replicated.log.newest()) === newest);
    expect(await shown(replicated.log)).toEqual({ found: [newest], newest });
    // Also to who asks for a page only. A replica that has just come may take a while to acknowledge.
    await movedIn(ledger, 'SO-2', 'succeeded');
    const seen = async () => (await replicated.log.read(newest, 10)).found;
    await until('it is found', async () => (await seen()).length === 1);
    // A store that took over may know less of what was shown, and no replica acknowledges. A move that was shown is still there by its id.
    const [last] = await seen();
    await replica.stop();
    await direct.set(storeKeys('env').movesShown, '0-0');
    expect(await seen()).toEqual([]);
    expect(await replicated.log.one(last?.id ?? '')).toEqual(last);
  });
});

describe('what is dropped', () => {
  const DAY_AGO = Date.now() - MOVES_KEPT_MS - 60_000;
  const add = (id: string, size = 1) =>
    direct.xadd(MOVES, id, 'of', 'order', 'name', 'x', 'at', '1', 'record', `"${'x'.repeat(size)}"`);
  const ids = async (log: MoveLog, after?: string) => (await log.read(after, 10)).found.map(({ id }) => id);

  it('is what is older than is kept; a reader who has had it goes on, another is told where to', async () => {
    const { log, ledger } = await inRedis();
    for (let index = 0; index < 1_200; index++) await add(`${DAY_AGO}-${index}`);
    await ledger.begin(ledgerBegin('SO-1', { leaseMs: 0 }));
    await ledger.sweep();
    await log.trim();
    const [kept] = await ids(log);
    const last = cursorOf(`${DAY_AGO}-1199`);
    expect(await ids(log, last)).toEqual([kept]);
    const early = log.read(cursorOf(`${DAY_AGO}-1198`), 10);
    await expect(early).rejects.toEqual(new MovesDropped(last));
    await expect(early).rejects.toMatchObject({ oldest: last });
    // Also where nothing is left.
    await direct.xtrim(MOVES, 'MAXLEN', 0);
    expect(await log.newest()).toBe(last);
    expect(await ids(log, last)).toEqual([]);
  });

  it('is what the store has no room for beside the jobs', async () => {
    const { log } = await inRedis();
    await direct.config('SET', 'maxmemory', String(40 * 1024 * 1024));
    atEnd(() => direct.config('SET', 'maxmemory', '0'));
    const now = Date.now();
    for (let index = 0; index < 2_000; index++) await add(`${now}-${index}`, 1_000);
    await log.trim();
    expect(await direct.xlen(MOVES)).toBe(2_000);
    await direct.hset(SLOTS, 'job-1', JSON.stringify({ bytes: 3 * 1024 * 1024 }));
    await log.trim();
    const bytes = await direct.memory('USAGE', MOVES);
    expect(bytes).toBeLessThan(1.1 * 1024 * 1024);
    expect(await direct.xlen(MOVES)).toBeGreaterThan(500);
    // The newest stay.
    expect(await log.newest()).toBe(cursorOf(`${now}-1999`));
  });

  it('in the process: the oldest, once there are too many', async () => {
    const log = new MemoryMoveLog();
    for (let index = 0; index < MAX_MOVES / 10 + MAX_MOVES / 100 + 1; index++)
      log.add('order', 'x', 'succeeded', index, index);
    await expect(log.read(NO_MOVE, 1)).rejects.toBeInstanceOf(MovesDropped);
    const [oldest] = (await log.read(undefined, 1)).found;
    expect(oldest?.record).toBe(MAX_MOVES / 100 + 1);
  });
});
