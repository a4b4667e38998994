import { rowsAs } from '../../database/engine.ts';
import { NOW, sql } from '../../database/sql.ts';
import { locked, raise, type Step } from '../../database/step.ts';
import { addTasks } from '../../tasks/task-store.ts';
import type { JobDefinition, JobRecord } from './job-record.ts';
import { JOB_FIELDS, type JobRow, type JobSeal, lockJobs, OF_JOB, rowOf } from './job-rows-store.ts';
import {
  type JobRoom,
  KEPT_MS,
  MAX_OF_CALLER,
  type Reservation,
  type Reserved,
  RESERVED_MS,
} from './stored-job.ts';

/** The kind of the tasks of imports. The name of such a task is the id of its job. */
export const IMPORT = 'import';
/** The owner of such a task: the caller of the job. */
export const CALLER_OF_JOB = sql`
  coalesce((SELECT caller FROM jobs WHERE jobs.platform = tasks.platform AND jobs.job_id = tasks.name), '')`;

const OPEN = sql`
  SELECT ${JOB_FIELDS} FROM jobs
  WHERE platform = :platform AND finished_at IS NULL AND (state <> 'reserved' OR created_at > (SELECT ${NOW}) - CAST(:reservedMs AS bigint))`;
const ROOM = sql`
  SELECT CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes FROM jobs
  WHERE platform = :platform AND created_at > (SELECT ${NOW}) - CAST(:keptMs AS bigint)
    AND (state <> 'reserved' OR created_at > (SELECT ${NOW}) - CAST(:reservedMs AS bigint))`;
const RESERVE = sql`
  INSERT INTO jobs (platform, job_id, state, owner, enterprise, caller, bytes, definition, total, chunks, counts, prepared, cancelled,
    version, created_at, changed_at)
  VALUES (:platform, :jobId, 'reserved', '', :enterprise, :caller, :bytes, '', 0, 0, '[]', 0, 0, 0, :now, :now)
  ON CONFLICT (platform, job_id) DO UPDATE SET created_at = excluded.created_at`;
const DROP_CHUNKS = sql`DELETE FROM job_chunks WHERE ${OF_JOB}`;
const DROP_JOB = sql`DELETE FROM jobs WHERE ${OF_JOB}`;

export interface Wanted extends Reservation {
  readonly limit: JobRoom;
  /** True to find out whether there is space, and reserve nothing. */
  readonly isDryRun: boolean;
}

const RESERVED: Reserved = { kind: 'reserved' };
const BEING_READ: Reserved = { kind: 'being-read' };

/** Reserves space, one request at a time. If two requests ask for the last space, or for one enterprise, only one gets it. */
export const reserve: Step<Wanted, Reserved> = {
  name: 'reserve the room of an import',
  repeatable: true,
  look: () => [
    locked('imports', 'alone'),
    OPEN.with({ reservedMs: RESERVED_MS }),
    ROOM.with({ reservedMs: RESERVED_MS, keptMs: KEPT_MS }),
  ],
  decide: ([wanted], [, open, room], now) => {
    const { jobId, enterpriseGlobalId: enterprise, caller, bytes } = wanted;
    const result = refusalOf(wanted, rowsAs<JobRow>(open), Number(room?.[0]?.['bytes']));
    if (result || wanted.isDryRun) return { results: () => [result ?? RESERVED] };
    return {
      writes: [RESERVE.with({ jobId, enterprise, caller, bytes, now })],
      results: () => [RESERVED],
    };
  },
};

function refusalOf(
  { jobId, enterpriseGlobalId, caller, bytes, limit }: Wanted,
  open: readonly JobRow[],
  used: number,
): Reserved | undefined {
  const others = open.filter((each) => each.jobId !== jobId);
  const same = others.find((each) => each.enterprise === enterpriseGlobalId);
  if (same) return same.state === 'reserved' ? BEING_READ : { kind: 'in-progress', jobId: same.jobId };
  if (others.filter((each) => each.caller === caller).length >= MAX_OF_CALLER)
    return { kind: 'full', limit: 'caller' };
  const own = open.find((each) => each.jobId === jobId)?.bytes ?? 0;
  const unfinished = others.reduce((sum, each) => sum + each.bytes, 0);
  const isFull = unfinished + bytes > limit.unfinished || used - own + bytes > limit.all;
  return isFull ? { kind: 'full', limit: 'store' } : undefined;
}

