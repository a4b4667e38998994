import { describe, expect, it } from '@jest/globals';
import {
  type OrderLedgerStore,
  OrderLedgerUnavailable,
  orderName,
} from '../../src/order-ledger/order-ledger-store.ts';
import { RedisOrderLedger } from '../../src/order-ledger/redis-order-ledger.ts';
import { storeKeys } from '../../src/order-ledger/store-keys.ts';
import { OrderLedgerRedis } from '../../src/order-ledger/order-ledger-redis.ts';
import { Metrics } from '../../src/observability/metrics.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { knownStore } from '../support/known-store.ts';
import { endings } from '../support/endings.ts';
import { ledgerBegin } from '../support/ledger-order.ts';
import { ask, until } from '../support/redis.ts';
import { RecordedLog, settings } from '../support/settings.ts';
import { type Answer, isSuccess } from './orders/check.ts';
import { OrderStage } from './orders/stage.ts';
import { DurableStore } from './stage.ts';

/* The promises of the order ledger, one in each test, with real processes. Needs the build (`nest build`). */

const say = (text: string) => process.stderr.write(`${text}\n`);
const { atEnd } = endings();

async function stageOf(...setting: Parameters<typeof OrderStage.set>): Promise<OrderStage> {
  const stage = await OrderStage.set(...setting);
  atEnd(() => stage.clear());
  return stage;
}

describe('Every write that the order store has acknowledged', () => {
  it('is there after the store was killed, over 600 writes and four kills', async () => {
    const server = await DurableStore.start();
    atEnd(() => server.stop());
    const epoch = 'operator:1';
    await ask(server, (client) => client.set(storeKeys('chaos').epoch, epoch));
    const keys = newEncryptionKey();
    const config = settings({ GUARD_REDIS_URL: server.url, ENCRYPTION_KEYS: keys });
    const redis = new OrderLedgerRedis(config.orderStore, new RecordedLog().log, new Metrics());
    atEnd(() => redis.onApplicationShutdown());
    await redis.onModuleInit();
    const store = new RedisOrderLedger(
      redis,
      'chaos',
      knownStore(() => epoch),
    );

    const acknowledged: string[] = [];
    let next = 0;
    const goOn = (enough: number) =>
      Promise.all(
        Array.from({ length: 50 }, async () => {
          while (acknowledged.length < enough) {
            const name = `SO-${next++}`;
            if (await begin(store, name)) acknowledged.push(name);
            else await until('the store is back', () => redis.status === 'up');
          }
        }),
      );
    for (const enough of [200, 400, 600]) {
      const writing = goOn(enough);
      await until('half of them are written', () => acknowledged.length >= enough - 100);
      await server.kill();
      await server.restart();
      await writing;
    }
    await server.kill();
    await server.restart();
    await until('it is back', () => redis.status === 'up');
    let lost = 0;
    for (const name of acknowledged) if (!(await patiently(() => store.read(orderName('crm', name))))) lost++;
    say(`recorded writes acknowledged ${acknowledged.length}, lost in 4 kills ${lost}`);
    expect(acknowledged.length).toBeGreaterThanOrEqual(600);
    expect(lost).toBe(0);
  }, 300_000);
});

