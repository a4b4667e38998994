import { edge, inBackground } from '../shared/edge.ts';
import { DatabaseFault, type Engine, MAX_CONFLICTS, type Rows } from './engine.ts';
import { CLOCK, type Query } from './sql.ts';
import { type Decision, MAX_GROUP, MAX_GROUP_BYTES, RAISE, type Step } from './step.ts';
import type { Trust } from './trust.ts';

/** The most reconnects for one transaction: a connection that ended while it was idle is noticed only when it is used. */
const MAX_RECONNECTS = 2;
const WITHIN_MS = 5_000;
const BLOCKED_MS = 50;

interface Waiting {
  readonly key: string;
  readonly of: string;
  readonly bytes: number;
  readonly input: unknown;
  readonly resolve: (result: unknown) => void;
  readonly reject: (fault: unknown) => void;
  readonly withinMs: number;
  /** The last time (performance.now) to which a blocked process puts off `giveUpAt`. */
  readonly lastAt: number;
  giveUpAt: number;
  timer?: NodeJS.Timeout;
  state: 'queued' | 'sent' | 'over';
}

type AnyStep = Step<never, unknown>;

/**
 * Sends the steps of one kind that begin in one turn of the event loop to the database in one transaction. While all lanes are busy,
 * further steps collect. Each step gets its own result, or its own fault: if a transaction fails because of its values, its steps are
 * repeated one by one.
 */
export class GroupCommit {
  readonly #queues = new Map<AnyStep, Waiting[]>();
  #busy = 0;
  #isPlanned = false;

  constructor(
    private readonly engine: Engine,
    private readonly trust: Trust,
    private readonly wake: (channels: readonly string[]) => void,
  ) {}

  run<Input, Output>(step: Step<Input, Output>, input: Input): Promise<Output> {
    const { promise, resolve, reject } = Promise.withResolvers<Output>();
    const withinMs = step.withinMs ?? WITHIN_MS;
    const waiting: Waiting = {
      key: step.key?.(input) ?? '',
      of: step.of?.(input) ?? '',
      bytes: step.bytes?.(input) ?? 0,
      input,
      resolve: (result) => resolve(result as Output),
      reject,
      withinMs,
      lastAt: performance.now() + WITHIN_MS,
      giveUpAt: 0,
      state: 'queued',
    };
    this.#startTimer(waiting);
    const queue = this.#queues.get(step);
    if (queue) queue.push(waiting);
    else this.#queues.set(step, [waiting]);
    this.#plan();
    return promise;
  }

  /** Starts the transactions at the end of the turn, so that the other steps of the turn join them. */
  #plan(): void {
    if (this.#isPlanned || this.#busy >= this.engine.lanes) return;
    this.#isPlanned = true;
    setImmediate(
      edge('group commit', () => {
        this.#isPlanned = false;
        while (this.#busy < this.engine.lanes && this.#queues.size > 0) this.#startNext();
      }),
    );
  }

  /** Starts the kind of step that has waited the longest since its last transaction. A Map keeps the order in which the kinds arrived. */
  #startNext(): void {
    const [next] = this.#queues;
    if (!next) return;
    const [step, queue] = next;
    const keys = new Set<string>();
    const group: Waiting[] = [];
    const left: Waiting[] = [];
    let bytes = 0;
    for (const waiting of inTurns(queue.filter(({ state }) => state !== 'over'))) {
      const isFull =
        group.length >= MAX_GROUP || (group.length > 0 && bytes + waiting.bytes > MAX_GROUP_BYTES);
      if (isFull || keys.has(waiting.key)) left.push(waiting);
      else {
        bytes += waiting.bytes;
        keys.add(waiting.key);
        group.push(waiting);
      }
    }
    this.#queues.delete(step);
    if (left.length > 0) this.#queues.set(step, left);
    if (group.length === 0) return;
    this.#busy++;
    group.sort((one, other) => (one.key < other.key ? -1 : 1));
    inBackground('group commit', async () => {
      await this.#runGroup(step, group);
      this.#busy--;
      if (this.#queues.size > 0) this.#plan();
    });
  }

  /** Never rejects. */
  async #runGroup(step: AnyStep, group: readonly Waiting[]): Promise<void> {
    for (const waiting of group) waiting.state = 'sent';
    try {
      const results = await this.#attempt(step, group);
      for (const [at, waiting] of group.entries()) this.#end(waiting, () => waiting.resolve(results[at]));
    } catch (error) {
      const isOfValues = !(error instanceof DatabaseFault) || error.reason === 'broken';
      if (isOfValues && group.length > 1) for (const waiting of group) await this.#runGroup(step, [waiting]);
      else for (const waiting of group) this.#end(waiting, () => waiting.reject(error));
    }
  }

