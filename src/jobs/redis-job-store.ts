import type { RedisCommander } from 'ioredis';
import type { ProblemBody } from '../problem/problem.exception.ts';
import type { Script } from '../kit/redis-script/redis-script.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import type { TaskHold } from '../kit/task-queue/task-queue.ts';
import { fieldsOf, type JobFields, recordOf } from './job-fields.ts';
import { countList, type JobDefinition, type JobRecord, type JobState } from './job-record.ts';
import {
  BEGIN_CALL,
  CANCEL,
  CREATE,
  FINISH,
  PREPARED,
  RELEASE,
  RESERVE,
  SAVE,
  TAKE,
  UPLOAD,
} from './job-scripts.ts';
import {
  type ChunkChange,
  DAY_MS,
  type JobQuery,
  type JobStore,
  JobStoreUnavailable,
  KEPT_MS,
  MOST_OF_CALLER,
  PART_OF_STORE,
  type Reservation,
  type Reserved,
  RESERVED_MS,
  type StepResult,
  type StoredChunk,
  type Taken,
  type UnfinishedJob,
  WAITING_MS,
} from './job-store.ts';

/** Chunks that are written with one script, so that other requests do not wait for a large one. */
const CHUNKS_AT_ONCE = 20;
/** Jobs that are read at once. */
const JOBS_AT_ONCE = 100;
/** Longer than an import lives. */
const SLOT_MS = DAY_MS + 3_600_000;
type Value = string | number | Buffer;

/** The jobs of all replicas. What a job was asked for and its rows are sealed; states, counts and times are not. */
export class RedisJobStore implements JobStore {
  readonly #prefix: string;

  constructor(
    private readonly redis: SharedRedis,
    environment: string,
  ) {
    // The braces put all keys in one slot of a cluster, as a script requires.
    this.#prefix = `{${environment}:imports}:`;
  }

