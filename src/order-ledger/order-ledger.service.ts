import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { GuardConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { freshBytes } from '../shared/random-bytes.ts';
import { sha256 } from '../redis/key-names.ts';
import type { SendOnce } from '../upstream/upstream-path.ts';
import { Fingerprints } from './fingerprint.ts';
import { OrderLedgerKeeper } from './order-ledger-keeper.ts';
import type { Details, LedgerRecord, KeptAnswer, PlacedItem, State } from './ledger-record.ts';
import {
  type Begin,
  type Begun,
  OrderLedgerUnavailable,
  type Move,
  orderName,
} from './order-ledger-store.ts';
import { placeOf, problemFor } from './ledger-responses.ts';
import { agrees, endOf } from './write-outcome.ts';

/** Beyond the call's own deadline: time to tell the store what became of it. */
const LEASE_REST_MS = 5_000;
/** How long the store is told again and again what became of a write, where it does not listen. */
const TELL_MS = 60_000;

export interface OrderWrite {
  readonly caller: string;
  readonly channelCode: string;
  readonly channelOrderId: string;
  readonly syncMode: 'sync' | 'async';
  /** What was asked for: another payload under the same number is refused. */
  readonly payload: unknown;
  readonly idempotencyKey: string | undefined;
  readonly deadlineMs: number;
  readonly evidence?: NonNullable<Details['order']>['evidence'];
}

export interface KeyedWrite {
  readonly caller: string;
  readonly idempotencyKey: string;
  readonly payload: unknown;
  readonly deadlineMs: number;
}

/** What a guarded write came to; `replayed`: earlier, and this time nothing was sent. */
export interface Guarded<T> {
  readonly result: T;
  readonly replayed: boolean;
}

/**
 * Sends a write at most once. It is recorded before the first byte and its end afterwards; whoever asks for it again gets the same
 * answer. What ends otherwise than well is thrown as a problem, the first time and every other.
 */
@Injectable()
export class OrderLedger {
  readonly #fingerprints: Fingerprints;

  constructor(
    config: GuardConfig,
    private readonly keeper: OrderLedgerKeeper,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    this.#fingerprints = new Fingerprints(config.encryptionKeys);
  }

  /** Guarded by its number, whatever the Idempotency-Key. `send` must hand `once` to the call. */
  async order(
    write: OrderWrite,
    send: (once: SendOnce) => Promise<readonly PlacedItem[]>,
  ): Promise<Guarded<LedgerRecord>> {
    const { caller, channelCode, channelOrderId, syncMode, evidence, idempotencyKey } = write;
    const order = {
      channelCode,
      channelOrderId,
      syncMode,
      items: [],
      reason: null,
      ...(evidence && { evidence }),
    };
    const details: Details = { caller, order };
    const begin = this.#beginOf(write, orderName(channelCode, channelOrderId), details);
    const begun = await this.#begin(
      idempotencyKey === undefined ? begin : { ...begin, alias: aliasOf(caller, idempotencyKey) },
    );
    if (begun.kind !== 'begun') {
      const record = this.#there(begun);
      if (record.state === 'succeeded' || record.state === 'accepted')
        return { result: record, replayed: true };
      throw problemFor(record);
    }
    const placed = (items: readonly PlacedItem[]): Details => ({ caller, order: { ...order, items } });
    const done: State = syncMode === 'sync' ? 'succeeded' : 'accepted';
    const once: SendOnce = {
      confirm: () => this.#confirm(begin),
      late: (outcome) => {
        const move = moveOf(begin);
        if ('data' in outcome) {
          void this.#tell({ ...move, to: done, details: placed(outcome.data as PlacedItem[]) });
          return;
        }
        const { state, items, answer } = endOf(outcome.failure);
        if (state === 'incomplete')
          void this.#tell({ ...move, to: state, details: { ...placed(items), answer } });
      },
    };
    try {
      const items = await send(once);
      const record = await this.#tell({ ...moveOf(begin), to: done, details: placed(items) });
      return { result: record ?? told(begin, begun.submittedAt, done, placed(items)), replayed: false };
    } catch (error) {
      const end = endOf(error);
      const kept = { ...placed(end.items), answer: end.answer };
      await this.#tell({ ...moveOf(begin), to: end.state, details: kept });
      if (end.state === 'not_sent' || end.state === 'rejected') throw end.problem;
      throw problemFor(told(begin, begun.submittedAt, end.state, kept), false, error);
    }
  }

  /** Any other write, guarded by caller and Idempotency-Key. What `run` answers is kept, and answered again. */
  async keyed(
    write: KeyedWrite,
    run: () => Promise<KeptAnswer>,
  ): Promise<{ readonly answer: KeptAnswer; readonly replayed: boolean }> {
    const { caller } = write;
    const alias = aliasOf(caller, write.idempotencyKey);
    const begin = { ...this.#beginOf(write, `write/${alias}`, { caller }), alias };
    const begun = await this.#begin(begin);
    if (begun.kind !== 'begun') {
      const record = this.#there(begun);
      if (record.state === 'succeeded' && record.details.answer)
        return { answer: record.details.answer, replayed: true };
      throw problemFor(record);
    }
    try {
      const answer = await run();
      await this.#tell({ ...moveOf(begin), to: 'succeeded', details: { caller, answer } });
      return { answer, replayed: false };
    } catch (error) {
      const { state, answer } = endOf(error);
      // The number of an order stays with what the platform refused; a key is free again after everything that changed nothing.
      const to = state === 'rejected' ? 'not_sent' : state;
      await this.#tell({ ...moveOf(begin), to, details: { caller, answer } });
      throw error;
    }
  }

  /** Whether there is a record under that number. */
  async knows(channelCode: string, channelOrderId: string): Promise<boolean> {
    return (await this.keeper.store.read(orderName(channelCode, channelOrderId))) !== undefined;
  }

  #beginOf(write: OrderWrite | KeyedWrite, name: string, details: Details): Begin {
    return {
      name,
      owner: freshBytes(16).toString('base64url'),
      fingerprints: this.#fingerprints.of(write.payload),
      leaseMs: write.deadlineMs + LEASE_REST_MS,
      details,
    };
  }

  /** Repeated once by the same owner: the answer to the first may be what got lost. */
  async #begin(begin: Begin): Promise<Begun> {
    try {
      return await this.keeper.store.begin(begin).catch((error: unknown) => {
        if (error instanceof OrderLedgerUnavailable && error.reason === 'away')
          return this.keeper.store.begin(begin);
        throw error;
      });
    } catch (error) {
      // If it was recorded after all, nobody has to wait for the lease to find out that nothing was sent.
      if (error instanceof OrderLedgerUnavailable && error.reason === 'away')
        void this.#tell({ ...moveOf(begin), to: 'not_sent' });
      throw error;
    }
  }

  /** Still ours, and the lease has not run out: asked right before the first byte. */
  async #confirm(begin: Begin): Promise<void> {
    if (!(await this.keeper.store.holds(begin.name, begin.owner))) throw new OrderLedgerUnavailable('away');
  }

  #there(begun: Exclude<Begun, { kind: 'begun' }>): LedgerRecord {
    if (begun.kind === 'taken') throw new ProblemException('idempotency-key-reused');
    const { record, same } = begun;
    if (!same) throw new ProblemException('idempotency-key-reused', { location: placeOf(record) });
    return record;
  }

  /**
   * Says what became of a write. The first attempt is waited for; where the store does not listen it is told again in the background,
   * and the answer that the caller gets is true all the same.
   */
  async #tell(move: Move): Promise<LedgerRecord | undefined> {
    try {
      return await this.#move(move);
    } catch {
      void this.#tellLater(move);
      return undefined;
    }
  }

  async #tellLater(move: Move): Promise<void> {
    const until = performance.now() + TELL_MS;
    for (let pauseMs = 100; performance.now() < until; pauseMs = Math.min(pauseMs * 2, 5_000)) {
      await sleep(pauseMs, undefined, { ref: false });
      const done = await this.#move(move).then(
        () => true,
        () => false,
      );
      if (done) return;
    }
    this.log.error(
      { event: 'guard-not-told', write: move.name, state: move.to },
      'The guard store was not told what became of a write',
    );
  }

  async #move(move: Move): Promise<LedgerRecord | undefined> {
    const moved = await this.keeper.store.move(move);
    if (moved.kind === 'refused') this.#compare(move, moved.record);
    return moved.kind === 'moved' ? moved.record : undefined;
  }

  /** What became of a write is known, and somebody has settled it otherwise (fault O7): both stay as they are, and people look. */
  #compare({ name, to, details }: Move, record: LedgerRecord): void {
    const items = details?.order?.items ?? [];
    if (!['succeeded', 'accepted', 'incomplete'].includes(to) || agrees(record, items)) return;
    this.log.error(
      {
        event: 'order-conflict',
        write: name,
        settled: record.state,
        found: to,
        licenseOrderIds: items.map(({ licenseOrderId }) => licenseOrderId).join(),
      },
      'A write was settled as one thing and turned out to be another',
    );
  }
}

function moveOf({ name, owner }: Begin): { name: string; by: 'owner'; owner: string } {
  return { name, by: 'owner', owner };
}

/** The record as this process knows it to be, where the store has not said so yet. */
function told({ name }: Begin, submittedAt: number, state: State, details: Details): LedgerRecord {
  return { name, state, submittedAt, settledAt: state === 'in_doubt' ? null : Date.now(), details };
}

function aliasOf(caller: string, key: string): string {
  return `${encodeURIComponent(caller)}/${sha256(key).slice(0, 32)}`;
}
