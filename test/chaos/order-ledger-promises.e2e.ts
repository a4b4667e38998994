import { setTimeout as wait } from 'node:timers/promises';
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
import { isDenial } from './orders/check.ts';
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
  it('is there after the store was killed, over 1,500 writes and six kills', async () => {
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
        Array.from({ length: 100 }, async () => {
          while (acknowledged.length < enough) {
            const name = `SO-${next++}`;
            if (await begin(store, name)) acknowledged.push(name);
            else await until('the store is back', () => redis.status === 'up');
          }
        }),
      );
    for (const enough of [300, 600, 900, 1_200, 1_500]) {
      const writing = goOn(enough);
      await until('half of them are written', () => acknowledged.length >= enough - 150);
      await server.kill();
      await server.restart();
      await writing;
    }
    await server.kill();
    await server.restart();
    await until('it is back', () => redis.status === 'up');
    let lost = 0;
    for (const name of acknowledged) if (!(await patiently(() => store.read(orderName('crm', name))))) lost++;
    say(`recorded writes acknowledged ${acknowledged.length}, lost in 6 kills ${lost}`);
    expect(acknowledged.length).toBeGreaterThanOrEqual(1_500);
    expect(lost).toBe(0);
  }, 300_000);
});

describe('An order', () => {
  it('is in doubt soon after its lease, without a request, when its gateway was killed', async () => {
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
  }, 180_000);

  it('is carried out and recorded when its caller hangs up: 100 of 100', async () => {
    const stage = await stageOf({ processes: 2, environment: { UPSTREAM_ORDER_DEADLINE_MS: '60000' } });
    const names = Array.from({ length: 100 }, (_, index) => `hung-up-${index}`);
    const callers = new Map(names.map((name) => [name, new AbortController()]));
    const placed = Promise.all(
      [...callers].map(([name, { signal }], index) =>
        stage.desk.insist(index % 2, name, 'very-late-commit', signal).finally(() => callers.delete(name)),
      ),
    );
    // Each hangs up when the platform has its order.
    while (callers.size > 0) {
      for (const { body } of await stage.sandbox.journal('batchOrder'))
        callers.get((body as { channelOrderId: string }).channelOrderId)?.abort();
      await wait(100);
    }
    const hungUp = (await placed).filter(({ status }) => status === 0).length;
    await stage.settled();
    const records = await Promise.all(names.map((name) => stage.desk.find(name)));
    const succeeded = records.filter((record) => record?.state === 'succeeded').length;
    const commits = (await stage.sandbox.commits()).filter(({ channelOrderId }) =>
      names.includes(channelOrderId),
    );
    say(`callers that hung up ${hungUp}; carried out ${commits.length}, recorded as succeeded ${succeeded}`);
    expect(hungUp).toBeGreaterThan(names.length / 2);
    expect(new Set(commits.map(({ channelOrderId }) => channelOrderId)).size).toBe(names.length);
    expect(commits).toHaveLength(names.length);
    expect(succeeded).toBe(names.length);
  }, 240_000);

  it('is refused at once and not sent while the order store is frozen, and is sent once it continues', async () => {
    const stage = await stageOf({ processes: 1, environment: { UPSTREAM_ORDER_DEADLINE_MS: '30000' } });
    const names = Array.from({ length: 20 }, (_, index) => `frozen-${index}`);
    const before = (await stage.sandbox.journal('batchOrder')).length;
    stage.store.running.freeze();
    const times: number[] = [];
    for (const name of names) {
      const started = performance.now();
      const answer = await stage.desk.place(0, name, 'none');
      times.push(performance.now() - started);
      expect(answer).toMatchObject({ status: 503, code: 'dependency-unavailable', outcome: 'not_processed' });
      expect(isDenial(answer)).toBe(true);
    }
    const sent = (await stage.sandbox.journal('batchOrder')).length - before;
    times.sort((one, other) => one - other);
    const [median = 0, longest = 0] = [times[10], times[19]];
    say(
      `order store frozen: ${sent} sent, refused in ${median.toFixed(0)} ms, at most ${longest.toFixed(0)} ms`,
    );
    expect(sent).toBe(0);
    expect(median).toBeLessThan(1_000);
    // Requests in the frozen store's socket are undone, so the numbers are free again.
    stage.store.running.thaw();
    await Promise.all(
      names.map((name) =>
        until(`${name} is placed`, async () => (await stage.desk.place(0, name, 'none')).status === 201),
      ),
    );
    const commits = (await stage.sandbox.commits()).filter(({ channelOrderId }) =>
      names.includes(channelOrderId),
    );
    expect(commits).toHaveLength(names.length);
  }, 180_000);
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
