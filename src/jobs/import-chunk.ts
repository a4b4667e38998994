import { AddMembersService } from '../member/add-members.service.ts';
import { MemberService } from '../member/member.service.ts';
import { describe } from '../member/member-failure.ts';
import type { TraceContext } from '../observability/trace-context.ts';
import { inOwnTrace } from '../observability/tracing.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext } from '../upstream/call-context.ts';
import {
  isFinal,
  refusesRows,
  MOST_UNREADABLE,
  callProblem,
  UNKNOWN,
  UNREADABLE,
  UNREADABLE_CODES,
} from './call-failures.ts';
import { ChunkRows, type RowOutcome } from './chunk-rows.ts';
import { differs } from './import-plan.ts';
import type { ImportHold } from './import-hold.ts';
import type { RowResult, WaitingRow } from './job-record.ts';
import type { JobStore } from './job-store.ts';
import type { KnownMember, MemberDirectory, MembersByAccount } from './member-directory.ts';

/** Results of single calls are saved this often. */
const SAVE_EVERY_MS = 1_000;
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 10_000;
/** Enough to find several rows that the platform refuses among a hundred. */
const MOST_CALLS = 60;
/** After so many calls each sixteenth of the rows was refused by itself. */
const HOPELESS_CALLS = 31;

/** What the rows of a job share while this process works on them. */
export interface ChunkWork {
  readonly store: JobStore;
  readonly hold: ImportHold;
  readonly enterpriseGlobalId: string;
  readonly directory: MemberDirectory;
  /** Of the request that wanted the import. */
  readonly trace: TraceContext | undefined;
  readonly members: MemberService;
  readonly adding: AddMembersService;
  context(): Promise<CallContext>;
  /** A call that may have changed members has ended. */
  written(): Promise<void>;
  /** After this time (in ms since the epoch) nothing more is tried. */
  readonly giveUpAt: number;
  /** What the platform says where it refuses every call, and not single rows. */
  readonly refusedWhole: Set<string>;
}

/**
 * One chunk of a job, until each of its rows has a result. Every call is recorded before its first byte. After a call whose outcome is
 * not known, of this process or of one that died, the rows are looked up among the enterprise's members before anything is sent again.
 */
export class ImportChunk {
  readonly #rows: ChunkRows;
  #savedAt = performance.now();
  /** Some rows may have been carried out. */
  #isDoubtful: boolean;
  /** A call with an unknown outcome was sent at some time, so a refusal may be the echo of our own call. */
  #wasDoubtful: boolean;
  /** Answers that the gateway cannot read, after which no row was there. */
  #unreadable = 0;

  constructor(
    private readonly work: ChunkWork,
    private readonly chunk: number,
    results: readonly RowResult[],
    waiting: readonly WaitingRow[],
    /** Calls that were recorded before this process had the job. */
    private calls: number,
  ) {
    this.#rows = new ChunkRows(results, waiting);
    this.#isDoubtful = calls > 0;
    this.#wasDoubtful = calls > 0;
  }

  /** Throws where the job is lost, or cannot go on ({@link ProblemException}). */
  async run(): Promise<void> {
    const { hold } = this.work;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      hold.assertHeld();
      if (Date.now() >= this.work.giveUpAt) return this.#giveUp();
      const problem = await inOwnTrace('import', () => this.#attempt(), this.work.trace);
      if (this.#rows.areSettled || (hold.isCancelled && !this.#isDoubtful)) return this.#save(false);
      if (problem && isFinal(problem)) {
        await this.#save(true);
        throw problem;
      }
      await this.#save(true);
      const afterS = Number(problem?.headers['retry-after'] ?? 0);
      await hold.pause(Math.min(MAX_PAUSE_MS, Math.max(pauseMs, afterS * 1_000)));
    }
  }

  /** The job ended before these rows were sent. */
  async close(problem: ProblemException): Promise<void> {
    const { code } = problem.body;
    for (const { at } of this.#rows.open)
      this.#rows.settle(
        at,
        this.#isDoubtful ? UNKNOWN : { status: 'failed', code, message: describe(problem) },
      );
    await this.#save(false);
  }

  #giveUp(): Promise<void> {
    return this.close(new ProblemException('upstream-unavailable'));
  }

