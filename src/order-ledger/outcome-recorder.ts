import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { CARRIED_OUT, type LedgerRecord, type State } from './ledger-record.ts';
import { OrderLedgerKeeper } from './order-ledger-keeper.ts';
import type { Move } from './order-ledger-store.ts';
import { agrees } from './write-outcome.ts';
import { inBackground } from '../shared/edge.ts';

/** How long the gateway tries to record a known outcome while the store does not answer. */
const RECORD_MS = 60_000;
/** The platform's answer to a write must not be lost. "Not sent" and "in doubt" may be: the end of the lease says as much. */
const RESULTS: ReadonlySet<State> = new Set(['succeeded', 'accepted', 'incomplete', 'rejected']);

/** Records what became of a write. Where that fails, or the record says otherwise, the log and a metric tell the operator. */
@Injectable()
export class OutcomeRecorder implements OnApplicationShutdown {
  /** Tried again in the background. */
  readonly #unrecorded = new Set<Move>();

  constructor(
    private readonly keeper: OrderLedgerKeeper,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Waits for the first attempt only. Where the store does not answer, further attempts run in the background; the response to the
   * caller is true all the same.
   */
  async record(move: Move): Promise<LedgerRecord | undefined> {
    try {
      return await this.#move(move);
    } catch {
      inBackground('outcome of a write', () => this.#recordInBackground(move));
      return undefined;
    }
  }

  /** The log names each outcome that is still not recorded when the process ends, so that an operator can settle the order. */
  onApplicationShutdown(): void {
    for (const move of this.#unrecorded) this.#notRecorded(move, 'shutdown');
  }

  async #recordInBackground(move: Move): Promise<void> {
    this.#unrecorded.add(move);
    try {
      const until = performance.now() + RECORD_MS;
      for (let pauseMs = 100; performance.now() < until; pauseMs = Math.min(pauseMs * 2, 5_000)) {
        await sleep(pauseMs, undefined, { ref: false });
        const done = await this.#move(move).then(
          () => true,
          () => false,
        );
        if (done) return;
      }
      this.#notRecorded(move, 'unavailable');
    } finally {
      this.#unrecorded.delete(move);
    }
  }

  async #move(move: Move): Promise<LedgerRecord | undefined> {
    const moved = await this.keeper.store.move(move);
    if (moved.kind === 'moved') return moved.record;
    if (moved.kind === 'refused') this.#compare(move, moved.record);
    // The store lost the record while the write was running.
    else if (RESULTS.has(move.to)) this.#notRecorded(move, moved.kind);
    return undefined;
  }

  /** The record was settled with another outcome than the platform gave (fault O7): the record stays, and an alarm tells the operator. */
  #compare(move: Move, record: LedgerRecord): void {
    const { to, details } = move;
    if (!RESULTS.has(to) || (to !== 'rejected' && agrees(record, details?.order?.items ?? []))) return;
    // "Rejected" contradicts no record of an order that was not placed. A number that was freed may have been used again.
    if (to === 'rejected' && !CARRIED_OUT.has(record.state)) return;
    this.log.error(
      { event: 'order-conflict', ...resultFields(move), settled: record.state },
      'A write was settled with one outcome and had another',
    );
    this.metrics.count('gateway_order_results_not_recorded_total', { reason: 'conflict' });
  }

  #notRecorded(move: Move, reason: 'missing' | 'early' | 'unavailable' | 'shutdown'): void {
    this.log.error(
      { event: 'order-result-not-recorded', ...resultFields(move), reason },
      'The outcome of a write is known and could not be recorded',
    );
    this.metrics.count('gateway_order_results_not_recorded_total', { reason });
  }
}

function resultFields({ name, to, details }: Move): Record<string, string> {
  const items = details?.order?.items ?? [];
  return {
    write: name,
    found: to,
    licenseOrderIds: items.map(({ licenseOrderId }) => licenseOrderId).join(),
  };
}
