import { readableParts } from '../../database/bounded-reads.ts';
import { clockFrom } from '../../database/clock-from.ts';
import type { Database } from '../../database/database.ts';
import { DatabaseUnavailable } from '../../database/database-unavailable.ts';
import { areUnderLacked, needKeysOf, sealedUnderLacked } from '../../database/lacked-keys.ts';
import type { SealedTexts } from '../../database/sealed-texts.ts';
import { amongTexts, NOW, type Sql, sql } from '../../database/sql.ts';
import type { LoggedMove } from '../../events/log/move-log.ts';
import type { ProblemBody } from '../../problem/problem.exception.ts';
import { isEnded, type JobDefinition, type JobRecord, type JobState } from './job-record.ts';
import * as rooms from './job-rooms-store.ts';
import { IS_KEPT, IS_OPENABLE, type JobRow, JobSeal, readJob, readJobs } from './job-rows-store.ts';
import * as steps from './job-steps-store.ts';
import { sweep } from './job-sweep-store.ts';
import {
  type ChunkChange,
  type JobList,
  type JobQuery,
  type JobRoom,
  KEPT_MS,
  type ReadJob,
  type Reservation,
  type Reserved,
  type StepResult,
  type StoredChunk,
  type TakenJob,
  type UnfinishedJob,
  WAITING_MS,
} from './stored-job.ts';

/** The most chunks that are sent to the database at once, so that a large file does not fill the memory twice. */
const CHUNKS_AT_ONCE = 20;
const MAX_UNFINISHED = 10_000;
/** The most jobs of a page that are opened in one turn. */
const MAX_OPENED = 100;

const OF_QUERY = sql`platform = :platform AND ${IS_KEPT} AND ${IS_OPENABLE} AND (CAST(:state AS text) IS NULL OR state = :state)`;
const OF_ENTERPRISES = sql`${OF_QUERY}
  AND ${amongTexts(sql`enterprise`, sql`:enterprises`)}`;
const pageOf = (where: Sql) => sql`
  SELECT job_id AS "jobId", octet_length(definition) + coalesce(octet_length(problem), 0) AS size FROM jobs WHERE ${where}
  ORDER BY created_at DESC, job_id LIMIT :count OFFSET :offset`;
const totalOf = (where: Sql) => sql`SELECT count(*) AS total FROM jobs WHERE ${where}`;
const LISTS = {
  all: { page: pageOf(OF_QUERY), total: totalOf(OF_QUERY) },
  some: { page: pageOf(OF_ENTERPRISES), total: totalOf(OF_ENTERPRISES) },
};
const UNFINISHED = sql`
  SELECT job_id AS "jobId", changed_at AS "changedAt", state FROM jobs WHERE platform = :platform AND finished_at IS NULL AND state <> 'reserved'
  ORDER BY created_at LIMIT :most`;
/** Reads a chunk. Rows that waited for too long by both clocks count as deleted, even if no sweep has deleted them yet. */
const CHUNK = sql`
  SELECT results, CASE WHEN jobs.created_at > ${NOW} - CAST(:waitingMs AS bigint) OR jobs.created_at > :waitingSince THEN waiting END AS waiting,
    jobs.created_at AS "createdAt", ${NOW} AS now
  FROM job_chunks JOIN jobs ON jobs.platform = job_chunks.platform AND jobs.job_id = job_chunks.job_id
  WHERE job_chunks.platform = :platform AND job_chunks.job_id = :jobId AND chunk = :chunk`;
const CALLS = sql`SELECT chunk, calls FROM job_chunks WHERE platform = :platform AND job_id = :jobId AND calls > 0`;

const SEALED = sealedUnderLacked(
  sql`jobs`,
  sql`definition`,
  sql`finished_at IS NULL AND state <> 'reserved'`,
  sql`EXISTS (SELECT 1 FROM job_chunks WHERE job_chunks.platform = jobs.platform AND job_chunks.job_id = jobs.job_id
    AND (${areUnderLacked(sql`results`)} OR ${areUnderLacked(sql`waiting`)}))`,
);

/**
 * The jobs in the database. Each call is one step by the database's clock. If a call rejects with {@link DatabaseUnavailable}, nothing may
 * be sent. `attempt` is the attempt at the job's task.
 */
export class JobStore {
  readonly #seal: JobSeal;

  constructor(
    private readonly database: Database,
    texts: SealedTexts,
    private readonly room: JobRoom,
  ) {
    this.#seal = new JobSeal(texts);
    // A job whose key is missing would be gone for its caller.
    needKeysOf(database, 'imports are sealed that have not ended', SEALED);
  }

