import { Module } from '@nestjs/common';
import { GuardConfig, UpstreamConfig } from '../config/app-config.ts';
import { GuardModule } from '../order-ledger/order-ledger.module.ts';
import { Log } from '../observability/log.ts';
import { environmentName } from '../redis/key-names.ts';
import { parseRedisUrl } from '../config/redis-url.ts';
import { SessionModule } from '../session/session.module.ts';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { EvidenceJob, LOOKS } from './reconciliation.job.ts';
import { EvidenceTimes } from './schedule.ts';
import { type Looks, OwnLooks } from './runner.ts';
import { OrderEvidence } from './reconcile-order.ts';
import { PlatformFindings } from './platform-findings.ts';
import { QueuedLooks } from './queued-runner.ts';

/** Looks at the platform for orders of which nobody knows what became. */
@Module({
  imports: [GuardModule, SessionModule, UpstreamClientModule],
  providers: [
    EvidenceTimes,
    PlatformFindings,
    OrderEvidence,
    EvidenceJob,
    {
      provide: LOOKS,
      inject: [GuardConfig, UpstreamConfig, Log],
      useFactory: ({ url }: GuardConfig, { baseUrl }: UpstreamConfig, log: Log): Looks => {
        const address = url && parseRedisUrl(url.reveal());
        return address ? new QueuedLooks(address, environmentName(baseUrl), log) : new OwnLooks();
      },
    },
  ],
})
export class EvidenceModule {}
