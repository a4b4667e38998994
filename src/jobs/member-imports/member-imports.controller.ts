import { Controller, Get, Param, Post, Query, Req, type StreamableFile } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { CallerAuthentication } from '../../caller/caller-authentication.ts';
import { ImportedMemberDto, MemberDto } from '../../member/dto/member.dto.ts';
import { MemberSearch } from '../../member/member-search.ts';
import { EnterprisePath } from '../../operation/enterprise-path.dto.ts';
import { Operation } from '../../operation/operation.decorator.ts';
import { Call, HeaderValue, type RequestFile, UploadedFile } from '../../request/request-stages.ts';
import type { CallContext } from '../../request/call-context.ts';
import { SessionService } from '../../session/session.service.ts';
import { ExportQuery, ImportQuery, JobDto, jobLocation } from '../dto/job.dto.ts';
import { ImportsService } from './imports.service.ts';
import { ROW_TYPES, rowStream, whileGranted } from '../../operation/row-stream.ts';

const READ_SCOPE = 'members:read';
/** The columns of an exported file. They include the names of addMembers, so that the file can be imported. */
const EXPORTED = [
  'memberGlobalId',
  'userName',
  'name',
  'departmentId',
  'departmentName',
  'remark',
  'passwordMobile',
  'assetNums',
  'lentLockNum',
  'online',
  'deleted',
  'createdAt',
  'updatedAt',
] satisfies (keyof MemberDto)[];

@ApiTags('Members')
@ApiExtraModels(ImportedMemberDto, MemberDto)
@Controller('v1/enterprises/:enterpriseGlobalId')
export class MemberImportsController {
  constructor(
    private readonly imports: ImportsService,
    private readonly members: MemberSearch,
    private readonly callers: CallerAuthentication,
    private readonly sessions: SessionService,
  ) {}

  @Operation({
    id: 'importMembers',
    summary: 'Add or update the members of an enterprise from a file, as a job',
    description:
      'A file that was exported without `cells=text` may be imported again. With `mode=upsert` only new members need a password. A file with faults is 400 with the first 100 of them, ' +
      'and nothing is sent. After a lost response the job looks its rows up before it sends anything again. ' +
      'With `outcome-unknown` the gateway does not know whether it has made the job, whose URL is in `Location`.',
    effect: 'write',
    dryRun: true,
    scope: 'members:write',
    upstream: 'listMembers',
    later: 'addMembers',
    idempotency: 'key',
    locationOf: jobLocation,
    problems: ['import-in-progress', 'suffix-unknown', 'too-many-deletes', 'outcome-unknown'],
    success: [{ status: 202, description: 'The job', type: JobDto }],
    file: {
      description:
        'The rows: a header line with the names of the fields of `addMembers` or of an export, or one JSON object in each line',
      item: ImportedMemberDto,
    },
  })
  @Post('member-imports')
  async importMembers(
    @Call() call: CallContext,
    @Param() { enterpriseGlobalId }: EnterprisePath,
    @Query() query: ImportQuery,
    @UploadedFile() file: RequestFile | undefined,
  ): Promise<JobDto> {
    return this.imports.importMembers({ call, enterpriseGlobalId, file }, query);
  }

  @Operation({
    id: 'exportMembers',
    summary: 'All members of an enterprise as a file',
    description:
      'The members arrive page by page, as the platform gives them. Where the list cannot be read to its end, the connection is closed before the end of the ' +
      'response, after a last line that says why: `#incomplete,<code>,<reason>` in CSV, an object with `problem` in NDJSON. ' +
      'The same happens if the caller loses its key, the scope or the enterprise meanwhile, or if its session ends. ' +
      'No cell is changed: for a spreadsheet, which takes one that begins with `=`, `+`, `-` or `@` for a formula, ask for `cells=text`. ' +
      "Do not import such a file again: each `'` would become a part of its value.",
    effect: 'read',
    scope: READ_SCOPE,
    upstream: 'listMembers',
    success: [
      {
        status: 200,
        description: 'The members; in CSV with a header line',
        streams: [{ type: ROW_TYPES[0] }, { type: ROW_TYPES[1], item: MemberDto }],
      },
    ],
  })
  @Get('members/export')
  exportMembers(
    @Call() call: CallContext,
    @Param() { enterpriseGlobalId }: EnterprisePath,
    @Query() { cells, ...filter }: ExportQuery,
    @Req() { raw }: FastifyRequest,
    @HeaderValue('accept') accept?: string,
  ): Promise<StreamableFile> {
    const { requestId } = call;
    const user = call.user && this.sessions.lookedUpAgain(call.user, call.caller.name);
    const rows = whileGranted(
      this.members.export({ ...call, user }, enterpriseGlobalId, filter),
      () => this.callers.grantsNow(raw, READ_SCOPE, call.caller),
      () => enterpriseGlobalId,
    );
    return rowStream({ accept, cells, requestId }, EXPORTED, rows);
  }
}
