import { ProblemException } from '../problem/problem.exception.ts';
import type { Details, LedgerRecord, Mover, State } from './ledger-record.ts';

export interface Begin {
  /** Names the write for good: an order by channel and number, another write by caller and key. */
  readonly name: string;
  /** 128 random bits of the owner that sends: only the owner may record the outcome. */
  readonly owner: string;
  /** Of the payload, under every key that is known; the first is kept, and any of them is recognised. */
  readonly fingerprints: readonly string[];
  /** The end of the lease: after this time the owner must not send any more. */
  readonly leaseMs: number;
  readonly details: Details;
  /** A second name for it (an Idempotency-Key of an order). */
  readonly alias?: string;
}

export type Begun =
  | { readonly kind: 'begun'; readonly submittedAt: number }
  /** It was begun before; `same`: with this payload. */
  | { readonly kind: 'there'; readonly same: boolean; readonly record: LedgerRecord }
  /** The alias belongs to another write. */
  | { readonly kind: 'taken' }
  /** The caller has {@link MOST_WRITES} records of writes that are no orders. */
  | { readonly kind: 'full' };

/** Records of writes with a key that a caller may have at a time: 17 MB at 1.7 KB each. Orders are not counted. */
export const MOST_WRITES = 10_000;

export interface Move {
  readonly name: string;
  readonly by: Mover;
  /** For `owner`. */
  readonly owner?: string;
  readonly to: State;
  /** Replaces what is kept; absent: it stays. */
  readonly details?: Details;
  /** Refused (`early`) while the write is younger than this. */
  readonly minAgeMs?: number;
}

export type Moved =
  | { readonly kind: 'moved' | 'refused'; readonly record: LedgerRecord }
  | { readonly kind: 'early'; readonly leftMs: number }
  | { readonly kind: 'missing' };

/** Which orders are asked for; what is absent does not matter. */
export interface OrderQuery {
  /** It is in one of these. */
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

/**
 * Where recorded writes are kept: in Redis for all replicas, or in the process for one. Each call is one atomic step on the
 * store's own clock. Rejects with {@link OrderLedgerUnavailable}, and then nothing may be sent.
 */
export interface OrderLedgerStore {
  /** Durable before it resolves. May be repeated by the same owner, whose first answer got lost. */
  begin(write: Begin): Promise<Begun>;
  /** Whether that owner is sending it, and its lease has not run out. */
  holds(name: string, owner: string): Promise<boolean>;
  move(move: Move): Promise<Moved>;
  read(name: string): Promise<LedgerRecord | undefined>;
  /** Takes the same time however many orders there are, and ends with `abandon`. */
  list(query: OrderQuery, offset: number, count: number, abandon?: AbortSignal): Promise<Listing>;
  /** Moves every write whose lease ran out to in doubt; returns their names. */
  sweep(): Promise<readonly string[]>;
  /** The number of orders with an unknown outcome, and the age of the oldest in ms. */
  doubts(): Promise<{ count: number; oldestMs: number }>;
}

/** The ledger cannot say whether a write may be sent, so it may not. */
export class OrderLedgerUnavailable extends ProblemException {
  override readonly name = 'OrderLedgerUnavailable';

  constructor(
    /**
     * `away`: no response; `refused`: Redis denies the gateway a right; `stopped`: it cannot be believed; `unacknowledged`: no
     * replica has what was written; `broken`: a record is damaged; `sealed`: a record is sealed under a key that the gateway does not
     * have; `abandoned`: its caller hung up.
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

/** To repeat the request does not help: the gateway's configuration has to be mended. */
const SEALED = {
  retryable: false,
  detail:
    'There is a record under this name, and it is sealed under an encryption key that the gateway no longer has. Nothing was sent. The operator of the gateway has to put the key back.',
};

/** Between two steps of a read: its caller may have hung up. */
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
