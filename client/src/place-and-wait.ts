import type { OrderRecord, OrdersMethods, PlaceOrderInput } from './api.ts';
import type { CallOptions } from './call-options.ts';
import { paused } from './paused.ts';
import { isGatewayUnreachable, isProblem, type OrderKey } from './problem.ts';

export interface WaitOptions extends Pick<CallOptions, 'signal'> {
  /** The time until the order must be settled. The default is 5 minutes. */
  readonly timeoutMs?: number | undefined;
  /** The time between two reads of the record. The default is 1 s at first, and 15 s at most. */
  readonly pollMs?: number | undefined;
}

/**
 * The time of `placeAndWait` ran out, a later call was refused, or the record belongs to another order. The order may still be placed: ask
 * again with the same order, never under another number.
 */
export class OrderNotSettled extends Error {
  override readonly name = 'OrderNotSettled';
  readonly order: OrderKey;
  /** The last record that was read, if there was one. */
  readonly record: OrderRecord | undefined;

  constructor(order: OrderKey, record: OrderRecord | undefined, cause: unknown, isOthers = false) {
    const name = `${order.channelCode} ${order.channelOrderId}`;
    super(
      isOthers
        ? `The record of ${name} is of another order`
        : `${name} is ${record?.state ?? 'not settled'} when the wait ends`,
      { cause },
    );
    this.order = order;
    this.record = record;
  }
}

/** Nothing more happens to an order in these states by itself. */
const SETTLED = new Set(['succeeded', 'not_placed', 'incomplete', 'cancelled']);
/** The same order gets the platform's refusal again, and one that was never sent is sent. */
const TO_PLACE = new Set(['rejected', 'not_sent']);
/** The gateway keeps no items of an order in these states. */
const WITHOUT_ITEMS = new Set([...TO_PLACE, 'cancelled']);
const WAIT_MS = 300_000;
/** The time of one call, after which its answer counts as lost. The gateway itself gives an order 30 s. */
const CALL_MS = 60_000;
const FIRST_POLL_MS = 1_000;
const LAST_POLL_MS = 15_000;

/**
 * Places the order and reads its record until it is settled. It never sends the order twice, because the gateway guards its number.
 * Resolves to the record in a state of {@link SETTLED}. Rejects with the problem if the order was refused, and with `OrderNotSettled`.
 */
export async function placeAndWait(
  orders: OrdersMethods,
  order: PlaceOrderInput,
  options: WaitOptions = {},
): Promise<OrderRecord> {
  const { timeoutMs = WAIT_MS, pollMs, signal } = options;
  const key = { channelCode: order.channelCode, channelOrderId: order.channelOrderId };
  const deadline = performance.now() + timeoutMs;
  const left = () => deadline - performance.now();
  let wait = pollMs ?? FIRST_POLL_MS;
  let seen: OrderRecord | undefined;
  let last: unknown;
  // True once the gateway has the order. Until then it is placed again, under the same number.
  let isTaken = false;
  // True if the order may be placed, so that a refusal of another call does not settle it.
  let mayBePlaced = false;
  while (left() > 0) {
    // The gateway may want a longer wait.
    let least = 0;
    try {
      const call = { timeoutMs: Math.min(left(), CALL_MS), signal };
      const record: OrderRecord = isTaken ? await orders.get(key, call) : await orders.place(order, call);
      if (!isOf(order, record)) throw new OrderNotSettled(key, seen, undefined, true);
      seen = record;
      if (SETTLED.has(seen.state)) return seen;
      isTaken = !TO_PLACE.has(seen.state);
      mayBePlaced = isTaken;
    } catch (error) {
      if (error instanceof OrderNotSettled) throw error;
      signal?.throwIfAborted();
      last = error;
      if (isProblem(error)) least = error.retryAfterMs ?? 0;
      if (isProblem(error, 'outcome-unknown', 'request-in-progress')) isTaken = true;
      else if (isGatewayUnreachable(error)) mayBePlaced ||= error.sent;
      else if (isProblem(error) && error.retryable) mayBePlaced ||= error.outcome !== 'not_processed';
      // The gateway may have lost its record of the order, and would send the order a second time.
      else if (isTaken || (mayBePlaced && !isProblem(error, 'upstream-rejected')))
        throw new OrderNotSettled(key, seen, error);
      else throw error;
      if (least > Math.max(0, left()))
        throw isTaken || mayBePlaced ? new OrderNotSettled(key, seen, error) : error;
    }
    await paused(Math.min(Math.max(wait, least), Math.max(0, left())), signal);
    wait = pollMs ?? Math.min(wait * 2, LAST_POLL_MS);
  }
  throw new OrderNotSettled(key, seen, last);
}

/**
 * True if a record belongs to this order, as far as the record shows it. A number that was released during the wait may belong to another
 * order by now.
 */
function isOf(order: PlaceOrderInput, record: OrderRecord): boolean {
  return (
    record.channelCode === order.channelCode &&
    record.channelOrderId === order.channelOrderId &&
    (WITHOUT_ITEMS.has(record.state) ||
      ((record.items as OrderRecord['items'] | undefined)?.length === order.items.length &&
        order.items.every(({ sequence, orderType, customer }, index) => {
          const item = record.items.find((one) => one.sequence === (sequence ?? index + 1));
          const { enterpriseGlobalId } = customer;
          return (
            item?.orderType === orderType &&
            (enterpriseGlobalId === undefined || item.enterpriseGlobalId === enterpriseGlobalId)
          );
        })))
  );
}
