import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../support/redis.ts';
import type { Act } from '../engine.ts';
import { databaseActs } from './database-acts.ts';
import { isSuccess } from './check.ts';
import { inParallel, numbered } from './desk.ts';
import { missedBy } from './feed.ts';
import { type Fault, faults, LATE_MS, LEASE_MS, type OrderSizes } from './plan.ts';
import type { OrderStage } from './stage.ts';

/** Orders that are handed in at a time. */
const AT_ONCE = 40;
const FEW_AT_ONCE = 6;
const HOUR_MS = 3_600_000;
/** These are the statement and the reply to it, in the protocol of PostgreSQL. */
const COMMIT = 'COMMIT\0';
/** The number of times that an operator stops orders, and lets them go on. */
const MAINTENANCES = 3;
/** Callers who hang up: how many are looked at, how many do so at a time, and how often as many try. */
const HANG_UPS = 10;
const PAIRS = 5;
const MAX_ROUNDS = 20;

/** The platform has carried all of these out, however late. */
function carriedOut(stage: OrderStage, names: readonly string[]): Promise<void> {
  return until('the late answers are there', async () => {
    const commits = new Set((await stage.sandbox.commits()).map(({ channelOrderId }) => channelOrderId));
    return names.every((name) => commits.has(name));
  });
}

const orderActs = {
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
    const missed = await missedBy(stage.fleet, all);
    const sent = new Set(await stage.desk.arrived());
    const late = orders.filter(({ name, fault }) => fault === 'late-commit' && sent.has(name));
    await carriedOut(
      stage,
      late.map(({ name }) => name),
    );
    await all();
    return [...missed, ...(await stage.judged())];
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
    await stage.endLeases(LEASE_MS);
    await inParallel(names, AT_ONCE, (name) => stage.desk.submit(name, { fault: 'long' }));
    return stage.judged();
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
      ...(await stage.judged({ lost: true })),
    ];
  },

  /** An operator settles an order, and the platform's response arrives after that. */
  settlement: async (stage) => {
    const settled: string[] = [];
    stage.hook.refuseDoubts();
    await inParallel(numbered('settled', 6), AT_ONCE, async (name, index) => {
      await stage.desk.insist(index % stage.all.length, name, 'very-late-commit');
      await until(`${name} is settled`, async () => {
        if (await stage.records.settle(name, 'not_placed')) settled.push(name);
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
    return [...moved, ...(await stage.judged({ lost: true }))];
  },

  /** The reply to a commit is lost: an order that has begun is not taken for one that has not. */
  'lost-replies': async (stage) => {
    const names = numbered('lost-reply', 3);
    const { gateway, proxy, end } = await stage.throughProxy();
    for (const name of names) {
      await proxy.add({ toxic: 'lose_reply', request: [`order/crm/${name}`, COMMIT], reply: COMMIT });
      await stage.desk.submit(name, { at: [gateway], isPatient: true });
      if (proxy.toxics.length > 0) throw new Error('no reply was lost');
    }
    await stage.endLeases(LEASE_MS);
    await stage.settled();
    await end();
    const arrived = new Set(await stage.desk.arrived());
    const unsent = names.filter((name) => !arrived.has(name));
    const records = await Promise.all(unsent.map((name) => stage.desk.find(name)));
    const doubtful = unsent.filter((_, index) => records[index]?.state === 'in_doubt');
    return [...doubtful.map((name) => `${name}: in doubt, and it was never sent`), ...(await stage.judged())];
  },

  /** An operator stops orders while callers place them: once that is answered no order begins, at any gateway. */
  maintenance: async (stage) => {
    const { fleet, desk, records } = stage;
    const over = new AbortController();
    let orders = 0;
    /** The number of responses to each caller. */
    const answers = Array.from({ length: FEW_AT_ONCE }, () => 0);
    const placing = answers.map(async (_, caller) => {
      while (!over.signal.aborted) {
        await desk.place(caller % stage.all.length, `stopped-${orders++}`);
        answers[caller] = (answers[caller] ?? 0) + 1;
      }
    });
    const placed = () => desk.answered.filter(({ answer }) => isSuccess(answer)).length;
    const found: string[] = [];
    for (let round = 0; round < MAINTENANCES; round++) {
      const gateway = round % stage.all.length;
      const wanted = placed() + stage.all.length;
      await until('orders are placed', () => placed() >= wanted);
      const terms = {
        stops: 'orders',
        until: new Date(Date.now() + HOUR_MS).toISOString(),
        reason: 'a round',
      };
      await until('orders are stopped', async () => {
        return (await fleet.request('PUT', gateway, '/v1/maintenance', terms)).status === 200;
      });
      const begun = await records.begun();
      const before = [...answers];
      await until('what was under way has ended', () =>
        answers.every((count, caller) => count >= (before[caller] ?? 0) + 2),
      );
      const late = (await records.begun()) - begun;
      if (late > 0) found.push(`${late} orders have begun although they were stopped`);
      await until('orders go on', async () => {
        return (await fleet.request('DELETE', gateway, '/v1/maintenance')).status === 204;
      });
    }
    over.abort();
    await Promise.all(placing);
    return [...found, ...(await stage.judged())];
  },
} satisfies Record<string, Act<OrderStage, OrderSizes>>;

/** The last of them empties the database. */
export const acts = { ...orderActs, ...databaseActs };
