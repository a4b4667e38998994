import { randomBytes } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { edge, inBackground, reportFault } from '../shared/edge.ts';
import {
  channelOf,
  dueBy,
  type DueTasks,
  end,
  renew,
  takeBy,
  type TakenTask,
  type Taking,
  type TaskOwner,
} from './task-store.ts';

/** When a process dies, its leases end, and another process takes its tasks. */
const LEASE_MS = 5_000;
const RENEW_MS = 1_000;
/** A run that fails inside the gateway is tried again after this time. */
const RETRY_MS = 1_000;
/**
 * The longest wait with a timer of its own. Longer waits are so many that their timers would take memory, and a late look does not matter
 * to them.
 */
const MAX_OWN_LOOK_MS = 10_000;
/** The pause after a search for tasks of other owners that found none: it reads all tasks of the owners that had their turn. */
const OTHERS_MS = 1_000;

/** One attempt at a task. A step that records work on the task names the attempt (`heldTasks`), so a process that lost the task records nothing. */
export interface TaskHold {
  readonly name: string;
  readonly attempt: string;
  /** Aborted when nothing further may be begun: the task is lost, or the process ends. */
  readonly over: AbortSignal;
}

export interface TaskWork {
  readonly kind: string;
  /** The number of tasks at a time in this process. */
  readonly concurrency: number;
  /** The number of tasks at a time while one has been due for `ms`. */
  readonly overdue?: { readonly ms: number; readonly concurrency: number };
  /** Resolves to the ms after which the task is to run again; undefined: it is done. */
  readonly run: (hold: TaskHold) => Promise<number | undefined>;
  /** The ms after which a task that was added again during its run is due; default: 0. Below 0 it comes before others that are due. */
  readonly againMs?: number;
  /** Tasks that have been due for this time come first. After each of them the worker takes another task, so that they do not delay all others. */
  readonly firstMs?: number;
  /** Owners take turns, so the many tasks of one do not hold up those of another. */
  readonly owner?: TaskOwner;
  /** While this returns true, no task is taken. */
  readonly isPaused?: () => boolean;
}

interface Run {
  readonly task: TakenTask;
  readonly over: AbortController;
  /** The end of the lease by this process's own clock, so that the run stops even if the database cannot be asked. */
  heldUntil: number;
  readonly ended: Promise<void>;
}

