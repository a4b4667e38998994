import { inOwnTrace } from '../observability/tracing.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { Reach } from '../upstream/call-context.ts';
import { ImportChunk, deletionRow, type ChunkWork } from './import-chunk.ts';
import { GONE } from './call-failures.ts';
import type { ImportHold } from './import-hold.ts';
import { plannedRow, surplus } from './import-plan.ts';
import {
  countsOf,
  type EndState,
  type JobRecord,
  packed,
  ROWS_PER_CHUNK,
  type RowResult,
  sumOf,
  unpacked,
  type WaitingRow,
} from './job-record.ts';
import type { JobUsers } from './job-user.ts';
import type { MembersByAccount } from './member-directory.ts';

/** Enough to halve the time of an import, and few enough for the platform to serve other requests too. */
const CHUNKS_AT_A_TIME = 2;
const PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
/** Earlier than the rows are deleted (a day), so that each gets a result. */
const GIVE_UP_MS = 23.5 * 3_600_000;

const LOST = 'The order store has lost rows of this import. What became of them is unknown.';

export type RunParts = Omit<
  ChunkWork,
  'hold' | 'enterpriseGlobalId' | 'trace' | 'context' | 'giveUpAt' | 'refusedWhole' | 'written'
> & {
  readonly users: JobUsers;
  written(enterpriseGlobalId: string): Promise<void>;
};

interface OpenChunk {
  readonly results: readonly RowResult[];
  readonly waiting: readonly WaitingRow[];
}

/** A job in the process that has it: the plan, then chunk by chunk, then the end. */
export class ImportRun {
  readonly #reach = new Reach();
  readonly #work: ChunkWork;
  #chunks: number;
  /** Chunks that this process works on: they know which rows may have been carried out. */
  readonly #begun = new Map<number, ImportChunk>();
  /** Chunks of which the store has lost the rows that wait. */
  readonly #lost = new Map<number, readonly RowResult[]>();
  /** Chunks of which it has not even the results. */
  readonly #nameless = new Set<number>();

  constructor(
    private readonly parts: RunParts,
    private readonly hold: ImportHold,
    private readonly job: JobRecord,
    private readonly calls: ReadonlyMap<number, number>,
  ) {
    const { definition, createdAt, chunks } = job;
    const { enterpriseGlobalId } = definition;
    this.#chunks = chunks;
    this.#work = {
      ...parts,
      hold,
      enterpriseGlobalId,
      trace: definition.trace,
      context: () => parts.users.contextOf(definition, this.#reach),
      written: () => parts.written(enterpriseGlobalId),
      giveUpAt: createdAt + GIVE_UP_MS,
      refusedWhole: new Set(),
    };
    if (job.isCancelled) hold.cancelled();
  }

