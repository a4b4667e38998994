import { Controller, Get, Res } from '@nestjs/common';
import { ApiResponse, ApiSchema, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { OpenWord } from '../operation/response-fields.ts';
import { enumeration, type WordOf } from '../shared/enumeration.ts';
import { PublicOperation } from '../operation/operation.decorator.ts';
import { Admission } from '../http/admission.ts';
import { Database } from '../database/database.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { TokenManager } from '../token/token.manager.ts';
import { OperationGroups } from '../upstream/resilience/operation-groups.ts';

const statuses = enumeration(
  'HealthStatus',
  ['ok', 'degraded', 'down'],
  '`down` has the status 503: send no requests',
);
const partStatuses = enumeration(
  'PartStatus',
  ['up', 'slow', 'degraded', 'down', 'off'],
  'State of a part; `slow` where it does not respond in time, `off` where it is not configured',
);
const loads = enumeration(
  'Load',
  ['ok', 'overloaded'],
  '`overloaded` while new requests are refused with 503 `overloaded`',
);

@ApiSchema({ description: 'Whether the process works' })
export class LivenessDto {
  @OpenWord(statuses, 'Always `ok`: a process that does not work does not respond')
  status!: 'ok';
}

@ApiSchema({ description: 'Whether the gateway admits requests, and the states of its parts' })
export class ReadinessDto {
  @OpenWord(statuses, 'Whether the gateway admits requests')
  status!: WordOf<typeof statuses>;

  @OpenWord(partStatuses, 'The Redis that replicas share')
  redis!: 'up' | 'down' | 'off';

  @OpenWord(partStatuses, 'Whether the database can be used: without it the gateway places no order')
  orders!: 'up' | 'down';

  @OpenWord(partStatuses, 'Whether the last token request to the platform succeeded')
  tokens!: 'up' | 'down';

  @OpenWord(
    partStatuses,
    'The platform, by groups of operations: `slow` where the latest calls of a group (three or more) got no response in time; `degraded` where they failed in another way, or where the circuit of a group is open; `down` where the circuits of all groups in use are open',
  )
  upstream!: 'up' | 'slow' | 'degraded' | 'down';

  @OpenWord(loads, 'Whether new requests are refused')
  load!: WordOf<typeof loads>;
}

/** Shows states only. Details are in the log and the metrics, which not every caller may see. Terminus would show them (decision 3). */
@ApiTags('Meta')
@Controller('health')
export class HealthController {
  constructor(
    private readonly admission: Admission,
    private readonly redis: SharedRedis,
    private readonly database: Database,
    private readonly tokens: TokenManager,
    private readonly upstream: OperationGroups,
  ) {}

  @Get('live')
  @PublicOperation(
    'live',
    'Whether the process works',
    'For the probe that restarts a process. It needs no key.',
  )
  @ApiResponse({ status: 200, type: LivenessDto, description: 'It does' })
  live(): LivenessDto {
    return { status: 'ok' };
  }

  @Get('ready')
  @PublicOperation(
    'ready',
    'Whether the gateway admits requests',
    'For the probe of a load balancer. It shows states only and needs no key.',
  )
  @ApiResponse({ status: 200, type: ReadinessDto, description: 'It admits requests, perhaps degraded' })
  @ApiResponse({ status: 503, type: ReadinessDto, description: 'It does not admit requests' })
  ready(@Res({ passthrough: true }) reply: FastifyReply): ReadinessDto {
    const parts = {
      redis: this.redis.status,
      orders: this.database.trust.status,
      tokens: this.tokens.isFailing ? 'down' : 'up',
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
