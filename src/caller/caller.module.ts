import { Module } from '@nestjs/common';
import { CallerAuthentication } from './caller-authentication.ts';
import { CallerLimits } from './caller-limits.ts';
import { CallerRegistry } from './caller.registry.ts';
import { JwtCallers } from './jwt-callers.ts';

@Module({
  providers: [CallerAuthentication, CallerLimits, CallerRegistry, JwtCallers],
  exports: [CallerAuthentication, CallerLimits, CallerRegistry],
})
export class CallerModule {}
