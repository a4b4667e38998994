import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DatabaseConfig } from '../config/app-config.ts';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import { poll } from '../kit/poll/poll.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { inBackground } from '../shared/edge.ts';
import { givesWay } from './begin-store.ts';
import { fingerprinter } from './fingerprint.ts';
import {
  CARRIED_OUT,
  type Details,
  keyName,
  type LedgerRecord,
  locationOf,
  type State,
} from './ledger-record.ts';
import { hasItems, notSent, RESULTS, resultFields } from './move-results.ts';
import { ObservedOrderLedger } from './observed-order-ledger.ts';
import { OpenWrites } from './open-writes.ts';
import { isOver } from './write-outcome.ts';
import type { Begin, Begun, Known, Move, Moved } from './write-steps.ts';

/** The lease outlives the call's deadline by this time, so that its owner can record the outcome. */
const LEASE_REST_MS = 5_000;
const RENEW_MS = 5_000;
/** How long a repeat waits for its record where the database takes no writes. */
const MAX_READ_MS = 500;
/** How long the gateway tries to record a known outcome while the store does not answer. */
const RECORD_MS = 60_000;
export interface NewWrite extends Omit<Begin, 'owner' | 'fingerprints' | 'leaseMs' | 'alias'> {
  readonly idempotencyKey: string | undefined;
  /** What the caller wants, as canonical JSON: another payload under the same name is refused. */
  readonly payloadText: string;
  readonly deadlineMs: number;
  /** The enterprises whose orders the caller may see. It may use the number of such an order again, once that has ended without effect. */
  readonly granted?: ReadonlySet<string>;
}

/** A write that this process has begun. The process may send it, and has to record the outcome. */
export interface OwnWrite {
  readonly name: string;
  readonly owner: string;
  readonly submittedAt: number;
  /** The `performance.now()` at which the store was asked to begin it. */
  readonly askedAt: number;
  /** The `performance.now()` at which its caller gets the outcome, even if the database does not have it yet. */
  readonly deadline: number;
}

/**
 * Says why an order with a time is not begun. Its time has not come by the clock of the database, another order has its number, or it may have
 * been sent already (`doubtful`).
 */
export class NotDue extends Error {
  constructor(readonly left: number | 'doubtful') {
    super('the order is not due');
  }
}

/** Begins writes and records their outcomes. If an outcome cannot be recorded, or contradicts the record, the log and a metric tell the operator. */
@Injectable()
export class WriteRecorder implements OnApplicationShutdown {
  readonly #fingerprintsOf: (text: string) => readonly string[];
  readonly #open = new OpenWrites();

  constructor(
    config: DatabaseConfig,
    private readonly store: ObservedOrderLedger,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    this.#fingerprintsOf = fingerprinter(config.encryptionKeys);
  }

  /**
   * Begins the write. Instead, returns a record where an earlier request with the same payload made one, or where the order is scheduled now
   * (`isNew`). Throws a problem where the write may not begin.
   */
  async begin(asked: NewWrite): Promise<OwnWrite | { readonly record: LedgerRecord; readonly isNew?: true }> {
    const { idempotencyKey, payloadText, deadlineMs, granted, ...write } = asked;
    const { name, details, scheduledAt } = write;
    const owner = randomUUID();
    const begin: Begin = {
      ...write,
      owner,
      fingerprints: this.#fingerprintsOf(payloadText),
      leaseMs: deadlineMs + LEASE_REST_MS,
      alias: idempotencyKey === undefined ? undefined : keyName(details.caller, idempotencyKey),
    };
    const begun = await this.#begin(begin, granted);
    switch (begun.kind) {
      case 'scheduled': {
        const { submittedAt } = begun;
        return { record: { name, state: 'scheduled', submittedAt, settledAt: null, details }, isNew: true };
      }
      case 'early':
        throw new NotDue(begun.leftMs);
      case 'doubtful':
        throw new NotDue('doubtful');
      case 'begun':
        this.#open.begun(owner);
        return {
          ...{ name, owner, submittedAt: begun.submittedAt, askedAt: begun.askedAt },
          deadline: begun.askedAt + deadlineMs,
        };
      case 'there':
        if (scheduledAt !== undefined || !isOver(begun, granted)) return { record: repeated(begun) };
        return this.begin({ ...asked, replaces: begun.record.submittedAt });
      case 'taken':
        throw new ProblemException('idempotency-key-reused');
      case 'not_admitted':
        throw begun.problem;
    }
  }

