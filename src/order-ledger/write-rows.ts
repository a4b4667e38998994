import type { SqlRow } from '../database/engine.ts';
import type { SealedTexts } from '../database/sealed-texts.ts';
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

/** Opens what stores keep of writes, and tells the operator what cannot be opened. */
export class WriteRecords {
  constructor(
    private readonly texts: SealedTexts,
    private readonly unreadable: (name: string, reason: 'sealed' | 'broken') => void,
  ) {}

  sealed(name: string, details: Details): string {
    return this.texts.seal(JSON.stringify(details), name);
  }

  /** Never "missing": a record that cannot be read may be of an order that was sent. */
  opened({ name, state, submittedAt, settledAt, details: sealed }: KeptRecord): LedgerRecord {
    const text = sealed === undefined ? undefined : this.texts.open(sealed, name);
    if (text === undefined || !states.includes(state as State)) {
      const reason = sealed !== undefined && this.texts.lacksKeyOf(sealed) ? 'sealed' : 'broken';
      this.unreadable(name, reason);
      throw new OrderLedgerUnavailable(reason);
    }
    return { name, state: state as State, submittedAt, settledAt, details: JSON.parse(text) as Details };
  }
}