describe('An order', () => {
  it('P6 is in doubt soon after its lease, without a request, and never sent again, when its gateway was killed', async () => {
    // Long enough for the gateway to be killed before it gives up by itself.
    const deadlineMs = 2_000;
    const stage = await stageOf({
      processes: 2,
      environment: { UPSTREAM_ORDER_DEADLINE_MS: String(deadlineMs) },
    });
    const name = 'killed-after-commit';
    void stage.desk.insist(0, name, 'silence-after-commit');
    await until('it is carried out', async () =>
      (await stage.sandbox.commits()).some(({ channelOrderId }) => channelOrderId === name),
    );
    const restarted = stage.killGateway(0);
    await until('it is in doubt', async () => (await stage.desk.find(name))?.state === 'in_doubt');
    const seenAt = Date.now();
    await restarted;
    const record = await stage.desk.find(name);
    const leaseEnd = Date.parse(record?.submittedAt ?? '') + deadlineMs + 5_000;
    const afterMs = seenAt - leaseEnd;
    say(`killed after the platform had accepted: in doubt ${afterMs} ms after the end of the lease`);
    expect(afterMs).toBeGreaterThan(-1_000);
    // Within a second on a machine that is idle. Without a gateway that looks for it, never.
    expect(afterMs).toBeLessThan(10_000);
    expect(await stage.desk.insist(1, name, 'silence-after-commit')).toMatchObject({
      code: 'outcome-unknown',
      outcome: 'unknown',
      retryable: false,
    });
    expect(await patiently(() => stage.records.count('in_doubt'))).toBe(1);
    expect((await stage.desk.arrived()).filter((arrived) => arrived === name)).toHaveLength(1);
  }, 180_000);

  it('K23 is carried out and recorded, once, when its caller hangs up: 60 of 60', async () => {
    const stage = await stageOf({ processes: 2, environment: { UPSTREAM_ORDER_DEADLINE_MS: '60000' } });
    const callers = Array.from({ length: 60 }, (_, index) => {
      const name = `hung-up-${index}`;
      const hangUp = new AbortController();
      const told: Answer[] = [];
      const send = async () => {
        // A connection that ended by itself is no hang-up: then the platform may not have the order, and its caller sends it again.
        while (!hangUp.signal.aborted && !told.some(isSuccess)) {
          const answer = await stage.desk.insist(index % 2, name, 'very-late-commit', hangUp.signal);
          told.push(answer);
          // What no caller here expects, such as a connection that ended by itself.
          if (!hangUp.signal.aborted && !isSuccess(answer)) say(`${name}: ${JSON.stringify(answer)}`);
        }
      };
      return { name, hangUp, told, sent: send() };
    });
    // Each hangs up when the platform has its order; one whose order does not arrive is told below.
    await until('the platform has each order', async () => {
      const arrived = new Set(await stage.desk.arrived());
      for (const { name, hangUp } of callers) if (arrived.has(name)) hangUp.abort();
      return callers.every(({ hangUp, told }) => hangUp.signal.aborted || told.some(isSuccess));
    }).catch(() => undefined);
    for (const { hangUp } of callers) hangUp.abort();
    await Promise.all(callers.map(({ sent }) => sent));
    const hungUp = callers.filter(({ told }) => told.at(-1)?.status === 0).length;
    await stage.settled();
    const commits = await stage.sandbox.commits();
    const journal = await stage.sandbox.journal('batchOrder');
    const odd: object[] = [];
    for (const { name, told } of callers) {
      const carriedOut = commits.filter(({ channelOrderId }) => channelOrderId === name).length;
      const record = await stage.desk.find(name);
      if (carriedOut === 1 && record?.state === 'succeeded') continue;
      const its = journal.filter(({ body }) => (body as { channelOrderId: string }).channelOrderId === name);
      odd.push({ name, told, carriedOut, record, journal: its });
    }
    say(`callers that hung up ${hungUp}; orders that were not carried out and recorded ${odd.length}`);
    expect(odd).toEqual([]);
    expect(hungUp).toBeGreaterThan(callers.length / 2);
  }, 240_000);
});

async function begin(store: OrderLedgerStore, channelOrderId: string): Promise<boolean> {
  // An order: the number of other writes of a caller is limited.
  const write = ledgerBegin(channelOrderId, { leaseMs: 3_600_000 });
  try {
    expect(await store.begin(write)).toMatchObject({ kind: 'begun' });
    return true;
  } catch (error) {
    if (error instanceof OrderLedgerUnavailable && error.reason === 'away') return false;
    throw error;
  }
}

/** Repeats while a busy machine is too slow for the store. */
async function patiently<T>(read: () => Promise<T>): Promise<T> {
  let result!: T;
  await until('the store answers', async () => {
    result = await read();
    return true;
  });
  return result;
}