  /** Returns the record that {@link begin} would return, without beginning the write; undefined where it would begin. */
  async known({
    payloadText,
    granted,
    ...write
  }: Pick<NewWrite, 'name' | 'payloadText' | 'details' | 'granted'>): Promise<LedgerRecord | undefined> {
    const known = await this.#known({ ...write, fingerprints: this.#fingerprintsOf(payloadText) }, granted);
    return known && repeated(known);
  }

  async #known(
    write: Pick<Begin, 'name' | 'fingerprints' | 'details'>,
    granted: NewWrite['granted'],
  ): Promise<Known | undefined> {
    const known = await this.store.known(write);
    return known && isOver(known, granted) ? undefined : known;
  }

  /**
   * Keeps the lease of a write that may take longer than its lease. Returns the function that ends this. Without an answer of the database
   * the lease ends by itself.
   */
  keep({ name, owner }: OwnWrite, deadlineMs: number): () => void {
    const leaseMs = deadlineMs + LEASE_REST_MS;
    const renew = () => this.store.renew({ name, owner, leaseMs }).catch(() => undefined);
    return poll('lease of a write', RENEW_MS, renew);
  }

  /**
   * Waits until the database has the outcome, because after a kill the order of a caller that was told of it would be in doubt. At the
   * deadline of the write, the returned record is what this process knows; the first attempt is awaited in any case.
   */
  async record(
    { name, owner, submittedAt, deadline }: OwnWrite,
    to: State,
    details: Details,
  ): Promise<LedgerRecord> {
    const move: Move = { name, by: 'owner', owner, to, details };
    this.#open.known(move);
    const moved = await this.#record(move, deadline);
    const recorded = moved?.kind === 'moved' ? moved.record : undefined;
    const settledAt = to === 'in_doubt' ? null : Date.now();
    return recorded ?? { name, state: to, submittedAt, settledAt, details };
  }

  /**
   * Waits until the database has the outcome of each write, also of one whose caller has hung up. Where it does not have it in time, the log
   * names the outcome, so that an operator can settle the order.
   */
  async onApplicationShutdown(): Promise<void> {
    await this.#open.end();
    this.giveUp();
  }

  /**
   * Names the outcomes that the database does not have in the log, and ends the wait of {@link onApplicationShutdown}, for a process that
   * cannot wait any longer. That wait may not have begun, because open responses come before it.
   */
  giveUp(): void {
    for (const move of this.#open.giveUp()) this.#notRecorded(move, 'shutdown');
  }

  /** The same owner tries twice: the store may have begun the write, and only its reply got lost. */
  async #begin(begin: Begin, granted: NewWrite['granted']): Promise<Begun & { readonly askedAt: number }> {
    let mayBeRecorded = false;
    let askedAt = performance.now();
    try {
      const begun = await this.store.begin(begin).catch((error: unknown) => {
        if (!(error instanceof DatabaseUnavailable && error.isAway)) throw error;
        mayBeRecorded = true;
        askedAt = performance.now();
        return this.store.begin(begin);
      });
      return { ...begun, askedAt };
    } catch (error) {
      // A scheduled order is not taken back: a repeat, which may come at any moment, gets its record if there is one.
      if (mayBeRecorded && begin.notBefore === undefined) this.#notSent(begin);
      const there = error instanceof DatabaseUnavailable ? await this.#there(begin, granted) : undefined;
      if (there) return { kind: 'there', ...there, askedAt };
      if (mayBeRecorded && begin.notBefore !== undefined)
        throw new ProblemException('request-in-progress', { retryAfter: 1, cause: error });
      throw error;
    }
  }

  /** Returns the record of an earlier request, which a database that takes no writes may still show. One that is being sent may be this very write. */
  async #there(begin: Begin, granted: NewWrite['granted']): Promise<Known | undefined> {
    if (begin.scheduledAt !== undefined) return undefined;
    const read = this.#known(begin, granted).catch(() => undefined);
    // A database that is silent must not delay the refusal.
    const known = await Promise.race([read, sleep(MAX_READ_MS, undefined, { ref: false })]);
    return known?.record.state === 'sending' ? undefined : known;
  }

  /** Frees the number of a write that may be recorded, and will not be sent: soon, and not only at the end of its lease. */
  #notSent({ name, owner, details, scheduledAt }: Begin): void {
    const to = scheduledAt === undefined ? 'not_sent' : 'scheduled';
    const takeBack: Move = { name, by: 'owner', owner, to, details };
    this.#open.known(takeBack);
    inBackground('write not sent', () => this.#takeBack(takeBack));
  }

  async #record(move: Move, deadline: number): Promise<Moved | undefined> {
    try {
      const moved = await this.#move(move);
      this.#open.done(move);
      return moved;
    } catch {
      const recorded = Promise.withResolvers<Moved | undefined>();
      inBackground('outcome of a write', async () => recorded.resolve(await this.#recordInBackground(move)));
      const late = sleep(Math.max(0, deadline - performance.now()), 'late' as const, { ref: false });
      const moved = await Promise.race([recorded.promise, late, this.#open.over]);
      if (moved !== 'late') return moved ?? undefined;
      // A kill from now on would lose the outcome.
      this.log.warn(
        { event: 'order-result-open', ...resultFields(move) },
        'The outcome of a write is known, and the database does not have it yet',
      );
      return undefined;
    }
  }

  async #recordInBackground(move: Move): Promise<Moved | undefined> {
    try {
      const moved = await this.#repeat(move, () => true);
      if (!moved) this.#notRecorded(move, 'unavailable');
      return moved;
    } finally {
      this.#open.done(move);
    }
  }

  /** The end of the process waits for the first answer of the database only, because the begin hardly ever commits after that. */
  async #takeBack(move: Move): Promise<void> {
    await this.#repeat(move, (moved) => {
      this.#open.done(move);
      return isSettled(moved);
    });
    this.#open.done(move);
  }

  /** Tries the move again, with growing pauses, until the store gives a final answer. Resolves to undefined if there is none in time. */
  async #repeat(move: Move, isLast: (moved: Moved) => boolean): Promise<Moved | undefined> {
    const until = performance.now() + RECORD_MS;
    for (let pauseMs = 100; performance.now() < until; pauseMs = Math.min(pauseMs * 2, 5_000)) {
      await sleep(pauseMs, undefined, { ref: false });
      const moved = await this.#move(move).catch(() => undefined);
      if (!moved || !isLast(moved)) continue;
      this.log.info(
        { event: 'order-result-late', write: move.name, state: move.to },
        'The outcome of a write reached the database late',
      );
      return moved;
    }
    return undefined;
  }

  async #move(move: Move): Promise<Moved> {
    const moved = await this.store.move(move);
    if (moved.kind === 'moved') return moved;
    if (moved.kind === 'refused' && move.to === 'scheduled' && moved.record.state === 'in_doubt')
      return this.#move(notSent(move));
    if (moved.kind === 'refused') this.#compare(move, moved.record);
    // The store lost the record while the write was running.
    else if (RESULTS.has(move.to)) this.#notRecorded(move, moved.kind);
    return moved;
  }

  /** The record was settled with another outcome than the platform gave (fault O7): the record stays, and an alarm tells the operator. */
  #compare(move: Move, record: LedgerRecord): void {
    const { to, details } = move;
    const isCarriedOut = CARRIED_OUT.has(record.state);
    // "Rejected" contradicts no record of an order that was not placed. A number that was freed may have been used again.
    const agrees = to === 'rejected' ? !isCarriedOut : isCarriedOut && hasItems(record, details);
    if (!RESULTS.has(to) || agrees) return;
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

function repeated({ same, record }: Known): LedgerRecord {
  if (same) return record;
  throw new ProblemException('idempotency-key-reused', { location: locationOf(record) });
}

/**
 * Returns whether a begin whose reply was lost can have no effect any more. That is so if its record was moved, or if another write has its
 * name.
 */
function isSettled(moved: Moved): boolean {
  if (moved.kind !== 'refused') return moved.kind === 'moved';
  const { state } = moved.record;
  return state !== 'scheduled' && !givesWay(state, false);
}
