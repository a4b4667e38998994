import type { RedisCommander } from 'ioredis';
import type { Script } from '../../kit/redis-script/redis-script.ts';
import type { TaskHold } from '../../kit/task-queue/task-queue.ts';
import { type LoggedMove, PART_OF_STORE } from '../../order-ledger/move-log.ts';
import { storeKeys } from '../../order-ledger/store-keys.ts';
import type { ProblemBody } from '../../problem/problem.exception.ts';
import type { SharedRedis } from '../../redis/shared-redis.ts';
import { memoryOf } from '../../redis/store-memory.ts';
import {
  countList,
  type JobDefinition,
  type JobFields,
  type JobRecord,
  type JobState,
  recordOf,
} from './job-record.ts';
import * as scripts from './job-scripts.ts';
import {
  type ChunkChange,
  type JobList,
  type JobQuery,
  type JobStore,
  JobStoreUnavailable,
  KEPT_MS,
  MAX_OF_CALLER,
  type Reservation,
  type Reserved,
  RESERVED_MS,
  type StepResult,
  type StoredChunk,
  type Taken,
  type UnfinishedJob,
  WAITING_MS,
} from './job-store.ts';

/** This many chunks are written with one script, so that other requests do not wait for a large one. */
const CHUNKS_AT_ONCE = 20;
const JOBS_AT_ONCE = 100;
/** Longer than an import lives. */
const SLOT_MS = WAITING_MS + 3_600_000;

/** The jobs of all replicas. What a job was asked for, its rows and its problem are sealed. States, counts and times are not. */
export class RedisJobStore implements JobStore {
  readonly #prefix: string;
  readonly #slots: string;
  readonly #moves: string;
  readonly #unfinished: string;

  constructor(
    private readonly redis: SharedRedis,
    environment: string,
  ) {
    const { jobs, importSlots, moves } = storeKeys(environment);
    this.#prefix = jobs;
    this.#slots = importSlots;
    this.#moves = moves;
    this.#unfinished = `${this.#prefix}unfinished`;
  }

