import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../support/redis.ts';
import type { Act } from '../engine.ts';
import { isSuccess } from './check.ts';
import { inParallel, numbered } from './desk.ts';
import { feedFaults } from './feed.ts';
import { LATE_MS, LEASE_MS, type OrderSizes, type PlannedKill, planOf } from './plan.ts';
import type { OrderStage } from './stage.ts';

/** Orders that are handed in at a time. */
const AT_ONCE = 40;
const FEW_AT_ONCE = 6;
/** Submits wait for the kills after so many orders. */
const KILLS_EVERY = 25;
const HOUR_MS = 3_600_000;
/** Deliveries that are to be tried again wait so much longer. */
const BACK_MS = 3_000;

/**
 * The database has lost commits. No gateway takes orders, whatever callers send again; and they go on as soon as an operator has confirmed the
 * database as it is.
 */
async function goesBack(stage: OrderStage, names: readonly string[]): Promise<readonly string[]> {
  const took = (await stage.haveStopped()) ? [] : ['orders go on, and the database has lost commits'];
  for (const gateway of stage.all)
    await Promise.all(names.map((name) => stage.desk.submit(name, { at: [gateway], tries: 4 })));
  const found = [...took, ...(await stage.judged({ lost: true }))];
  if (found.length === 0) await stage.confirm();
  return found;
}

async function carryOut(stage: OrderStage, { what }: PlannedKill): Promise<void> {
  if (typeof what === 'number') return stage.killGateway(what);
  if (what === 'database') return stage.killDatabase();
  if (what === 'restart') return stage.server.restart();
  return what === 'cut' ? stage.server.cut() : stage.killRedis();
}

