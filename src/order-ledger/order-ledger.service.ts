import { Injectable } from '@nestjs/common';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import type { Outcome } from '../problem/catalogue.ts';
import { inBackground } from '../shared/edge.ts';
import type { SendOnce } from '../upstream/upstream.exchange.ts';
import {
  type Details,
  type LedgerRecord,
  type OrderDetails,
  orderName,
  type PlacedItem,
  type State,
} from './ledger-record.ts';
import { ObservedOrderLedger } from './observed-order-ledger.ts';
import { endOf, problemFor, reasonOf } from './write-outcome.ts';
import { type NewWrite, type OwnWrite, WriteRecorder } from './write-recorder.ts';

/**
 * The time after the begin in the store for which no second check is needed. The exchange sends within 100 ms of that moment, or not at
 * all.
 */
const FRESH_MS = 50;

/** A check that took longer counts from its beginning: the lease may have ended since the database answered, as where the process was paused. */
const MAX_CHECK_MS = 1_000;

/** The states in which a repeat gets the record, and not a problem. */
const SHOWN: ReadonlySet<State> = new Set(['succeeded', 'accepted', 'scheduled']);

export interface OrderWrite extends Omit<NewWrite, 'name' | 'details'> {
  readonly caller: string;
  readonly order: Omit<OrderDetails, 'items' | 'reason' | 'settlement'>;
  /** True for a scheduled order: if it was not sent, it is scheduled again. */
  readonly waitsAgain?: boolean;
  /**
   * Writes the audit line of a scheduled order. It is called once the end of the order is known, with the status that a request would get.
   */
  readonly onEnd?: ((outcome: Outcome, status: number) => void) | undefined;
}

/** Sends an order at most once: records it before the first byte. A repeat gets the same response. A failure is thrown as a problem each time. */
@Injectable()
export class OrderLedger {
  constructor(
    private readonly store: ObservedOrderLedger,
    private readonly recorder: WriteRecorder,
  ) {}

  /**
   * Runs an order once for its number, with or without an `Idempotency-Key`. `send` must give `sendOnce` to the call. `replayed` means that the
   * result is of an earlier request, and nothing was sent now.
   */
  async order(
    { caller, order: sent, waitsAgain, onEnd, ...write }: OrderWrite,
    send: (sendOnce: SendOnce) => Promise<readonly PlacedItem[]>,
  ): Promise<{ readonly result: LedgerRecord; readonly replayed: boolean }> {
    const name = orderName(sent.channelCode, sent.channelOrderId);
    const placed = (items: readonly PlacedItem[], reason: string | null = null): Details => ({
      caller,
      order: { ...sent, items, reason },
    });
    const failed = ({ state, problem, items, answer }: ReturnType<typeof endOf>) => {
      const isRefused = state === 'not_sent' || state === 'rejected';
      // Nobody waits for the response of a scheduled order, so its record keeps the reason.
      const reason = write.scheduledAt !== undefined && isRefused ? reasonOf(problem) : null;
      return { state, isRefused, details: { ...placed(items, reason), answer } };
    };
    const begun = await this.recorder.begin({ ...write, name, details: placed([]) });
    if ('record' in begun) {
      const { record, isNew = false } = begun;
      if (SHOWN.has(record.state)) return { result: record, replayed: !isNew };
      throw problemFor(record);
    }
    const done: State = sent.syncMode === 'sync' ? 'succeeded' : 'accepted';
    const sendOnce: SendOnce = {
      confirm: () => this.#confirm(begun),
      late: (outcome) => {
        const { state, details } =
          'data' in outcome
            ? { state: done, details: placed(outcome.data as PlacedItem[]) }
            : failed(endOf(outcome.failure));
        if (state === 'in_doubt') return;
        inBackground('late outcome', () => this.#ended(begun, state, details));
      },
    };
    try {
      const items = await send(sendOnce);
      const result = await this.#ended(begun, done, placed(items));
      onEnd?.('processed', done === 'succeeded' ? 201 : 202);
      return { result, replayed: false };
    } catch (error) {
      const end = endOf(error);
      const { state, isRefused, details } = failed(end);
      if (state === 'not_sent' && waitsAgain) {
        await this.#ended(begun, 'scheduled', placed([]));
        throw end.problem;
      }
      onEnd?.(end.problem.body.outcome, end.problem.getStatus());
      const record = await this.#ended(begun, state, details);
      throw isRefused ? end.problem : problemFor(record, false, error);
    }
  }

  /**
   * Resolves to true if the order would get the record of an earlier request with the same payload, so that nothing would be sent. Throws the
   * problem that the order would get.
   */
  async isRepeat({ caller, order, ...write }: OrderWrite): Promise<boolean> {
    const name = orderName(order.channelCode, order.channelOrderId);
    const details: Details = { caller, order: { ...order, items: [], reason: null } };
    const record = await this.recorder.known({ ...write, name, details });
    if (!record) return false;
    if (!SHOWN.has(record.state)) throw problemFor(record);
    return true;
  }

  /** Throws the problem that the order would get because its caller has too many records. */
  async assertRoom({ caller, order: sent, notBefore }: OrderWrite, now: number): Promise<void> {
    const details: Details = { caller, order: { ...sent, items: [], reason: null } };
    const refusal = await this.store.tooMany(
      { name: orderName(sent.channelCode, sent.channelOrderId), details, notBefore },
      now,
    );
    if (refusal) throw refusal;
  }

  /**
   * Records the outcome and drops cached reads at the same moment. A failed order that was sent drops them too: the platform may have carried
   * it out, or a part of it.
   */
  async #ended(own: OwnWrite, state: State, details: Details): Promise<LedgerRecord> {
    const isUnsent = state === 'not_sent' || state === 'scheduled';
    const carriedOut = state === 'rejected' ? undefined : details.order;
    const dropped = isUnsent ? undefined : this.store.carriedOut(carriedOut);
    const [record] = await Promise.all([this.recorder.record(own, state, details), dropped]);
    return record;
  }

  /** Checks right before the first byte that this owner still has the lease. Resolves to the time at which that was known, or to a time before it. */
  async #confirm({ name, owner, askedAt }: OwnWrite): Promise<number> {
    if (performance.now() - askedAt <= FRESH_MS) return askedAt;
    const checkedAt = performance.now();
    if (!(await this.store.holds(name, owner))) throw new DatabaseUnavailable('away');
    const now = performance.now();
    return now - checkedAt <= MAX_CHECK_MS ? now : checkedAt;
  }
}
