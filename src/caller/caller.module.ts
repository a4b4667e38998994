import { Module } from '@nestjs/common';
import { CallerAuthentication } from './caller-authentication.ts';
import { CallerLimits } from './caller-limits.ts';
import { CallerRegistry } from './caller.registry.ts';
import { ClientCertificates } from './client-certificates.ts';
import { JwtCallers } from './jwt-callers.ts';

@Module({
  providers: [CallerAuthentication, CallerLimits, CallerRegistry, ClientCertificates, JwtCallers],
  exports: [CallerAuthentication, CallerLimits, CallerRegistry, ClientCertificates],
})
export class CallerModule {}