  /** The state in which the job ended. Throws where this process has the job no longer. */
  async run(): Promise<EndState> {
    try {
      if (!this.job.prepared && !this.hold.isCancelled) await this.#prepare();
      const next = Array.from({ length: this.#chunks }, (_, chunk) => chunk).values();
      const work = async () => {
        for (const chunk of next) {
          const open = await this.#chunk(chunk);
          if (open) this.#begun.set(chunk, open);
          await open?.run();
          this.#begun.delete(chunk);
        }
      };
      await settled(Array.from({ length: CHUNKS_AT_A_TIME }, work));
    } catch (error) {
      if (!(error instanceof ProblemException) || error.body.code === 'dependency-unavailable') throw error;
      return this.#fail(error);
    }
    if (this.#nameless.size + this.#lost.size === 0) return this.#finish(await this.#endState(), null);
    await this.#settleLost();
    return this.#finish('failed', new ProblemException('outcome-unknown', { detail: LOST }));
  }

  /** Compares the rows with the enterprise's members. It may be repeated as long as nothing was sent. */
  async #prepare(): Promise<void> {
    const { definition } = this.job;
    const members = await this.#members();
    const accounts = new Set<string>();
    for (let chunk = 0; chunk < this.job.chunks; chunk++) {
      const open = await this.#open(chunk);
      for (const { account } of open?.results ?? []) accounts.add(account);
      if (open) await this.#plan(chunk, open, members);
      else this.#nameless.add(chunk);
    }
    // Without every row it is not known who is missing from the file.
    const deletions =
      this.#nameless.size > 0 ? [] : surplus(members, accounts, definition, definition.user.username);
    for (let from = 0; from < deletions.length; from += ROWS_PER_CHUNK) {
      const part = deletions.slice(from, from + ROWS_PER_CHUNK);
      const results = part.map(({ account, memberGlobalId }): RowResult => ({
        account,
        memberGlobalId,
        status: 'pending',
        was: 'surplus',
      }));
      const waiting = part.map((member, at) => deletionRow(at, member));
      await this.#save(this.job.chunks + from / ROWS_PER_CHUNK, results, waiting);
    }
    const chunks = this.job.chunks + Math.ceil(deletions.length / ROWS_PER_CHUNK);
    const { store } = this.parts;
    const { jobId, owner } = this.hold;
    const total = this.job.total + deletions.length;
    await this.hold.change(() => store.prepared(jobId, owner, chunks, total));
    this.#chunks = chunks;
  }

  /** All members of the enterprise. Tries until the platform answers, or the job may not go on. */
  async #members(): Promise<MembersByAccount> {
    for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      this.hold.assertHeld();
      try {
        const context = await this.#work.context();
        const { enterpriseGlobalId, trace } = this.#work;
        const members = await inOwnTrace(
          'import',
          () => this.parts.directory.all(context, enterpriseGlobalId),
          trace,
        );
        this.#reach.add(
          'member',
          [...members.values()].map(({ memberGlobalId }) => memberGlobalId),
        );
        return members;
      } catch (error) {
        const problem = asProblem(error);
        if (!(problem instanceof ProblemException)) throw error;
        const { outcome, status } = problem.body;
        const isOver = Date.now() >= this.#work.giveUpAt;
        if (isOver || outcome !== 'not_processed' || status < 500) throw problem;
        await this.hold.pause(pauseMs);
        if ((await this.#record()).isCancelled) this.hold.cancelled();
        if (this.hold.isCancelled) return new Map();
      }
    }
  }

  async #plan(chunk: number, { results, waiting }: OpenChunk, members: MembersByAccount): Promise<void> {
    const { mode } = this.job.definition;
    const planned = [...results];
    for (const { at, member } of waiting) planned[at] = plannedRow(member, members, mode);
    // A new row is what the chunk says already.
    if (planned.every(({ status, was }) => status === 'pending' && was === undefined)) return;
    await this.#save(
      chunk,
      planned,
      waiting.filter(({ at }) => planned[at]?.status === 'pending'),
    );
  }

  async #save(chunk: number, results: readonly RowResult[], waiting: readonly WaitingRow[]): Promise<void> {
    const { jobId, owner } = this.hold;
    await this.hold.change(() =>
      this.parts.store.save({
        jobId,
        owner,
        chunk,
        results: packed(results),
        counts: countsOf(results),
        waiting: waiting.length > 0 ? packed(waiting) : undefined,
      }),
    );
  }

  /** Undefined for a chunk of which nothing is open. */
  async #chunk(chunk: number): Promise<ImportChunk | undefined> {
    this.hold.assertHeld();
    const open = await this.#open(chunk);
    if (!open) {
      this.#nameless.add(chunk);
      return undefined;
    }
    const { results } = open;
    this.#reach.add(
      'member',
      results.flatMap(({ memberGlobalId }) => memberGlobalId ?? []),
    );
    // Where the rows are gone, since no process was running for a day, only their results can be written.
    const waiting = results.flatMap(({ status, account }, at) =>
      status === 'pending' ? [{ at, member: { account, password: '', name: '' } }] : [],
    );
    const isExpired = open.waiting.length === 0;
    if (waiting.length === 0) return undefined;
    if (isExpired && Date.now() < this.#work.giveUpAt) {
      if (!this.hold.isCancelled) this.#lost.set(chunk, results);
      return undefined;
    }
    return new ImportChunk(
      this.#work,
      chunk,
      results,
      isExpired ? waiting : open.waiting,
      this.calls.get(chunk) ?? 0,
    );
  }

  async #open(chunk: number): Promise<OpenChunk | undefined> {
    const stored = await this.hold.persist(() => this.parts.store.chunk(this.hold.jobId, chunk));
    if (!stored) return undefined;
    const { results, waiting } = stored;
    return { results: unpacked<RowResult>(results), waiting: waiting ? unpacked<WaitingRow>(waiting) : [] };
  }

  /** Nothing more can be done: what was not sent fails, and the job says why. */
  async #fail(problem: ProblemException): Promise<EndState> {
    for (let chunk = 0; chunk < this.#chunks; chunk++)
      await (this.#begun.get(chunk) ?? (await this.#chunk(chunk)))?.close(problem);
    await this.#settleLost();
    return this.#finish('failed', problem);
  }

  /** Settles the rows that the store has lost. Of a chunk without results not even the accounts are known. */
  async #settleLost(): Promise<void> {
    for (const [chunk, results] of this.#lost)
      await this.#save(
        chunk,
        results.map((row) => (row.status === 'pending' ? { ...row, ...GONE } : row)),
        [],
      );
    const [nameless] = this.#nameless;
    if (nameless === undefined) return;
    const { total, counts } = await this.#record();
    const rows = Array.from({ length: Math.max(0, total - sumOf(counts)) }, () => ({ account: '', ...GONE }));
    await this.#save(nameless, rows, []);
  }

  async #endState(): Promise<EndState> {
    const { counts, total, isCancelled } = await this.#record();
    const { added, updated, unchanged, deleted } = counts;
    if (added + updated + unchanged + deleted === total) return 'succeeded';
    return isCancelled ? 'cancelled' : 'completed';
  }

  async #record(): Promise<JobRecord> {
    const job = await this.hold.persist(() => this.parts.store.read(this.hold.jobId));
    return job ?? this.hold.lost();
  }

  async #finish(state: EndState, problem: ProblemException | null): Promise<EndState> {
    const { store } = this.parts;
    const { jobId, owner } = this.hold;
    const body = problem && problem.answer(this.job.definition.requestId);
    await this.hold.change(() => store.finish(jobId, owner, state, body));
    return state;
  }
}

/** Waits for all, so that none is still at work, and throws the first failure. */
async function settled(all: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(all)) if (result.status === 'rejected') throw result.reason;
}
