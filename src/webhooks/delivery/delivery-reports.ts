import { Injectable } from '@nestjs/common';
import { Log } from '../../observability/log.ts';
import { Metrics } from '../../observability/metrics.ts';
import type { OffReason } from '../store/webhook-record.ts';
import { isTaken } from './delivery-rules.ts';
import type { Sent } from './receivers.ts';

/** Tells operators what became of deliveries, in the log and in the metrics. */
@Injectable()
export class DeliveryReports {
  constructor(
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {}

  attempted(
    { webhook, id }: { readonly webhook: string; readonly id: string },
    sent: Sent,
    isFirstFailure: boolean,
    isGivenUp: boolean,
  ): void {
    const result = isTaken(sent) ? 'delivered' : 'failed';
    this.metrics.count('gateway_webhook_deliveries_total', { result });
    const { status, failure } = sent;
    const fields = { webhook, id, status, reason: failure };
    if (isTaken(sent)) this.log.debug({ event: 'webhook-delivered', ...fields }, 'An event was delivered');
    else if (isGivenUp)
      this.log.warn(
        { event: 'webhook-given-up', ...fields },
        'A receiver did not take an event, which is not sent again',
      );
    else
      this.log[isFirstFailure ? 'warn' : 'debug'](
        { event: 'webhook-failed', ...fields },
        'A receiver did not take an event, which is sent again',
      );
  }

  switchedOff(webhook: string, reason: OffReason): void {
    this.log.warn({ event: 'webhook-off', webhook, reason }, 'A webhook was switched off');
  }
}
