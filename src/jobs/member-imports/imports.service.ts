import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ImportConfig } from '../../config/app-config.ts';
import { sameCase } from '../../member/account-suffix.ts';
import { describe } from '../../member/member-failure.ts';
import { MemberService } from '../../member/member.service.ts';
import type { RequestFile } from '../../request/request-stages.ts';
import { ProblemException, type RequestFault } from '../../problem/problem.exception.ts';
import { Slices } from '../../shared/slices.ts';
import type { CallContext } from '../../request/call-context.ts';
import type { ImportPlanDto } from '../../request/dry-run.dto.ts';
import type { DryRun } from '../../request/dry-run.ts';
import { type ImportQuery, type JobDto, jobLocation, toJob } from '../dto/job.dto.ts';
import {
  type ImportOptions,
  isEnded,
  type JobDefinition,
  type JobRecord,
  type NumberedResult,
  ROWS_PER_CHUNK,
  unpacked,
  type WaitingRow,
} from '../store/job-record.ts';
import { JobStore } from '../store/job-store.ts';
import type { Reservation, Reserved } from '../store/stored-job.ts';
import { type CheckedFile, readFile } from './checked-file.ts';
import { JobUsers, jobUserOf } from './import-calls.ts';
import { accountsGivenIn, surplus } from './import-plan.ts';
import type { KnownMember, KnownMembers } from './known-members.ts';
import { MemberDirectory } from './member-directory.ts';
import { asKnown, RowPlanner } from './row-plan.ts';

/** The divisor of a file's length. Its rows are packed, so they take at most this part of it in the store. */
const PART_OF_FILE = 2;
/** The statuses of rows that a retry may send again. */
const AGAIN: ReadonlySet<string> = new Set(['pending', 'failed', 'unknown']);
/** The number of seconds after which most files were read. */
const READ_S = 10;
/** Why the plan does not count a row, although the import sends it. */
const UNTOLD =
  'A member may have this account: the gateway cannot tell the accounts of some members yet from the code of the enterprise (`suffix-unknown`). Add one new member, then ask again.';
const FULL = {
  caller: 'The caller has too many imports that have not ended.',
  store: 'All imports together take as much room as they may have.',
};

export interface ImportRequest {
  readonly call: CallContext;
  readonly enterpriseGlobalId: string;
  readonly file: RequestFile | undefined;
}

/** Accepts files. It first reserves space, then reads and checks the rows, and only then makes a job. */
@Injectable()
export class ImportsService {
  constructor(
    private readonly store: JobStore,
    private readonly users: JobUsers,
    private readonly directory: MemberDirectory,
    private readonly members: MemberService,
    private readonly config: ImportConfig,
  ) {}

  async importMembers(request: ImportRequest, query: ImportQuery): Promise<JobDto> {
    const options = optionsOf(query);
    const { dryRun } = request.call;
    return dryRun ? this.#dryRun(dryRun, request, options) : this.#accept(request, options);
  }

  async #dryRun(dryRun: DryRun, request: ImportRequest, options: ImportOptions): Promise<never> {
    const { enterpriseGlobalId } = request;
    assertReserved(await this.store.reserve(this.#roomOf(request), true), true);
    const file = await this.#read(request, options.mode);
    const { plan, deleted } = await this.#plan(request, file, options);
    for (const { memberGlobalId, account } of deleted)
      dryRun.add('member-removed', { enterpriseGlobalId, memberGlobalId, account });
    const sent = plan.add + plan.impossible.filter(({ reason }) => reason === UNTOLD).length;
    const calls = { addMembers: sent, editMember: plan.update, deleteMember: deleted.length };
    for (const [operation, count] of Object.entries(calls))
      if (count > 0) dryRun.wouldSend.push({ operation: operation as keyof typeof calls, body: null });
    dryRun.plan = plan;
    return dryRun.stop();
  }

  /** Makes a new job of rows that failed in an earlier one. `results` has all rows of the earlier job. */
  async retryJob(
    { definition, state }: JobRecord,
    results: AsyncIterable<NumberedResult>,
    request: Omit<ImportRequest, 'enterpriseGlobalId'>,
  ): Promise<JobDto> {
    const { jobId, enterpriseGlobalId, mode } = definition;
    if (!isEnded(state)) throw inProgress(jobId);
    const wanted = new Set<string>();
    // A row without a number is not from the file: it is a member who was to be deleted.
    for await (const { row, result } of results) {
      const { account, inFile = account, status } = result;
      if (row !== null && AGAIN.has(status)) for (const name of [account, inFile]) wanted.add(sameCase(name));
    }
    return this.#accept({ ...request, enterpriseGlobalId }, { mode, deletes: undefined }, wanted);
  }

  async #accept(
    request: ImportRequest,
    options: ImportOptions,
    wanted?: ReadonlySet<string>,
  ): Promise<JobDto> {
    const { call, enterpriseGlobalId } = request;
    const room = this.#roomOf(request);
    const { jobId, caller } = room;
    assertReserved(await this.store.reserve(room));
    let made: JobRecord | 'unknown';
    try {
      const file = await this.#read(request, options.mode, wanted);
      if (options.deletes) await this.#plan(request, file, options);
      assertReserved(await this.store.reserve(room));
      const definition: JobDefinition = {
        ...{ jobId, enterpriseGlobalId, caller, isScoped: this.users.hasScope(caller) },
        user: jobUserOf(call),
        requestId: call.requestId,
        trace: call.trace,
        ...options,
      };
      made = await this.store.create(room, definition, file.chunks, file.rows);
    } catch (error) {
      await this.store.release(jobId).catch(() => undefined);
      throw error;
    }
    if (made === 'unknown') throw doubtful(jobId);
    return toJob(made);
  }

