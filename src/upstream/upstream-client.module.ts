import { Module } from '@nestjs/common';
import { TokenModule } from '../token/token.module.ts';
import { TransportModule } from '../transport/transport.module.ts';
import { AliasUsers } from './alias-users.ts';
import { UpstreamGaps } from './gaps.ts';
import { MemberList } from './member-list.ts';
import { PageLimit } from './page-limit.ts';
import { PlatformReadings } from './platform-readings.ts';
import { PlatformSearch } from './platform-search.ts';
import { OperationGroups } from './resilience/operation-groups.ts';
import { UnknownCodes } from './unknown-codes.ts';
import { UpstreamClient } from './upstream.client.ts';
import { UpstreamExchange } from './upstream.exchange.ts';

@Module({
  imports: [TokenModule, TransportModule],
  providers: [
    AliasUsers,
    MemberList,
    OperationGroups,
    PageLimit,
    PlatformReadings,
    PlatformSearch,
    UnknownCodes,
    UpstreamGaps,
    UpstreamExchange,
    UpstreamClient,
  ],
  exports: [
    AliasUsers,
    MemberList,
    OperationGroups,
    PageLimit,
    PlatformReadings,
    PlatformSearch,
    UnknownCodes,
    UpstreamClient,
    UpstreamGaps,
  ],
})
export class UpstreamClientModule {}
