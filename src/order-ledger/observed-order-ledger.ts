import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { inSpan } from '../observability/tracing.ts';
import { Generations } from '../read-cache/read-keys.ts';
import { inBackground } from '../shared/edge.ts';
import {
  CARRIED_OUT,
  enterprisesOf,
  isOrder,
  type LedgerRecord,
  type OrderDetails,
  type State,
  states,
} from './ledger-record.ts';
import type { Begin, Begun, Move, Moved } from './write-steps.ts';
import { WriteRecords } from './write-rows.ts';
import { WriteStore } from './write-store.ts';

/** The order ledger that everything uses: it counts, logs and traces its steps, and drops cached reads when an order was carried out. */
@Injectable()
export class ObservedOrderLedger extends WriteStore {
  constructor(
    database: Database,
    records: WriteRecords,
    private readonly log: Log,
    private readonly metrics: Metrics,
    private readonly generations: Generations,
  ) {
    super(database, records);
    for (const state of states) metrics.count('gateway_recorded_writes_total', { state }, 0);
  }

  /** Drops cached reads after an order that was, or may have been, carried out. Never fails. */
  carriedOut(order?: OrderDetails): Promise<void> {
    return this.generations.written({}, order && enterprisesOf(order), order);
  }

  override begin(write: Begin): Promise<Begun> {
    return inSpan('ledger begin', {}, async (span) => {
      const begun = await super.begin(write);
      span?.setAttribute('gateway.ledger.result', begun.kind);
      return begun;
    });
  }

  override async move(move: Move): Promise<Moved> {
    // The owner drops the cached reads itself. For any other mover they are dropped first: who sees the new record must not read older lists.
    if (move.by !== 'owner' && CARRIED_OUT.has(move.to)) await this.carriedOut(move.details?.order);
    const attributes = { 'gateway.ledger.to': move.to };
    const moved = await inSpan('ledger move', { attributes }, async (span) => {
      const result = await super.move(move);
      span?.setAttribute('gateway.ledger.result', result.kind);
      return result;
    });
    if (moved.kind === 'moved') this.#observe(moved.record);
    return moved;
  }

  protected override ended(names: readonly string[]): void {
    for (const name of names) {
      this.metrics.count('gateway_recorded_writes_total', { state: 'in_doubt' });
      this.#tellDoubt(name, 'in_doubt');
    }
    // In the background, because the request of the order has ended.
    if (names.some(isOrder)) inBackground('order carried out', () => this.carriedOut());
  }

  #observe({ name, state }: LedgerRecord): void {
    this.metrics.count('gateway_recorded_writes_total', { state });
    if (state === 'in_doubt' || state === 'incomplete') this.#tellDoubt(name, state);
  }

  /** Only an order can be settled. Another write is not looked for, and its record ends by itself. */
  #tellDoubt(write: string, state: State): void {
    if (isOrder(write))
      this.log.error(
        { event: 'order-in-doubt', write, state },
        'The outcome of an order is unknown: it waits until it is found, or until an operator settles it',
      );
    else
      this.log.warn(
        { event: 'write-in-doubt', write, state },
        'The outcome of a write is unknown: its caller has to read whether it was carried out',
      );
  }
}
