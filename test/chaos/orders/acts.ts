import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../support/redis.ts';
import type { Act } from '../engine.ts';
import { isSuccess } from './check.ts';
import { inParallel, numbered } from './desk.ts';
import { type Fault, faults, LATE_MS, LEASE_MS, type OrderSizes, type PlannedKill, planOf } from './plan.ts';
import { feedFaults } from './feed.ts';
import type { OrderStage } from './stage.ts';

/** Orders that are handed in at a time. */
const AT_ONCE = 40;
const FEW_AT_ONCE = 6;
/** Submits wait for the kills after so many orders. */
const KILLS_EVERY = 25;
/** As long as callers retry, so that a failure without the store becomes visible. */
const STORE_AWAY_MS = 400;
/** Callers who hang up: how many are looked at, how many do so at a time, and how often as many try. */
const HANG_UPS = 10;
const PAIRS = 5;
const MAX_ROUNDS = 20;

async function judged(
  stage: OrderStage,
  how: { forgetful?: boolean; lost?: boolean } = {},
): Promise<readonly string[]> {
  const { orders, faults: found } = await stage.desk.judge(how);
  stage.count('orders', orders);
  return found;
}

/** Each gateway has looked at the store that came back, and takes orders or has stopped them: a busy machine needs a while for it. */
function looked({ fleet }: OrderStage): Promise<void> {
  const decided = /^gateway_order_store_stopped\{reason="(none|count|epoch)"\} 1/m;
  return until('each gateway has looked at the store', async () => {
    const metrics = fleet.gateways.map(({ managementUrl }) => fetch(`${managementUrl}/metrics`));
    const texts = (await Promise.all(metrics)).map((response) => response.text());
    return (await Promise.all(texts)).every((text) => decided.test(text));
  });
}

/** Each of the orders is submitted to each of the gateways. */
function handIn(
  { desk }: OrderStage,
  names: readonly string[],
  gateways: readonly number[],
  fault: Fault = 'none',
) {
  return Promise.all(
    names.flatMap((name) => gateways.map((gateway) => desk.submit(name, { at: [gateway], fault }))),
  );
}

/** The platform has carried all of these out, however late. */
function carriedOut(stage: OrderStage, names: readonly string[]): Promise<void> {
  return until('the late answers are there', async () => {
    const commits = new Set((await stage.sandbox.commits()).map(({ channelOrderId }) => channelOrderId));
    return names.every((name) => commits.has(name));
  });
}

async function carryOut(stage: OrderStage, { what }: PlannedKill): Promise<void> {
  if (what !== 'redis') return stage.killGateway(what);
  await stage.killStore();
  await sleep(STORE_AWAY_MS);
  await stage.store.restart();
}

