import { Injectable } from '@nestjs/common';
import type { SqlRow } from '../database/engine.ts';
import { SealedTexts } from '../database/sealed-texts.ts';
import { Log } from '../observability/log.ts';
import { type Details, type LedgerRecord, type State, states } from './ledger-record.ts';
import { OrderLedgerUnavailable } from './order-ledger-store.ts';
import type { Place } from './order-counts-store.ts';
import type { Taken } from './use-store.ts';

/** A row of the table `writes`, without its details where nobody asked for them. */
export interface WriteRow {
  readonly name: string;
  readonly state: State;
  readonly owner: string;
  readonly fingerprint: string;
  readonly caller: string;
  /** Undefined for a write that is no order. */
  readonly place: Place | undefined;
  readonly submittedAt: number;
  readonly settledAt: number | null;
  readonly leaseUntil: number;
  /** What it takes of its caller's budgets; undefined: nothing, or it was given back. */
  readonly taken: Taken | undefined;
  /** The day on which its bytes count. */
  readonly countedOn: string;
  readonly size: number;
  readonly details: string | undefined;
}

/** A state that this version does not know stays as it is: no move is allowed from it, and no record is made of it. */
export function writeRow(row: SqlRow): WriteRow {
  const text = (column: string) => String(row[column]);
  const { channel, taken, details } = row;
  return {
    name: text('name'),
    state: text('state') as State,
    owner: text('owner'),
    fingerprint: text('fingerprint'),
    caller: text('caller'),
    place: typeof channel === 'string' ? { channel, group: text('enterprise_group') } : undefined,
    submittedAt: Number(row['submitted_at']),
    settledAt: row['settled_at'] === null ? null : Number(row['settled_at']),
    leaseUntil: Number(row['lease_until']),
    taken: typeof taken === 'string' ? (JSON.parse(taken) as Taken) : undefined,
    countedOn: text('counted_on'),
    size: Number(row['size']),
    details: typeof details === 'string' ? details : undefined,
  };
}

/** The columns of a record, as events keep it too. */
export interface KeptRecord {
  readonly name: string;
  readonly state: string;
  readonly submittedAt: number;
  readonly settledAt: number | null;
  readonly details: string | undefined;
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

  /** Never "missing": a record that cannot be read may be of an order that was sent. */
  opened({ name, state, submittedAt, settledAt, details: sealed }: KeptRecord): LedgerRecord {
    const text = sealed === undefined ? undefined : this.texts.open(sealed, name);
    if (text === undefined || !states.includes(state as State)) {
      const reason = sealed !== undefined && this.texts.lacksKeyOf(sealed) ? 'sealed' : 'broken';
      this.#tell(name, reason);
      throw new OrderLedgerUnavailable(reason);
    }
    return { name, state: state as State, submittedAt, settledAt, details: JSON.parse(text) as Details };
  }

  #tell(name: string, reason: 'sealed' | 'broken'): void {
    if (this.#unreadable.has(name)) return;
    this.#unreadable.add(name);
    const why =
      reason === 'sealed'
        ? 'is sealed under a key that ENCRYPTION_KEYS does not have: add it at the end'
        : 'is damaged, or of another version';
    this.log.error({ event: 'order-unreadable', write: name, reason }, `The record of a write ${why}`);
  }
}
