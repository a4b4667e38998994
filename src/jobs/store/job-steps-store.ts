import { among, type Query, rows, sql } from '../../database/sql.ts';
import { type Rows, rowsAs } from '../../database/engine.ts';
import { CONFIRMED } from '../../database/identity.ts';
import { raise, type Step } from '../../database/step.ts';
import { eventWrites, type NewEvent } from '../../events/log/event-store.ts';
import { addTasks, heldTasks, holdIn } from '../../tasks/task-store.ts';
import { type Counts, countList, type JobState } from './job-record.ts';
import { IMPORT } from './job-rooms-store.ts';
import { type JobRow, type JobSeal, lockJobs, OF_JOB, rowOf } from './job-rows-store.ts';
import { type StepResult, WAITING_MS } from './stored-job.ts';

/** The job, and the attempt at its task with which a process holds it. */
interface Held {
  readonly jobId: string;
  readonly attempt: string;
}

interface Change {
  readonly writes: readonly Query[];
  readonly result: StepResult;
  readonly event?: NewEvent;
  /** True if a call follows, so that every gateway notices if the database loses the record of it. */
  readonly begins?: true;
}

interface HeldJobRow {
  readonly job: JobRow;
  /** True while the lease of the task lasts. */
  readonly isLive: boolean;
  readonly now: number;
  /** When an operator last confirmed the database; see {@link CONFIRMED}. */
  readonly confirmedAt: number;
}

/** True if an operator has confirmed the database since the job last changed. The database may then lack calls of the job. */
function mayLackCalls({ job, confirmedAt }: HeldJobRow): boolean {
  return job.changedAt < confirmedAt;
}

/**
 * Makes a step that only the process with the job's task may do. The step locks the task first, so no other process takes the job before
 * the commit. If the process has lost the task, or the job is gone, the step writes nothing and results in `lost`. The same goes for a job
 * that may lack calls, until it is taken anew.
 */
function heldStep<Input extends Held>(
  name: string,
  change: (input: Input, held: HeldJobRow, found: readonly Rows[]) => Change,
  rest: Partial<Pick<Step<Input, StepResult>, 'bytes' | 'look' | 'guarded'>> & { takes?: true } = {},
): Step<Input, StepResult> {
  return {
    name,
    key: ({ jobId }) => jobId,
    ...(rest.bytes && { bytes: rest.bytes }),
    ...(rest.guarded && { guarded: true }),
    repeatable: true,
    look: (inputs) => [...lockWithTasks(inputs), CONFIRMED.with(), ...(rest.look?.(inputs) ?? [])],
    decide: (inputs, [tasks, jobs, confirmed, ...found], now) => {
      const [{ confirmedAt } = { confirmedAt: 0 }] = rowsAs<{ readonly confirmedAt: number }>(confirmed);
      const changes = inputs.map((input): Change => {
        const { jobId, attempt } = input;
        const hold = holdIn(tasks, jobId, attempt);
        const job = rowOf(jobs, jobId);
        if (hold === 'lost' || !job || job.state === 'reserved') return LOST;
        const held = { job, isLive: hold === 'live', now, confirmedAt };
        return mayLackCalls(held) && !rest.takes ? LOST : change(input, held, found);
      });
      return { writes: writesOf(changes), results: () => changes.map(({ result }) => result) };
    },
  };
}

/** Locks the tasks of the jobs and then the jobs. Every step locks them in this order. */
function lockWithTasks(given: readonly { readonly jobId: string }[]): Query[] {
  const jobIds = given.map(({ jobId }) => jobId);
  return [heldTasks(IMPORT, jobIds), ...lockJobs(given)];
}

function writesOf(changes: readonly Change[]): Query[] {
  const events = changes.flatMap(({ event }) => event ?? []);
  const begun = changes.filter(({ begins }) => begins).length;
  return [
    ...changes.flatMap(({ writes }) => writes),
    ...(begun > 0 ? [raise('begun', begun)] : []),
    ...eventWrites(events),
  ];
}

const LOST: Change = { writes: [], result: 'lost' };
const isOver = ({ finishedAt }: JobRow) => finishedAt !== null;

