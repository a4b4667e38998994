import { HttpService } from '@nestjs/axios';
import { Module } from '@nestjs/common';
import { TokenModule } from '../token/token.module.ts';
import { slimAxios, undiciAdapter } from '../transport/undici.adapter.ts';
import { AnswerBudget } from '../transport/answer-budget.ts';
import { TransportModule } from '../transport/transport.module.ts';
import { UpstreamPools } from '../transport/upstream-pools.ts';
import { OperationGroups } from './resilience/operation-groups.ts';
import type { GroupName } from './operations.ts';
import { UpstreamClient } from './upstream.client.ts';
import { UpstreamExchange } from './upstream.exchange.ts';

/** The assets of an enterprise come whole: 30,000 of them are 16 MiB. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** The way to the platform's API: axios' interface, our own adapter, and none of axios' own behaviour. */
@Module({
  imports: [TokenModule, TransportModule],
  providers: [
    {
      provide: HttpService,
      inject: [UpstreamPools],
      useFactory: (pools: UpstreamPools) =>
        new HttpService(
          slimAxios(
            undiciAdapter(({ group }) => pools.of(group as GroupName), pools.exchanges, new AnswerBudget()),
            MAX_ANSWER_BYTES,
          ),
        ),
    },
    OperationGroups,
    UpstreamExchange,
    UpstreamClient,
  ],
  exports: [OperationGroups, UpstreamClient],
})
export class UpstreamClientModule {}
