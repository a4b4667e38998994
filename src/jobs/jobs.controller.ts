import { Controller, Delete, Get, Param, Post, Query, Req, Res, type StreamableFile } from '@nestjs/common';
import { ApiExtraModels, ApiHeader, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CallerAuthentication } from '../caller/caller-authentication.ts';
import { ImportedMemberDto } from '../member/dto/member.dto.ts';
import { linksTo } from '../operation/openapi/links.ts';
import { Operation } from '../operation/operation.decorator.ts';
import { Call, HeaderValue, type RequestFile, UploadedFile } from '../request/request-stages.ts';
import { Watchers } from '../operation/watchers.ts';
import { type CallContext, isGranted } from '../request/call-context.ts';
import {
  JobDto,
  jobLocation,
  JobPageDto,
  JobPath,
  JobRowDto,
  JobRowsQuery,
  ListJobsQuery,
} from './dto/job.dto.ts';
import { JobsService } from './jobs.service.ts';
import { ImportsService } from './member-imports/imports.service.ts';
import { ROW_TYPES, rowStream, whileGranted } from '../operation/row-stream.ts';

const READ_SCOPE = 'members:read';
const ofList = linksTo(
  ['getJob', 'watchJob', 'getJobRows', 'retryJob', 'cancelJob'],
  'path.jobId',
  '/items/0/jobId',
);
const ROW_COLUMNS = ['row', 'account', 'status', 'code', 'message', 'memberGlobalId'] as const;

@ApiTags('Jobs')
@ApiExtraModels(JobRowDto)
@Controller('v1/jobs')
export class JobsController {
  constructor(
    private readonly jobs: JobsService,
    private readonly imports: ImportsService,
    private readonly watchers: Watchers,
    private readonly callers: CallerAuthentication,
  ) {}

  @Operation({
    id: 'listJobs',
    summary: "Page through the jobs of the caller's enterprises, newest first",
    description: 'Jobs are kept for 7 days.',
    effect: 'read',
    scope: READ_SCOPE,
    paged: true,
    success: [
      { status: 200, description: 'One page; empty after the last page', type: JobPageDto, links: ofList },
    ],
  })
  @Get()
  listJobs(@Call() call: CallContext, @Query() query: ListJobsQuery): Promise<JobPageDto> {
    return this.jobs.listJobs(query, call);
  }

  @Operation({
    id: 'getJob',
    summary: 'How far a job is',
    effect: 'read',
    scope: READ_SCOPE,
    problems: ['job-not-found'],
    success: [{ status: 200, description: 'The job', type: JobDto }],
  })
  @Get(':jobId')
  getJob(@Call() call: CallContext, @Param() { jobId }: JobPath): Promise<JobDto> {
    return this.jobs.getJob(jobId, call);
  }

  @Operation({
    id: 'watchJob',
    summary: 'The progress of a job as server-sent events',
    description:
      'An event `progress` with the job at least every second while it changes, and `done` at its end. The data of each is a Job. ' +
      'A client whose connection ends without `done` connects again with `Last-Event-ID`. The events also end when the caller loses its key, ' +
      'the scope or the enterprise.',
    effect: 'read',
    scope: READ_SCOPE,
    problems: ['job-not-found'],
    success: [
      {
        status: 200,
        description: 'The events',
        streams: [{ type: 'text/event-stream', item: JobDto }],
      },
    ],
  })
  @Get(':jobId/events')
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'The id of the last event that the client has had: earlier ones are left out',
  })
  async watchJob(
    @Call() { caller }: CallContext,
    @Param() { jobId }: JobPath,
    @Req() { raw }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @HeaderValue('last-event-id') last?: string,
  ): Promise<StreamableFile> {
    const job = await this.jobs.find(jobId, caller.grants);
    const seen = /^\d{1,15}$/.test(last ?? '') ? Number(last) : 0;
    const { enterpriseGlobalId } = job.definition;
    const events = this.jobs.events(job, seen, async () => {
      const grants = await this.callers.grantsNow(raw, READ_SCOPE);
      return grants !== undefined && isGranted(grants.enterprises, enterpriseGlobalId);
    });
    return this.watchers.stream(caller.name, reply.raw, events);
  }

  @Operation({
    id: 'getJobRows',
    summary: 'What became of each row of a job',
    description: 'Rows in the order of the file, then the members that were to be deleted.',
    effect: 'read',
    scope: READ_SCOPE,
    problems: ['job-not-found'],
    success: [
      {
        status: 200,
        description: 'The rows; in CSV with a header line',
        streams: [{ type: ROW_TYPES[0] }, { type: ROW_TYPES[1], item: JobRowDto }],
      },
    ],
  })
  @Get(':jobId/rows')
  async getJobRows(
    @Call() { caller, requestId }: CallContext,
    @Param() { jobId }: JobPath,
    @Query() { status, cells }: JobRowsQuery,
    @Req() { raw }: FastifyRequest,
    @HeaderValue('accept') accept?: string,
  ): Promise<StreamableFile> {
    const job = await this.jobs.find(jobId, caller.grants);
    const { enterpriseGlobalId } = job.definition;
    const rows = whileGranted(
      this.jobs.rows(job, status),
      () => this.callers.grantsNow(raw, READ_SCOPE, caller),
      () => enterpriseGlobalId,
    );
    return rowStream<JobRowDto>({ accept, cells, requestId }, ROW_COLUMNS, rows);
  }

  @Operation({
    id: 'retryJob',
    summary: 'Import the rows of a job that failed once more, as a new job',
    description:
      'The body has the rows again, since their passwords are gone: only accounts whose rows failed, are unknown or were not sent. ' +
      'The new job has the mode of the first, and deletes nothing. With `outcome-unknown` the gateway does not know whether it has made the job, ' +
      'whose URL is in `Location`.',
    effect: 'write',
    scope: 'members:write',
    later: 'addMembers',
    actsAsUser: true,
    idempotency: 'key',
    showsEnterprises: true,
    locationOf: jobLocation,
    problems: ['job-not-found', 'import-in-progress', 'outcome-unknown'],
    success: [{ status: 202, description: 'The new job', type: JobDto }],
    file: {
      description: 'The rows that failed, corrected, with their passwords: the job does not keep them',
      item: ImportedMemberDto,
    },
  })
  @Post(':jobId/retry')
  async retryJob(
    @Call() call: CallContext,
    @Param() { jobId }: JobPath,
    @UploadedFile() file: RequestFile | undefined,
  ): Promise<JobDto> {
    const job = await this.jobs.find(jobId, call.caller.grants);
    return this.imports.retryJob(job, this.jobs.results(job), { call, file });
  }

  @Operation({
    id: 'cancelJob',
    summary: 'Cancel a job: what was sent is finished, and nothing further is sent',
    description: 'A job that has ended stays as it is, so the request may be repeated.',
    effect: 'write',
    scope: 'members:write',
    problems: ['job-not-found'],
    success: [{ status: 202, description: 'The job; it ends when what was sent is settled', type: JobDto }],
  })
  @Delete(':jobId')
  cancelJob(@Call() call: CallContext, @Param() { jobId }: JobPath): Promise<JobDto> {
    return this.jobs.cancelJob(jobId, call);
  }
}