/** True for space that was reserved for too long. Another file of the enterprise may have been accepted since. */
function isGone({ state, createdAt }: JobRow, now: number): boolean {
  return state === 'reserved' && createdAt <= now - RESERVED_MS;
}

interface Released {
  readonly jobId: string;
  readonly seal: JobSeal;
}

/** Frees the space of a file that was refused. Resolves to the job instead, if the request has made one of the space. */
export const release: Step<Released, JobRecord | undefined> = {
  name: 'release the room of an import',
  key: ({ jobId }) => jobId,
  repeatable: true,
  look: lockJobs,
  decide: (given, [found]) => {
    const left = given.map(({ jobId, seal }) => {
      const row = rowOf(found, jobId);
      if (!row) return { writes: [], job: undefined };
      if (row.state !== 'reserved') return { writes: [], job: seal.record(row) };
      return { writes: [DROP_CHUNKS.with({ jobId }), DROP_JOB.with({ jobId })], job: undefined };
    });
    return {
      writes: left.flatMap(({ writes }) => writes),
      results: () => left.map(({ job }) => job),
    };
  },
};

const UPLOAD = sql`
  INSERT INTO job_chunks (platform, job_id, chunk, results, waiting, counts, calls)
  VALUES (:platform, :jobId, :chunk, :results, :waiting, '[]', 0)
  ON CONFLICT (platform, job_id, chunk) DO UPDATE SET results = excluded.results, waiting = excluded.waiting`;

interface Upload {
  readonly jobId: string;
  readonly chunk: number;
  /** The sealed results. */
  readonly results: Buffer;
  readonly waiting: Buffer | null;
}

/**
 * Writes rows into reserved space. The step locks the space, so that a write which comes late finds it gone, and leaves
 * no passwords behind. Resolves to false if the space is gone. The rows of a job that is made already stay as they are.
 */
export const upload: Step<Upload, boolean> = {
  name: 'upload rows',
  key: ({ jobId, chunk }) => `${jobId} ${chunk}`,
  bytes: ({ results, waiting }) => results.length + (waiting?.length ?? 0),
  repeatable: true,
  look: lockJobs,
  decide: (uploads, [found]) => {
    const given = uploads.map((rows) => ({ rows, room: rowOf(found, rows.jobId) }));
    return {
      writes: given.flatMap(({ rows, room }) =>
        room?.state === 'reserved' ? [UPLOAD.with({ ...rows })] : [],
      ),
      results: () => given.map(({ room }) => room !== undefined),
    };
  },
};

const CREATE = sql`
  UPDATE jobs SET state = 'queued', definition = :definition, total = :total, chunks = :chunks, bytes = :bytes, version = 1,
    created_at = :now, changed_at = :now
  WHERE ${OF_JOB}`;

interface Creation {
  readonly jobId: string;
  readonly definition: JobDefinition;
  readonly seal: JobSeal;
  readonly total: number;
  readonly chunks: number;
  readonly bytes: number;
}

/**
 * Turns the reserved space into a job and adds its task. Resolves to the job, also if it was made before. Undefined if the space is not
 * reserved any more.
 */
export const create: Step<Creation, JobRecord | undefined> = {
  name: 'create an import',
  key: ({ jobId }) => jobId,
  repeatable: true,
  pastLoss: true,
  look: lockJobs,
  decide: (given, [found], now) => {
    const made = given.map(({ jobId, seal, total, chunks, bytes, ...rest }) => {
      const row = rowOf(found, jobId);
      if (!row || isGone(row, now)) return { writes: [], job: undefined };
      if (row.state !== 'reserved') return { writes: [], job: seal.record(row) };
      const columns = { definition: seal.definition(rest.definition), total, chunks, bytes };
      const after: JobRow = {
        ...row,
        ...columns,
        state: 'queued',
        version: 1,
        createdAt: now,
        changedAt: now,
      };
      const writes = [CREATE.with({ jobId, ...columns, now }), ...addTasks(IMPORT, [jobId])];
      return { writes, job: seal.record(after) };
    });
    const all = made.flatMap(({ writes }) => writes);
    const begun = made.filter(({ writes }) => writes.length > 0).length;
    return {
      // Every gateway notices if the database loses an import that was accepted.
      writes: begun > 0 ? [...all, raise('begun', begun)] : all,
      results: () => made.map(({ job }) => job),
    };
  },
};
