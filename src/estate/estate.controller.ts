import { Body, Controller, Get, Post, Query, Req, Res, type StreamableFile } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CallerAuthentication } from '../caller/caller-authentication.ts';
import { Operation } from '../operation/operation.decorator.ts';
import { Call, HeaderValue } from '../request/request-stages.ts';
import { rowStream, whileGranted } from '../operation/row-stream.ts';
import type { CallContext } from '../request/call-context.ts';
import { acceptedType } from '../validation/accepted-type.ts';
import {
  EstatePageDto,
  type EstateRowDto,
  EstateSummaryDto,
  EstateSummaryQuery,
  ListEstateQuery,
  RefreshEstateDto,
} from './estate.dto.ts';
import { EstateService } from './estate.service.ts';

const SCOPE = 'estate:read';
const CSV = 'text/csv';
const INCOMPLETE = 'X-Estate-Incomplete';
const COLUMNS = [
  ...['enterpriseGlobalId', 'assetId', 'assetNum', 'licenseType', 'productId', 'productUri', 'productName'],
  ...['packageNum', 'startsAt', 'endsAt', 'trial', 'limitConcurrent', 'memberGlobalId', 'lent', 'online'],
  ...['lastOnlineAt', 'locked', 'frozen', 'licenseOrderId', 'channelOrderId', 'crmProductId', 'seenAt'],
] as const satisfies readonly (keyof EstateRowDto)[];

@ApiTags('Estate')
@ApiExtraModels(EstatePageDto)
@Controller('v1/estate')
export class EstateController {
  constructor(
    private readonly estate: EstateService,
    private readonly callers: CallerAuthentication,
  ) {}

  @Operation({
    id: 'listEstate',
    summary: 'What all enterprises of the caller have: what ends when, what lies unused, and where it is',
    description:
      'From a copy that the gateway reads slowly: each row says how old it is, and the header `X-Estate-Incomplete` how many of the enterprises in ' +
      'reach the copy does not have whole; `getEstateSummary` names them. With `Accept: text/csv` all rows as a stream, without pages: a cell that a ' +
      "spreadsheet would take for a formula has `'` before it.",
    effect: 'read',
    scope: SCOPE,
    paged: true,
    problems: ['estate-off'],
    success: [
      {
        status: 200,
        description: 'One page; empty after the last page',
        type: EstatePageDto,
        alsoStreams: [{ type: CSV }],
        headers: {
          [INCOMPLETE]: {
            description:
              'How many enterprises in reach the copy does not have whole; one more before the first look for enterprises has ended; absent where there are none',
            schema: { type: 'integer' },
          },
        },
      },
    ],
  })
  @Get()
  async listEstate(
    @Call() call: CallContext,
    @Query() query: ListEstateQuery,
    @Req() { raw }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @HeaderValue('accept') accept?: string,
  ): Promise<EstatePageDto | StreamableFile> {
    if (acceptedType(accept, ['application/json', CSV]) === CSV) {
      const { rows, incomplete } = await this.estate.stream(query, call);
      tell(reply, incomplete);
      const granted = whileGranted(
        rows,
        () => this.callers.grantsNow(raw, SCOPE, call.caller),
        ({ enterpriseGlobalId }) => enterpriseGlobalId,
      );
      return rowStream<EstateRowDto>(
        { accept: CSV, cells: 'text', requestId: call.requestId },
        COLUMNS,
        granted,
      );
    }
    const { page, incomplete } = await this.estate.list(query, call);
    tell(reply, incomplete);
    return page;
  }

  @Operation({
    id: 'getEstateSummary',
    summary: 'The estate in sums: what ends in which month, what each product has, and how old it is',
    effect: 'read',
    scope: SCOPE,
    problems: ['estate-off'],
    success: [{ status: 200, description: 'The sums', type: EstateSummaryDto }],
  })
  @Get('summary')
  getEstateSummary(@Call() call: CallContext, @Query() query: EstateSummaryQuery): Promise<EstateSummaryDto> {
    return this.estate.summary(query, call);
  }

  @Operation({
    id: 'refreshEstate',
    summary: 'Read an enterprise into the estate next',
    description: 'Twice within a minute is once. `getEstateSummary` shows when it was read.',
    effect: 'write',
    scope: SCOPE,
    idempotency: 'key',
    body: RefreshEstateDto,
    problems: ['estate-off'],
    success: [{ status: 202, description: 'It is read next' }],
  })
  @Post('refreshes')
  refreshEstate(@Body() { enterpriseGlobalId }: RefreshEstateDto): Promise<void> {
    return this.estate.refresh(enterpriseGlobalId);
  }
}

function tell(reply: FastifyReply, incomplete: number): void {
  if (incomplete > 0) void reply.header(INCOMPLETE, String(incomplete));
}
