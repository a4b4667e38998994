import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Operation } from '../../operation/operation.decorator.ts';
import { pageOf, PageQuery } from '../../operation/page.dto.ts';
import { UpstreamGaps } from '../gaps.ts';
import { GapPageDto } from './gaps.dto.ts';

@ApiTags('Gateway')
@Controller('v1/gaps')
export class GapsController {
  constructor(private readonly gaps: UpstreamGaps) {}

  @Operation({
    id: 'listGaps',
    summary: "Where the platform's answers depart from its interface",
    description:
      'Names of fields, never a value, for the owner of the platform. The list covers all replicas and has at most 1,000 entries.',
    effect: 'read',
    scope: 'gaps:read',
    paged: true,
    success: [{ status: 200, description: 'One page, by operation and path', type: GapPageDto }],
  })
  @Get()
  async listGaps(@Query() query: PageQuery): Promise<GapPageDto> {
    const gaps = await this.gaps.list();
    return pageOf(
      gaps.map((gap) => ({
        ...gap,
        firstSeenAt: new Date(gap.firstSeenAt).toISOString(),
        lastSeenAt: new Date(gap.lastSeenAt).toISOString(),
      })),
      query,
    );
  }
}