  #roomOf({ call, enterpriseGlobalId, file }: ImportRequest): Reservation {
    const bytes = Math.ceil((file?.length ?? this.config.maxBytes) / PART_OF_FILE);
    return { jobId: randomUUID(), enterpriseGlobalId, caller: call.caller.name, bytes };
  }

  #read(
    { file }: ImportRequest,
    mode: ImportOptions['mode'],
    wanted?: ReadonlySet<string>,
  ): Promise<CheckedFile> {
    if (!file)
      throw invalid({
        pointer: '',
        detail: 'must be a file in text/csv or application/x-ndjson, with at least one row',
      });
    return readFile(file, mode, this.config, wanted);
  }

  async #plan(
    { call, enterpriseGlobalId }: ImportRequest,
    { chunks }: CheckedFile,
    options: ImportOptions,
  ): Promise<{ readonly plan: ImportPlanDto; readonly deleted: readonly KnownMember[] }> {
    const slices = new Slices();
    const accounts = new Set<string>();
    for (const { waiting } of chunks) {
      await slices.rest();
      for (const account of accountsGivenIn(waiting ? unpacked<WaitingRow>(waiting) : []))
        accounts.add(account);
    }
    const members = await this.directory.all(call, enterpriseGlobalId, accounts);
    const planner = new RowPlanner(members, options.mode);
    const plan = { add: 0, update: 0, unchanged: 0 };
    const impossible: ImportPlanDto['impossible'][number][] = [];
    for (const [chunk, { waiting }] of chunks.entries()) {
      await slices.rest();
      for (const waits of waiting ? unpacked<WaitingRow>(waiting) : []) {
        const row = chunk * ROWS_PER_CHUNK + waits.at + 1;
        const { account, status, was, message = '' } = planner.plan(row, waits.member);
        const loss = was === 'different' ? this.#lossOf(waits, members) : undefined;
        if (loss) impossible.push({ row, account, reason: describe(loss) });
        else if (was === 'different') plan.update++;
        else if (was === 'perhaps') impossible.push({ row, account, reason: UNTOLD });
        else if (status === 'pending') plan.add++;
        else if (status === 'failed') impossible.push({ row, account, reason: message });
        else plan.unchanged++;
      }
    }
    const deleted = surplus(members, planner, options, jobUserOf(call).username);
    return { plan: { ...plan, delete: deleted.map(({ account }) => account), impossible }, deleted };
  }

  /** Returns the problem with which the update of a row will be refused, because it would lose what the member has. */
  #lossOf(row: WaitingRow, members: KnownMembers): ProblemException | undefined {
    const [known] = members.meantBy(row.member);
    const { name = '', ...sent } = asKnown(row, members).member;
    return known && this.members.lossOf({ ...sent, name }, known);
  }
}

function optionsOf({ mode, deleteMissing, maxDeletes, keep }: ImportQuery): ImportOptions {
  const errors: RequestFault[] = [];
  if (deleteMissing && mode !== 'upsert')
    errors.push({ parameter: 'deleteMissing', detail: 'must be given with mode=upsert only' });
  if (deleteMissing && maxDeletes === undefined)
    errors.push({ parameter: 'maxDeletes', detail: 'is required with deleteMissing' });
  if (!deleteMissing && maxDeletes !== undefined)
    errors.push({ parameter: 'maxDeletes', detail: 'must be given with deleteMissing=true only' });
  if (!deleteMissing && keep !== undefined)
    errors.push({ parameter: 'keep', detail: 'must be given with deleteMissing=true only' });
  if (errors.length > 0) throw invalid(...errors);
  const deletes = deleteMissing ? { most: maxDeletes ?? 0, keep: keep?.split(',') ?? [] } : undefined;
  return { mode, deletes };
}

function invalid(...errors: RequestFault[]): ProblemException {
  return new ProblemException('validation-failed', { errors });
}

/** The database did not say whether the job was made. */
function doubtful(jobId: string): ProblemException {
  return new ProblemException('outcome-unknown', {
    detail:
      `The database of the gateway did not say whether the job ${jobId} was made. If \`getJob\` finds it, it runs. ` +
      'If it is not there after a minute, send the file again, with another `Idempotency-Key`.',
    location: jobLocation({ jobId }),
  });
}

function assertReserved(reserved: Reserved, isDryRun = false): void {
  if (reserved.kind === 'being-read')
    throw new ProblemException('import-in-progress', {
      detail: 'A file of this enterprise is being read. There is no job yet.',
      retryable: true,
      retryAfter: READ_S,
    });
  if (reserved.kind === 'in-progress') throw inProgress(reserved.jobId, isDryRun);
  if (reserved.kind === 'full')
    throw new ProblemException('overloaded', { detail: FULL[reserved.limit], retryAfter: 10 });
}

/** The response to a dry run has no URL. */
function inProgress(jobId: string, isDryRun = false): ProblemException {
  return new ProblemException('import-in-progress', {
    detail: `The job ${jobId} of this enterprise has not ended.`,
    location: isDryRun ? undefined : jobLocation({ jobId }),
  });
}
