import { describe } from '../../member/member-failure.ts';
import { inOwnTrace } from '../../observability/tracing.ts';
import type { ProblemException } from '../../problem/problem.exception.ts';
import { problemFrom } from '../../upstream/problems/as-problem.ts';
import type { ChunkRows, HeldJob } from '../store/held-job.ts';
import type { WaitingRow } from '../store/job-record.ts';
import type { ImportCalls } from './import-calls.ts';
import type { KnownMembers } from './known-members.ts';
import { OpenRows } from './open-rows.ts';
import { afterRefusal, partsOf } from './refused-parts.ts';
import {
  codeOfUnmapped,
  isChange,
  isFinal,
  isGivenUp,
  isUnreadable,
  NOT_LOOKED_UP,
  refusesRows,
  restsOnAbsence,
  type RowOutcome,
  unknownBecause,
  unlistedOutcome,
  unreadOutcome,
  UNSHOWN,
  UNTOLD,
} from './row-outcomes.ts';
import { asKnown, foundOutcome, plannedRow } from './row-plan.ts';

const SAVE_EVERY_MS = 1_000;
/** The time for which a chunk without progress is tried. After that the job gives its place to others. */
const PATIENCE_MS = 1_000;
const PAUSE_MS = 200;
/** The time for which the rows of an overdue job are looked up. A breaker tries a call again within it. */
const LAST_PATIENCE_MS = 5_000;
/** The most calls of a chunk. They suffice to find several refused rows among a hundred. */
const MAX_CALLS = 60;
/** The number of calls after which each sixteenth of the rows was refused on its own. */
const HOPELESS_CALLS = 31;
/** The number of calls after which all rows and both halves of them were refused. */
const HALVES_CALLS = 3;

/**
 * Works on one chunk of a job until each of its rows has a result. Every call is recorded before its first byte is sent. After a call with
 * an unknown outcome, of this process or of one that died, the rows are looked up among the enterprise's members before anything is sent
 * again. If the job sends nothing any more, they are looked up twice, and then the chunk ends.
 */
export class ImportChunk {
  readonly #rows: OpenRows;
  #savedAt = performance.now();
  #isLastLook = false;

  constructor(
    private readonly held: HeldJob,
    private readonly calls: ImportCalls,
    private readonly chunk: number,
    rows: ChunkRows,
    /** The number of recorded calls, including those of processes that had the job before. */
    private recorded: number,
  ) {
    this.#rows = new OpenRows(rows, recorded);
  }