export const acts = {
  /** Every platform behaviour for orders, without any kills, and few at a time. */
  'each-fault': async (stage, { ofEach }) => {
    // Another act has the one that is very late.
    const kinds = (Object.keys(faults) as Fault[]).filter((fault) => fault !== 'very-late-commit');
    const orders = kinds.flatMap((fault) =>
      numbered(`each-${fault}`, ofEach).map((name) => ({ name, fault })),
    );
    const all = () =>
      inParallel(orders, FEW_AT_ONCE, ({ name, fault }) =>
        Promise.all(
          stage.all.map((gateway) => stage.desk.submit(name, { at: [gateway], fault, isPatient: true })),
        ),
      );
    await all();
    const sent = new Set(await stage.desk.arrived());
    const late = orders.filter(({ name, fault }) => fault === 'late-commit' && sent.has(name));
    await carriedOut(
      stage,
      late.map(({ name }) => name),
    );
    await all();
    return judged(stage);
  },

  /** A gateway is killed after the platform got its orders. No caller repeats them, and no gateway sends them again after their leases. */
  orphans: async (stage) => {
    const names = numbered('orphan', 12);
    const placing = names.map((name) => stage.desk.insist(0, name, 'long'));
    await until('half have arrived', async () => {
      const arrived = (await stage.desk.arrived()).filter((name) => names.includes(name));
      return arrived.length >= names.length / 2;
    });
    await stage.killGateway(0);
    await Promise.all(placing);
    stage.store.pass(LEASE_MS);
    await inParallel(names, AT_ONCE, (name) => stage.desk.submit(name, { fault: 'long' }));
    return judged(stage);
  },

  /** Callers hang up while the platform has their orders, others stay: both kinds of order are carried out. */
  'hang-ups': async (stage) => {
    const compared: string[] = [];
    const lost: string[] = [];
    const succeeded = async (name: string) => (await stage.desk.find(name))?.state === 'succeeded';
    for (let round = 0; compared.length < HANG_UPS; round++) {
      if (round === MAX_ROUNDS)
        throw new Error('too few callers hung up while the platform had their orders');
      await inParallel(numbered(`round-${round}`, PAIRS), PAIRS, async (name, index) => {
        const gateway = index % stage.all.length;
        const caller = new AbortController();
        let isOver = false;
        const staying = stage.desk.place(gateway, `${name}-stays`, 'long');
        const hanging = stage.desk
          .place(gateway, `${name}-hangs-up`, 'long', caller.signal)
          .finally(() => (isOver = true));
        const arrived = async () => (await stage.desk.arrived()).includes(`${name}-hangs-up`);
        await until(`${name} has arrived`, async () => isOver || arrived());
        caller.abort();
        await staying;
        const { status } = await hanging;
        // A busy machine is too slow for some orders of either kind, and for some callers to hang up in time: these pairs show nothing.
        if (status !== 0 || !(await succeeded(`${name}-stays`))) return;
        compared.push(name);
        if (!(await succeeded(`${name}-hangs-up`))) lost.push(name);
      });
    }
    const some = lost.length > compared.length / 2 ? lost : [];
    return [
      ...some.map((name) => `${name}: its caller hung up, and it was not carried through`),
      ...(await judged(stage, { lost: true })),
    ];
  },

  /** An operator settles an order, and the platform's response arrives after that. */
  settlement: async (stage) => {
    const settled: string[] = [];
    stage.hook.refuseDoubts();
    await inParallel(numbered('settled', 6), AT_ONCE, async (name, index) => {
      await stage.desk.insist(index % stage.all.length, name, 'very-late-commit');
      await until(`${name} is settled`, async () => {
        if ((await stage.records.settle(name, 'not_placed')).kind === 'moved') settled.push(name);
        return true;
      });
    });
    await stage.hook.takeDoubts(settled.map((name) => `crm/${name}`));
    await carriedOut(stage, settled);
    // The gateway has time to write down what it heard.
    await sleep(LATE_MS / 2);
    const records = await Promise.all(settled.map((name) => stage.desk.find(name)));
    const moved = settled.flatMap((name, index) => {
      const state = records[index]?.state;
      return state === 'not_placed' ? [] : [`${name}: settled as not_placed, now ${state}`];
    });
    return [...moved, ...(await judged(stage, { lost: true }))];
  },

  /**
   * Requests that did not reach the store in time report later that nothing was sent, while others send the same orders: that must not
   * release them.
   */
  strangers: async (stage) => {
    const [first = 0, ...others] = stage.all;
    await stage.killStore();
    let restarted: Promise<void> | undefined;
    await inParallel(numbered('strange', 30), AT_ONCE, async (name, index) => {
      await sleep(index * 20);
      // Half of them come while the store is away, and some while it starts.
      if (index === 15) restarted = stage.store.restart();
      await stage.desk.place(first, name, 'long');
      await Promise.all(
        others.map((_, from) =>
          stage.desk.submit(name, {
            at: [...others.slice(from), ...others.slice(0, from)],
            fault: 'long',
            tries: 40,
          }),
        ),
      );
    });
    await restarted;
    return judged(stage);
  },

  /** The store is killed, gets requests while it is down, and is started again; a gateway joins that never saw it before. */
  'store-killed': async (stage) => {
    const names = numbered('kept', 20);
    await handIn(stage, names, stage.all);
    await stage.killStore();
    // Nothing may be sent without a record, and the judge finds none for what was.
    await inParallel(numbered('away', 20), AT_ONCE, (name) =>
      Promise.all(stage.all.map((gateway) => stage.desk.place(gateway, name))),
    );
    await stage.store.restart();
    await stage.killGateway(0);
    await handIn(stage, names, stage.all);
    return judged(stage);
  },

  /** Many orders, each submitted several times at once, while gateways and the store are killed; and once more afterwards. */
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
    // Those of processes that were killed.
    stage.store.pass(LEASE_MS);
    await stage.settled();
    await inParallel(orders, AT_ONCE, ({ channelOrderId, fault }) =>
      stage.desk.submit(channelOrderId, { fault }),
    );
    await stage.settled();
    await sleep(LATE_MS);
    return judged(stage, { forgetful: true });
  },

  /**
   * A replica of the store that lags behind is promoted while the old master goes on, and the same orders are submitted on both sides: first
   * at the old master, while no gateway can see that the replica lags.
   */
  'split-brain': async (stage) => {
    const names = numbered('split', 20);
    const old = stage.all;
    await stage.lagReplica();
    await inParallel(names, AT_ONCE, (name, index) =>
      stage.desk.submit(name, { at: [index % old.length], tries: 4 }),
    );
    const promoted = await stage.promoteReplica();
    const answers = await Promise.all(names.map((name) => stage.desk.insist(promoted, name)));
    if (!answers.some(isSuccess)) throw new Error('the promoted server took no order');
    const found = await judged(stage, { lost: true });
    if (found.length === 0) await stage.dropPromoted();
    return found;
  },

  /** The store goes back to an older state, and the orders from before and after that state are submitted again. */
  'gone-back': async (stage) => {
    const names = numbered('gone-back', 20);
    await handIn(stage, names.slice(0, 10), [0]);
    stage.store.copy();
    await handIn(stage, names.slice(10), stage.all.slice(-1));
    await stage.store.restore();
    stage.hook.lost();
    await looked(stage);
    for (const gateway of stage.all)
      await Promise.all(names.map((name) => stage.desk.submit(name, { at: [gateway], tries: 4 })));
    const found = await judged(stage, { lost: true });
    if (found.length === 0) await stage.confirm();
    return found;
  },

  /** The store is emptied, and earlier orders are submitted again. The last act: afterwards no order is sent. */
  emptied: async (stage) => {
    const names = numbered('emptied', 20);
    await handIn(stage, names, [0]);
    // Afterwards nobody can read it.
    const untrue = await feedFaults(stage.fleet, stage.hook);
    await stage.emptyStore();
    await looked(stage);
    const after = await Promise.all(
      names.flatMap((name) =>
        stage.all.map((gateway) => stage.desk.submit(name, { at: [gateway], tries: 4 })),
      ),
    );
    const claimed = after.some(isSuccess) ? ['a success without a record'] : [];
    return [...untrue, ...claimed, ...(await judged(stage, { lost: true }))];
  },
} satisfies Record<string, Act<OrderStage, OrderSizes>>;