/** Acts that break the database. */
export const databaseActs = {
  /**
   * A gateway whose database was away cannot begin an order, and reports later that nothing was sent. Meanwhile another gateway has sent the
   * same order: that report must not release it.
   */
  strangers: async (stage) => {
    const names = numbered('strange', 3);
    const [first = 0, second = 0] = stage.all;
    const { gateway, proxy, end } = await stage.throughProxy();
    const reports = () =>
      stage.fleet.gateways[gateway]?.output().split('"event":"order-result-late"').length ?? 0;
    for (const name of names) await stage.desk.insist(first, name, 'reset-after-commit');
    await proxy.add({ toxic: 'timeout', direction: 'upstream', ms: 0 });
    await Promise.all(names.map((name) => stage.desk.place(gateway, name, 'reset-after-commit')));
    await proxy.clear();
    await until('the gateway has reported what it did not send', () => reports() > names.length);
    for (const name of names) await stage.desk.submit(name, { at: [second], fault: 'reset-after-commit' });
    await end();
    return stage.judged();
  },

  /** The database is killed, gets requests while it is down, and is started again; a gateway joins that never saw it before. */
  'database-killed': async (stage) => {
    const names = numbered('kept', 20);
    await stage.server.holdLog();
    await stage.handIn(names, stage.all);
    // Nothing may be sent without a record, and the judge finds none for what was.
    await stage.killDatabase(() =>
      inParallel(numbered('away', 20), AT_ONCE, (name) =>
        Promise.all(stage.all.map((gateway) => stage.desk.place(gateway, name))),
      ),
    );
    await stage.killGateway(0);
    if (await stage.haveStopped()) return ['the database has lost what it had acknowledged'];
    await stage.handIn(names, stage.all);
    return stage.judged();
  },

  /** Many orders, each submitted several times at once, while gateways, their database and Redis are killed; and once more afterwards. */
  crowd: async (stage, sizes) => {
    const { orders, kills: planned } = planOf(sizes);
    const kills = [...planned];
    let handedIn = 0;
    let killing = Promise.resolve();
    await inParallel(orders, AT_ONCE, async ({ channelOrderId, fault, gateways }) => {
      handedIn++;
      const due = kills.findIndex(({ after }) => after > handedIn);
      for (const kill of kills.splice(0, due < 0 ? kills.length : due))
        killing = killing.then(() => carryOut(stage, kill));
      // Kills take their time.
      if (handedIn % KILLS_EVERY === 0) await killing;
      await Promise.all(
        gateways.map((_, from) =>
          stage.desk.submit(channelOrderId, {
            at: [...gateways.slice(from), ...gateways.slice(0, from)],
            fault,
          }),
        ),
      );
    });
    await killing;
    // Processes that were killed have left these leases.
    await stage.endLeases(LEASE_MS);
    await stage.settled();
    await inParallel(orders, AT_ONCE, ({ channelOrderId, fault }) =>
      stage.desk.submit(channelOrderId, { fault }),
    );
    await stage.settled();
    await sleep(LATE_MS);
    return stage.judged({ forgetful: true });
  },

  /** The clock of the database's server steps while orders are under way: none runs again, and what the platform said of each is kept. */
  'clock-steps': async (stage) => {
    const known: string[] = [];
    for (const aheadMs of [HOUR_MS, 2 * HOUR_MS, 2 * HOUR_MS - BACK_MS]) {
      const names = numbered(`clock-${aheadMs}`, 6);
      const placing = stage.handIn(names, [0], 'long');
      await until('they have arrived', async () => {
        const arrived = await stage.desk.arrived();
        return names.every((name) => arrived.includes(name));
      });
      stage.server.step(aheadMs);
      await placing;
      known.push(...names);
      await stage.handIn(known, stage.all, 'long');
    }
    return stage.judged();
  },

  /** The database's server dies under orders, and a synchronous standby takes its place: orders go on by themselves, and nothing is missing. */
  failover: async (stage) => {
    const names = numbered('failover', 24);
    await stage.server.follow('synchronous');
    const placing = inParallel(names, AT_ONCE, (name, index) =>
      stage.desk.submit(name, { at: [index % stage.all.length], fault: 'slow', tries: 80 }),
    );
    await until('half have arrived', async () => {
      return (await stage.desk.arrived()).filter((name) => names.includes(name)).length >= names.length / 2;
    });
    await stage.server.failOver();
    await placing;
    if (await stage.haveStopped()) return ['the standby lacks commits'];
    await stage.handIn(names, stage.all, 'slow');
    return stage.judged();
  },

  /** A standby takes its place that lacks the last commits. */
  'lagging-failover': async (stage) => {
    const names = numbered('lagging', 20);
    await stage.handIn(names.slice(0, 10), [0]);
    await stage.server.follow('asynchronous');
    await stage.server.strand();
    await stage.handIn(names.slice(10), stage.all.slice(-1));
    await stage.lose(() => stage.server.failOver());
    return goesBack(stage, names);
  },

  /** The database's server gets a base backup back that lacks the last commits. */
  'gone-back': async (stage) => {
    const names = numbered('gone-back', 20);
    await stage.handIn(names.slice(0, 10), [0]);
    await stage.server.backUp();
    await stage.handIn(names.slice(10), stage.all.slice(-1));
    await stage.lose(() => stage.server.restore());
    return goesBack(stage, names);
  },

  /** Kills a gateway with a database in a file while it places orders. The next one goes on with the file. */
  'file-killed': async (stage, { fileKills }) => {
    const over = new AbortController();
    let orders = 0;
    const place = async () => {
      while (!over.signal.aborted) await stage.desk.submit(`file-${orders++}`, { tries: 40 });
    };
    const placing = Array.from({ length: FEW_AT_ONCE }, place);
    const placed = () => stage.desk.answered.filter(({ isFirst }) => isFirst).length;
    for (let kill = 0; kill < fileKills; kill++) {
      const before = placed();
      await until('orders are placed', () => placed() >= before + FEW_AT_ONCE);
      await stage.killGateway(0);
    }
    over.abort();
    await Promise.all(placing);
    await stage.endLeases(LEASE_MS);
    await stage.settled();
    return stage.judged({ forgetful: true });
  },

  /** The database is emptied, and earlier orders are submitted again. The last act of its stage: afterwards no order is sent. */
  emptied: async (stage) => {
    const names = numbered('emptied', 20);
    await stage.handIn(names, [0]);
    // Afterwards nobody can read it.
    const untrue = await feedFaults(stage.fleet, stage.hook);
    await stage.lose(() => stage.empty());
    const took = (await stage.haveStopped()) ? [] : ['orders go on, and the database was emptied'];
    // A gateway that makes it ready by itself needs a moment for it.
    await stage.desk.submit(names[0] ?? '', { tries: 40 });
    const after = await Promise.all(
      names.flatMap((name) =>
        stage.all.map((gateway) => stage.desk.submit(name, { at: [gateway], tries: 4 })),
      ),
    );
    const claimed = after.some(isSuccess) ? ['a success without a record'] : [];
    return [...untrue, ...took, ...claimed, ...(await stage.judged({ lost: true }))];
  },
} satisfies Record<string, Act<OrderStage, OrderSizes>>;
