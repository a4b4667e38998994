import { setTimeout as sleep } from 'node:timers/promises';
import type { GuardRecord } from '../../src/guard/guard-record.ts';
import { until } from '../support/redis.ts';
import { duplicatesIn, isDenial, isSuccess, type Told, type Violation, violationsOf } from './check.ts';
import { type ChaosOptions, type Fault, LATE_MS, type PlannedKill, planOf, VERY_LATE_MS } from './plan.ts';
import type { Answer, Stage } from './stage.ts';

/** Orders that are handed in at a time. */
const AT_ONCE = 40;
/** A caller repeats what was not processed so many times, and then lets it be for a while. */
const TRIES = 6;
const PAUSE_MS = 120;

/** Orders and all that their callers were told. */
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

/** A caller as callers are: what was not processed, or not answered at all, it sends again, to whichever gateway answers. */
async function submit(
  stage: Stage,
  ledger: Ledger,
  order: { channelOrderId: string; fault: Fault },
  gateway: number,
  tries = TRIES,
): Promise<Answer> {
  for (let left = tries; ; left--) {
    const at = (gateway + tries - left) % stage.fleet.gateways.length;
    const answer = ledger.note(order.channelOrderId, await stage.place(at, order.channelOrderId, order.fault));
    const again = answer.status === 0 || answer.status === 409 || answer.status === 503;
    if (!again || left === 1) return answer;
    await sleep(PAUSE_MS);
  }
}

async function judge(stage: Stage, ledger: Ledger, forgetful = false): Promise<Acted> {
  const records = new Map<string, GuardRecord>();
  const states: Record<string, number> = {};
  await inParallel(ledger.all, async ({ channelOrderId }) => {
    const record = await stage.records.find(channelOrderId);
    const state = record?.state ?? 'none';
    states[state] = (states[state] ?? 0) + 1;
    if (record) records.set(channelOrderId, record);
  });
  const violations = violationsOf(ledger.all, await stage.sandbox.commits(), records, forgetful);
  return { violations, orders: ledger.all.length, submits: ledger.submits, states };
}

/** Many orders, each handed in several times at once, while gateways and the store are killed; and once more when it is quiet. */
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
    // Kills take as long as they take; the crowd does not run ahead of them.
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
  await stage.killGuard();
  // For as long as a callers' retry takes: what goes on without the store shows itself.
  await sleep(2 * PAUSE_MS);
  await stage.restartGuard();
}

/** Callers hang up while their orders are under way: nobody waits, and all is carried through. */
async function hangUps(stage: Stage): Promise<Acted> {
  const names = Array.from({ length: 30 }, (_, index) => `hung-up-${index}`);
  await Promise.all(
    names.map((name, index) => stage.place(index % stage.fleet.gateways.length, name, 'slow', AbortSignal.timeout(150))),
  );
  await sleep(1_000);
  await stage.settled();
  const records = await Promise.all(names.map((name) => stage.records.find(name)));
  const lost = names.filter((_, index) => records[index]?.state === 'in_doubt');
  // One or the other may have been too slow on a busy machine; that it was the hanging up shows in numbers.
  const violations: Violation[] =
    lost.length <= names.length / 2
      ? []
      : lost.map((channelOrderId) => ({ fault: 'lost with its caller', channelOrderId, what: 'in doubt' }));
  return {
    violations: [...violations, ...duplicatesIn(await stage.sandbox.commits())],
    orders: names.length,
    submits: names.length,
  };
}

/** An operator settles an order, and the platform's answer to it comes after that. */
async function settlement(stage: Stage): Promise<Acted> {
  const names = Array.from({ length: 6 }, (_, index) => `settled-${index}`);
  const settled: string[] = [];
  await Promise.all(
    names.map(async (name, index) => {
      await stage.place(index % stage.fleet.gateways.length, name, 'very-late-commit');
      if ((await stage.records.settle(name, 'not_placed')).kind === 'moved') settled.push(name);
    }),
  );
  await until('the late answers are there', async () => {
    const commits = await stage.sandbox.commits();
    return names.every((name) => commits.some(({ channelOrderId }) => channelOrderId === name));
  });
  await sleep(VERY_LATE_MS / 4);
  const records = await Promise.all(settled.map((name) => stage.records.find(name)));
  const violations = settled.flatMap((channelOrderId, index): Violation[] => {
    const state = records[index]?.state;
    return state === 'not_placed'
      ? []
      : [{ fault: 'wrong state', channelOrderId, what: `settled as not_placed, now ${state}` }];
  });
  return { violations, orders: names.length, submits: names.length };
}

/**
 * Requests that the store did not hear tell it later that nothing was sent, while others are sending the same orders: that
 * must not release them.
 */
async function strangers(stage: Stage): Promise<Acted> {
  const ledger = new Ledger();
  const names = Array.from({ length: 30 }, (_, index) => `strange-${index}`);
  await stage.killGuard();
  const restarted = sleep(300).then(() => stage.restartGuard());
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

/** The store is killed, asked while it is away, and started again; a gateway that never saw it before comes along. */
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
  await stage.killGuard();
  const away = await Promise.all(
    names.flatMap((name) => stage.fleet.gateways.map((_, gateway) => stage.place(gateway, `${name}-away`, 'none'))),
  );
  const sent = (await stage.sandbox.commits()).slice(before.length);
  await stage.restartGuard();
  await stage.killGateway(0);
  await handIn();
  await stage.settled();
  const judged = await judge(stage, ledger);
  const went: Violation[] = sent.map(({ channelOrderId }) => ({
    fault: 'unfindable',
    channelOrderId,
    what: 'sent while the store was away',
  }));
  const claimed: Violation[] = away.some((answer) => !isDenial(answer))
    ? [{ fault: 'false answer', channelOrderId: '', what: 'no refusal while the store was away' }]
    : [];
  return { ...judged, violations: [...duplicatesIn(sent), ...judged.violations, ...went, ...claimed] };
}

/** The store is emptied. What was placed before is handed in again. The last act: afterwards nothing is sent any more. */
async function emptied(stage: Stage): Promise<Acted> {
  const ledger = new Ledger();
  const names = Array.from({ length: 20 }, (_, index) => `emptied-${index}`);
  const handIn = (gateway: number) =>
    Promise.all(names.map((channelOrderId) => submit(stage, ledger, { channelOrderId, fault: 'none' }, gateway, 2)));
  await handIn(0);
  await stage.emptyGuard();
  const after = (await Promise.all(stage.fleet.gateways.map((_, gateway) => handIn(gateway)))).flat();
  const violations = duplicatesIn(await stage.sandbox.commits());
  if (after.some(isSuccess))
    violations.push({ fault: 'false answer', channelOrderId: '', what: 'a success without a record' });
  return { violations, orders: names.length, submits: ledger.submits };
}

export const acts = {
  'hang-ups': hangUps,
  settlement,
  strangers,
  'store-killed': storeKilled,
  crowd,
  emptied,
} satisfies Record<string, Act>;
export type ActName = keyof typeof acts;

/** All of them, a bounded number at a time, in their order. */
async function inParallel<T>(all: readonly T[], work: (one: T, index: number) => Promise<unknown>): Promise<void> {
  const left = all.entries();
  const worker = async () => {
    for (const [index, one] of left) await work(one, index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
