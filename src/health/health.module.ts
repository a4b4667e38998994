import { Module } from '@nestjs/common';
import { HttpModule } from '../http/http.module.ts';
import { TokenModule } from '../token/token.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { HealthController } from './health.controller.ts';

/** Serves the health checks of probes. */
@Module({ imports: [HttpModule, TokenModule, UpstreamClientModule], controllers: [HealthController] })
export class HealthModule {}
