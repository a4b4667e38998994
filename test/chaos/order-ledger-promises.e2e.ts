import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
import { ask, freePort, startRedis, until } from '../support/redis.ts';
import { RecordedLog, settings } from '../support/settings.ts';
import { type Answer, isDenial } from './check.ts';
import { Stage } from './stage.ts';

/* The promises of the order ledger, one in each test, with real processes. Needs the build (`nest build`). */

const say = (text: string) => process.stderr.write(`${text}\n`);
const { atEnd } = endings();

async function stageOf(options: Parameters<typeof Stage.set>[0]): Promise<Stage> {
  const stage = await Stage.set(options);
  atEnd(() => stage.clear());
  return stage;
}

describe('Every write that the order store has acknowledged', () => {
  it('is there after the store was killed, over 10,000 writes and five kills', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'order-store-'));
    atEnd(() => rmSync(folder, { recursive: true, force: true }));
    const port = String(await freePort());
    const start = () =>
      startRedis(['--port', port, '--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always']);
    let server = await start();
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
    for (const enough of [2_000, 4_000, 6_000, 8_000, 10_000]) {
      const writing = goOn(enough);
      await until('half of them are written', () => acknowledged.length >= enough - 1_000);
      await server.kill9();
      server = await start();
      await writing;
    }
    await server.kill9();
    server = await start();
    await until('it is back', () => redis.status === 'up');
    let lost = 0;
    for (const name of acknowledged) if (!(await patiently(() => store.read(orderName('crm', name))))) lost++;
    say(`recorded writes acknowledged ${acknowledged.length}, lost in 6 kills ${lost}`);
    expect(acknowledged.length).toBeGreaterThanOrEqual(10_000);
    expect(lost).toBe(0);
  }, 300_000);
});

describe('An order', () => {
  it('is in doubt soon after its lease, without a request, when its gateway was killed', async () => {
    // Long enough for the gateway to be killed before it gives up by itself.
    const deadlineMs = 5_000;
    const stage = await stageOf({
      processes: 2,
      environment: { UPSTREAM_ORDER_DEADLINE_MS: String(deadlineMs) },
    });
    const name = 'killed-after-commit';
    void insist(stage, 0, name, 'silence-after-commit');
    await until('it is carried out', async () =>
      (await stage.sandbox.commits()).some(({ channelOrderId }) => channelOrderId === name),
    );
    const restarted = stage.killGateway(0);
    await until('it is in doubt', async () => (await stage.find(name))?.state === 'in_doubt');
    const seenAt = Date.now();
    await restarted;
    const record = await stage.find(name);
    const leaseEnd = Date.parse(record?.submittedAt ?? '') + deadlineMs + 5_000;
    const afterMs = seenAt - leaseEnd;
    say(`killed after the platform had accepted: in doubt ${afterMs} ms after the end of the lease`);
    expect(afterMs).toBeGreaterThan(-1_000);
    // Within a second on a machine that is idle. Without a gateway that looks for it, never.
    expect(afterMs).toBeLessThan(10_000);
    expect(await insist(stage, 1, name, 'silence-after-commit')).toMatchObject({
      code: 'outcome-unknown',
      outcome: 'unknown',
      retryable: false,
    });
    expect(await patiently(() => stage.records.count('in_doubt'))).toBe(1);
  }, 180_000);

  it('is carried out and recorded when its caller hangs up: 500 of 500', async () => {
    const stage = await stageOf({ processes: 2, environment: { UPSTREAM_ORDER_DEADLINE_MS: '60000' } });
    const names = Array.from({ length: 500 }, (_, index) => `hung-up-${index}`);
    const callers = new Map(names.map((name) => [name, new AbortController()]));
    const placed = Promise.all(
      [...callers].map(([name, { signal }], index) =>
        insist(stage, index % 2, name, 'very-late-commit', signal).finally(() => callers.delete(name)),
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
    const records = await Promise.all(names.map((name) => stage.find(name)));
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
    stage.orderStore.freeze();
    const times: number[] = [];
    for (const name of names) {
      const started = performance.now();
      const answer = await stage.place(0, name, 'none');
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
    stage.orderStore.thaw();
    await Promise.all(
      names.map((name) =>
        until(`${name} is placed`, async () => (await stage.place(0, name, 'none')).status === 201),
      ),
    );
    const commits = (await stage.sandbox.commits()).filter(({ channelOrderId }) =>
      names.includes(channelOrderId),
    );
    expect(commits).toHaveLength(names.length);
  }, 180_000);
});

/** A busy machine may refuse an order; this had no effect, and the caller sends it again. */
async function insist(stage: Stage, ...order: Parameters<Stage['place']>): Promise<Answer> {
  for (;;) {
    const answer = await stage.place(...order);
    if (answer.status !== 503 || answer.outcome !== 'not_processed') return answer;
    await wait(100);
  }
}

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
