import { HttpService } from '@nestjs/axios';
import { Module, type OnModuleInit } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { FollowedFiles } from '../observability/followed-files.ts';
import { UndiciHttpService, UpstreamPools } from './upstream-pools.ts';

@Module({
  providers: [UpstreamPools, { provide: HttpService, useClass: UndiciHttpService }],
  exports: [UpstreamPools, HttpService],
})
export class TransportModule implements OnModuleInit {
  constructor(
    private readonly config: UpstreamConfig,
    private readonly files: FollowedFiles,
  ) {}

  /** Follows the files of the certificates. The pools use the current ones when they open a connection. */
  onModuleInit(): void {
    const { certificates } = this.config;
    if (certificates) this.files.certificates(certificates, { cert: 'upstream-client', ca: 'upstream-ca' });
  }
}
