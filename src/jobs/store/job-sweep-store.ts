import { among, FOR_UPDATE, NOW, sql } from '../../database/sql.ts';
import type { Step } from '../../database/step.ts';
import { addTasks } from '../../tasks/task-store.ts';
import { IMPORT } from './job-rooms-store.ts';
import { OF_JOB } from './job-rows-store.ts';
import { KEPT_MS, WAITING_MS } from './stored-job.ts';

/** The most chunks that one transaction deletes of a job, and the most jobs of which only chunks are left. */
const MAX_FORGOTTEN = 1_000;
const MAX_JOBS = 10;
/** The time for which the space of a file is kept. It is longer than the reservation, because rows may still arrive. */
const ROOM_KEPT_MS = 3_600_000;
const OVERDUE = sql`
  SELECT job_chunks.job_id, job_chunks.chunk FROM jobs JOIN job_chunks
    ON job_chunks.platform = jobs.platform AND job_chunks.job_id = jobs.job_id
  WHERE jobs.platform = :platform AND jobs.finished_at IS NULL AND jobs.created_at <= (SELECT ${NOW}) - CAST(:waitingMs AS bigint)
    AND jobs.created_at <= :waitingUntil AND job_chunks.waiting IS NOT NULL LIMIT :most`;
const FORGET_ONE = sql`UPDATE job_chunks SET waiting = NULL WHERE ${OF_JOB} AND chunk = :chunk`;
const OLDEST = sql`
  SELECT job_id FROM jobs WHERE platform = :platform AND (finished_at IS NOT NULL AND created_at <= (SELECT ${NOW}) - CAST(:keptMs AS bigint)
    AND created_at <= :keptUntil OR state = 'reserved' AND created_at <= (SELECT ${NOW}) - CAST(:roomMs AS bigint))
  ORDER BY created_at LIMIT 1 ${FOR_UPDATE}`;
const SOME_CHUNKS = sql`
  SELECT chunk FROM job_chunks WHERE ${OF_JOB} LIMIT :most`;
const DROP_SOME = sql`DELETE FROM job_chunks WHERE ${OF_JOB} AND ${among(sql`chunk`, SOME_CHUNKS)} RETURNING chunk`;
const WITHOUT_JOB = sql`
  SELECT DISTINCT job_id FROM job_chunks WHERE platform = :platform AND waiting IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM jobs WHERE jobs.platform = :platform AND jobs.job_id = job_chunks.job_id) LIMIT :mostJobs`;
const WITHOUT_TASK = sql`
  SELECT job_id FROM jobs WHERE platform = :platform AND finished_at IS NULL AND state <> 'reserved' AND NOT EXISTS
    (SELECT 1 FROM tasks WHERE tasks.platform = :platform AND kind = :kind AND name = job_id) LIMIT :most`;
const DROP_EMPTY = sql`
  DELETE FROM jobs WHERE ${OF_JOB} AND NOT EXISTS (SELECT 1 FROM job_chunks WHERE ${OF_JOB})`;

/**
 * Deletes rows that waited for a day, and the oldest job whose time is over, by both clocks and in pieces, and rows that wait
 * without a job. A job that has not ended and has no task gets one.
 * Resolves to true if there may be more.
 */
export const sweep: Step<{ readonly gatewayNow: number }, boolean> = {
  name: 'sweep jobs',
  look: ([{ gatewayNow }]) => [
    OVERDUE.with({ waitingMs: WAITING_MS, waitingUntil: gatewayNow - WAITING_MS, most: MAX_FORGOTTEN }),
    OLDEST.with({ keptMs: KEPT_MS, keptUntil: gatewayNow - KEPT_MS, roomMs: ROOM_KEPT_MS }),
    WITHOUT_TASK.with({ kind: IMPORT, most: MAX_FORGOTTEN }),
    WITHOUT_JOB.with({ mostJobs: MAX_JOBS }),
  ],
  decide: (_, [overdue = [], oldest = [], lost = [], left = []]) => {
    const writes = overdue.map((row) =>
      FORGET_ONE.with({ jobId: String(row['job_id']), chunk: Number(row['chunk']) }),
    );
    for (const row of oldest) {
      const jobId = String(row['job_id']);
      writes.push(DROP_SOME.with({ jobId, most: MAX_FORGOTTEN }), DROP_EMPTY.with({ jobId }));
    }
    for (const row of left)
      writes.push(DROP_SOME.with({ jobId: String(row['job_id']), most: MAX_FORGOTTEN }));
    const lostIds = lost.map((row) => String(row['job_id']));
    return {
      writes: [...writes, ...addTasks(IMPORT, lostIds)],
      results: () => [overdue.length === MAX_FORGOTTEN || oldest.length > 0 || left.length > 0],
    };
  },
};