const START = sql`
  UPDATE jobs SET state = 'running', started_at = coalesce(started_at, :now), version = version + 1, changed_at = :now
  WHERE ${OF_JOB}`;

/** Counts a call that the database has lost for each chunk that waits, so that its rows are looked up before they are sent. */
const DOUBT = sql`UPDATE job_chunks SET calls = calls + 1 WHERE ${OF_JOB} AND waiting IS NOT NULL`;

export const takeJob = heldStep<Held>(
  'take an import',
  ({ jobId }, held) => {
    const { job, isLive, now, confirmedAt } = held;
    if (!isLive || isOver(job)) return LOST;
    if (mayLackCalls(held)) {
      const started = START.with({ jobId, now: Math.max(now, confirmedAt) });
      return { writes: [DOUBT.with({ jobId }), started], result: 'done' };
    }
    // A job that is taken again has not changed by that.
    return { writes: job.state === 'running' ? [] : [START.with({ jobId, now })], result: 'done' };
  },
  { guarded: true, takes: true },
);

const BEGIN = sql`UPDATE job_chunks SET calls = :calls WHERE ${OF_JOB} AND chunk = :chunk`;

interface Call extends Held {
  readonly chunk: number;
  readonly calls: number;
}

/**
 * Allows a call only while the lease lasts. After that another process may take the job, and a late call would add a member twice. Like an
 * order, a call is not allowed while the database cannot be trusted.
 */
export const begin = heldStep<Call>(
  'begin a call',
  ({ jobId, chunk, calls }, { job, isLive }) => {
    if (!isLive || isOver(job)) return LOST;
    if (job.cancelled === 1) return { writes: [], result: 'cancelled' };
    return { writes: [BEGIN.with({ jobId, chunk, calls })], result: 'done', begins: true };
  },
  { guarded: true },
);

const IN_SAVES = rows('saves', { jobId: 'text', chunk: 'bigint' });
const BEFORE = sql`
  SELECT job_chunks.job_id AS "jobId", job_chunks.chunk, job_chunks.counts FROM job_chunks JOIN ${IN_SAVES}
    ON job_chunks.job_id = saves.job_id AND job_chunks.chunk = saves.chunk
  WHERE job_chunks.platform = :platform AND ${among(sql`job_chunks.job_id`, sql`SELECT job_id FROM ${IN_SAVES}`)}`;
const SAVE = sql`
  INSERT INTO job_chunks (platform, job_id, chunk, results, waiting, counts, calls)
  VALUES (:platform, :jobId, :chunk, :results, :waiting, :counts, 0)
  ON CONFLICT (platform, job_id, chunk) DO UPDATE SET results = excluded.results, waiting = excluded.waiting, counts = excluded.counts,
    calls = CASE WHEN CAST(:isOpen AS bigint) = 1 THEN job_chunks.calls ELSE 0 END`;
const COUNT = sql`UPDATE jobs SET counts = :counts, version = version + 1, changed_at = :now WHERE ${OF_JOB}`;

interface Save extends Held {
  readonly chunk: number;
  readonly counts: Counts;
  /** The sealed results. */
  readonly results: Buffer;
  readonly waiting: Buffer | null;
  readonly gatewayNow: number;
}

/** Adds the difference between the new and the stored counts of the chunk to those of the job, so a repeated save changes nothing. */
export const save = heldStep<Save>(
  'save rows',
  ({ jobId, chunk, counts, results, waiting, gatewayNow }, { job, now }, [before]) => {
    if (isOver(job)) return LOST;
    const known = before?.find((row) => row['jobId'] === jobId && row['chunk'] === chunk)?.['counts'];
    const [last, all] = [known ?? '[]', job.counts].map((list) => JSON.parse(String(list)) as number[]);
    const own = countList(counts);
    const sums = own.map((count, at) => (all?.[at] ?? 0) + count - (last?.[at] ?? 0));
    // Rows are not kept for longer than a day by both clocks, because they have passwords.
    const isLate = job.createdAt <= Math.min(gatewayNow, now) - WAITING_MS;
    const chunkNow = { chunk, results, waiting: isLate ? null : waiting, counts: JSON.stringify(own) };
    // The calls with open rows stay recorded, because these rows are looked up also without their values.
    const isOpen = waiting === null ? 0 : 1;
    return {
      writes: [
        SAVE.with({ jobId, ...chunkNow, isOpen }),
        COUNT.with({ jobId, counts: JSON.stringify(sums), now }),
      ],
      result: job.cancelled === 1 ? 'cancelled' : 'done',
    };
  },
  {
    bytes: ({ results, waiting }) => results.length + (waiting?.length ?? 0),
    look: (saves) => [BEFORE.with({ saves: saves.map(({ jobId, chunk }) => ({ jobId, chunk })) })],
  },
);