  async reserve({ jobId, owner, enterpriseGlobalId, caller, bytes }: Reservation): Promise<Reserved> {
    const limit = Math.floor(PART_OF_STORE * (await this.#memory()));
    const [kind, detail] = await this.#run<[Reserved['kind'], string]>(
      RESERVE,
      [this.#slots],
      [jobId, enterpriseGlobalId, caller, bytes, limit, RESERVED_MS, MOST_OF_CALLER, owner],
    );
    if (kind === 'in-progress') return { kind, jobId: detail };
    return kind === 'full' ? { kind, of: detail as 'caller' | 'store' } : { kind };
  }

  async release(jobId: string, owner: string): Promise<void> {
    await this.#run(
      RELEASE,
      [this.#slots, ...(['job', 'waiting', 'results'] as const).map((kind) => this.#of(kind, jobId))],
      [jobId, owner],
    );
  }

  async create(
    owner: string,
    definition: JobDefinition,
    chunks: readonly StoredChunk[],
    rows: number,
  ): Promise<JobRecord> {
    const { jobId, enterpriseGlobalId } = definition;
    let bytes = 0;
    for (let from = 0; from < chunks.length; from += CHUNKS_AT_ONCE) {
      const part = chunks.slice(from, from + CHUNKS_AT_ONCE);
      for (const kind of ['waiting', 'results'] as const) {
        const key = this.#of(kind, jobId);
        const sealed = part.map((chunk, index) => this.#sealed(key, from + index, chunk[kind]));
        for (const value of sealed) bytes += value.length;
        await this.#run(
          UPLOAD,
          [key],
          [RESERVED_MS, ...sealed.flatMap((value, index) => [from + index, value])],
        );
      }
    }
    const job = this.#of('job', jobId);
    const created = await this.#run<number>(
      CREATE,
      [
        this.#slots,
        job,
        `${this.#prefix}unfinished`,
        `${this.#prefix}all`,
        this.#ofEnterprise(enterpriseGlobalId),
        this.#of('waiting', jobId),
        this.#of('results', jobId),
      ],
      [
        jobId,
        this.#sealer.seal(JSON.stringify(definition), job),
        chunks.length,
        rows,
        bytes,
        WAITING_MS,
        KEPT_MS,
        SLOT_MS,
        owner,
      ],
    );
    const record = created === 1 ? await this.read(jobId) : undefined;
    if (!record) throw new JobStoreUnavailable(new Error('the reserved room is gone'));
    return record;
  }

  async read(jobId: string): Promise<JobRecord | undefined> {
    const [record] = await this.#readAll([jobId]);
    return record;
  }

  async list(
    { enterprises, state }: JobQuery,
    offset: number,
    count: number,
  ): Promise<{ jobs: readonly JobRecord[]; total: number }> {
    const keys = enterprises
      ? [...enterprises].map((each) => this.#ofEnterprise(each))
      : [`${this.#prefix}all`];
    const found = await this.#ask((client) =>
      Promise.all(keys.map((key) => client.zrevrange(key, 0, -1, 'WITHSCORES'))),
    );
    const ids = found
      .flatMap((list) => list.flatMap((id, at) => (at % 2 === 0 ? [{ id, at: Number(list[at + 1]) }] : [])))
      .toSorted((one, other) => other.at - one.at)
      .map(({ id }) => id);
    if (state === undefined) {
      const jobs = await this.#readAll(ids.slice(offset, offset + count));
      return { jobs, total: ids.length };
    }
    const jobs = (await this.#readAll(ids)).filter((job) => job.state === state);
    return { jobs: jobs.slice(offset, offset + count), total: jobs.length };
  }

  async chunk(jobId: string, chunk: number): Promise<StoredChunk | undefined> {
    const [waiting, results] = await this.#ask((client) =>
      Promise.all([
        client.hgetBuffer(this.#of('waiting', jobId), String(chunk)),
        client.hgetBuffer(this.#of('results', jobId), String(chunk)),
      ]),
    );
    const opened = results && this.#opened(this.#of('results', jobId), chunk, results);
    if (!opened) return undefined;
    return {
      results: opened,
      waiting: waiting ? this.#opened(this.#of('waiting', jobId), chunk, waiting) : undefined,
    };
  }

  async unfinished(): Promise<readonly UnfinishedJob[]> {
    const ids = await this.#ask((client) => client.zrange(`${this.#prefix}unfinished`, '0', '-1'));
    const all = await this.#ask((client) =>
      Promise.all(ids.map((id) => fieldsOf(client, this.#of('job', id)))),
    );
    return ids.map((jobId, index) => {
      const { changedAt, state } = all[index] as JobFields;
      return { jobId, changedAt: Number(changedAt), state: (state ?? 'queued') as JobState };
    });
  }

  async take(jobId: string, { key, owner }: TaskHold): Promise<Taken> {
    const [kind, calls = []] = await this.#run<[Taken['kind'], string[]?]>(
      TAKE,
      [this.#of('job', jobId), this.#of('calls', jobId), `${this.#prefix}unfinished`, key],
      [jobId, owner],
    );
    if (kind !== 'taken') return { kind };
    const job = await this.read(jobId);
    if (!job) return { kind: 'ended' };
    const recorded = new Map<number, number>();
    for (let at = 0; at < calls.length; at += 2) recorded.set(Number(calls[at]), Number(calls[at + 1]));
    return { kind, job, calls: recorded };
  }

  begin(jobId: string, { key, owner }: TaskHold, chunk: number, calls: number): Promise<StepResult> {
    const keys = [this.#of('job', jobId), this.#of('calls', jobId), key];
    return this.#run(BEGIN_CALL, keys, [owner, chunk, calls]);
  }

  save({ jobId, owner, chunk, results, counts, waiting }: ChunkChange): Promise<StepResult> {
    const kinds = ['job', 'waiting', 'results', 'counts', 'calls'] as const;
    const keys = kinds.map((kind) => this.#of(kind, jobId));
    return this.#run(SAVE, keys, [
      ...[owner, chunk, this.#sealed(this.#of('results', jobId), chunk, results)],
      JSON.stringify(countList(counts)),
      waiting ? this.#sealed(this.#of('waiting', jobId), chunk, waiting) : '',
    ]);
  }

  prepared(jobId: string, owner: string, chunks: number, total: number): Promise<StepResult> {
    return this.#run(PREPARED, [this.#of('job', jobId)], [owner, chunks, total]);
  }

  finish(jobId: string, owner: string, state: JobState, problem: ProblemBody | null): Promise<StepResult> {
    // It may name members.
    const sealed = problem ? this.#sealer.seal(JSON.stringify(problem), this.#problemOf(jobId)) : '';
    return this.#run(FINISH, this.#ending(jobId), [owner, jobId, state, sealed, KEPT_MS]);
  }

  async cancel(jobId: string): Promise<void> {
    await this.#run(CANCEL, this.#ending(jobId), [jobId, KEPT_MS]);
  }

  async #readAll(ids: readonly string[]): Promise<JobRecord[]> {
    const records: JobRecord[] = [];
    for (let from = 0; from < ids.length; from += JOBS_AT_ONCE) {
      const part = ids.slice(from, from + JOBS_AT_ONCE);
      const all = await this.#ask((client) =>
        Promise.all(part.map((id) => fieldsOf(client, this.#of('job', id)))),
      );
      for (const [index, fields] of all.entries()) {
        const record = this.#record(part[index] ?? '', fields);
        if (record) records.push(record);
      }
    }
    return records;
  }

  /** Undefined for a job that is not there any more, or sealed under a key that this gateway does not have. */
  #record(jobId: string, fields: JobFields): JobRecord | undefined {
    const opened = fields.definition && this.#sealer.open(fields.definition, this.#of('job', jobId));
    const problem = fields.problem && this.#sealer.open(fields.problem, this.#problemOf(jobId));
    return opened ? recordOf(JSON.parse(opened) as JobDefinition, fields, problem) : undefined;
  }

  /** The memory that the store may take. */
  async #memory(): Promise<number> {
    const info = await this.#ask((client) => client.info('memory'));
    const bytes = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
    return bytes('maxmemory') || bytes('total_system_memory') || Infinity;
  }

  #ending(jobId: string): string[] {
    const own = (['job', 'waiting', 'calls'] as const).map((kind) => this.#of(kind, jobId));
    return [...own, this.#slots, `${this.#prefix}unfinished`];
  }

  get #slots(): string {
    return `${this.#prefix}slots`;
  }

  #of(kind: 'job' | 'waiting' | 'results' | 'counts' | 'calls', jobId: string): string {
    return `${this.#prefix}${kind}:${jobId}`;
  }

  #problemOf(jobId: string): string {
    return `${this.#of('job', jobId)}:problem`;
  }

  #ofEnterprise(enterpriseGlobalId: string): string {
    return `${this.#prefix}of:${enterpriseGlobalId}`;
  }

  get #sealer() {
    const { sealer } = this.redis;
    if (!sealer) throw new Error('a store in Redis has a sealer');
    return sealer;
  }

  #sealed(key: string, chunk: number, bytes: Buffer = Buffer.alloc(0)): Buffer {
    return this.#sealer.sealBytes(bytes, `${key}:${chunk}`);
  }

  #opened(key: string, chunk: number, value: Buffer): Buffer | undefined {
    return this.#sealer.openBytes(value, `${key}:${chunk}`);
  }

  #run<T>(script: Script, keys: readonly string[], values: readonly Value[]): Promise<T> {
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