  async reserve({ jobId, owner, enterpriseGlobalId, caller, bytes }: Reservation): Promise<Reserved> {
    const limit = Math.floor(PART_OF_STORE * (await this.#ask(memoryOf)));
    const [kind, detail] = await this.#run<[Reserved['kind'], string]>(
      scripts.RESERVE,
      [this.#slots],
      [jobId, enterpriseGlobalId, caller, bytes, limit, RESERVED_MS, MAX_OF_CALLER, owner],
    );
    if (kind === 'in-progress') return { kind, jobId: detail };
    return kind === 'full' ? { kind, limit: detail as 'caller' | 'store' } : { kind };
  }

  async release(jobId: string, owner: string): Promise<void> {
    const { job, waiting, results } = this.#keys(jobId);
    await this.#run(scripts.RELEASE, [this.#slots, job, waiting, results], [jobId, owner]);
  }

  async create(
    owner: string,
    definition: JobDefinition,
    chunks: readonly StoredChunk[],
    rows: number,
  ): Promise<JobRecord> {
    const { jobId, enterpriseGlobalId } = definition;
    const { job, waiting, results } = this.#keys(jobId);
    let bytes = 0;
    for (let from = 0; from < chunks.length; from += CHUNKS_AT_ONCE) {
      const part = chunks.slice(from, from + CHUNKS_AT_ONCE);
      bytes += await this.#upload(jobId, 'waiting', part, from);
      bytes += await this.#upload(jobId, 'results', part, from);
    }
    const lists = [this.#listOf(undefined), this.#listOf(enterpriseGlobalId)];
    const sealed = this.#sealer.seal(JSON.stringify(definition), job);
    const created = await this.#run<number>(
      scripts.CREATE,
      [this.#slots, job, this.#unfinished, ...lists, waiting, results],
      [jobId, sealed, chunks.length, rows, bytes, WAITING_MS, KEPT_MS, SLOT_MS, owner],
    );
    const record = created === 1 ? await this.read(jobId) : undefined;
    if (!record) throw new JobStoreUnavailable(new Error('the reserved room is gone'));
    return record;
  }

  /** Resolves to the bytes that these parts of chunks take. */
  async #upload(
    jobId: string,
    kind: keyof StoredChunk,
    chunks: readonly StoredChunk[],
    from: number,
  ): Promise<number> {
    const key = this.#keys(jobId)[kind];
    const sealed = chunks.map((chunk, index) => this.#sealed(key, from + index, chunk[kind]));
    const values = sealed.flatMap((value, index) => [from + index, value]);
    await this.#run(scripts.UPLOAD, [key], [RESERVED_MS, ...values]);
    return sealed.reduce((sum, { length }) => sum + length, 0);
  }

  async read(jobId: string): Promise<JobRecord | undefined> {
    return (await this.#readAll([jobId]))[0];
  }

  async list({ enterprises, state }: JobQuery, offset: number, count: number): Promise<JobList> {
    const keys = [...(enterprises ?? [undefined])].map((each) => this.#listOf(each));
    const found = await this.#ask((client) =>
      Promise.all(keys.map((key) => client.zrevrange(key, 0, -1, 'WITHSCORES'))),
    );
    const ids = found
      .flatMap((list) => list.flatMap((id, at) => (at % 2 === 0 ? [{ id, at: Number(list[at + 1]) }] : [])))
      .toSorted((one, other) => other.at - one.at)
      .map(({ id }) => id);
    if (state === undefined)
      return { jobs: await this.#readAll(ids.slice(offset, offset + count)), total: ids.length };
    const jobs = (await this.#readAll(ids)).filter((job) => job.state === state);
    return { jobs: jobs.slice(offset, offset + count), total: jobs.length };
  }

  async chunk(jobId: string, chunk: number): Promise<StoredChunk | undefined> {
    const keys = this.#keys(jobId);
    const [waiting, results] = await this.#ask((client) =>
      Promise.all([keys.waiting, keys.results].map((key) => client.hgetBuffer(key, String(chunk)))),
    );
    const opened = this.#openedBytes(keys.results, chunk, results);
    return opened && { results: opened, waiting: this.#openedBytes(keys.waiting, chunk, waiting) };
  }

  async unfinished(): Promise<readonly UnfinishedJob[]> {
    const ids = await this.#ask((client) => client.zrange(this.#unfinished, '0', '-1'));
    return (await this.#fieldsOf(ids)).map(({ changedAt = 0, state = 'queued' }, index) => ({
      jobId: ids[index] ?? '',
      changedAt: Number(changedAt),
      state: state as JobState,
    }));
  }

  async take(jobId: string, { key, owner }: TaskHold): Promise<Taken> {
    const keys = this.#keys(jobId);
    const [kind, recorded = []] = await this.#run<[Taken['kind'], string[]?]>(
      scripts.TAKE,
      [keys.job, keys.calls, this.#unfinished, key],
      [jobId, owner],
    );
    if (kind !== 'taken') return { kind };
    const job = await this.read(jobId);
    if (!job) return { kind: 'ended' };
    const calls = new Map<number, number>();
    for (let at = 0; at < recorded.length; at += 2) calls.set(Number(recorded[at]), Number(recorded[at + 1]));
    return { kind, job, calls };
  }

  begin(jobId: string, { key, owner }: TaskHold, chunk: number, calls: number): Promise<StepResult> {
    const keys = this.#keys(jobId);
    return this.#run(scripts.BEGIN_CALL, [keys.job, keys.calls, key], [owner, chunk, calls]);
  }

  save({ jobId, owner, chunk, results, counts, waiting }: ChunkChange): Promise<StepResult> {
    const keys = this.#keys(jobId);
    return this.#run(
      scripts.SAVE,
      [keys.job, keys.waiting, keys.results, keys.counts, keys.calls],
      [
        owner,
        chunk,
        this.#sealed(keys.results, chunk, results),
        JSON.stringify(countList(counts)),
        waiting ? this.#sealed(keys.waiting, chunk, waiting) : '',
      ],
    );
  }

  prepared(jobId: string, owner: string, chunks: number, total: number): Promise<StepResult> {
    return this.#run(scripts.PREPARED, [this.#keys(jobId).job], [owner, chunks, total]);
  }

  finish(jobId: string, owner: string, state: JobState, problem: ProblemBody | null): Promise<StepResult> {
    // It may name members.
    const sealed = problem ? this.#sealer.seal(JSON.stringify(problem), this.#keys(jobId).problem) : '';
    return this.#run(scripts.FINISH, this.#keysOfEnd(jobId), [owner, jobId, state, sealed, KEPT_MS]);
  }

  async cancel(jobId: string): Promise<void> {
    await this.#run(scripts.CANCEL, this.#keysOfEnd(jobId), [jobId, KEPT_MS]);
  }

  /** Without jobs that are gone, and those sealed under a key that this gateway does not have. */
  async #readAll(ids: readonly string[]): Promise<JobRecord[]> {
    const all = await this.#fieldsOf(ids);
    return all.flatMap((fields, index) => this.#opened(ids[index] ?? '', fields) ?? []);
  }

  recordIn({ name, record }: LoggedMove): JobRecord | undefined {
    const flat = record as string[];
    const pairs = flat.flatMap((field, at) => (at % 2 === 0 ? [[field, flat[at + 1] ?? '']] : []));
    return this.#opened(name, Object.fromEntries(pairs) as JobFields);
  }

  #opened(jobId: string, fields: JobFields): JobRecord | undefined {
    const keys = this.#keys(jobId);
    const definition = fields['definition'] && this.#sealer.open(fields['definition'], keys.job);
    const problem = fields['problem'] && this.#sealer.open(fields['problem'], keys.problem);
    return definition ? recordOf(definition, fields, problem) : undefined;
  }

  async #fieldsOf(ids: readonly string[]): Promise<JobFields[]> {
    const all: JobFields[] = [];
    for (let from = 0; from < ids.length; from += JOBS_AT_ONCE) {
      const keys = ids.slice(from, from + JOBS_AT_ONCE).map((id) => this.#keys(id).job);
      all.push(...(await this.#ask((client) => Promise.all(keys.map((key) => client.hgetall(key))))));
    }
    return all;
  }

  /** `problem` is no key: it is the name under which the problem in the hash is sealed. */
  #keys(jobId: string) {
    const keyOf = (kind: string) => `${this.#prefix}${kind}:${jobId}`;
    return {
      job: keyOf('job'),
      waiting: keyOf('waiting'),
      results: keyOf('results'),
      counts: keyOf('counts'),
      calls: keyOf('calls'),
      problem: `${keyOf('job')}:problem`,
    };
  }

  #keysOfEnd(jobId: string): string[] {
    const { job, waiting, calls } = this.#keys(jobId);
    return [job, waiting, calls, this.#slots, this.#unfinished, this.#moves];
  }

  #listOf(enterpriseGlobalId: string | undefined): string {
    return this.#prefix + (enterpriseGlobalId === undefined ? 'all' : `of:${enterpriseGlobalId}`);
  }

  get #sealer() {
    const { sealer } = this.redis;
    if (!sealer) throw new Error('a store in Redis has a sealer');
    return sealer;
  }

  #sealed(key: string, chunk: number, bytes: Buffer = Buffer.alloc(0)): Buffer {
    return this.#sealer.sealBytes(bytes, `${key}:${chunk}`);
  }

  #openedBytes(key: string, chunk: number, value: Buffer | null | undefined): Buffer | undefined {
    return value ? this.#sealer.openBytes(value, `${key}:${chunk}`) : undefined;
  }

  #run<T>(
    script: Script,
    keys: readonly string[],
    values: readonly (string | number | Buffer)[],
  ): Promise<T> {
    return this.#ask((client) => script.run<T>(client, keys, values));
  }

  async #ask<T>(command: (client: RedisCommander) => Promise<T>): Promise<T> {
    try {
      return await this.redis.run(command);
    } catch (error) {
      throw new JobStoreUnavailable(error);
    }
  }
}