const PREPARED = sql`
  UPDATE jobs SET prepared = 1, chunks = :chunks, total = :total, version = version + 1, changed_at = :now WHERE ${OF_JOB}`;

interface Plan extends Held {
  readonly chunks: number;
  readonly total: number;
}

export const prepared = heldStep<Plan>('record a plan', ({ jobId, chunks, total }, { job, now }) =>
  isOver(job) ? LOST : { writes: [PREPARED.with({ jobId, chunks, total, now })], result: 'done' },
);

const FINISH = sql`
  UPDATE jobs SET state = :state, problem = :problem, finished_at = :now, changed_at = :now, version = version + 1, bytes = :bytes
  WHERE ${OF_JOB}`;
const FORGET = sql`UPDATE job_chunks SET waiting = NULL, calls = 0 WHERE ${OF_JOB} AND (waiting IS NOT NULL OR calls > 0)`;
/** The part that results take of the bytes that their rows took while they waited. */
const PART_OF_RESULTS = 2;

function finished(job: JobRow, state: JobState, problem: string | null, now: number, seal: JobSeal): Change {
  const bytes = Math.ceil(job.bytes / PART_OF_RESULTS);
  const after = { ...job, state, problem, finishedAt: now, changedAt: now, version: job.version + 1 };
  const { jobId } = job;
  return {
    writes: [FINISH.with({ jobId, state, problem, bytes, now }), FORGET.with({ jobId })],
    result: 'done',
    event: { kind: 'job', name: jobId, state, at: now, record: seal.event(after) },
  };
}

interface Finish extends Held {
  readonly state: JobState;
  /** The sealed problem. */
  readonly problem: string | null;
  readonly seal: JobSeal;
}

/** Ends the job, deletes the passwords and adds the event in one transaction. In a database that lacks commits, rows may lack their results. */
export const finish = heldStep<Finish>(
  'finish an import',
  ({ state, problem, seal }, { job, now }) =>
    // The reply to the first attempt was lost, or a caller cancelled the job before it began.
    isOver(job)
      ? { writes: [], result: job.state === state ? 'done' : 'lost' }
      : finished(job, state, problem, now, seal),
  { guarded: true },
);

const CANCEL = sql`
  UPDATE jobs SET cancelled = 1, version = version + 1, changed_at = :now WHERE ${OF_JOB}`;

interface Cancelled {
  readonly jobId: string;
  readonly seal: JobSeal;
}

/** Ends a job that has not begun. A running job ends by itself after it has settled the calls that were sent. */
export const cancel: Step<Cancelled, undefined> = {
  name: 'cancel an import',
  key: ({ jobId }) => jobId,
  repeatable: true,
  pastLoss: true,
  look: lockWithTasks,
  decide: (given, [, jobs], now) => {
    const changes = given.flatMap(({ jobId, seal }): Change[] => {
      const job = rowOf(jobs, jobId);
      if (!job || job.state === 'reserved' || isOver(job)) return [];
      if (job.startedAt === null) {
        const ended = finished(
          { ...job, cancelled: 1, version: job.version + 1 },
          'cancelled',
          null,
          now,
          seal,
        );
        return [{ ...ended, writes: [CANCEL.with({ jobId, now }), ...ended.writes] }];
      }
      // The job may wait for its next try.
      return [{ writes: [CANCEL.with({ jobId, now }), ...addTasks(IMPORT, [jobId])], result: 'done' }];
    });
    return { writes: writesOf(changes) };
  },
};
