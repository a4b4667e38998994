import { Injectable } from '@nestjs/common';
import { OrderStoreConfig } from '../config/app-config.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { freshBytes } from '../shared/random-bytes.ts';
import { sha256 } from '../redis/key-names.ts';
import type { SendOnce } from '../upstream/upstream-path.ts';
import type { SyncMode } from '../upstream/wire/words.ts';
import { canonical, Fingerprints } from './fingerprint.ts';
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
import { type Begin, type Begun, OrderLedgerUnavailable, orderName } from './order-ledger-store.ts';
import { locationOf, problemFor } from './ledger-responses.ts';
import { OutcomeRecorder } from './outcome-recorder.ts';
import { endOf } from './write-outcome.ts';
import { inBackground } from '../shared/edge.ts';

/** The lease outlives the call's deadline by this time, so that its owner can record the outcome. */
const LEASE_REST_MS = 5_000;
/** So long after it was asked for, a beginning is leave to send. The exchange sends within 100 ms of the same moment, or not at all. */
const FRESH_MS = 50;
/** With these reasons, a write may be recorded that has not begun. */
const OPEN: ReadonlySet<string> = new Set(['refused', 'unacknowledged']);

/** When a caller with too many records may repeat its request: each record ends by itself. */
const FULL_S = 60;

export interface OrderWrite {
  readonly caller: string;
  readonly channelCode: string;
  readonly channelOrderId: string;
  readonly syncMode: SyncMode;
  readonly ordered: readonly OrderedItem[];
  /** What was asked for, as canonical JSON: another payload under the same number is refused. */
  readonly payloadText: string;
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

/** The result of a recorded write; `replayed`: of an earlier request, and nothing was sent now. */
export interface WriteResult<T> {
  readonly result: T;
  readonly replayed: boolean;
}

/**
 * Sends a write at most once: records it before the first byte, and its outcome afterwards. A caller that repeats the request
 * gets the same response. A failure is thrown as a problem, the first time and at each repetition.
 */
@Injectable()
export class OrderLedger {
  readonly #fingerprints: Fingerprints;

  constructor(
    config: OrderStoreConfig,
    private readonly keeper: OrderLedgerKeeper,
    private readonly recorder: OutcomeRecorder,
  ) {
    this.#fingerprints = new Fingerprints(config.encryptionKeys);
  }