  /** Looks up what is doubtful, then sends what is still open. Returns why something stays open, where there is a reason. */
  async #attempt(): Promise<ProblemException | undefined> {
    const { hold } = this.work;
    try {
      if (this.#isDoubtful) await this.#lookUp();
      if (this.#rows.areSettled || hold.isCancelled) return undefined;
      if (!(await this.#begin())) return undefined;
      return (await this.#add()) ?? (await this.#changeOneByOne());
    } catch (error) {
      return callProblem(error);
    }
  }

  /** Records that a call is about to be sent. False: the job is cancelled. */
  async #begin(): Promise<boolean> {
    const { store, hold } = this.work;
    const isBegun = await hold.change(() => store.begin(hold.jobId, hold.task, this.chunk, this.calls + 1));
    if (isBegun) this.calls++;
    hold.assertHeld();
    return isBegun;
  }

  /** The rows as the enterprise's list has them now. */
  async #lookUp(): Promise<void> {
    const rows = this.#rows.open;
    const found = await this.#find(rows.map(({ member }) => member.account));
    for (const row of rows) this.#rows.settle(row.at, this.#foundOutcome(row, found));
    this.#isDoubtful = false;
    if (this.#unreadable >= MOST_UNREADABLE)
      for (const { at } of this.#rows.open) this.#rows.settle(at, UNREADABLE);
  }

  async #find(accounts: readonly string[]): Promise<MembersByAccount> {
    const call = await this.work.context();
    const found = await this.work.directory.of(call, this.work.enterpriseGlobalId, accounts);
    call.reach?.add(
      'member',
      [...found.values()].map(({ memberGlobalId }) => memberGlobalId),
    );
    return found;
  }

  #foundOutcome({ at, member: row }: WaitingRow, found: MembersByAccount): RowOutcome {
    const { was, memberGlobalId } = this.#rows.result(at);
    const member = found.get(row.account);
    switch (was) {
      case undefined:
        return member && { status: 'added', memberGlobalId: member.memberGlobalId };
      case 'surplus':
        return member?.memberGlobalId === memberGlobalId ? undefined : { status: 'deleted' };
      case 'different':
        return member && !differs(row, member)
          ? { status: 'updated', memberGlobalId: member.memberGlobalId }
          : undefined;
    }
  }

  /**
   * Adds all new rows in one call. Where the platform refuses the call as a whole, it may be for one of them, so each half is sent by
   * itself, as long as that helps.
   */
  async #add(): Promise<ProblemException | undefined> {
    const rows = this.#rows.open.filter(({ at }) => this.#rows.result(at).was === undefined);
    if (rows.length === 0) return undefined;
    const { refusedWhole } = this.work;
    const parts = [rows];
    let hasHelped = false;
    try {
      for (let part = parts.shift(), calls = 1; part; part = parts.shift(), calls++) {
        if (calls > 1 && !(await this.#begin())) return undefined;
        const problem = await this.#send(part);
        if (!problem) {
          hasHelped = true;
          continue;
        }
        if (!refusesRows(problem)) return problem;
        const reason = describe(problem);
        if (calls >= HOPELESS_CALLS && !hasHelped) refusedWhole.add(reason);
        if (part.length > 1 && calls < MOST_CALLS && !refusedWhole.has(reason)) {
          const half = Math.ceil(part.length / 2);
          parts.push(part.slice(0, half), part.slice(half));
          continue;
        }
        // All rows were in the first call, so those that are left were refused too.
        const isHopeless = refusedWhole.has(reason) && !hasHelped;
        const refused = isHopeless ? [part, ...parts.splice(0)].flat() : part;
        const count = isHopeless ? rows.length : part.length;
        const message = count === 1 ? reason : `${reason} (the platform refused ${count} rows in one call)`;
        const refusal = { status: 'failed', code: problem.body.code, message } as const;
        await this.#refuse(new Map(refused.map(({ at }) => [at, refusal])));
      }
    } finally {
      await this.work.written();
    }
    return undefined;
  }

  /** One call. Returns why it was not carried out, or perhaps was. */
  async #send(rows: readonly WaitingRow[]): Promise<ProblemException | undefined> {
    const call = await this.work.context();
    const { adding, enterpriseGlobalId } = this.work;
    const refusals = new Map<number, RowOutcome>();
    try {
      const members = rows.map(({ member }) => member);
      const { added, failed } = await adding.send(call, enterpriseGlobalId, members);
      const reasons = new Map(failed.map((failure) => [failure.account, failure]));
      for (const { at, member } of rows) {
        const reason = reasons.get(member.account);
        const memberGlobalId = added.get(member.account)?.memberGlobalId;
        if (reason?.outcome === 'unknown') this.#doubt(reason.code);
        else if (reason) refusals.set(at, { status: 'failed', code: reason.code, message: reason.message });
        else
          this.#rows.settle(at, { status: 'added', ...(memberGlobalId !== undefined && { memberGlobalId }) });
      }
    } catch (error) {
      const problem = callProblem(error);
      if (problem.body.outcome === 'unknown') this.#doubt(problem.body.code);
      return problem;
    }
    await this.#refuse(refusals);
    return undefined;
  }

  /** The platform refuses an account that is taken, also where an earlier call of ours took it. */
  async #refuse(refusals: ReadonlyMap<number, RowOutcome>): Promise<void> {
    const accounts = [...refusals.keys()].map((at) => this.#rows.result(at).account);
    const found = this.#wasDoubtful && accounts.length > 0 ? await this.#find(accounts) : undefined;
    for (const [at, refusal] of refusals) {
      const member = found?.get(this.#rows.result(at).account);
      this.#rows.settle(at, member ? { status: 'added', memberGlobalId: member.memberGlobalId } : refusal);
    }
  }

  /** Updates and deletes, which have the same effect when they are repeated. */
  async #changeOneByOne(): Promise<ProblemException | undefined> {
    const { hold } = this.work;
    let last: ProblemException | undefined;
    const rows = this.#rows.open.filter(({ at }) => this.#rows.result(at).was !== undefined);
    for (const row of rows) {
      if (hold.isCancelled || hold.over.aborted) return undefined;
      try {
        this.#rows.settle(row.at, await this.#change(row));
      } catch (error) {
        last = callProblem(error);
        const { code, outcome } = last.body;
        if (outcome === 'unknown') this.#doubt(code);
        else if (!refusesRows(last)) return last;
        else this.#rows.settle(row.at, { status: 'failed', code, message: describe(last) });
      }
      if (performance.now() - this.#savedAt > SAVE_EVERY_MS) await this.#save(true);
    }
    await this.work.written();
    return last;
  }

  async #change({ at, member }: WaitingRow): Promise<RowOutcome> {
    const { members, enterpriseGlobalId } = this.work;
    const { was, memberGlobalId = '' } = this.#rows.result(at);
    const call = await this.work.context();
    const ids = { enterpriseGlobalId, memberGlobalId };
    if (was === 'different') {
      const { password: _, ...terms } = member;
      await members.updateMember(call, ids, terms);
      return { status: 'updated', memberGlobalId };
    }
    try {
      await members.deleteMember(call, ids);
    } catch (error) {
      if (callProblem(error).body.code !== 'member-not-found') throw error;
    }
    return { status: 'deleted', memberGlobalId };
  }

  #doubt(code: string): void {
    if (UNREADABLE_CODES.has(code)) this.#unreadable++;
    this.#isDoubtful = true;
    this.#wasDoubtful = true;
  }

  /** `goesOn`: what is open still waits. Otherwise its passwords are deleted. */
  async #save(goesOn: boolean): Promise<void> {
    const { store, hold } = this.work;
    const { jobId, owner } = hold;
    const change = { jobId, owner, chunk: this.chunk, ...this.#rows.stored(goesOn) };
    await hold.change(() => store.save(change));
    this.#savedAt = performance.now();
  }
}

/** A member to delete, as a row without values. */
export function deletionRow(at: number, { account }: KnownMember): WaitingRow {
  return { at, member: { account, password: '', name: '' } };
}
