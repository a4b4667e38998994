import { HttpModule } from '@nestjs/axios';
import { Module } from '@nestjs/common';
import { TokenModule } from '../token/token.module.ts';
import { undiciAdapter } from './transport/undici.adapter.ts';
import { TransportModule } from './transport/transport.module.ts';
import { UpstreamPools } from './transport/upstream-pools.ts';
import { OperationGroups } from './operation-groups.ts';
import type { GroupName } from './operations.ts';
import { UpstreamClient } from './upstream.client.ts';
import { UpstreamExchange } from './upstream.exchange.ts';

const MAX_ANSWER_BYTES = 2 * 1024 * 1024;

/** The way to the platform's API: axios' interface, our own adapter, and none of axios' own behaviour. */
@Module({
  imports: [
    TokenModule,
    TransportModule,
    HttpModule.registerAsync({
      imports: [TransportModule],
      inject: [UpstreamPools],
      useFactory: (pools: UpstreamPools) => ({
        adapter: undiciAdapter(({ group }) => pools.of(group as GroupName), pools.exchanges),
        allowAbsoluteUrls: false,
        maxRedirects: 0,
        proxy: false,
        maxContentLength: MAX_ANSWER_BYTES,
        // Every status is an answer to classify, and the body stays bytes.
        validateStatus: null,
        transformRequest: [],
        transformResponse: [],
      }),
    }),
  ],
  providers: [OperationGroups, UpstreamExchange, UpstreamClient],
  exports: [OperationGroups, UpstreamClient],
})
export class UpstreamClientModule {}
