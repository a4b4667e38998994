import { Injectable } from '@nestjs/common';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import { SealedTexts } from '../database/sealed-texts.ts';
import type { NewEvent } from '../events/log/event-store.ts';
import { Log } from '../observability/log.ts';
import { type Details, type LedgerRecord, type State, states } from './ledger-record.ts';
import type { Place } from './order-counts-store.ts';

/** The columns of a record that events keep too. */
export interface KeptRecord {
  readonly name: string;
  readonly state: string;
  readonly submittedAt: number;
  readonly settledAt: number | null;
  readonly details: string;
}

/** A row of the table `writes`. A later version may have written a state that this one does not know: such a row cannot be moved or opened. */
export interface WriteRow extends KeptRecord {
  readonly state: State;
  readonly owner: string;
  readonly fingerprint: string;
  readonly caller: string;
  /** Null for a write that is no order. */
  readonly channel: string | null;
  readonly enterpriseGroup: string | null;
  readonly leaseUntil: number;
  /** The time of a scheduled order; null: it was placed at once. */
  readonly notBefore: number | null;
  /** What the write takes from its caller's budgets, as JSON of {@link Taken}; null where it takes nothing, or has given it back. */
  readonly taken: string | null;
  /** The day on which the bytes of the row count. */
  readonly countedOn: string;
  readonly size: number;
}

/** Returns undefined for a write that is no order. */
export function placeOf({ channel, enterpriseGroup }: WriteRow): Place | undefined {
  return channel === null || enterpriseGroup === null ? undefined : { channel, enterpriseGroup };
}

/** Returns the event that tells of an order at the time `at`, with its record. */
export function orderEvent(
  { name, state, submittedAt, settledAt, details }: KeptRecord,
  at: number,
): NewEvent {
  return { kind: 'order', name, state, at, record: JSON.stringify([submittedAt, settledAt, details]) };
}

/** Returns the record of an order that an event of the feed keeps. */
export function recordOfEvent(name: string, state: string, record: string): KeptRecord {
  const [submittedAt, settledAt, details] = JSON.parse(record) as [number, number | null, string];
  return { name, state, submittedAt, settledAt, details };
}

/** Seals and opens the details of writes, and tells the operator which records cannot be opened. */
@Injectable()
export class WriteRecords {
  readonly #unreadable = new Set<string>();

  constructor(
    private readonly texts: SealedTexts,
    private readonly log: Log,
  ) {}

  /** The number of records that could not be opened. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  sealed(name: string, details: Details): string {
    return this.texts.seal(JSON.stringify(details), name);
  }

  /** Throws for a record that cannot be read. It must not count as missing, because its order may have been sent. */
  opened({ name, state, submittedAt, settledAt, details: sealed }: KeptRecord): LedgerRecord {
    const text = this.#text(sealed, name);
    if (text === undefined || !states.includes(state as State)) {
      const reason = this.texts.lacksKeyOf(sealed) ? 'sealed' : 'unreadable';
      this.#tell(name, reason);
      throw new DatabaseUnavailable(reason);
    }
    return { name, state: state as State, submittedAt, settledAt, details: JSON.parse(text) as Details };
  }

  #text(sealed: string, name: string): string | undefined {
    try {
      return this.texts.open(sealed, name);
    } catch (error) {
      this.#tell(name, 'sealed');
      throw error;
    }
  }

  #tell(name: string, reason: 'sealed' | 'unreadable'): void {
    if (this.#unreadable.has(name)) return;
    this.#unreadable.add(name);
    const why =
      reason === 'sealed'
        ? 'is sealed under a key that ENCRYPTION_KEYS does not have: add it at the end'
        : 'is damaged, or of another version';
    this.log.error({ event: 'order-unreadable', write: name, reason }, `The record of a write ${why}`);
  }
}
