import type { State } from '../../../src/order-ledger/ledger-record.ts';

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

/** The allowed numbers of commits of each state. */
const fits: Readonly<Record<State, readonly number[]>> = {
  scheduled: [],
  sending: [],
  succeeded: [1],
  accepted: [1],
  rejected: [0],
  not_sent: [0],
  not_placed: [0],
  cancelled: [],
  in_doubt: [0, 1],
  incomplete: [0, 1],
};

/**
 * Compares the responses and the records with the orders that the platform carried out. `forgetful`: gateways were killed, and one may
 * have known of a success that it could not record while the database was down: the order is in doubt, and the response is still true.
 */
export function violationsOf(
  orders: readonly Told[],
  commits: readonly Commit[],
  records: ReadonlyMap<string, Found>,
  forgetful: boolean,
): string[] {
  const carriedOut = Map.groupBy(commits, ({ channelOrderId }) => channelOrderId);
  return orders.flatMap(({ channelOrderId, answers }) => {
    const its = carriedOut.get(channelOrderId) ?? [];
    const record = records.get(channelOrderId);
    const what = [...ofAnswers(answers, its), ...ofRecord(answers, its, record, forgetful)];
    if (its.length > 1) what.unshift(`carried out ${its.length} times`);
    const told = answers.map(({ status, code = '', outcome = '' }) => `${status} ${code} ${outcome}`.trim());
    return what.map((each) => `${channelOrderId}: ${each} (told: ${told.join(', ')})`);
  });
}

/** A check that holds at any moment. */
export function duplicatesIn(commits: readonly Commit[]): string[] {
  return [...Map.groupBy(commits, ({ channelOrderId }) => channelOrderId)]
    .filter(([, its]) => its.length > 1)
    .map(([channelOrderId, its]) => `${channelOrderId}: carried out ${its.length} times`);
}

function ofAnswers(answers: readonly Answer[], commits: readonly Commit[]): string[] {
  const found: string[] = [];
  for (const answer of answers.filter(isSuccess)) {
    if (commits.length !== 1) found.push(`told ${answer.status}, carried out ${commits.length} times`);
    else if (idsOf(answer.items) !== commits[0]?.licenseOrderIds.join())
      found.push('told other ids than the platform gave');
  }
  if (commits.length > 0 && answers.length > 0 && answers.every(isDenial))
    found.push('told that nothing happened, by every answer, and it was carried out');
  if (commits.length > 0 && answers.some(isRejection)) found.push('told rejected, and it was carried out');
  return found;
}

function ofRecord(
  answers: readonly Answer[],
  commits: readonly Commit[],
  record: Found | undefined,
  forgetful: boolean,
): string[] {
  if (!record) {
    const sent = commits.length > 0 || answers.some((answer) => answer.status > 0 && !isDenial(answer));
    return sent ? ['there is no record of it'] : [];
  }
  const { state } = record;
  const found: string[] = [];
  if (!fits[state].includes(commits.length)) found.push(`${state}, carried out ${commits.length} times`);
  const mayBe = (told: string) => state === told || (forgetful && state === 'in_doubt');
  if (answers.some(isSuccess) && !mayBe('succeeded')) found.push(`told success, now ${state}`);
  if (answers.some(isRejection) && !mayBe('rejected')) found.push(`told rejected, now ${state}`);
  const isOther = idsOf(record.items) !== commits[0]?.licenseOrderIds.join();
  if (state === 'succeeded' && commits.length === 1 && isOther)
    found.push('recorded other ids than the platform gave');
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
function isDenial({ status, outcome }: Answer): boolean {
  return status >= 400 && outcome === 'not_processed';
}

function idsOf(items: Answer['items'] = []): string {
  return items.map(({ licenseOrderId }) => licenseOrderId).join();
}
