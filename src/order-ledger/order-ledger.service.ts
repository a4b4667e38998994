import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { GuardConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { freshBytes } from '../shared/random-bytes.ts';
import { sha256 } from '../redis/key-names.ts';
import type { SendOnce } from '../upstream/upstream-path.ts';
import type { SyncMode } from '../upstream/wire/words.ts';
import { Fingerprints } from './fingerprint.ts';
import { OrderLedgerKeeper } from './order-ledger-keeper.ts';
import {
  CARRIED_OUT,
  type Details,
  type KeptAnswer,
  type LedgerRecord,
  type OrderedItem,
  type PlacedItem,
  type State,
} from './ledger-record.ts';
import {
  type Begin,
  type Begun,
  OrderLedgerUnavailable,
  type Move,
  orderName,
} from './order-ledger-store.ts';
import { locationOf, problemFor } from './ledger-responses.ts';
import { agrees, endOf } from './write-outcome.ts';

/** Beyond the call's own deadline: time to tell the store what became of it. */
const LEASE_REST_MS = 5_000;
/** How long a result that is known is tried to be recorded, where the store does not answer. */
const RECORD_MS = 60_000;
/** What the platform said of a write: it must not be lost. A write that was not sent, or of which nothing is known, may be. */
const RESULTS: ReadonlySet<State> = new Set(['succeeded', 'accepted', 'incomplete', 'rejected']);

/** With these, a write may be recorded that has not begun. */
const OPEN: ReadonlySet<string> = new Set(['refused', 'unacknowledged']);

/** When a caller that has too many records may ask again: each ends by itself. */
const FULL_S = 60;

export interface OrderWrite {
  readonly caller: string;
  readonly channelCode: string;
  readonly channelOrderId: string;
  readonly syncMode: SyncMode;
  readonly ordered: readonly OrderedItem[];
  /** What was asked for: another payload under the same number is refused. */
  readonly payload: unknown;
  readonly idempotencyKey: string | undefined;
  readonly deadlineMs: number;
  readonly search?: NonNullable<Details['order']>['search'];
}

export interface KeyedWrite {
  readonly caller: string;
  readonly idempotencyKey: string;
  readonly payload: unknown;
  readonly deadlineMs: number;
}

/** What a recorded write came to; `replayed`: earlier, and this time nothing was sent. */
export interface WriteResult<T> {
  readonly result: T;
  readonly replayed: boolean;
}

/**
 * Sends a write at most once. It is recorded before the first byte, and its outcome afterwards. A caller that repeats the request
 * gets the same response. A failure is thrown as a problem, the first time and at each repetition.
 */
@Injectable()
export class OrderLedger implements OnApplicationShutdown {
  readonly #fingerprints: Fingerprints;
  /** Tried again in the background. */
  readonly #unrecorded = new Set<Move>();

  constructor(
    config: GuardConfig,
    private readonly keeper: OrderLedgerKeeper,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    this.#fingerprints = new Fingerprints(config.encryptionKeys);
  }

  /** Runs an order once by its number, with any or no Idempotency-Key. `send` must hand `once` to the call. */
  async order(
    write: OrderWrite,
    send: (once: SendOnce) => Promise<readonly PlacedItem[]>,
  ): Promise<WriteResult<LedgerRecord>> {
    const { caller, channelCode, channelOrderId, syncMode, ordered, search, idempotencyKey } = write;
    const order = {
      channelCode,
      channelOrderId,
      syncMode,
      ordered,
      items: [],
      reason: null,
      ...(search && { search }),
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
        const { state, items, answer } =
          'data' in outcome
            ? { state: done, items: outcome.data as PlacedItem[], answer: undefined }
            : endOf(outcome.failure);
        if (state === 'in_doubt') return;
        const kept = { ...placed(items), ...(answer && { answer }) };
        void this.#record({ ...moveOf(begin), to: state, details: kept });
        if (CARRIED_OUT.has(state)) this.keeper.carriedOut();
      },
    };
    try {
      const items = await send(once);
      const record = await this.#record({ ...moveOf(begin), to: done, details: placed(items) });
      return { result: record ?? reported(begin, begun.submittedAt, done, placed(items)), replayed: false };
    } catch (error) {
      const end = endOf(error);
      const kept = { ...placed(end.items), answer: end.answer };
      await this.#record({ ...moveOf(begin), to: end.state, details: kept });
      if (end.state === 'not_sent' || end.state === 'rejected') throw end.problem;
      throw problemFor(reported(begin, begun.submittedAt, end.state, kept), false, error);
    }
  }

  /** Any other write, recorded under its caller and Idempotency-Key. What `run` answers is kept, and answered again. */
  async keyed(
    write: KeyedWrite,
    run: () => Promise<KeptAnswer>,
  ): Promise<{ readonly answer: KeptAnswer; readonly replayed: boolean }> {
    const { caller } = write;
    const alias = aliasOf(caller, write.idempotencyKey);
    const begin = { ...this.#beginOf(write, keyedName(write), { caller }), alias };
    const begun = await this.#begin(begin);
    if (begun.kind !== 'begun') {
      const record = this.#there(begun);
      if (record.state === 'succeeded' && record.details.answer)
        return { answer: record.details.answer, replayed: true };
      throw problemFor(record);
    }
    try {
      const answer = await run();
      await this.#record({ ...moveOf(begin), to: 'succeeded', details: { caller, answer } });
      return { answer, replayed: false };
    } catch (error) {
      const { state, answer } = endOf(error);
      // The number of an order stays with what the platform refused; a key is free again after everything that changed nothing.
      const to = state === 'rejected' ? 'not_sent' : state;
      await this.#record({ ...moveOf(begin), to, details: { caller, answer } });
      throw error;
    }
  }

  /** Whether there is a record under that number. */
  async knows(channelCode: string, channelOrderId: string): Promise<boolean> {
    return (await this.keeper.store.read(orderName(channelCode, channelOrderId))) !== undefined;
  }

  /** Whether there is a record of another write than an order under its key. */
  async knowsKeyed(write: KeyedWrite): Promise<boolean> {
    return (await this.keeper.store.read(keyedName(write))) !== undefined;
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
    let mayBeRecorded = false;
    try {
      return await this.keeper.store.begin(begin).catch((error: unknown) => {
        if (!(error instanceof OrderLedgerUnavailable && error.reason === 'away')) throw error;
        mayBeRecorded = true;
        return this.keeper.store.begin(begin);
      });
    } catch (error) {
      // Then its number is free again at once, and not when the lease has ended.
      if (mayBeRecorded || (error instanceof OrderLedgerUnavailable && OPEN.has(error.reason)))
        void this.#record({ ...moveOf(begin), to: 'not_sent' });
      throw error;
    }
  }

  /** Still ours, and the lease has not run out: asked right before the first byte. */
  async #confirm(begin: Begin): Promise<void> {
    if (!(await this.keeper.store.holds(begin.name, begin.owner))) throw new OrderLedgerUnavailable('away');
  }

  #there(begun: Exclude<Begun, { kind: 'begun' }>): LedgerRecord {
    if (begun.kind === 'taken') throw new ProblemException('idempotency-key-reused');
    if (begun.kind === 'full')
      throw new ProblemException('too-many-requests', {
        detail: 'Too many writes of this caller are remembered by their Idempotency-Key, each for 7 days.',
        retryAfter: FULL_S,
      });
    const { record, same } = begun;
    if (!same) throw new ProblemException('idempotency-key-reused', { location: locationOf(record) });
    return record;
  }

  /** What is still not recorded when the process ends is said, so that a person can settle it. */
  onApplicationShutdown(): void {
    for (const move of this.#unrecorded) this.#notRecorded(move, 'shutdown');
  }

  /**
   * Records what became of a write. The first attempt is waited for; where the store does not answer it is tried again in the
   * background, and the response that the caller gets is true all the same.
   */
  async #record(move: Move): Promise<LedgerRecord | undefined> {
    try {
      return await this.#move(move);
    } catch {
      void this.#recordInBackground(move);
      return undefined;
    }
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

  /** What became of a write is known, and the record has been settled otherwise (fault O7): both stay as they are, and people look. */
  #compare(move: Move, record: LedgerRecord): void {
    const { to, details } = move;
    if (!RESULTS.has(to) || (to !== 'rejected' && agrees(record, details?.order?.items ?? []))) return;
    // Refused is no more than not placed; a number that was freed may have been used again.
    if (to === 'rejected' && !CARRIED_OUT.has(record.state)) return;
    this.log.error(
      { event: 'order-conflict', ...resultFields(move), settled: record.state },
      'A write was settled with one outcome and had another',
    );
    this.metrics.resultNotRecorded('conflict');
  }

  #notRecorded(move: Move, reason: 'missing' | 'early' | 'unavailable' | 'shutdown'): void {
    this.log.error(
      { event: 'order-result-not-recorded', ...resultFields(move), reason },
      'The outcome of a write is known and could not be recorded',
    );
    this.metrics.resultNotRecorded(reason);
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

function moveOf({ name, owner }: Begin): { name: string; by: 'owner'; owner: string } {
  return { name, by: 'owner', owner };
}

/** The record as this process knows it to be, where the store has not said so yet. */
function reported({ name }: Begin, submittedAt: number, state: State, details: Details): LedgerRecord {
  return { name, state, submittedAt, settledAt: state === 'in_doubt' ? null : Date.now(), details };
}

function aliasOf(caller: string, key: string): string {
  return `${encodeURIComponent(caller)}/${sha256(key).slice(0, 32)}`;
}

function keyedName({ caller, idempotencyKey }: KeyedWrite): string {
  return `write/${aliasOf(caller, idempotencyKey)}`;
}
