import { Body, Controller, Param, Post, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Call } from '../request/request-stages.ts';
import { EnterprisePath } from '../operation/enterprise-path.dto.ts';
import { Operation, type OperationSpec } from '../operation/operation.decorator.ts';
import type { CallContext } from '../request/call-context.ts';
import {
  LockResultsDto,
  LocksDto,
  type LockStatus,
  ReserveAssetNumsDto,
  ReservedAssetNumsDto,
} from './dto/lock.dto.ts';
import { OrderService } from './order.service.ts';

const MULTI_STATUS = 207;
/** The platform reports a lock that it did not switch with one of these (interface sections 2.7 and 9). */
const NOT_SWITCHED: ReadonlySet<LockStatus> = new Set(['not_found', 'failed', 'wrong_type']);

function lockOperation(id: 'disableLocks' | 'enableLocks', summary: string): OperationSpec {
  return {
    id,
    summary,
    description:
      'Only re-issuable locks and large-customer locks can be switched. Each number has its own result.',
    effect: 'write',
    scope: 'locks:write',
    upstream: id,
    idempotency: 'key',
    dryRun: true,
    changedNothing: (result) =>
      (result as LockResultsDto).items.every(({ status }) => NOT_SWITCHED.has(status)),
    success: [
      { status: 200, description: 'All succeeded', type: LockResultsDto },
      { status: MULTI_STATUS, description: 'Not all succeeded', type: LockResultsDto },
    ],
    body: LocksDto,
  };
}

@ApiTags('Locks and asset numbers')
@Controller('v1')
export class LocksController {
  constructor(private readonly orders: OrderService) {}

  @Operation(lockOperation('disableLocks', 'Disable physical locks'))
  @Post('enterprises/:enterpriseGlobalId/locks/disable')
  disableLocks(
    @Call() call: CallContext,
    @Param() { enterpriseGlobalId }: EnterprisePath,
    @Body() locks: LocksDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<LockResultsDto> {
    return this.#answer(reply, this.orders.switchLocks(call, 'disableLocks', enterpriseGlobalId, locks));
  }

  @Operation(lockOperation('enableLocks', 'Enable physical locks'))
  @Post('enterprises/:enterpriseGlobalId/locks/enable')
  enableLocks(
    @Call() call: CallContext,
    @Param() { enterpriseGlobalId }: EnterprisePath,
    @Body() locks: LocksDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<LockResultsDto> {
    return this.#answer(reply, this.orders.switchLocks(call, 'enableLocks', enterpriseGlobalId, locks));
  }

  @Operation({
    id: 'reserveAssetNums',
    summary: 'Reserve asset numbers',
    description:
      'Each call reserves new numbers, and they are used up. The platform may give fewer than requested.',
    effect: 'write',
    scope: 'orders:write',
    upstream: 'obtainAssetNums',
    idempotency: 'key',
    dryRun: true,
    success: [{ status: 201, description: 'The numbers', type: ReservedAssetNumsDto }],
    body: ReserveAssetNumsDto,
  })
  @Post('asset-num-reservations')
  reserveAssetNums(
    @Call() call: CallContext,
    @Body() wanted: ReserveAssetNumsDto,
  ): Promise<ReservedAssetNumsDto> {
    return this.orders.reserveAssetNums(call, wanted);
  }

  async #answer(reply: FastifyReply, switched: Promise<LockResultsDto>): Promise<LockResultsDto> {
    const results = await switched;
    if (results.failed > 0) void reply.status(MULTI_STATUS);
    return results;
  }
}
