import { HttpModule } from '@nestjs/axios';
import { Module } from '@nestjs/common';
import { TokenModule } from '../token/token.module.ts';
import { undiciAdapter } from './transport/undici.adapter.ts';
import { TransportModule } from './transport/transport.module.ts';
import { UpstreamPools } from './transport/upstream-pools.ts';
import { UpstreamClient } from './upstream.client.ts';

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
        adapter: undiciAdapter(({ unshared }) => (unshared ? pools.unshared : pools.shared)),
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
  providers: [UpstreamClient],
  exports: [UpstreamClient],
})
export class UpstreamClientModule {}
