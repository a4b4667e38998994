import type { ProblemBody } from '../problem/problem.exception.ts';
import type { JobDto, JobProblemDto, JobRowDto } from './dto/job.dto.ts';
import { type JobRecord, type RowResult, ROWS_PER_CHUNK, sumOf } from './job-record.ts';
import { KEPT_MS } from './job-store.ts';

export function toJob(job: JobRecord): JobDto {
  const { definition, state, total, counts, createdAt, startedAt, finishedAt, problem } = job;
  const { added, ...others } = counts;
  return {
    jobId: definition.jobId,
    kind: 'import',
    mode: definition.mode,
    enterpriseGlobalId: definition.enterpriseGlobalId,
    state,
    total,
    done: sumOf(counts),
    succeeded: added,
    ...others,
    createdAt: timeOf(createdAt),
    startedAt: startedAt === null ? null : timeOf(startedAt),
    finishedAt: finishedAt === null ? null : timeOf(finishedAt),
    expiresAt: timeOf(createdAt + KEPT_MS),
    problem: problem && toJobProblem(problem),
  };
}

/** `chunk` is the chunk's place in the job. */
export function toJobRow(
  { account, status, code, message, memberGlobalId, was }: RowResult,
  chunk: number,
  at: number,
): JobRowDto {
  const row = was === 'surplus' ? null : chunk * ROWS_PER_CHUNK + at + 1;
  return {
    row,
    account,
    status,
    code: code ?? null,
    message: message ?? null,
    memberGlobalId: memberGlobalId ?? null,
  };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function toJobProblem(problem: ProblemBody): JobProblemDto {
  const { type, title, status, detail = title, code, outcome, retryable, requestId = '' } = problem;
  return { type, title, status, detail, code, outcome, retryable, requestId };
}

/** The URL of the job of a response; undefined for a plan. */
export function jobLocation(result: unknown): string | undefined {
  const { jobId } = result as { jobId?: string };
  return jobId === undefined ? undefined : `/v1/jobs/${jobId}`;
}
