import { createHash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ImportConfig } from '../config/app-config.ts';
import type { RequestFile } from '../operation/request-stages.ts';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import { Slices } from '../shared/slices.ts';
import { type CallContext, isGranted } from '../upstream/call-context.ts';
import { type CheckedFile, readFile } from './checked-file.ts';
import type { ImportPlanDto, ImportQuery, JobDto } from './dto/job.dto.ts';
import { plannedRow, surplus } from './import-plan.ts';
import { JOB_STORE, JobDispatcher } from './job-dispatcher.ts';
import {
  type ImportOptions,
  isEnded,
  type JobDefinition,
  type JobUser,
  type RowResult,
  unpacked,
  type WaitingRow,
} from './job-record.ts';
import type { JobStore, Reservation } from './job-store.ts';
import { JobUsers } from './job-user.ts';
import { jobLocation, toJob } from './job.mapper.ts';
import { MemberDirectory } from './member-directory.ts';
import { inBackground } from '../shared/edge.ts';

const ID_BYTES = 16;
/** A row takes at most so much room in the store, and this part of its file: rows are packed. */
const PART_OF_FILE = 2;
/** Statuses of rows that a retry may send again. */
const AGAIN: ReadonlySet<string> = new Set(['pending', 'failed', 'unknown']);

/** How a request names itself and its user. */
export interface ImportRequest {
  readonly call: CallContext;
  readonly enterpriseGlobalId: string;
  readonly file: RequestFile | undefined;
  readonly sessionId: string | undefined;
  readonly idempotencyKey: string | undefined;
}

/** Takes files: room is reserved first, then the rows are read and checked, and only then there is a job. */
@Injectable()
export class ImportsService {
  constructor(
    @Inject(JOB_STORE) private readonly store: JobStore,
    private readonly dispatcher: JobDispatcher,
    private readonly users: JobUsers,
    private readonly directory: MemberDirectory,
    private readonly config: ImportConfig,
  ) {}

  async importMembers(request: ImportRequest, query: ImportQuery): Promise<JobDto | ImportPlanDto> {
    const options = optionsOf(query);
    const user = await this.users.of(request.call, request.sessionId);
    if (query.validateOnly) return this.#plan(request, await this.#read(request), options, user);
    return this.#accept(request, options, user);
  }

  /** A new job of rows that failed in an earlier one. */
  async retryJob(jobId: string, request: Omit<ImportRequest, 'enterpriseGlobalId'>): Promise<JobDto> {
    const job = await this.store.read(jobId);
    const granted = request.call.caller.grants.enterprises;
    if (!job || !isGranted(granted, job.definition.enterpriseGlobalId))
      throw new ProblemException('job-not-found');
    const { enterpriseGlobalId, mode } = job.definition;
    if (!isEnded(job.state)) throw inProgress(jobId);
    const wanted = new Set<string>();
    for (let chunk = 0; chunk < job.chunks; chunk++) {
      const stored = await this.store.chunk(jobId, chunk);
      for (const { account, status, was } of stored ? unpacked<RowResult>(stored.results) : [])
        if (AGAIN.has(status) && was !== 'surplus') wanted.add(account);
    }
    const user = await this.users.of(request.call, request.sessionId);
    return this.#accept({ ...request, enterpriseGlobalId }, { mode, deletes: undefined }, user, wanted);
  }

  async #accept(
    request: ImportRequest,
    options: ImportOptions,
    user: JobUser,
    wanted?: ReadonlySet<string>,
  ): Promise<JobDto> {
    const { call, enterpriseGlobalId } = request;
    const jobId = await this.#newId(request, wanted ? 'retryJob' : 'importMembers');
    const owner = drawn();
    const room: Reservation = {
      jobId,
      owner,
      enterpriseGlobalId,
      caller: call.caller.name,
      bytes: Math.ceil((request.file?.length ?? this.config.maxBytes) / PART_OF_FILE),
    };
    await this.#reserve(room);
    try {
      const file = await this.#read(request, wanted);
      if (options.deletes) await this.#plan(request, file, options, user);
      await this.#reserve(room);
      const definition: JobDefinition = {
        jobId,
        enterpriseGlobalId,
        caller: call.caller.name,
        isScoped: this.users.hasScope(call.caller.name),
        user,
        requestId: call.requestId,
        trace: call.trace,
        ...options,
      };
      const job = await this.store.create(owner, definition, file.chunks, file.rows);
      inBackground('jobs', () => this.dispatcher.offer(jobId));
      return toJob(job);
    } catch (error) {
      await this.store.release(jobId, owner).catch(() => undefined);
      throw error;
    }
  }

  async #reserve(room: Reservation): Promise<void> {
    const reserved = await this.store.reserve(room);
    if (reserved.kind === 'in-progress') throw inProgress(reserved.jobId);
    if (reserved.kind === 'full') throw full(reserved.of);
  }

  #read({ file }: ImportRequest, wanted?: ReadonlySet<string>): Promise<CheckedFile> {
    if (!file)
      throw invalid({
        pointer: '',
        detail: 'must be a file in text/csv or application/x-ndjson, with at least one row',
      });
    return readFile(file, this.config, wanted);
  }

  /** What an import of the file would do with the members that are there now. */
  async #plan(
    { call, enterpriseGlobalId }: ImportRequest,
    { chunks }: CheckedFile,
    options: ImportOptions,
    { username }: JobUser,
  ): Promise<ImportPlanDto> {
    const members = await this.directory.all(call, enterpriseGlobalId);
    const accounts = new Set<string>();
    const plan = { add: 0, update: 0, unchanged: 0 };
    const failing: string[] = [];
    const slices = new Slices();
    for (const { waiting } of chunks) {
      await slices.rest();
      for (const { member } of waiting ? unpacked<WaitingRow>(waiting) : []) {
        accounts.add(member.account);
        const { status, was } = plannedRow(member, members, options.mode);
        if (was === 'different') plan.update++;
        else if (status === 'pending') plan.add++;
        else if (status === 'failed') failing.push(member.account);
        else plan.unchanged++;
      }
    }
    const deleted = surplus(members, accounts, options, username);
    return { ...plan, delete: deleted.map(({ account }) => account), fail: failing };
  }

  /**
   * Made of the `Idempotency-Key` where there is one, so that the examples of the document name a job that is there; and of all else that
   * keeps two requests apart: callers choose keys alike.
   */
  async #newId(
    { call, enterpriseGlobalId, idempotencyKey }: ImportRequest,
    operation: string,
  ): Promise<string> {
    if (idempotencyKey === undefined) return drawn();
    const named = JSON.stringify([call.caller.name, enterpriseGlobalId, operation, idempotencyKey]);
    const known = jobIdOf(createHash('sha256').update(named).digest());
    return (await this.store.read(known)) ? drawn() : known;
  }
}

function drawn(): string {
  return jobIdOf(randomBytes(ID_BYTES));
}

/** Of the first bytes. A command line takes what begins with a dash for an option. */
export function jobIdOf(bytes: Buffer): string {
  return bytes.subarray(0, ID_BYTES).toString('base64url').replace(/^-/, '_');
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

function inProgress(jobId: string): ProblemException {
  return new ProblemException('import-in-progress', {
    detail: `The job ${jobId} of this enterprise has not ended.`,
    location: jobLocation({ jobId }),
  });
}

function full(of: 'caller' | 'store'): ProblemException {
  const detail =
    of === 'caller'
      ? 'The caller has too many imports that have not ended.'
      : 'All imports together take as much room as they may have.';
  return new ProblemException('overloaded', { detail, retryAfter: 10 });
}
