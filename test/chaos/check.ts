import type { State } from '../../src/order-ledger/ledger-record.ts';

/** One response to one request; `status` 0: the connection ended before it. */
export interface Answer {
  readonly status: number;
  readonly code?: string;
  readonly outcome?: string;
  readonly items?: readonly { readonly licenseOrderId: string }[];
  readonly retryable?: boolean;
}

/** The record of an order, as `getOrder` returns it. */
export interface Found {
  readonly state: State;
  readonly submittedAt: string;
  readonly items: readonly { readonly licenseOrderId: string }[];
}

/** All responses to the callers of one order, in their order. */
export interface Told {
  readonly channelOrderId: string;
  readonly answers: readonly Answer[];
}

export interface Commit {
  readonly channelOrderId: string;
  readonly licenseOrderIds: readonly string[];
}

export type Fault = 'duplicate' | 'false answer' | 'unfindable' | 'wrong state' | 'lost with its caller';

/** A violation. */
export interface Violation {
  readonly fault: Fault;
  readonly channelOrderId: string;
  readonly what: string;
}

/** The allowed numbers of commits of each state. */
const fits: Readonly<Record<State, readonly number[]>> = {
  sending: [],
  succeeded: [1],
  accepted: [1],
  rejected: [0],
  not_sent: [0],
  not_placed: [0],
  in_doubt: [0, 1],
  incomplete: [0, 1],
};

/**
 * Compares the responses and the records with the orders that the platform carried out. `forgetful`: gateways were killed, and one may
 * have known of a success that it could not record while the store was down: the order is in doubt, and the response is still true.
 */
export function violationsOf(
  orders: readonly Told[],
  commits: readonly Commit[],
  records: ReadonlyMap<string, Found>,
  forgetful: boolean,
): Violation[] {
  const carriedOut = Map.groupBy(commits, ({ channelOrderId }) => channelOrderId);
  return orders.flatMap((order) => [
    ...ofCommits(order, carriedOut.get(order.channelOrderId) ?? []),
    ...ofAnswers(order, carriedOut.get(order.channelOrderId) ?? []),
    ...ofRecord(
      order,
      carriedOut.get(order.channelOrderId) ?? [],
      records.get(order.channelOrderId),
      forgetful,
    ),
  ]);
}

/** Checks that hold at any moment. */
export function duplicatesIn(commits: readonly Commit[]): Violation[] {
  const carriedOut = Map.groupBy(commits, ({ channelOrderId }) => channelOrderId);
  return [...carriedOut].flatMap(([channelOrderId, its]) => ofCommits({ channelOrderId, answers: [] }, its));
}

function ofCommits({ channelOrderId }: Told, commits: readonly Commit[]): Violation[] {
  return commits.length > 1
    ? [{ fault: 'duplicate', channelOrderId, what: `carried out ${commits.length} times` }]
    : [];
}

function ofAnswers({ channelOrderId, answers }: Told, commits: readonly Commit[]): Violation[] {
  const found: Violation[] = [];
  const add = (what: string) => found.push({ fault: 'false answer', channelOrderId, what });
  for (const answer of answers.filter(isSuccess)) {
    if (commits.length !== 1) add(`told ${answer.status}, carried out ${commits.length} times`);
    else if (idsOf(answer) !== commits[0]?.licenseOrderIds.join())
      add('told other ids than the platform gave');
  }
  if (commits.length > 0 && answers.length > 0 && answers.every(isDenial))
    add('told that nothing happened, by every answer, and it was carried out');
  if (commits.length > 0 && answers.some(isRejection)) add('told rejected, and it was carried out');
  return found;
}

function ofRecord(
  { channelOrderId, answers }: Told,
  commits: readonly Commit[],
  record: Found | undefined,
  forgetful: boolean,
): Violation[] {
  if (!record) {
    const sent = commits.length > 0 || answers.some((answer) => answer.status > 0 && !isDenial(answer));
    return sent ? [{ fault: 'unfindable', channelOrderId, what: 'no record of it' }] : [];
  }
  const { state } = record;
  const found: Violation[] = [];
  const add = (what: string) => found.push({ fault: 'wrong state', channelOrderId, what });
  if (!fits[state].includes(commits.length)) add(`${state}, carried out ${commits.length} times`);
  const mayBe = (told: string) => state === told || (forgetful && state === 'in_doubt');
  if (answers.some(isSuccess) && !mayBe('succeeded')) add(`told success, now ${state}`);
  if (answers.some(isRejection) && !mayBe('rejected')) add(`told rejected, now ${state}`);
  const items = record.items.map(({ licenseOrderId }) => licenseOrderId).join();
  if (state === 'succeeded' && commits.length === 1 && items !== commits[0]?.licenseOrderIds.join())
    add('recorded other ids than the platform gave');
  return found;
}

export function isSuccess({ status }: Answer): boolean {
  return status === 201 || status === 202;
}

/** The platform's refusal of the order, which is final. */
function isRejection({ status, code }: Answer): boolean {
  return status === 422 && code === 'upstream-rejected';
}

/** The response says that this request had no effect. */
export function isDenial({ status, outcome }: Answer): boolean {
  return status >= 400 && outcome === 'not_processed';
}

function idsOf({ items = [] }: Answer): string {
  return items.map(({ licenseOrderId }) => licenseOrderId).join();
}
