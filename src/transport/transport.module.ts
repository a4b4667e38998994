import { Module } from '@nestjs/common';
import { UpstreamPools } from './upstream-pools.ts';

@Module({ providers: [UpstreamPools], exports: [UpstreamPools] })
export class TransportModule {}
