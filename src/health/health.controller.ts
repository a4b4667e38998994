import { Controller, Get, Res } from '@nestjs/common';
import { ApiProperty, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { PublicOperation } from '../openapi/operation.decorator.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { TokenManager } from '../token/token.manager.ts';
import { Draining } from './draining.ts';

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
    description: 'Whether the last token request to the platform succeeded',
  })
  tokens!: 'up' | 'down';
}

/** Words only: what is wrong in detail is in the log and the metrics, not for everybody. */
@ApiTags('Meta')
@Controller('health')
export class HealthController {
  constructor(
    private readonly redis: SharedRedis,
    private readonly tokens: TokenManager,
    private readonly draining: Draining,
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
    const parts = { redis: this.redis.status, tokens: this.tokens.healthy ? 'up' : 'down' } as const;
    if (this.draining.begun) {
      void reply.status(503);
      return { status: 'down', ...parts };
    }
    return { status: Object.values(parts).includes('down') ? 'degraded' : 'ok', ...parts };
  }
}
