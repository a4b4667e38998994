import { ProblemException } from '../problem/problem.exception.ts';
import type { Details, LedgerRecord, Mover, State } from './ledger-record.ts';

export interface Begin {
  /** Identifies the write: an order by channel and number, another write by caller and key. */
  readonly name: string;
  /** 128 random bits that identify the sender: only it may record the outcome. */
  readonly owner: string;
  /** Of the payload, one for each encryption key. The store keeps the first and recognises any of them. */
  readonly fingerprints: readonly string[];
  /** After this time the owner must not send any more. */
  readonly leaseMs: number;
  readonly details: Details;
  /** A second name of the write: the Idempotency-Key of an order. */
  readonly alias?: string;
}

export type Begun =
  | { readonly kind: 'begun'; readonly submittedAt: number }
  /** It has begun before; `same`: with the same payload. */
  | { readonly kind: 'there'; readonly same: boolean; readonly record: LedgerRecord }
  /** The alias belongs to another write. */
  | { readonly kind: 'taken' }
  /** The caller has {@link MOST_WRITES} records of writes that are no orders. */
  | { readonly kind: 'full' };

/** A caller may have this number of records that are no orders: 17 MB at 1.7 KB each. */
export const MOST_WRITES = 10_000;

export interface Move {
  readonly name: string;
  readonly by: Mover;
  /** For `owner`. */
  readonly owner?: string;
  readonly to: State;
  /** Only from this state; absent: from every one that the mover may move. */
  readonly from?: State;
  /** Replaces the stored details; absent: they stay. */
  readonly details?: Details;
  /** Refused (`early`) while the write is younger than this. */
  readonly minAgeMs?: number;
}

export type Moved =
  | { readonly kind: 'moved' | 'refused'; readonly record: LedgerRecord }
  | { readonly kind: 'early'; readonly leftMs: number }
  | { readonly kind: 'missing' };

/** Selects orders; an absent condition always holds. */
export interface OrderQuery {
  /** The order is in one of these states. */
  readonly states?: readonly State[];
  /** Its channel is one of these. */
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

/** A number of orders, and the age of the oldest in ms. */
export interface WaitingOrders {
  readonly count: number;
  readonly oldestMs: number;
}

/**
 * Stores recorded writes: in Redis for all replicas, or in the process for one. Each call is one atomic step on the
 * store's own clock. Where it rejects with {@link OrderLedgerUnavailable}, nothing may be sent.
 */
export interface OrderLedgerStore {
  /** Resolves when the record is durable. The same owner may repeat it when the first response got lost. */
  begin(write: Begin): Promise<Begun>;
  /** Whether this owner is sending it, and its lease has not ended. */
  holds(name: string, owner: string): Promise<boolean>;
  move(move: Move): Promise<Moved>;
  /** `within`: only an order each of whose items names one of these enterprises; any other record is as one that does not exist. */
  read(name: string, within?: ReadonlySet<string>): Promise<LedgerRecord | undefined>;
  /** Its time does not depend on the number of orders. `abandon` ends it. */
  list(query: OrderQuery, offset: number, count: number, abandon?: AbortSignal): Promise<Listing>;
  /** Moves every write whose lease has ended to `in_doubt`, and returns their names. */
  sweep(): Promise<readonly string[]>;
  /** The orders whose end is not known though nothing is being sent: those in doubt, and those that the platform accepted for later. */
  waiting(): Promise<{ inDoubt: WaitingOrders; accepted: WaitingOrders }>;
}

/** The ledger cannot say whether a write may be sent, so the gateway does not send it. */
export class OrderLedgerUnavailable extends ProblemException {
  override readonly name = 'OrderLedgerUnavailable';

  constructor(
    /**
     * `away`: no response; `refused`: Redis denies the gateway a right; `stopped`: the store cannot be trusted; `unacknowledged`: too few
     * replicas have the record; `broken`: a record is damaged; `sealed`: a record is sealed under a key that the gateway does not have;
     * `abandoned`: its caller hung up.
     */
    readonly reason: 'away' | 'refused' | 'stopped' | 'unacknowledged' | 'broken' | 'sealed' | 'abandoned',
    cause?: unknown,
  ) {
    super('dependency-unavailable', {
      ...(reason === 'sealed' ? SEALED : { retryAfter: 1 }),
      cause,
    });
  }
}

/** A repeat does not help: the operator has to correct the gateway's configuration. */
const SEALED = {
  retryable: false,
  detail:
    'There is a record under this name, and it is sealed under an encryption key that the gateway no longer has. Nothing was sent. The operator of the gateway has to put the key back.',
};

/** Called between two steps of a read, because its caller may have hung up. */
export function assertWanted(abandon: AbortSignal | undefined): void {
  if (abandon?.aborted) throw new OrderLedgerUnavailable('abandoned');
}

const ORDER = 'order/';

/** The name of an order. */
export function orderName(channelCode: string, channelOrderId: string): string {
  return `${ORDER}${encodeURIComponent(channelCode)}/${encodeURIComponent(channelOrderId)}`;
}

export function isOrder(name: string): boolean {
  return name.startsWith(ORDER);
}
