import { HttpService } from '@nestjs/axios';
import { Module } from '@nestjs/common';
import { UndiciHttpService, UpstreamPools } from './upstream-pools.ts';

@Module({
  providers: [UpstreamPools, { provide: HttpService, useClass: UndiciHttpService }],
  exports: [UpstreamPools, HttpService],
})
export class TransportModule {}
