import type { BudgetUse } from '../budgets/state/budgets.ts';
import type { ProblemException } from '../problem/problem.exception.ts';
import type { Details, LedgerRecord, Mover, State } from './ledger-record.ts';

export interface Begin {
  readonly name: string;
  /** 128 random bits that identify the sender: only it may record the outcome. */
  readonly owner: string;
  /** The fingerprint of the payload under each encryption key. The store keeps the first and recognises any of them. */
  readonly fingerprints: readonly string[];
  /** The time after which the owner must not send any more. */
  readonly leaseMs: number;
  readonly details: Details;
  /** The name of the write's `Idempotency-Key`, where it has one. */
  readonly alias?: string;
  /** What an order takes from its caller's budgets, all or nothing. It is given back where the order is provably not placed. */
  readonly budgets?: readonly BudgetUse[] | undefined;
  /** The time, in ms, before which the order is kept and not sent. */
  readonly notBefore?: number | undefined;
  /** The `submittedAt` of the record, if the write is a scheduled order whose time has come. Only such a write may send a scheduled order. */
  readonly scheduledAt?: number | undefined;
  /** The `submittedAt` of the record that the write replaces: of another caller, or rejected for a reason that may be over. */
  readonly replaces?: number | undefined;
  /** Why the write may not begin. It can still get the record of an earlier request with the same payload. */
  readonly refusal?: ProblemException | undefined;
}

/** A write that has begun before. `same` means that it had the same payload. */
export interface Known {
  readonly same: boolean;
  readonly record: LedgerRecord;
}

export type Begun =
  | { readonly kind: 'begun' | 'scheduled'; readonly submittedAt: number }
  /** The time of an order has not come yet, by the clock of the database, or another scheduled order has its number. */
  | { readonly kind: 'early'; readonly leftMs: number }
  /** A scheduled order was due before an operator confirmed a database that lacks commits: it may have been sent. */
  | { readonly kind: 'doubtful' }
  | ({ readonly kind: 'there' } & Known)
  /** The alias belongs to another write. */
  | { readonly kind: 'taken' }
  /** The write is refused: for example, an operator has stopped orders, or a budget of the caller is used up. */
  | { readonly kind: 'not_admitted'; readonly problem: ProblemException };

/** A caller may have this number of scheduled orders. */
export const MAX_SCHEDULED = 20_000;

export interface Move {
  readonly name: string;
  readonly by: Mover;
  /** Given where `by` is `owner`. */
  readonly owner?: string;
  readonly to: State;
  /** The state that the record must have; absent: any from which the mover may move it. */
  readonly from?: State;
  /** The `submittedAt` that the record must have. The record has another one if the number was used again, or if the order was tried again. */
  readonly submittedAt?: number;
  /** Details that replace the stored ones; absent: the stored ones stay. */
  readonly details?: Details;
  /** The age of the write below which the move is refused (`early`). */
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
  /** Every item of the order names an enterprise, and all these enterprises are in the set. */
  readonly within?: ReadonlySet<string>;
  /** An item of the order names this enterprise. */
  readonly enterprise?: string;
  /** The order was submitted at the time `from` (ms) or later, and before `until`. */
  readonly from?: number;
  readonly until?: number;
  /** The order of the page. True: scheduled orders, the first due first. Otherwise: the newest first. */
  readonly byTime?: boolean;
}

/** One page of orders. */
export interface Listing {
  readonly records: readonly LedgerRecord[];
  readonly total: number;
}

interface OrderCount {
  readonly count: number;
  /** The age of the oldest order. */
  readonly oldestMs: number;
}

/** The orders that wait for their end, while nothing is being sent. */
export interface WaitingOrders {
  /** Includes orders of which the platform did not confirm every item. */
  readonly inDoubt: OrderCount;
  readonly accepted: OrderCount;
  /** `overdueMs` is how long the earliest scheduled order has been due; 0 where none is due. */
  readonly scheduled: { readonly count: number; readonly overdueMs: number };
}
