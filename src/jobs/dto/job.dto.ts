import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Count, OpenWord, Time } from '../../operation/response-fields.ts';
import { PageDto, PageQuery } from '../../operation/page.dto.ts';
import { outcomes, problemCodes } from '../../problem/catalogue.ts';
import type { ProblemBody } from '../../problem/problem.exception.ts';
import { Names } from '../../tenancy/names.ts';
import { Digits, FlagParameter, WholeNumberParameter } from '../../validation/scalar-rules.ts';
import { Identifier, OneOf, Optional, PathId, Text, Word } from '../../validation/rules.ts';
import {
  importModes,
  type ImportOptions,
  jobKinds,
  type JobRecord,
  jobStates,
  type JobState,
  type RowStatus,
  rowStatuses,
  sumOf,
} from '../store/job-record.ts';
import { KEPT_MS } from '../store/stored-job.ts';
import { type CellForm, cellForms } from '../../operation/row-stream.ts';

const CELLS = { description: 'Without effect on NDJSON. `text` is not for programs, nor to import again' };
const MAX_DELETES = 1_000_000;

export class ImportQuery {
  /** How rows are handled whose account exists. */
  @Optional()
  @OneOf(importModes)
  mode: ImportOptions['mode'] = 'add';

  /** Whether members who are not in the file are deleted; with `mode=upsert` only. */
  @Optional()
  @FlagParameter()
  deleteMissing: boolean = false;

  @Optional()
  @WholeNumberParameter(0, MAX_DELETES, {
    description:
      'The most members to delete, required with `deleteMissing`: more is 422, and nothing is sent',
  })
  maxDeletes?: number;

  @Optional()
  @Word(
    /^[^\s,]{1,62}(,[^\s,]{1,62}){0,99}$/,
    'must be 1 to 100 accounts or user names, separated by commas',
    {
      description:
        'Accounts or user names that are never deleted, separated by commas; with `deleteMissing` only',
    },
  )
  keep?: string;
}

export class JobPath {
  @PathId({ example: 'example-job' })
  @Names('filter')
  jobId!: string;
}

export class ListJobsQuery extends PageQuery {
  @Optional()
  @OneOf(jobStates, { description: 'Only jobs in this state' })
  state?: JobState;

  @Optional()
  @Identifier({ example: 'ent-harbour', description: 'Only jobs of this enterprise' })
  @Names('enterpriseFilter')
  enterpriseGlobalId?: string;
}

export class JobRowsQuery {
  @Optional()
  @OneOf(rowStatuses, { description: 'Only rows with this status' })
  status?: RowStatus;

  @Optional()
  @OneOf(cellForms, CELLS)
  cells: CellForm = 'exact';
}

export class ExportQuery {
  @Optional()
  @Digits({ description: 'Only members of this department', example: '10' })
  @Names('filter')
  departmentId?: string;

  /** A part of the name or account. */
  @Optional()
  @Text({ example: 'anna' })
  @Names('filter')
  keyword?: string;

  @Optional()
  @OneOf(cellForms, CELLS)
  cells: CellForm = 'exact';
}

@ApiSchema({
  description: 'Why a job failed as a whole: a problem (RFC 9457) without what depends on a request',
})
export class JobProblemDto {
  @ApiProperty({ format: 'uri-reference', description: 'The page that explains the problem' })
  type!: string;

  title!: string;

  @ApiProperty({ type: 'integer', description: 'The HTTP status that a request would have got' })
  status!: number;

  /** What happened this time. */
  detail!: string;

  @OpenWord(problemCodes, 'The code for programs to decide on')
  code!: string;

  @OpenWord(outcomes)
  outcome!: string;

  retryable!: boolean;

  /** The id of the request that made the job. */
  requestId!: string;
}

@ApiSchema({ description: 'An import: how far it is, and what became of its rows' })
export class JobDto {
  jobId!: string;

  @OpenWord(jobKinds, 'What the job does')
  kind!: string;

  @OpenWord(importModes, 'What becomes of rows whose account exists')
  mode!: string;

  /** Global id of the enterprise whose members the job changes. */
  enterpriseGlobalId!: string;

  @OpenWord(jobStates, 'How far the job is')
  state!: JobState;

  @Count('Rows of the file and, once they are known, members to delete')
  total!: number;

  @Count('Rows that have a result: the sum of the next six. It never falls')
  done!: number;

  @Count('Rows whose members were added')
  succeeded!: number;

  @Count('Rows whose members were updated')
  updated!: number;

  @Count('Rows whose members were the same already')
  unchanged!: number;

  @Count('Members that were deleted because the file does not have them')
  deleted!: number;

  @Count('Rows that had no effect')
  failed!: number;

  @Count(
    'Rows that may have had an effect, or whose member may have been there before: their `code` and `message` say why',
  )
  unknown!: number;

  @Time()
  createdAt!: string;

  @Time(undefined, 'When the work on it began; null before')
  startedAt!: string | null;

  @Time(undefined, 'When it ended; null before')
  finishedAt!: string | null;

  @Time(undefined, 'When the job and its rows are deleted')
  expiresAt!: string;

  /** Why the job failed as a whole; null where it did not. */
  problem!: JobProblemDto | null;
}

@ApiSchema({ description: 'One page of jobs' })
export class JobPageDto extends PageDto {
  /** The jobs, newest first. */
  items!: JobDto[];
}

@ApiSchema({ description: 'What became of a row of the file, or of a member that the file does not have' })
export class JobRowDto {
  @ApiProperty({
    type: 'integer',
    minimum: 1,
    description: '1 for the first row below the header; null for a member that was to be deleted',
  })
  row!: number | null;

  account!: string;

  @OpenWord(rowStatuses, 'What became of the row')
  status!: RowStatus;

  @ApiProperty({ description: "A problem's code, of a row that is `failed` or `unknown`; null otherwise" })
  code!: string | null;

  @ApiProperty({
    description:
      'Why the row is `failed` or `unknown`, in the words of the platform where it gave some, or what was not compared in one that is `unchanged`; null otherwise',
  })
  message!: string | null;

  /** Global id of the member; null where the row has none. */
  memberGlobalId!: string | null;
}

/** Returns the record as callers see it. */
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

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function toJobProblem(problem: ProblemBody): JobProblemDto {
  const { type, title, status, detail = title, code, outcome, retryable, requestId = '' } = problem;
  return { type, title, status, detail, code, outcome, retryable, requestId };
}

/** Returns the URL of the job that an operation returns. Undefined for a plan. */
export function jobLocation(result: unknown): string | undefined {
  const { jobId } = result as { jobId?: string };
  return jobId === undefined ? undefined : `/v1/jobs/${jobId}`;
}
