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
    description: '`down` has the status 503: send no requests',
  })
  status!: 'ok' | 'degraded' | 'down';

  @ApiProperty({ enum: ['up', 'down', 'off'], description: '`off` where no Redis is configured' })
  redis!: 'up' | 'down' | 'off';

  @ApiProperty({
    enum: ['up', 'down'],
    description: 'Whether the order ledger can be used: without it the gateway places no order',
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
      'The circuit of a group of operations that fail at the platform opens for a moment: `degraded` where some circuits are open, `down` where those of all groups in use are',
  })
  upstream!: 'up' | 'degraded' | 'down';

  @ApiProperty({
    enum: ['ok', 'overloaded'],
    description: '`overloaded` while new requests are refused with 503 `overloaded`',
  })
  load!: 'ok' | 'overloaded';
}

/** Shows states only. Details are in the log and the metrics, which not every caller may see. */
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
  @PublicOperation('ready', 'Whether the gateway admits requests')
  @ApiResponse({ status: 200, type: ReadinessDto, description: 'It admits requests, perhaps degraded' })
  @ApiResponse({ status: 503, type: ReadinessDto, description: 'It does not admit requests' })
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
