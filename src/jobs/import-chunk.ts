import { AddMembersService } from '../member/add-members.service.ts';
import { MemberService } from '../member/member.service.ts';
import { describe } from '../member/member-failure.ts';
import type { TraceContext } from '../observability/trace-context.ts';
import { inOwnTrace } from '../observability/tracing.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { differs } from './import-plan.ts';
import type { ImportLease } from './import-lease.ts';
import { countsOf, packed, type RowResult, type WaitingRow } from './job-record.ts';
import type { JobStore } from './job-store.ts';
import type { KnownMember, MemberDirectory, MembersByAccount } from './member-directory.ts';

/** Results of single calls are saved this often. */
const SAVE_EVERY_MS = 1_000;
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 10_000;

/** Refusals that say nothing about the rows: the same call may succeed later. */
const LATER: ReadonlySet<string> = new Set([
  ...[
    'upstream-unavailable',
    'upstream-timeout',
    'dependency-unavailable',
    'overloaded',
    'too-many-requests',
  ],
  ...['upstream-credential-rejected', 'upstream-contract-violation', 'upstream-unmapped-error'],
]);
/** The job cannot go on. */
const FINAL: ReadonlySet<string> = new Set(['session-expired', 'user-required', 'forbidden']);

/** What the rows of a job share while this process works on them. */
export interface ChunkWork {
  readonly store: JobStore;
  readonly lease: ImportLease;
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
}

/** What becomes of a row, or that it stays open. */
type Outcome = Omit<RowResult, 'account' | 'was'> | undefined;

/**
 * One chunk of a job, until each of its rows has a result. Every call is recorded before its first byte. After a call whose outcome is
 * not known, of this process or of one that died, the rows are looked up among the enterprise's members before anything is sent again.
 */