  /**
   * Reserves space. The same request may reserve again, to keep its space for longer. One file reserves half of the space at most, because a
   * file of unknown length reserves as much as the longest one, and could not be accepted otherwise. A dry run reserves nothing.
   */
  reserve(wanted: Reservation, isDryRun = false): Promise<Reserved> {
    const bytes = Math.min(wanted.bytes, this.room.unfinished / 2);
    return this.database.step(rooms.reserve, { ...wanted, bytes, limit: this.room, isDryRun });
  }

  /**
   * Frees the space of a file that was refused. It has no effect on a job, because the creation may have succeeded without a reply, and
   * resolves to that job. Otherwise the creation cannot succeed any more, because it finds no space.
   */
  release(jobId: string): Promise<JobRecord | undefined> {
    return this.database.step(rooms.release, { jobId, seal: this.#seal });
  }

  /**
   * Makes a job of the space that this request has reserved, and keeps it reserved while the rows are sent to the database. May be repeated.
   * Resolves to `unknown` if the database does not say whether there is a job.
   */
  async create(
    room: Reservation,
    definition: JobDefinition,
    chunks: readonly StoredChunk[],
    total: number,
  ): Promise<JobRecord | 'unknown'> {
    const { jobId } = room;
    const gone = () => new DatabaseUnavailable('away', new Error('the reserved room is gone'));
    let bytes = 0;
    for (let from = 0; from < chunks.length; from += CHUNKS_AT_ONCE) {
      if (from > 0 && (await this.reserve(room)).kind !== 'reserved') throw gone();
      const part = chunks.slice(from, from + CHUNKS_AT_ONCE).map((chunk, at) => {
        const sealed = { jobId, chunk: from + at, ...this.#sealed(jobId, from + at, chunk) };
        bytes += sealed.results.length + (sealed.waiting?.length ?? 0);
        return sealed;
      });
      const kept = await Promise.all(part.map((each) => this.database.step(rooms.upload, each)));
      if (kept.includes(false)) throw gone();
    }
    const creation = { jobId, definition, seal: this.#seal, total, chunks: chunks.length, bytes };
    const made = await this.database.step(rooms.create, creation).catch(async (error: unknown) => {
      if (!(error instanceof DatabaseUnavailable && error.isAway)) throw error;
      const found = await this.release(jobId).catch(() => 'unknown' as const);
      if (!found) throw error;
      return found;
    });
    if (!made) throw gone();
    return made;
  }

  async read(jobId: string): Promise<ReadJob | undefined> {
    return (await this.#read(jobId)).job;
  }

  /** Returns the job for its caller. Rejects if it is missing from a database that lacks commits. */
  async find(jobId: string): Promise<JobRecord | undefined> {
    const job = await this.read(jobId);
    if (!job) this.database.trust.assertWhole();
    return job;
  }

  /** Returns the job at its end. Undefined if it is sealed under a key that was removed. */
  recordIn({ name, record }: LoggedMove): JobRecord | undefined {
    return this.#seal.openEvent(name, String(record));
  }

  /** Returns the jobs for their caller. Rejects if some may be missing, because the database lacks commits. */
  async list({ enterprises, state }: JobQuery, offset: number, count: number): Promise<JobList> {
    this.database.trust.assertWhole();
    const { page, total } = enterprises ? LISTS.some : LISTS.all;
    const wanted = {
      state: state ?? null,
      keptMs: KEPT_MS,
      heads: this.#seal.heads,
      ...(enterprises && { enterprises: [...enterprises] }),
    };
    const found = await this.database.read<{ jobId: string; size: number }>(
      page.with({ ...wanted, count, offset }),
    );
    const [counted] = await this.database.read<{ total: number }>(total.with(wanted));
    const records = new Map<string, JobRecord>();
    for (const part of readableParts(found, MAX_OPENED))
      for (const row of await this.database.read<JobRow>(readJobs(part))) {
        const record = this.#seal.record(row);
        // A job may leave the state of the list between the two reads.
        if (record && (state ?? record.state) === record.state) records.set(row.jobId, record);
      }
    return { jobs: found.flatMap(({ jobId }) => records.get(jobId) ?? []), total: counted?.total ?? 0 };
  }

  /**
   * Returns undefined if the database has lost the chunk. Rejects if it is sealed under a key that this gateway does not have, as long as the
   * job is kept, because another gateway may have the key.
   */
  async chunk(jobId: string, chunk: number): Promise<StoredChunk | undefined> {
    type Parts = {
      readonly results: Uint8Array;
      readonly waiting: Uint8Array | null;
      readonly createdAt: number;
      readonly now: number;
    };
    const query = CHUNK.with({
      ...{ jobId, chunk, waitingMs: WAITING_MS, waitingSince: Date.now() - WAITING_MS },
    });
    const [found] = await this.database.read<Parts>(query);
    if (!found) return undefined;
    if (this.#seal.lacksKeyOf(found.results) || this.#seal.lacksKeyOf(found.waiting)) {
      const isKept = Math.min(Date.now(), found.now) - found.createdAt < KEPT_MS;
      if (isKept) throw new DatabaseUnavailable('sealed');
      return undefined;
    }
    const results = this.#seal.openRows(jobId, chunk, 'results', found.results);
    return results && { results, waiting: this.#seal.openRows(jobId, chunk, 'waiting', found.waiting) };
  }

  async unfinished(): Promise<readonly UnfinishedJob[]> {
    const query = UNFINISHED.with({ most: MAX_UNFINISHED });
    return this.database.read<UnfinishedJob>(query);
  }

  /** Makes the process with this attempt the only one that may change the job. */
  async take(jobId: string, attempt: string): Promise<TakenJob> {
    const result = await this.database.step(steps.takeJob, { jobId, attempt });
    const { row, job } = await this.#read(jobId);
    // No gateway had its key in all the time for which it is kept. It would refuse every import of its enterprise.
    if (row && !job && row.createdAt <= Math.min(Date.now(), row.now) - KEPT_MS)
      await this.finish(jobId, attempt, 'failed', null);
    if (!job || isEnded(job.state)) return { kind: 'ended' };
    if (result === 'lost') return { kind: 'lost' };
    type Recorded = { readonly chunk: number; readonly calls: number };
    const recorded = await this.database.read<Recorded>(CALLS.with({ jobId }));
    return { kind: 'taken', job, calls: new Map(recorded.map(({ chunk, calls }) => [chunk, calls])) };
  }

  /**
   * Records a call before it is sent. Resolves when the record is durable. It has no effect if the job is cancelled or the lease has ended,
   * because no call may arrive late.
   */
  begin(jobId: string, attempt: string, chunk: number, calls: number): Promise<StepResult> {
    return this.database.step(steps.begin, { jobId, attempt, chunk, calls });
  }

  /** Saves a chunk. May be repeated. `cancelled` means that the chunk is saved and the job is cancelled. */
  save({ jobId, attempt, chunk, counts, ...parts }: ChunkChange): Promise<StepResult> {
    return this.database.step(steps.save, {
      jobId,
      attempt,
      chunk,
      counts,
      gatewayNow: Date.now(),
      ...this.#sealed(jobId, chunk, parts),
    });
  }

  /** Records that the plan is made. The rows and the members to delete are in this many chunks. */
  prepared(jobId: string, attempt: string, chunks: number, total: number): Promise<StepResult> {
    return this.database.step(steps.prepared, { jobId, attempt, chunks, total });
  }

  finish(jobId: string, attempt: string, state: JobState, problem: ProblemBody | null): Promise<StepResult> {
    const sealed = this.#seal.problem(jobId, problem);
    return this.database.step(steps.finish, { jobId, attempt, state, problem: sealed, seal: this.#seal });
  }

  /** Cancels a job. A job that has not begun ends at once. A running job ends when the calls that were sent are settled. */
  async cancel(jobId: string): Promise<void> {
    await this.database.step(steps.cancel, { jobId, seal: this.#seal });
  }

  /** Deletes jobs and rows whose time is over. */
  async sweep(): Promise<void> {
    const gatewayNow = Date.now();
    while (await this.database.step(sweep, { gatewayNow }));
  }

  async #read(jobId: string) {
    const [row] = await this.database.read<JobRow & { readonly now: number }>(readJob(jobId));
    const record = row && this.#seal.record(row);
    const job: ReadJob | undefined = record && { ...record, now: clockFrom(row.now) };
    return { row, job };
  }

  #sealed(jobId: string, chunk: number, { results, waiting }: StoredChunk) {
    return {
      results: this.#seal.rows(jobId, chunk, 'results', results),
      waiting: waiting ? this.#seal.rows(jobId, chunk, 'waiting', waiting) : null,
    };
  }
}