  /** Runs an order once for its number, with or without an Idempotency-Key. `send` must give `once` to the call. */
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
    const begin = this.#beginOf(write, orderName(channelCode, channelOrderId), write.payloadText, details);
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
      confirm: () => this.#confirm(begin, begun.askedAt),
      late: (outcome) => {
        const { state, items, answer } =
          'data' in outcome
            ? { state: done, items: outcome.data as PlacedItem[], answer: undefined }
            : endOf(outcome.failure);
        if (state === 'in_doubt') return;
        const kept = { ...placed(items), ...(answer && { answer }) };
        inBackground('late outcome', () =>
          this.recorder.record({ ...moveOf(begin), to: state, details: kept }),
        );
        if (CARRIED_OUT.has(state)) this.keeper.carriedOut();
      },
    };
    try {
      const items = await send(once);
      const record = await this.recorder.record({ ...moveOf(begin), to: done, details: placed(items) });
      return { result: record ?? reported(begin, begun.submittedAt, done, placed(items)), replayed: false };
    } catch (error) {
      const end = endOf(error);
      const kept = { ...placed(end.items), answer: end.answer };
      await this.recorder.record({ ...moveOf(begin), to: end.state, details: kept });
      if (end.state === 'not_sent' || end.state === 'rejected') throw end.problem;
      throw problemFor(reported(begin, begun.submittedAt, end.state, kept), false, error);
    }
  }

  /** Runs any other write once for its caller and Idempotency-Key. A repeated request gets the answer that `run` gave. */
  async keyed(
    write: KeyedWrite,
    run: () => Promise<KeptAnswer>,
  ): Promise<{ readonly answer: KeptAnswer; readonly replayed: boolean }> {
    const { caller } = write;
    const alias = aliasOf(caller, write.idempotencyKey);
    const begin = { ...this.#beginOf(write, keyedName(write), canonical(write.payload), { caller }), alias };
    const begun = await this.#begin(begin);
    if (begun.kind !== 'begun') {
      const record = this.#there(begun);
      if (record.state === 'succeeded' && record.details.answer)
        return { answer: record.details.answer, replayed: true };
      throw problemFor(record);
    }
    try {
      const answer = await run();
      await this.recorder.record({ ...moveOf(begin), to: 'succeeded', details: { caller, answer } });
      return { answer, replayed: false };
    } catch (error) {
      const { state, answer } = endOf(error);
      // An order that the platform refused keeps its number. A key is free again after every write that changed nothing.
      const to = state === 'rejected' ? 'not_sent' : state;
      await this.recorder.record({ ...moveOf(begin), to, details: { caller, answer } });
      throw error;
    }
  }

  /** Whether there is a record under that number. */
  async knows(channelCode: string, channelOrderId: string): Promise<boolean> {
    return (await this.keeper.store.read(orderName(channelCode, channelOrderId))) !== undefined;
  }

  /** Whether there is a record under the key of a write that is no order. */
  async knowsKeyed(write: KeyedWrite): Promise<boolean> {
    return (await this.keeper.store.read(keyedName(write))) !== undefined;
  }

  #beginOf(
    { deadlineMs }: OrderWrite | KeyedWrite,
    name: string,
    payloadText: string,
    details: Details,
  ): Begin {
    return {
      name,
      owner: freshBytes(16).toString('base64url'),
      fingerprints: this.#fingerprints.of(payloadText),
      leaseMs: deadlineMs + LEASE_REST_MS,
      details,
    };
  }

  /** The same owner tries twice: the store may have begun the write, and only its response got lost. */
  async #begin(begin: Begin): Promise<Begun & { readonly askedAt: number }> {
    let mayBeRecorded = false;
    let askedAt = performance.now();
    try {
      const begun = await this.keeper.store.begin(begin).catch((error: unknown) => {
        if (!(error instanceof OrderLedgerUnavailable && error.reason === 'away')) throw error;
        mayBeRecorded = true;
        askedAt = performance.now();
        return this.keeper.store.begin(begin);
      });
      return { ...begun, askedAt };
    } catch (error) {
      // This frees its number now, and not only at the end of the lease.
      if (mayBeRecorded || (error instanceof OrderLedgerUnavailable && OPEN.has(error.reason)))
        inBackground('write not sent', () => this.recorder.record({ ...moveOf(begin), to: 'not_sent' }));
      throw error;
    }
  }

  /**
   * Right before the first byte: this owner still has the record, and its lease has not ended. A beginning that was asked for a moment ago
   * says so too. Resolves with the time from which that counts.
   */
  async #confirm({ name, owner }: Begin, askedAt: number): Promise<number> {
    if (performance.now() - askedAt <= FRESH_MS) return askedAt;
    if (!(await this.keeper.store.holds(name, owner))) throw new OrderLedgerUnavailable('away');
    return performance.now();
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
}

function moveOf({ name, owner }: Begin): { name: string; by: 'owner'; owner: string } {
  return { name, by: 'owner', owner };
}

/** The record as this process knows it, where the store has not confirmed it yet. */
function reported({ name }: Begin, submittedAt: number, state: State, details: Details): LedgerRecord {
  return { name, state, submittedAt, settledAt: state === 'in_doubt' ? null : Date.now(), details };
}

function aliasOf(caller: string, key: string): string {
  return `${encodeURIComponent(caller)}/${sha256(key).slice(0, 32)}`;
}

function keyedName({ caller, idempotencyKey }: KeyedWrite): string {
  return `write/${aliasOf(caller, idempotencyKey)}`;
}
