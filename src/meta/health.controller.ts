import { Controller, Get, Res } from '@nestjs/common';
import { ApiProperty, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { PublicOperation } from '../operation/operation.decorator.ts';
import { Admission } from '../http/admission.ts';
import { OrderLedgerKeeper } from '../order-ledger/order-ledger-keeper.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { TokenManager } from '../token/token.manager.ts';
import { OperationGroups } from '../upstream/resilience/operation-groups.ts';

export class LivenessDto {
  @ApiProperty({ enum: ['ok'] })
  status!: 'ok';
}

export class ReadinessDto {
  @ApiProperty({
    enum: ['ok', 'degraded', 'down'],
    description: '`down` comes with 503: no requests, please',
  })
  status!: 'ok' | 'degraded' | 'down';

  @ApiProperty({ enum: ['up', 'down', 'off'], description: '`off` where none is configured' })
  redis!: 'up' | 'down' | 'off';

  @ApiProperty({
    enum: ['up', 'down'],
    description: 'Whether the store of order records can be used: without it no order is placed',
  })
  orders!: 'up' | 'down';

  @ApiProperty({
    enum: ['up', 'down'],
    description: 'Whether the last token request to the platform succeeded',
  })
  tokens!: 'up' | 'down';

  @ApiProperty({
    enum: ['up', 'degraded', 'down'],
    description:
      'Groups of operations that fail at the platform are shut for a moment: `degraded` where some are, `down` where all that are in use are',
  })
  upstream!: 'up' | 'degraded' | 'down';

  @ApiProperty({
    enum: ['ok', 'overloaded'],
    description: '`overloaded` while new requests are refused with 503 `overloaded`',
  })
  load!: 'ok' | 'overloaded';
}

/** Words only: what is wrong in detail is in the log and the metrics, which not every caller may see. */
@ApiTags('Meta')
@Controller('health')
export class HealthController {
  constructor(
    private readonly admission: Admission,
    private readonly redis: SharedRedis,
    private readonly orders: OrderLedgerKeeper,
    private readonly tokens: TokenManager,
    private readonly upstream: OperationGroups,
  ) {}

  @Get('live')
  @PublicOperation('live', 'Whether the process works')
  @ApiResponse({ status: 200, type: LivenessDto, description: 'It does' })
  live(): LivenessDto {
    return { status: 'ok' };
  }

  @Get('ready')
  @PublicOperation('ready', 'Whether the gateway takes requests')
  @ApiResponse({ status: 200, type: ReadinessDto, description: 'It does, perhaps degraded' })
  @ApiResponse({ status: 503, type: ReadinessDto, description: 'It does not' })
  ready(@Res({ passthrough: true }) reply: FastifyReply): ReadinessDto {
    const parts = {
      redis: this.redis.status,
      orders: this.orders.status,
      tokens: this.tokens.healthy ? 'up' : 'down',
      upstream: this.upstream.health,
      load: this.admission.overload ? 'overloaded' : 'ok',
    } as const;
    if (this.admission.draining) {
      void reply.status(503);
      return { status: 'down', ...parts };
    }
    const isWell = Object.values(parts).every((part) => GOOD.has(part));
    return { status: isWell ? 'ok' : 'degraded', ...parts };
  }
}

const GOOD = new Set(['up', 'ok', 'off']);
