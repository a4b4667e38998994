import type { BudgetUse } from '../budgets/state/budgets.ts';
import type { ProblemException } from '../problem/problem.exception.ts';
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
  /** The order is kept for this time, in ms, and not sent before it. */
  readonly notBefore?: number | undefined;
  /** It is a scheduled order whose time has come. Nobody else may begin that. */
  readonly isDue?: true;
  /** It may not begin: only the record of an earlier request with the same payload counts. */
  readonly refusal?: ProblemException | undefined;
}

export type Begun =
  | { readonly kind: 'begun' | 'scheduled'; readonly submittedAt: number }
  /** The time of a scheduled order has not come yet, by the clock of the database. */
  | { readonly kind: 'early'; readonly leftMs: number }
  /** A scheduled order was due before an operator confirmed a database that lacks commits: it may have been sent. */
  | { readonly kind: 'doubtful' }
  /** The write has begun before; `same`: with the same payload. */
  | { readonly kind: 'there'; readonly same: boolean; readonly record: LedgerRecord }
  /** The alias belongs to another write. */
  | { readonly kind: 'taken' }
  /** The caller has {@link MAX_WRITES} records of writes that are no orders. */
  | { readonly kind: 'full' }
  /** An operator has stopped orders, or a budget of the caller is used up. */
  | { readonly kind: 'not_admitted'; readonly problem: ProblemException };

/** A caller may have this number of orders for a later day. */
export const MAX_SCHEDULED = 20_000;

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
  /** The scheduled ones, those that are due first before the others; else the newest before the others. */
  readonly byTime?: boolean;
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
  /** `overdueMs`: how long ago the time of the first of them came; 0: it has not come. */
  readonly scheduled: { readonly count: number; readonly overdueMs: number };
}
