import { describe } from '../../member/member-failure.ts';
import { inOwnTrace } from '../../observability/tracing.ts';
import type { ProblemException } from '../../problem/problem.exception.ts';
import type { ChunkRows, HeldJob } from '../store/held-job.ts';
import type { RowResult, WaitingRow } from '../store/job-record.ts';
import type { ImportCalls } from './import-calls.ts';
import type { KnownMembers } from './known-members.ts';
import {
  callProblem,
  isChange,
  isFinal,
  NOT_LOOKED_UP,
  refusesRows,
  type RowOutcome,
  unknownBecause,
  UNREADABLE_CODES,
  unreadOutcome,
  UNSHOWN,
  UNTOLD,
} from './row-outcomes.ts';
import { asKnown, foundOutcome, plannedRow } from './row-plan.ts';

const SAVE_EVERY_MS = 1_000;
/** The time for which a chunk without progress is tried. After that the job gives its place to others. */
const PATIENCE_MS = 1_000;
const PAUSE_MS = 200;
/** The most calls of a chunk. They suffice to find several refused rows among a hundred. */
const MAX_CALLS = 60;
/** The number of calls after which each sixteenth of the rows was refused on its own. */
const HOPELESS_CALLS = 31;

/**
 * Works on one chunk of a job until each of its rows has a result. Every call is recorded before its first byte is sent. After a call with
 * an unknown outcome, of this process or of one that died, the rows are looked up among the enterprise's members before anything is sent
 * again.
 */
export class ImportChunk {
  readonly #results: RowResult[];
  /** The rows without a result, by their index. */
  readonly #open: Map<number, WaitingRow>;
  #savedAt = performance.now();
  /** The open rows that may have been carried out. */
  readonly #doubtful = new Set<number>();

  constructor(
    private readonly held: HeldJob,
    private readonly calls: ImportCalls,
    private readonly chunk: number,
    { results, waiting }: ChunkRows,
    /** The number of recorded calls, including those of processes that had the job before. */
    private recorded: number,
  ) {
    this.#results = [...results];
    this.#open = new Map(waiting.map((row) => [row.at, row]));
    // The record of a call does not say which rows it had, so all rows are doubtful whose outcome was not saved since.
    for (const { at, knownUpTo = 0 } of waiting) if (recorded > knownUpTo) this.#mark(at, {});
  }

