import type { BudgetUse } from '../control/budgets.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { Details, LedgerRecord, Mover, State } from './ledger-record.ts';

export interface Begin {
  readonly name: string;
  /** 128 random bits that identify the sender: only it may record the outcome. */
  readonly owner: string;
  /** One of the payload for each encryption key. The store keeps the first and recognises any of them. */
  readonly fingerprints: readonly string[];
  /** After this time the owner must not send any more. */
  readonly leaseMs: number;
  readonly details: Details;
  /** The name of the write's `Idempotency-Key`, where it has one. */
  readonly alias?: string;
  /** What an order takes of its caller's budgets, all or nothing; given back where it is provably not placed. */
  readonly budgets?: readonly BudgetUse[] | undefined;
}

export type Begun =
  | { readonly kind: 'begun'; readonly submittedAt: number }
  /** The write has begun before; `same`: with the same payload. */
  | { readonly kind: 'there'; readonly same: boolean; readonly record: LedgerRecord }
  /** The alias belongs to another write. */
  | { readonly kind: 'taken' }
  /** The caller has {@link MAX_WRITES} records of writes that are no orders. */
  | { readonly kind: 'full' }
  /** An operator has stopped orders, or a budget of the caller is used up. */
  | { readonly kind: 'not_admitted'; readonly problem: ProblemException };

/** A caller may have this number of records that are no orders: 17 MB at 1.7 KB each. */
export const MAX_WRITES = 10_000;

export interface Move {
  readonly name: string;
  readonly by: Mover;
  /** Given where `by` is `owner`. */
  readonly owner?: string;
  readonly to: State;
  /** The state that the record must have; absent: any from which the mover may move it. */
  readonly from?: State;
  /** They replace the stored details; absent: those stay. */
  readonly details?: Details;
  /** While the write is younger than this, the move is refused (`early`). */
  readonly minAgeMs?: number;
}

export type Moved =
  | { readonly kind: 'moved' | 'refused'; readonly record: LedgerRecord }
  | { readonly kind: 'early'; readonly leftMs: number }
  | { readonly kind: 'missing' };

/** Selects orders; an absent condition always holds. */
export interface OrderQuery {
  readonly states?: readonly State[];
  readonly channels?: ReadonlySet<string>;
  /** Each of its items names an enterprise, and all of them are among these. */
  readonly within?: ReadonlySet<string>;
  /** One of its items names this enterprise. */
  readonly enterprise?: string;
  /** It was submitted at this time (ms) or later, and before that one. */
  readonly from?: number;
  readonly until?: number;
}

/** One page of orders, newest first. */
export interface Listing {
  readonly records: readonly LedgerRecord[];
  readonly total: number;
}

interface OrderCount {
  readonly count: number;
  /** The age of the oldest order. */
  readonly oldestMs: number;
}

/** The orders whose end is not known though nothing is being sent. */
export interface WaitingOrders {
  readonly inDoubt: OrderCount;
  readonly accepted: OrderCount;
}

/** The ledger cannot say whether a write may be sent, so the gateway does not send it. */
export class OrderLedgerUnavailable extends ProblemException {
  override readonly name = 'OrderLedgerUnavailable';

  constructor(
    /**
     * `away`: no response; `refused`: the database takes no writes; `stopped`: the database cannot be trusted; `broken`: a record is damaged;
     * `sealed`: a record is sealed under a key that the gateway does not have; `abandoned`: the caller hung up.
     */
    readonly reason: 'away' | 'refused' | 'stopped' | 'broken' | 'sealed' | 'abandoned',
    cause?: unknown,
  ) {
    const isLasting = reason === 'sealed';
    super('dependency-unavailable', {
      detail: DETAILS[reason],
      ...(isLasting ? { retryable: false } : { retryAfter: 1 }),
      cause,
    });
  }
}

/** Where the record is sealed, a repeat does not help: the operator has to correct the gateway's configuration. */
const DETAILS: Readonly<Record<OrderLedgerUnavailable['reason'], string>> = {
  away: 'The database of the gateway does not respond. Nothing was sent to the platform.',
  refused: 'The database of the gateway takes no writes. Nothing was sent to the platform.',
  stopped:
    'The database of the gateway cannot be used until its operator has looked at it. Nothing was sent to the platform.',
  broken: 'There is a record under this name, and it cannot be read. Nothing was sent to the platform.',
  sealed:
    'There is a record under this name, and it is sealed under an encryption key that the gateway no longer has. Nothing was sent. The operator of the gateway has to put the key back.',
  abandoned:
    'The caller hung up before the gateway had recorded this write. Nothing was sent to the platform.',
};
