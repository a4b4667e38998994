import { HttpService } from '@nestjs/axios';
import { Module } from '@nestjs/common';
import { UpstreamCertificates } from './upstream-certificates.ts';
import { UndiciHttpService, UpstreamPools } from './upstream-pools.ts';

@Module({
  providers: [UpstreamCertificates, UpstreamPools, { provide: HttpService, useClass: UndiciHttpService }],
  exports: [UpstreamPools, HttpService],
})
export class TransportModule {}