export class ImportChunk {
  readonly #results: RowResult[];
  readonly #open: Map<number, WaitingRow>;
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
    this.#results = [...results];
    this.#open = new Map(waiting.map((row) => [row.at, row]));
    this.#isDoubtful = calls > 0;
    this.#wasDoubtful = calls > 0;
  }

  /** Throws where the job is lost, or cannot go on ({@link ProblemException}). */
  async run(): Promise<void> {
    const { lease } = this.work;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      lease.assertHeld();
      if (Date.now() >= this.work.giveUpAt) return this.#giveUp();
      const problem = await inOwnTrace('import', () => this.#attempt(), this.work.trace);
      if (this.#open.size === 0 || (lease.isCancelled && !this.#isDoubtful)) return this.#save(false);
      if (problem && FINAL.has(problem.body.code)) {
        await this.#save(true);
        throw problem;
      }
      await this.#save(true);
      const afterS = Number(problem?.headers['retry-after'] ?? 0);
      await lease.pause(Math.min(MAX_PAUSE_MS, Math.max(pauseMs, afterS * 1_000)));
    }
  }

  /** The job ended before these rows were sent. */
  async close(problem: ProblemException): Promise<void> {
    const { code } = problem.body;
    for (const at of [...this.#open.keys()])
      this.#settle(at, this.#isDoubtful ? UNKNOWN : { status: 'failed', code, message: describe(problem) });
    await this.#save(false);
  }

  #giveUp(): Promise<void> {
    return this.close(new ProblemException('upstream-unavailable'));
  }

  /** Looks up what is doubtful, then sends what is still open. Returns why something stays open, where there is a reason. */
  async #attempt(): Promise<ProblemException | undefined> {
    const { store, lease } = this.work;
    try {
      if (this.#isDoubtful) await this.#lookUp();
      if (this.#open.size === 0 || lease.isCancelled) return undefined;
      const begun = await lease.persist(() =>
        store.begin(lease.jobId, lease.owner, this.chunk, this.calls + 1),
      );
      if (begun === 'lost') lease.lost();
      if (begun === 'cancelled') {
        lease.cancelled();
        return undefined;
      }
      this.calls++;
      lease.assertHeld();
      return (await this.#add()) ?? (await this.#changeOneByOne());
    } catch (error) {
      return problemOf(error);
    }
  }

  /** The rows as the enterprise's list has them now. */
  async #lookUp(): Promise<void> {
    const rows = [...this.#open.values()];
    const found = await this.#find(rows.map(({ member }) => member.account));
    for (const { at, member } of rows) this.#settle(at, this.#foundOutcome(at, found, member.account));
    this.#isDoubtful = false;
    if (this.#unreadable >= MOST_UNREADABLE)
      for (const at of [...this.#open.keys()]) this.#settle(at, UNREADABLE);
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

  #foundOutcome(at: number, found: MembersByAccount, account: string): Outcome {
    const { was, memberGlobalId } = this.#result(at);
    const member = found.get(account);
    switch (was) {
      case undefined:
        return member && { status: 'added', memberGlobalId: member.memberGlobalId };
      case 'surplus':
        return member?.memberGlobalId === memberGlobalId ? undefined : { status: 'deleted' };
      case 'different':
        return member && !differs((this.#open.get(at) as WaitingRow).member, member)
          ? { status: 'updated', memberGlobalId: member.memberGlobalId }
          : undefined;
    }
  }

  /** Adds all new rows in one call. */
  async #add(): Promise<ProblemException | undefined> {
    const rows = [...this.#open.values()].filter(({ at }) => this.#result(at).was === undefined);
    if (rows.length === 0) return undefined;
    const call = await this.work.context();
    const { adding, enterpriseGlobalId } = this.work;
    let refusals: Map<number, Outcome>;
    try {
      const members = rows.map(({ member }) => member);
      const { added, failed } = await adding.send(call, enterpriseGlobalId, members);
      const reasons = new Map(failed.map((failure) => [failure.account, failure]));
      refusals = new Map();
      for (const { at, member } of rows) {
        const reason = reasons.get(member.account);
        const memberGlobalId = added.get(member.account)?.memberGlobalId;
        if (reason?.outcome === 'unknown') this.#doubt(reason.code);
        else if (reason) refusals.set(at, { status: 'failed', code: reason.code, message: reason.message });
        else this.#settle(at, { status: 'added', ...(memberGlobalId !== undefined && { memberGlobalId }) });
      }
    } catch (error) {
      const problem = problemOf(error);
      const { code, outcome } = problem.body;
      if (outcome === 'unknown') this.#doubt(code);
      if (outcome !== 'not_processed' || LATER.has(code) || FINAL.has(code)) return problem;
      refusals = new Map(rows.map(({ at }) => [at, { status: 'failed', code, message: describe(problem) }]));
    } finally {
      await this.work.written();
    }
    await this.#refuse(refusals);
    return undefined;
  }

  /** The platform refuses an account that is taken, also where an earlier call of ours took it. */
  async #refuse(refusals: ReadonlyMap<number, Outcome>): Promise<void> {
    const accounts = [...refusals.keys()].map((at) => this.#result(at).account);
    const found = this.#wasDoubtful && accounts.length > 0 ? await this.#find(accounts) : undefined;
    for (const [at, refusal] of refusals) {
      const member = found?.get(this.#result(at).account);
      this.#settle(at, member ? { status: 'added', memberGlobalId: member.memberGlobalId } : refusal);
    }
  }

  /** Updates and deletes, which have the same effect when they are repeated. */
  async #changeOneByOne(): Promise<ProblemException | undefined> {
    const { lease } = this.work;
    let last: ProblemException | undefined;
    const rows = [...this.#open.values()].filter(({ at }) => this.#result(at).was !== undefined);
    for (const row of rows) {
      if (lease.isCancelled || lease.over.aborted) return undefined;
      try {
        this.#settle(row.at, await this.#change(row));
      } catch (error) {
        last = problemOf(error);
        const { code, outcome } = last.body;
        if (outcome === 'unknown') this.#doubt(code);
        else if (LATER.has(code) || FINAL.has(code)) return last;
        else this.#settle(row.at, { status: 'failed', code, message: describe(last) });
      }
      if (performance.now() - this.#savedAt > SAVE_EVERY_MS) await this.#save(true);
    }
    await this.work.written();
    return last;
  }

  async #change({ at, member }: WaitingRow): Promise<Outcome> {
    const { members, enterpriseGlobalId } = this.work;
    const { was, memberGlobalId = '' } = this.#result(at);
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
      if (problemOf(error).body.code !== 'member-not-found') throw error;
    }
    return { status: 'deleted', memberGlobalId };
  }

  #doubt(code: string): void {
    if (UNREADABLE_CODES.has(code)) this.#unreadable++;
    this.#isDoubtful = true;
    this.#wasDoubtful = true;
  }

  #result(at: number): RowResult {
    return this.#results[at] as RowResult;
  }

  #settle(at: number, outcome: Outcome): void {
    if (!outcome) return;
    const { account, memberGlobalId, was } = this.#result(at);
    // A member to delete stays known as one.
    const mark = was === 'surplus' && { was };
    this.#results[at] = {
      account,
      ...mark,
      ...(memberGlobalId !== undefined && { memberGlobalId }),
      ...outcome,
    };
    this.#open.delete(at);
  }

  /** `goesOn`: what is open still waits. Otherwise its passwords are deleted. */
  async #save(goesOn: boolean): Promise<void> {
    const { store, lease } = this.work;
    const rest = [...this.#open.values()];
    const isSaved = await lease.persist(() =>
      store.save({
        jobId: lease.jobId,
        owner: lease.owner,
        chunk: this.chunk,
        results: packed(this.#results),
        counts: countsOf(this.#results),
        waiting: goesOn && rest.length > 0 ? packed(rest) : undefined,
      }),
    );
    this.#savedAt = performance.now();
    if (!isSaved) lease.lost();
  }
}

/** After so many answers the platform will not say anything else. */
const MOST_UNREADABLE = 5;
const UNREADABLE_CODES: ReadonlySet<string> = new Set([
  'upstream-unmapped-error',
  'upstream-contract-violation',
]);
const UNREADABLE: Outcome = {
  status: 'failed',
  code: 'upstream-contract-violation',
  message:
    'The platform answered several times in a way that the gateway cannot read, and the row had no effect.',
};
const UNKNOWN: Outcome = {
  status: 'unknown',
  code: 'outcome-unknown',
  message: 'The row was sent, and the list of members could not be read for a day.',
};

/** A member to delete, as a row without values. */
export function deletionRow(at: number, { account }: KnownMember): WaitingRow {
  return { at, member: { account, password: '', name: '' } };
}

/** Failures of the gateway itself are thrown on: the job is then tried again. */
function problemOf(error: unknown): ProblemException {
  const problem = asProblem(error);
  if (problem instanceof ProblemException) return problem;
  throw error;
}
