import { HttpService } from '@nestjs/axios';
import { Module } from '@nestjs/common';
import { UndiciHttpService, UpstreamPools } from './upstream-pools.ts';

/** The only connections to the platform, and Nest's `HttpService` on top of them. */
@Module({
  providers: [UpstreamPools, { provide: HttpService, useClass: UndiciHttpService }],
  exports: [UpstreamPools, HttpService],
})
export class TransportModule {}
