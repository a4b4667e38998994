import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Caller } from '../caller/callers-file.ts';
import { Operation } from '../operation/operation.decorator.ts';
import { CurrentCaller } from '../operation/request-stages.ts';
import { CallerDto } from './caller.dto.ts';

@ApiTags('Gateway')
@Controller('v1/callers')
export class CallersController {
  @Get('me')
  @Operation({
    id: 'getCaller',
    summary: 'What this key or token may do',
    effect: 'read',
    scope: 'none',
    success: [{ status: 200, description: 'The caller', type: CallerDto }],
  })
  getCaller(@CurrentCaller() { name, scopes, grants, rateLimit }: Caller): CallerDto {
    return {
      name,
      scopes: [...scopes],
      enterprises: [...grants.enterprises],
      channels: [...grants.channels],
      users: [...grants.users],
      rateLimit: rateLimit ?? null,
    };
  }
}