  async #attempt(step: AnyStep, group: readonly Waiting[]): Promise<readonly unknown[]> {
    const giveUpAt = Math.max(...group.map((waiting) => waiting.giveUpAt));
    for (let conflicts = 0, reconnects = 0; ;) {
      try {
        return await this.#transact(step, group);
      } catch (error) {
        if (!(error instanceof DatabaseFault) || performance.now() >= giveUpAt) throw error;
        const isAgain = error.reason === 'away' || (error.reason === 'unknown' && step.repeatable);
        if (
          error.reason === 'conflict'
            ? ++conflicts > MAX_CONFLICTS
            : !isAgain || ++reconnects > MAX_RECONNECTS
        )
          throw error;
      }
    }
  }

  async #transact(step: AnyStep, group: readonly Waiting[]): Promise<readonly unknown[]> {
    const inputs = group.map(({ input }) => input) as [never];
    const refusal = step.guarded ? this.trust.refusal : this.trust.refusalOfAll;
    if (refusal) throw refusal;
    const look = step.look?.(inputs) ?? [];
    // The watch starts before the transaction: the database must have everything that the gateway has seen by then.
    const watched = step.guarded || step.pastLoss ? this.trust.watch() : undefined;
    // The clock is read after the look, which may have waited for a lock. Otherwise changes during the wait would lie in the future.
    const looks = look.length === 0 ? [] : [...look, watched?.query ?? CLOCK.with()];
    let decision: Decision<unknown> | undefined;
    let wakes: readonly string[] = [];
    let doubt: DatabaseFault | undefined;
    let first: readonly Query[] = [];
    const decide = (found: readonly Rows[]) => {
      const state = found.at(-1) ?? [];
      if (step.guarded) doubt = watched?.check(state);
      if (doubt) return undefined;
      const now = Number(state[0]?.['now'] ?? 0);
      decision = step.decide(inputs, found.slice(0, look.length), now);
      const { writes = [] } = decision;
      if (!watched && writes.some(({ statement }) => statement === RAISE))
        throw new Error(`${step.name} raises a number, so it has to be guarded or pastLoss`);
      first = step.pastLoss && watched ? watched.lossWrites(state) : [];
      wakes = [...new Set(writes.flatMap((write) => write.wakes ?? []))];
      return [...first, ...writes, ...wakes.flatMap((channel) => this.engine.notice(channel) ?? [])];
    };
    let written: readonly Rows[];
    try {
      written = (await this.engine.transact(looks, decide)).slice(first.length);
    } catch (error) {
      if (error instanceof DatabaseFault) this.trust.wrote(error);
      throw error;
    }
    // A transaction without writes does not show whether writes succeed.
    if (written.length > 0) this.trust.wrote(undefined);
    if (doubt) throw doubt;
    if (!decision) throw new Error(`${step.name} has decided nothing`);
    for (const [at, { statement }] of (decision.writes ?? []).entries())
      if (statement === RAISE) this.trust.raised(written[at] ?? []);
    this.wake(wakes);
    return decision.results?.(written) ?? group.map(() => undefined);
  }

  #startTimer(waiting: Waiting): void {
    const { withinMs } = waiting;
    waiting.giveUpAt = performance.now() + withinMs;
    waiting.timer = setTimeout(
      edge('database step', () => this.#expire(waiting)),
      withinMs,
    );
  }

  #expire(waiting: Waiting): void {
    const now = performance.now();
    // A late timer shows that the process was blocked, such as by a burst of requests. It has not read yet what the database has answered.
    if (now - waiting.giveUpAt > BLOCKED_MS && now < waiting.lastAt) return this.#startTimer(waiting);
    const fault =
      waiting.state === 'queued'
        ? new DatabaseFault('away', 'the database had no time for it')
        : new DatabaseFault('unknown', 'the database did not answer in time');
    this.#end(waiting, () => waiting.reject(fault));
  }

  #end(waiting: Waiting, tell: () => void): void {
    if (waiting.state === 'over') return;
    waiting.state = 'over';
    clearTimeout(waiting.timer);
    tell();
  }
}

/** Returns the inputs in turns: the first of each owner, then the second of each, and so on. */
function inTurns(queue: readonly Waiting[]): readonly Waiting[] {
  const turns = new Map<string, number>();
  const placed = queue.map((waiting) => {
    const turn = turns.get(waiting.of) ?? 0;
    turns.set(waiting.of, turn + 1);
    return { waiting, turn };
  });
  return placed.sort((one, other) => one.turn - other.turn).map(({ waiting }) => waiting);
}