  /** Throws if the process has lost the job, if the job cannot go on now, or if it cannot go on at all ({@link ProblemException}). */
  async run(): Promise<void> {
    const { held } = this;
    let giveUpAt = performance.now() + PATIENCE_MS;
    for (;;) {
      held.assertHeld();
      if (held.isOverdue) return this.close(held.overdueProblem, NOT_LOOKED_UP);
      const { size } = this.#open;
      const problem = await inOwnTrace('import', () => this.#attempt(), held.job.definition.trace);
      if (this.#open.size === 0 || (held.isCancelled && this.#doubtful.size === 0)) return this.#save([]);
      await this.#save(this.#waiting());
      if (problem && isFinal(problem)) throw problem;
      if (this.#open.size < size) giveUpAt = performance.now() + PATIENCE_MS;
      if (problem?.headers['retry-after'] || performance.now() + PAUSE_MS > giveUpAt)
        throw held.tryLater(problem);
      await held.pause(PAUSE_MS);
    }
  }

  /** Ends the chunk before all of its rows were sent. `reason` says why the rows that may have been sent were not looked up. */
  async close(problem: ProblemException, reason = describe(problem)): Promise<void> {
    const unsent = { status: 'failed', code: problem.body.code, message: describe(problem) } as const;
    for (const at of this.#open.keys())
      this.#settle(at, this.#doubtful.has(at) ? unknownBecause(reason) : unsent);
    await this.#save([]);
  }

  /** Looks up the doubtful rows, then sends the open ones. Returns why some rows remain open, if there is a reason. */
  async #attempt(): Promise<ProblemException | undefined> {
    try {
      if (this.#doubtful.size > 0) await this.#lookUp();
      return (await this.#add()) ?? (await this.#changeOneByOne());
    } catch (error) {
      return callProblem(error);
    }
  }

  /** Records that a call is about to be sent. Returns false if the job is cancelled. */
  async #begin(): Promise<boolean> {
    const isBegun = await this.held.begin(this.chunk, this.recorded + 1);
    if (isBegun) this.recorded++;
    return isBegun;
  }

  async #lookUp(): Promise<void> {
    const rows = this.#waiting().filter(({ at }) => this.#doubtful.has(at));
    const ids = rows.flatMap(({ at }) => this.#result(at).memberGlobalId ?? []);
    const found = await this.calls.find(
      rows.map(({ member }) => member.account),
      ids,
    );
    for (const row of rows) {
      const result = this.#result(row.at);
      this.#settle(row.at, foundOutcome(row.member, result, found) ?? unreadOutcome(row, result, found));
    }
    this.#doubtful.clear();
    // The process that sent the call may have died before it could do so.
    await this.calls.written();
  }

  /**
   * Adds the members of the open rows. If the platform refuses a call as a whole, a single row may be the reason. Each half is then sent
   * separately, as long as that helps.
   */
  async #add(): Promise<ProblemException | undefined> {
    const rows = this.#waiting().filter(({ at }) => !isChange(this.#result(at)));
    if (rows.length === 0) return undefined;
    const { refusedWhole } = this.calls;
    const parts = [rows];
    let hasHelped = false;
    try {
      for (let part = parts.shift(), calls = 1; part; part = parts.shift(), calls++) {
        if (!(await this.#begin())) return undefined;
        const problem = await this.#send(part);
        if (!problem) {
          hasHelped = true;
          continue;
        }
        if (!refusesRows(problem)) return problem;
        const reason = describe(problem);
        if (calls >= HOPELESS_CALLS && !hasHelped) refusedWhole.add(reason);
        if (part.length > 1 && calls < MAX_CALLS && !refusedWhole.has(reason)) {
          const half = Math.ceil(part.length / 2);
          parts.push(part.slice(0, half), part.slice(half));
          continue;
        }
        // All rows were in the first call, so the remaining rows were refused too.
        const isHopeless = refusedWhole.has(reason) && !hasHelped;
        const refused = isHopeless ? [part, ...parts.splice(0)].flat() : part;
        const count = isHopeless ? rows.length : part.length;
        const message = count === 1 ? reason : `${reason} (the platform refused ${count} rows in one call)`;
        const refusal = { status: 'failed', code: problem.body.code, message } as const;
        await this.#refuse(new Map(refused.map(({ at }) => [at, refusal])));
      }
    } finally {
      await this.calls.written();
    }
    return undefined;
  }

  /** Sends one call. Returns why the call was not carried out, or why its outcome is unknown. */
  async #send(rows: readonly WaitingRow[]): Promise<ProblemException | undefined> {
    const refusals = new Map<number, RowOutcome>();
    try {
      const { added, failed } = await this.calls.add(rows.map(({ member }) => member));
      const failures = new Map(failed.map((failure) => [failure.account, failure]));
      for (const { at, member } of rows) {
        const failure = failures.get(member.account);
        const memberGlobalId = added.get(member.account)?.memberGlobalId;
        if (failure?.outcome === 'unknown') this.#doubt([at], failure.code);
        else if (failure)
          refusals.set(at, { status: 'failed', code: failure.code, message: failure.message });
        else this.#settle(at, { status: 'added', ...(memberGlobalId !== undefined && { memberGlobalId }) });
      }
    } catch (error) {
      const problem = callProblem(error);
      const { code, outcome } = problem.body;
      if (outcome === 'unknown')
        this.#doubt(
          rows.map(({ at }) => at),
          code,
        );
      return problem;
    }
    await this.#refuse(refusals);
    return undefined;
  }

  /**
   * Handles rows whose account the platform refused as taken. An earlier call of this job may have taken it. Or a member had it before, and
   * its account could not be read without the suffix.
   */
  async #refuse(refusals: ReadonlyMap<number, RowOutcome>): Promise<void> {
    const wasDoubtful = (at: number) => this.#open.get(at)?.wasDoubtful === true;
    const looked = [...refusals.keys()].filter((at) => wasDoubtful(at) || this.#result(at).was === 'perhaps');
    const found =
      looked.length > 0 ? await this.calls.find(looked.map((at) => this.#result(at).account)) : undefined;
    const { mode } = this.held.job.definition;
    for (const [at, refusal] of refusals) {
      const { account, was } = this.#result(at);
      const row = this.#open.get(at);
      const [member] = found?.of(account) ?? [];
      // The member may have been added by this job, or may have been there before.
      const isUntold = looked.includes(at) && found?.mayHave(account) === true;
      if (member && was === undefined && wasDoubtful(at))
        this.#settle(at, { status: 'added', memberGlobalId: member.memberGlobalId });
      else if (found && member && row && mode === 'upsert') this.#plan(row, found);
      else if (isUntold && (wasDoubtful(at) || mode === 'upsert'))
        this.#settle(at, found.isWhole ? UNTOLD : UNSHOWN);
      else this.#settle(at, refusal);
    }
  }

  /** Plans a row again once the suffix is known, because then it is known which member has the account. */
  #plan(row: WaitingRow, found: KnownMembers): void {
    const { at } = row;
    const planned = plannedRow(row.member, found, this.held.job.definition.mode);
    this.#results[at] = planned;
    if (planned.status === 'pending') this.#open.set(at, asKnown(row, found));
    else this.#open.delete(at);
  }

  /** Updates and deletes members one by one. A repeated call has the same effect. */
  async #changeOneByOne(): Promise<ProblemException | undefined> {
    const { held } = this;
    const rows = this.#waiting().filter(({ at }) => isChange(this.#result(at)));
    if (rows.length === 0) return undefined;
    let last: ProblemException | undefined;
    try {
      for (const row of rows) {
        if (held.over.aborted || !(await this.#begin())) return undefined;
        try {
          this.#settle(row.at, await this.#change(row));
        } catch (error) {
          last = callProblem(error);
          const { code, outcome } = last.body;
          if (outcome === 'unknown') this.#doubt([row.at], code);
          else if (!refusesRows(last)) return last;
          else this.#settle(row.at, { status: 'failed', code, message: describe(last) });
        }
        if (performance.now() - this.#savedAt > SAVE_EVERY_MS) await this.#save(this.#waiting());
      }
    } finally {
      await this.calls.written();
    }
    return last;
  }

  async #change({ at, member }: WaitingRow): Promise<RowOutcome> {
    const { was, memberGlobalId = '' } = this.#result(at);
    if (was === 'different') await this.calls.update(memberGlobalId, member);
    else await this.calls.delete(memberGlobalId);
    return { status: was === 'different' ? 'updated' : 'deleted', memberGlobalId };
  }

  #doubt(rows: readonly number[], code: string): void {
    for (const at of rows) {
      const { unreadable = 0 } = this.#open.get(at) ?? {};
      this.#mark(at, UNREADABLE_CODES.has(code) ? { unreadable: unreadable + 1 } : {});
    }
  }

  /** Marks an open row as one that may have been carried out. */
  #mark(at: number, terms: Pick<WaitingRow, 'unreadable'>): void {
    const row = this.#open.get(at);
    if (row) this.#open.set(at, { ...row, ...terms, wasDoubtful: true });
    this.#doubtful.add(at);
  }

  /** The open rows as they are saved. They say what is known of the calls so far. */
  #waiting(): readonly WaitingRow[] {
    return [...this.#open.values()].map((row) =>
      this.#doubtful.has(row.at) ? row : { ...row, knownUpTo: this.recorded },
    );
  }

  #result(at: number): RowResult {
    return this.#results[at] as RowResult;
  }

  #settle(at: number, outcome: RowOutcome): void {
    if (!outcome) return;
    const { account, inFile, memberGlobalId, was } = this.#result(at);
    this.#results[at] = {
      account,
      ...(inFile !== undefined && { inFile }),
      // The result still says that the member was to be deleted.
      ...(was === 'surplus' && { was }),
      ...(memberGlobalId !== undefined && { memberGlobalId }),
      ...outcome,
    };
    this.#open.delete(at);
    this.#doubtful.delete(at);
  }

  /** Saves the results. The passwords of rows that do not wait any more are dropped. */
  async #save(waiting: readonly WaitingRow[]): Promise<void> {
    await this.held.save(this.chunk, { results: this.#results, waiting });
    this.#savedAt = performance.now();
  }
}