/** Runs the tasks of one kind until they are done. One process at a time has a task. Used in place of `@nestjs/bullmq` (decision 21). */
export class TaskWorker {
  readonly #runs = new Map<string, Run>();
  #closed = false;
  readonly #due: ReturnType<typeof dueBy>;
  readonly #taking: ReturnType<typeof takeBy>;
  /** The owners that had their turn, while others with due tasks have not. */
  readonly #served = new Set<string>();
  #othersAt = 0;
  #wasFirst = false;
  #looking = new AbortController();
  #loop = Promise.resolve();
  #renewing: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Database,
    private readonly work: TaskWork,
  ) {
    this.#due = dueBy(work.owner);
    this.#taking = takeBy(work.owner);
  }

  start(): void {
    const { kind } = this.work;
    this.#renewing = setInterval(
      edge(`leases of ${kind}`, () => this.#renew()),
      RENEW_MS,
    ).unref();
    this.#loop = this.#takeAll();
    inBackground(`tasks of ${kind}`, () => this.#loop);
  }

  /** True if the worker has as many tasks as it may have at a time: others wait for their turn. */
  get isFull(): boolean {
    return this.#runs.size >= this.work.concurrency;
  }

  /** Begins nothing further, also in the runs that are under way. */
  stop(): void {
    this.#closed = true;
    for (const { over } of this.#runs.values()) over.abort();
    this.#looking.abort();
  }

  /** Stops, waits for what is under way, and gives back what is not done. */
  async close(): Promise<void> {
    this.stop();
    await this.#loop;
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
    clearInterval(this.#renewing);
  }

  async #takeAll(): Promise<void> {
    while (!this.#closed) {
      this.#looking = new AbortController();
      const woken = this.database.woken(channelOf(this.work.kind), this.#looking.signal);
      // If the database is away, the loop asks it again after the wait.
      await this.#take().catch(() => undefined);
      await woken;
    }
  }

  async #take(): Promise<void> {
    const { kind, concurrency, overdue, isPaused, firstMs } = this.work;
    const isAny = (forMs = 0) => this.#isAny({ forMs });
    if (isPaused?.() || (this.isFull && !overdue) || !(await isAny())) return;
    const most = overdue && (await isAny(overdue.ms)) ? overdue.concurrency : concurrency;
    const count = most - this.#runs.size;
    if (count <= 0) return;
    const heldUntil = performance.now() + LEASE_MS;
    const attempt = randomBytes(16).toString('base64url');
    const taking = { kind, attempt, count, leaseMs: LEASE_MS };
    const isFirst = firstMs !== undefined && (await isAny(firstMs));
    const others =
      isFirst && this.#wasFirst
        ? await this.database.step(this.#taking, { ...taking, withinMs: firstMs })
        : [];
    const taken = others.length > 0 ? others : await this.#takeInTurn(taking);
    this.#wasFirst = isFirst && others.length === 0;
    for (const task of taken) {
      // A run that lost its task may not have ended yet.
      if (this.#closed || this.#runs.has(task.name)) await this.#end(task, this.#closed ? 0 : RETRY_MS);
      else this.#start(task, heldUntil);
    }
  }

  async #isAny(which: DueTasks): Promise<boolean> {
    return (await this.database.read(this.#due(this.work.kind, which))).length > 0;
  }

  /** Takes tasks of owners that had no turn yet. If none of these is due, the turns begin anew. */
  async #takeInTurn(taking: Taking): Promise<readonly TakenTask[]> {
    let passed: readonly string[] = [];
    if (this.work.owner && performance.now() >= this.#othersAt) {
      passed = [...this.#served];
      if (!(await this.#isAny({ passed }))) {
        passed = [];
        this.#served.clear();
        this.#othersAt = performance.now() + OTHERS_MS;
      }
    }
    const taken = await this.database.step(this.#taking, { ...taking, passed });
    for (const { owner } of taken) this.#served.add(owner);
    return taken;
  }

  #start(task: TakenTask, heldUntil: number): void {
    const over = new AbortController();
    const ended = Promise.withResolvers<void>();
    this.#runs.set(task.name, { task, over, heldUntil, ended: ended.promise });
    inBackground(`task of ${task.kind}`, async () => {
      const inMs = await this.#run(task, over.signal);
      await this.#end(task, inMs);
      this.#runs.delete(task.name);
      ended.resolve();
      this.#looking.abort();
      if (inMs !== undefined) this.#lookIn(inMs);
    });
  }

  /** Looks when a task of this process is due again. The database is asked too rarely for short waits. */
  #lookIn(ms: number): void {
    const look = edge(`tasks of ${this.work.kind}`, () => this.#looking.abort());
    if (ms < MAX_OWN_LOOK_MS) setTimeout(look, ms).unref();
  }

  async #run({ name, attempt, kind }: TakenTask, over: AbortSignal): Promise<number | undefined> {
    try {
      const inMs = await this.work.run({ name, attempt, over });
      return inMs !== undefined && over.aborted ? 0 : inMs;
    } catch (error) {
      reportFault(`task of ${kind}`, error);
      return RETRY_MS;
    }
  }

  /** If this fails, the lease ends by itself. */
  async #end(task: TakenTask, inMs: number | undefined): Promise<void> {
    const { againMs = 0 } = this.work;
    await this.database.step(end, { ...task, inMs, againMs }).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    await Promise.all([...this.#runs.values()].map((run) => this.#renewOne(run)));
  }

  /** Without an answer of the database the task is lost when its lease has ended. */
  async #renewOne(run: Run): Promise<void> {
    const { task, over } = run;
    const asked = performance.now();
    if (asked >= run.heldUntil) return over.abort();
    const isHeld = await this.database.step(renew, { ...task, leaseMs: LEASE_MS }).catch(() => undefined);
    if (isHeld) run.heldUntil = asked + LEASE_MS;
    else if (isHeld === false) over.abort();
  }
}
