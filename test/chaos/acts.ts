import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/redis.ts';
import {
  type Answer,
  duplicatesIn,
  type Found,
  isDenial,
  isSuccess,
  type Told,
  type Violation,
  violationsOf,
} from './check.ts';
import {
  type ChaosOptions,
  type Fault,
  faults,
  LATE_MS,
  LEASE_MS,
  type PlannedKill,
  planOf,
  VERY_LATE_MS,
} from './plan.ts';
import type { Stage } from './stage.ts';

/** Orders that are handed in at a time. */
const AT_ONCE = 40;
const FEW_AT_ONCE = 6;
/** How often a caller repeats an unprocessed order before it pauses. */
const TRIES = 6;
const PAUSE_MS = 200;
/** Callers who hang up: how many are looked at, how many do so at a time, and how often as many try. */
const HANG_UPS = 10;
const PAIRS = 5;
const MOST_ROUNDS = 20;

/** Orders and all responses to their callers. */
class Ledger {
  readonly #told = new Map<string, Answer[]>();
  submits = 0;

  note(channelOrderId: string, answer: Answer): Answer {
    this.submits++;
    const answers = this.#told.get(channelOrderId);
    if (answers) answers.push(answer);
    else this.#told.set(channelOrderId, [answer]);
    return answer;
  }