  /** Throws if the process has lost the job, if the job cannot go on now, or if it cannot go on at all ({@link ProblemException}). */
  async run(): Promise<void> {
    const held = this.held;
    const rows = this.#rows;
    const { isOverdue } = held;
    const inPatience = () => performance.now() + (isOverdue ? LAST_PATIENCE_MS : PATIENCE_MS);
    let giveUpAt = inPatience();
    for (;;) {
      held.assertHeld();
      const { size } = rows;
      const problem = await inOwnTrace('import', () => this.#attempt(), held.job.definition.trace);
      const isEnding = held.sendsNothing && !rows.hasDoubts;
      if (rows.size === 0 || (isEnding && (this.#isLastLook || !rows.doubtAgain())))
        return held.isCancelled ? this.#save([]) : this.close(held.overdueProblem);
      await this.#saveOpen();
      if (isEnding) {
        // The platform may still carry out a call that the gateway has given up.
        this.#isLastLook = true;
        await held.pause(rows.lateInMs);
        giveUpAt = inPatience();
        continue;
      }
      if (problem && isFinal(problem)) throw problem;
      held.assertHeld();
      if (rows.size < size) giveUpAt = inPatience();
      const isOver = performance.now() + PAUSE_MS > giveUpAt;
      if (isOverdue && isOver) return this.close(held.overdueProblem, NOT_LOOKED_UP);
      if (!isOverdue && (isOver || problem?.headers['retry-after'])) throw held.tryLater(problem);
      await held.pause(PAUSE_MS);
    }
  }

  /** Ends the chunk before all of its rows were sent. `reason` says why the rows that may have been sent were not looked up. */
  async close(problem: ProblemException, reason = describe(problem)): Promise<void> {
    const unsent = { status: 'failed', code: problem.body.code, message: describe(problem) } as const;
    const rows = this.#rows;
    for (const { at } of rows.all()) rows.settle(at, rows.mayBeDone(at) ? unknownBecause(reason) : unsent);
    await this.#save([]);
  }

  /** Looks up the doubtful rows, then sends the open ones. Returns why some rows remain open, if there is a reason. */
  async #attempt(): Promise<ProblemException | undefined> {
    try {
      if (this.#rows.hasDoubts) await this.#lookUp();
      const problem = await this.#add();
      return problem ?? (await this.#changeOneByOne());
    } catch (error) {
      return problemFrom(error);
    }
  }

  /** Records that a call is about to be sent. Returns false if the job sends nothing any more. */
  async #begin(): Promise<boolean> {
    const isBegun = await this.held.begin(this.chunk, this.recorded + 1);
    if (isBegun) this.recorded++;
    return isBegun;
  }

  async #lookUp(): Promise<void> {
    const rows = this.#rows;
    const doubtful = rows.doubtful();
    const ids = doubtful.flatMap(({ at }) => rows.result(at).memberGlobalId ?? []);
    const accounts = doubtful.map(({ member }) => member.account);
    const { sendsNothing } = this.held;
    const outcomeIn = (found: KnownMembers, row: WaitingRow) => {
      const result = rows.result(row.at);
      const isSentAgain = !sendsNothing && !isGivenUp(row);
      const outcome =
        foundOutcome(row.member, result, found, isSentAgain) ?? unreadOutcome(row, result, found);
      return outcome ?? (this.#isLastLook ? unlistedOutcome(row, result, found) : undefined);
    };
    const found = await this.calls.find(accounts, ids);
    let again: KnownMembers | undefined;
    for (const row of doubtful) {
      let outcome = outcomeIn(found, row);
      if (restsOnAbsence(rows.result(row.at), outcome))
        outcome = outcomeIn((again ??= await this.calls.find(accounts, ids)), row);
      rows.settle(row.at, outcome);
    }
    rows.looked();
    // The process that sent the call may have died before it could do so.
    await this.calls.written();
  }

  /**
   * Adds the members of the open rows. If the platform refuses a call as a whole, a single row may be the reason. Each half is then sent
   * separately, as long as that helps. If another chunk was refused for the same reason in all of its parts, two halves suffice.
   */
  async #add(): Promise<ProblemException | undefined> {
    const rows = this.#rows.all().filter(({ at }) => !isChange(this.#rows.result(at)));
    if (rows.length === 0) return undefined;
    const { refusedWhole } = this.calls;
    const parts = partsOf(rows);
    const isWhole = parts.length === 1;
    const unread: { readonly part: readonly WaitingRow[]; readonly by: string }[] = [];
    let hasHelped = false;
    let last: ProblemException | undefined;
    let { size } = this.#rows;
    try {
      for (let part = parts.shift(), calls = 1; part; part = parts.shift(), calls++) {
        // The passwords of the part before are deleted with its answer.
        if (this.#rows.size < size) await this.#saveOpen();
        ({ size } = this.#rows);
        if (!(await this.#begin())) return undefined;
        const problem = await this.#send(part);
        if (!problem) {
          hasHelped = true;
          continue;
        }
        const by = codeOfUnmapped(problem);
        if (by !== undefined) {
          unread.push({ part, by });
          last = problem;
          continue;
        }
        if (!refusesRows(problem)) return problem;
        const reason = describe(problem);
        if (calls >= HOPELESS_CALLS && !hasHelped) refusedWhole.add(reason);
        // If all rows were in the first call, the remaining rows were refused too.
        const isHopeless = isWhole && calls >= HALVES_CALLS && !hasHelped && refusedWhole.has(reason);
        if (part.length > 1 && calls < MAX_CALLS && !isHopeless) {
          const half = Math.ceil(part.length / 2);
          parts.push(part.slice(0, half), part.slice(half));
          continue;
        }
        const refused = isHopeless ? [part, ...parts.splice(0)].flat() : part;
        const count = isHopeless ? rows.length : part.length;
        const message = count === 1 ? reason : `${reason} (the platform refused ${count} rows in one call)`;
        const refusal = { status: 'failed', code: problem.body.code, message } as const;
        await this.#refuse(new Map(refused.map(({ at }) => [at, refusal])));
      }
    } finally {
      for (const { part, by } of unread)
        for (const row of part) this.#rows.doubt(row.at, afterRefusal(row, part.length, by, hasHelped));
      await this.calls.written();
    }
    return last;
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
        if (failure?.outcome === 'unknown') this.#doubt(at, failure.code);
        else if (failure)
          refusals.set(at, { status: 'failed', code: failure.code, message: failure.message });
        else
          this.#rows.settle(at, {
            status: 'added',
            ...(memberGlobalId !== undefined && { memberGlobalId }),
          });
      }
    } catch (error) {
      const problem = problemFrom(error);
      if (problem.body.outcome === 'unknown') for (const { at } of rows) this.#doubt(at, problem.body.code);
      return problem;
    }
    await this.#refuse(refusals);
    return undefined;
  }

  /**
   * Handles rows whose account the platform refused as taken. An earlier call of this job may have taken it. Or a member has it, who came
   * after the plan, or whose account could not be read without the suffix.
   */
  async #refuse(refusals: ReadonlyMap<number, RowOutcome>): Promise<void> {
    const rows = this.#rows;
    const { mode } = this.held.job.definition;
    const wasDoubtful = (at: number) => rows.at(at)?.wasDoubtful === true;
    const isUncertain = (at: number) => wasDoubtful(at) || rows.result(at).was === 'perhaps';
    const looked = [...refusals.keys()].filter((at) => mode === 'upsert' || isUncertain(at));
    const find = () => this.calls.find(looked.map((at) => rows.result(at).account));
    const first = looked.length > 0 ? await find() : undefined;
    const isShown = (at: number) => first?.mayHave(rows.result(at).account) === true;
    // One list may leave a member out.
    const second = looked.some((at) => isUncertain(at) && !isShown(at)) ? await find() : undefined;
    for (const [at, refusal] of refusals) {
      const found = isShown(at) ? first : (second ?? first);
      const { account, was } = rows.result(at);
      const row = rows.at(at);
      const [member] = found?.of(account) ?? [];
      // The member may have been added by this job, or may have been there before.
      const isUntold = isUncertain(at) && found?.mayHave(account) === true;
      if (member && was === undefined && wasDoubtful(at))
        rows.settle(at, { status: 'added', memberGlobalId: member.memberGlobalId });
      else if (found && member && row && mode === 'upsert')
        // Now it is known which member has the account.
        rows.replan(at, plannedRow(row.member, found, mode), asKnown(row, found));
      else if (isUntold && (wasDoubtful(at) || mode === 'upsert'))
        rows.settle(at, found.isWhole ? UNTOLD : UNSHOWN);
      else rows.settle(at, refusal);
    }
  }

  /** Updates and deletes members one by one. A repeated call has the same effect. */
  async #changeOneByOne(): Promise<ProblemException | undefined> {
    const { held } = this;
    const rows = this.#rows.all().filter(({ at }) => isChange(this.#rows.result(at)));
    if (rows.length === 0) return undefined;
    let last: ProblemException | undefined;
    try {
      for (const row of rows) {
        if (held.over.aborted || !(await this.#begin())) return undefined;
        try {
          this.#rows.settle(row.at, await this.#change(row));
        } catch (error) {
          last = problemFrom(error);
          const { code, outcome } = last.body;
          const by = codeOfUnmapped(last);
          if (by !== undefined) this.#rows.doubt(row.at, afterRefusal(row, 1, by, false));
          else if (outcome === 'unknown') this.#doubt(row.at, code);
          else if (!refusesRows(last)) return last;
          else this.#rows.settle(row.at, { status: 'failed', code, message: describe(last) });
        }
        if (performance.now() - this.#savedAt > SAVE_EVERY_MS) await this.#saveOpen();
      }
    } finally {
      await this.calls.written();
    }
    return last;
  }

  async #change({ at, member }: WaitingRow): Promise<RowOutcome> {
    const { was, memberGlobalId = '' } = this.#rows.result(at);
    if (was === 'different') await this.calls.update(memberGlobalId, member);
    else await this.calls.delete(memberGlobalId);
    return { status: was === 'different' ? 'updated' : 'deleted', memberGlobalId };
  }

  #doubt(at: number, code: string): void {
    const { unreadable = 0 } = this.#rows.at(at) ?? {};
    this.#rows.doubt(at, isUnreadable(code) ? { unreadable: unreadable + 1 } : {});
  }

  /** Saves what is known so far. The cached lists are dropped first, because callers then read the members that the results tell of. */
  async #saveOpen(): Promise<void> {
    await this.calls.written();
    await this.#save(this.#rows.saved(this.recorded));
  }

  /** Saves the results. The passwords of rows that do not wait any more are dropped. */
  async #save(waiting: readonly WaitingRow[]): Promise<void> {
    await this.held.save(this.chunk, { results: this.#rows.results, waiting });
    this.#savedAt = performance.now();
  }
}