  get all(): Told[] {
    return [...this.#told].map(([channelOrderId, answers]) => ({ channelOrderId, answers }));
  }
}

interface Acted {
  readonly violations: readonly Violation[];
  readonly orders: number;
  readonly submits: number;
  readonly states?: Readonly<Record<string, number>>;
}
type Act = (stage: Stage, options: ChaosOptions) => Promise<Acted>;

/** A usual caller: it sends an order again that was not processed, or had no response, to the next gateway that responds. */
async function submit(
  stage: Stage,
  ledger: Ledger,
  order: { channelOrderId: string; fault: Fault },
  gateway: number,
  tries = TRIES,
): Promise<Answer> {
  for (let left = tries; ; left--) {
    const at = (gateway + tries - left) % stage.fleet.gateways.length;
    const answer = ledger.note(
      order.channelOrderId,
      await stage.place(at, order.channelOrderId, order.fault),
    );
    const again = answer.status === 0 || answer.status === 409 || answer.status === 503;
    if (!again || left === 1) return answer;
    await sleep(PAUSE_MS);
  }
}

/** At that gateway only, until it admits the order: a busy machine may be too slow for the store at first. */
async function placeAt(stage: Stage, gateway: number, channelOrderId: string, fault: Fault): Promise<Answer> {
  for (let left = TRIES; ; left--) {
    const answer = await stage.place(gateway, channelOrderId, fault);
    if (answer.status !== 503 || left === 1) return answer;
    await sleep(PAUSE_MS);
  }
}

async function judge(stage: Stage, ledger: Ledger, forgetful = false): Promise<Acted> {
  const records = new Map<string, Found>();
  const states: Record<string, number> = {};
  await inParallel(ledger.all, async ({ channelOrderId }) => {
    const record = await stage.find(channelOrderId);
    const state = record?.state ?? 'none';
    states[state] = (states[state] ?? 0) + 1;
    if (record) records.set(channelOrderId, record);
  });
  const violations = violationsOf(ledger.all, await stage.sandbox.commits(), records, forgetful);
  return { violations, orders: ledger.all.length, submits: ledger.submits, states };
}

/** Many orders, each submitted several times at once, while gateways and the store are killed; and once more afterwards. */
async function crowd(stage: Stage, options: ChaosOptions): Promise<Acted> {
  const plan = planOf(options);
  const ledger = new Ledger();
  const kills = [...plan.kills];
  let handedIn = 0;
  let killing = Promise.resolve();
  await inParallel(plan.orders, async (order) => {
    handedIn++;
    const due = kills.findIndex(({ after }) => after > handedIn);
    for (const kill of kills.splice(0, due < 0 ? kills.length : due)) {
      killing = killing.then(() => carryOut(stage, kill));
    }
    // Submits wait for the kills, which take their time.
    if (handedIn % 25 === 0) await killing;
    await Promise.all(order.gateways.map((gateway) => submit(stage, ledger, order, gateway)));
  });
  await killing;
  const early = duplicatesIn(await stage.sandbox.commits());
  if (early.length > 0) return { violations: early, orders: plan.orders.length, submits: ledger.submits };
  await stage.settled();
  await inParallel(plan.orders, (order, index) => submit(stage, ledger, order, index));
  await stage.settled();
  await sleep(LATE_MS);
  return judge(stage, ledger, true);
}

async function carryOut(stage: Stage, { what }: PlannedKill): Promise<void> {
  if (what !== 'redis') return stage.killGateway(what);
  await stage.killOrderStore();
  // As long as callers retry, so that a failure without the store becomes visible.
  await sleep(2 * PAUSE_MS);
  await stage.restartOrderStore();
}

/** Every platform behaviour for orders, without any kills, and few at a time. */
async function eachFault(stage: Stage): Promise<Acted> {
  const ledger = new Ledger();
  const gateways = stage.fleet.gateways.keys().toArray();
  const orders = (Object.keys(faults) as Fault[]).flatMap((fault) =>
    [0, 1, 2].map((index) => ({ channelOrderId: `each-${fault}-${index}`, fault })),
  );
  const handIn = () =>
    inParallel(
      orders,
      (order) => Promise.all(gateways.map((gateway) => submit(stage, ledger, order, gateway))),
      FEW_AT_ONCE,
    );
  await handIn();
  await sleep(VERY_LATE_MS);
  await handIn();
  await stage.settled();
  return judge(stage, ledger);
}

/**
 * A gateway is killed after the platform got its orders. No caller repeats them, and no gateway sends them again after their leases.
 */
async function orphans(stage: Stage): Promise<Acted> {
  const ledger = new Ledger();
  const names = Array.from({ length: 12 }, (_, index) => `orphan-${index}`);
  const arrived = async () => (await stage.sandbox.journal('batchOrder')).length;
  const before = await arrived();
  const placing = names.map(async (name) => ledger.note(name, await placeAt(stage, 0, name, 'long')));
  await until('half have arrived', async () => (await arrived()) >= before + names.length / 2);
  await stage.killGateway(0);
  await Promise.all(placing);
  await sleep(LEASE_MS);
  await inParallel(names, (name, index) =>
    submit(stage, ledger, { channelOrderId: name, fault: 'long' }, index),
  );
  const twice = duplicatesIn(await stage.sandbox.commits());
  if (twice.length > 0) return { violations: twice, orders: names.length, submits: ledger.submits };
  await stage.settled();
  return judge(stage, ledger);
}

/** Callers hang up while the platform has their orders, others stay: both kinds of order are carried out. */
async function hangUps(stage: Stage): Promise<Acted> {
  const compared: string[] = [];
  const lost: string[] = [];
  const succeeded = async (name: string) => (await stage.find(name))?.state === 'succeeded';
  const arrived = async (name: string) =>
    (await stage.sandbox.journal('batchOrder')).some(
      ({ body }) => (body as { channelOrderId: string }).channelOrderId === name,
    );
  let round = 0;
  for (; compared.length < HANG_UPS; round++) {
    if (round === MOST_ROUNDS) throw new Error('too few callers hung up while the platform had their orders');
    await Promise.all(
      Array.from({ length: PAIRS }, async (_, index) => {
        const gateway = index % stage.fleet.gateways.length;
        const [stays, hangsUp] = [`stays-${round}-${index}`, `hangs-up-${round}-${index}`];
        const caller = new AbortController();
        let isOver = false;
        const staying = stage.place(gateway, stays, 'long');
        const hanging = stage.place(gateway, hangsUp, 'long', caller.signal).finally(() => (isOver = true));
        await until(`${hangsUp} has arrived`, async () => isOver || (await arrived(hangsUp)));
        caller.abort();
        await staying;
        const { status } = await hanging;
        await stage.settled();
        // A busy machine is too slow for some orders of either kind, and for some callers to hang up in time: these pairs show nothing.
        if (status !== 0 || !(await succeeded(stays))) return;
        compared.push(hangsUp);
        if (!(await succeeded(hangsUp))) lost.push(hangsUp);
      }),
    );
  }
  const violations: Violation[] =
    lost.length <= compared.length / 2
      ? []
      : lost.map((channelOrderId) => ({
          fault: 'lost with its caller',
          channelOrderId,
          what: 'its caller hung up, and it was not carried through',
        }));
  const orders = 2 * PAIRS * round;
  return {
    violations: [...violations, ...duplicatesIn(await stage.sandbox.commits())],
    orders,
    submits: orders,
  };
}

/** An operator settles an order, and the platform's response arrives after that. */
async function settlement(stage: Stage): Promise<Acted> {
  const names = Array.from({ length: 6 }, (_, index) => `settled-${index}`);
  const settled: string[] = [];
  await Promise.all(
    names.map(async (name, index) => {
      await placeAt(stage, index % stage.fleet.gateways.length, name, 'very-late-commit');
      await until(`${name} is settled`, async () => {
        if ((await stage.records.settle(name, 'not_placed')).kind === 'moved') settled.push(name);
        return true;
      });
    }),
  );
  await until('the late answers are there', async () => {
    const commits = await stage.sandbox.commits();
    return settled.every((name) => commits.some(({ channelOrderId }) => channelOrderId === name));
  });
  await sleep(VERY_LATE_MS / 4);
  const records = await Promise.all(settled.map((name) => stage.find(name)));
  const violations = settled.flatMap((channelOrderId, index): Violation[] => {
    const state = records[index]?.state;
    return state === 'not_placed'
      ? []
      : [{ fault: 'wrong state', channelOrderId, what: `settled as not_placed, now ${state}` }];
  });
  return { violations, orders: names.length, submits: names.length };
}

/**
 * Requests that did not reach the store in time report later that nothing was sent, while others send the same orders: that must not
 * release them.
 */
async function strangers(stage: Stage): Promise<Acted> {
  const ledger = new Ledger();
  const names = Array.from({ length: 30 }, (_, index) => `strange-${index}`);
  await stage.killOrderStore();
  const restarted = sleep(300).then(() => stage.restartOrderStore());
  await Promise.all(
    names.map(async (channelOrderId, index) => {
      const order = { channelOrderId, fault: 'long' } as const;
      await sleep(index * 20);
      ledger.note(channelOrderId, await stage.place(0, channelOrderId, 'long'));
      await Promise.all([submit(stage, ledger, order, 1, 40), submit(stage, ledger, order, 2, 40)]);
    }),
  );
  await restarted;
  await stage.settled();
  await sleep(LATE_MS);
  return judge(stage, ledger);
}

/** The store is killed, gets requests while it is down, and is started again; a gateway joins that never saw it before. */
async function storeKilled(stage: Stage): Promise<Acted> {
  const ledger = new Ledger();
  const names = Array.from({ length: 20 }, (_, index) => `kept-${index}`);
  const handIn = () =>
    Promise.all(
      stage.fleet.gateways.flatMap((_, gateway) =>
        names.map((channelOrderId) => submit(stage, ledger, { channelOrderId, fault: 'none' }, gateway)),
      ),
    );
  await handIn();
  const before = await stage.sandbox.commits();
  await stage.killOrderStore();
  const away = await Promise.all(
    names.flatMap((name) =>
      stage.fleet.gateways.map((_, gateway) => stage.place(gateway, `${name}-away`, 'none')),
    ),
  );
  const sent = (await stage.sandbox.commits()).slice(before.length);
  await stage.restartOrderStore();
  await stage.killGateway(0);
  await handIn();
  const twice = duplicatesIn(await stage.sandbox.commits());
  if (twice.length > 0) return { violations: twice, orders: names.length, submits: ledger.submits };
  await stage.settled();
  const judged = await judge(stage, ledger);
  const went = sent.filter(({ channelOrderId }) => channelOrderId.endsWith('-away'));
  const unguarded: Violation[] = went.map(({ channelOrderId }) => ({
    fault: 'unfindable',
    channelOrderId,
    what: 'sent while the store was away',
  }));
  const claimed: Violation[] = away.some((answer) => !isDenial(answer))
    ? [{ fault: 'false answer', channelOrderId: '', what: 'no refusal while the store was away' }]
    : [];
  return { ...judged, violations: [...judged.violations, ...unguarded, ...claimed] };
}

/**
 * A replica of the store is promoted while the old master goes on, and the same orders are submitted on both sides: first at the old
 * master, before the gateways can see that the replica has gone.
 */
async function splitBrain(stage: Stage): Promise<Acted> {
  const ledger = new Ledger();
  const names = Array.from({ length: 20 }, (_, index) => `split-${index}`);
  const old = stage.fleet.gateways.length;
  await stage.promoteReplica();
  await Promise.all(
    names.map(async (channelOrderId, index) =>
      ledger.note(channelOrderId, await stage.place(index % old, channelOrderId, 'none')),
    ),
  );
  const promoted = await stage.startAtPromoted();
  const answers = await Promise.all(
    names.map((channelOrderId) => placeAt(stage, promoted, channelOrderId, 'none')),
  );
  for (const [index, channelOrderId] of names.entries())
    ledger.note(channelOrderId, answers[index] as Answer);
  if (!answers.some(isSuccess)) throw new Error('the promoted server took no order');
  const violations = duplicatesIn(await stage.sandbox.commits());
  if (violations.length === 0) await stage.dropPromoted();
  return { violations, orders: names.length, submits: ledger.submits };
}

/** The store goes back to an older state, and the orders from before and after that state are submitted again. */
async function goneBack(stage: Stage): Promise<Acted> {
  const ledger = new Ledger();
  const names = Array.from({ length: 20 }, (_, index) => `gone-back-${index}`);
  const handIn = (some: readonly string[], gateway: number, tries?: number) =>
    Promise.all(
      some.map((channelOrderId) => submit(stage, ledger, { channelOrderId, fault: 'none' }, gateway, tries)),
    );
  await handIn(names.slice(0, 10), 0);
  stage.copyOrderStore();
  await handIn(names.slice(10), 1);
  await stage.restoreOrderStore();
  for (const gateway of stage.fleet.gateways.keys()) await handIn(names, gateway, 4);
  const violations = duplicatesIn(await stage.sandbox.commits());
  if (violations.length === 0) await stage.confirmOrderStore();
  return { violations, orders: names.length, submits: ledger.submits };
}

/** The store is emptied, and earlier orders are submitted again. The last act: afterwards no order is sent. */
async function emptied(stage: Stage): Promise<Acted> {
  const ledger = new Ledger();
  const names = Array.from({ length: 20 }, (_, index) => `emptied-${index}`);
  const handIn = (gateway: number) =>
    Promise.all(
      names.map((channelOrderId) => submit(stage, ledger, { channelOrderId, fault: 'none' }, gateway, 4)),
    );
  await handIn(0);
  await stage.emptyOrderStore();
  const after = (await Promise.all(stage.fleet.gateways.map((_, gateway) => handIn(gateway)))).flat();
  const violations = duplicatesIn(await stage.sandbox.commits());
  if (after.some(isSuccess))
    violations.push({ fault: 'false answer', channelOrderId: '', what: 'a success without a record' });
  return { violations, orders: names.length, submits: ledger.submits };
}

export const acts = {
  'each-fault': eachFault,
  orphans,
  'hang-ups': hangUps,
  settlement,
  strangers,
  'store-killed': storeKilled,
  crowd,
  'split-brain': splitBrain,
  'gone-back': goneBack,
  emptied,
} satisfies Record<string, Act>;
export type ActName = keyof typeof acts;

/** Runs all of them in their order, a bounded number at a time. */
async function inParallel<T>(
  all: readonly T[],
  work: (one: T, index: number) => Promise<unknown>,
  atOnce = AT_ONCE,
): Promise<void> {
  const left = all.entries();
  const worker = async () => {
    for (const [index, one] of left) await work(one, index);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
