import { ProblemException } from '../problem/problem.exception.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { LedgerRecord, KeptAnswer, PlacedItem, State } from './ledger-record.ts';

/** The end of a failed write: its state, its answer, and the items that the platform carried out all the same. */
export interface End {
  readonly state: State;
  readonly problem: ProblemException;
  readonly answer: KeptAnswer;
  readonly items: readonly PlacedItem[];
}

/**
 * The state after a failure, from the `outcome` of its problem. An error that the gateway does not understand leaves the write in doubt.
 * A refusal of the gateway's own credentials is no answer to the order, so its number stays free.
 */
export function endOf(error: unknown): End {
  const problem = asProblem(error);
  if (!(problem instanceof ProblemException)) {
    const unknown = new ProblemException('internal-error', { cause: error });
    return { state: 'in_doubt', problem: unknown, answer: { status: 500, body: unknown.body }, items: [] };
  }
  const answer = { status: problem.getStatus(), body: problem.body };
  switch (problem.body.outcome) {
    case 'processed':
      return { state: 'incomplete', problem, answer, items: itemsOf(error) };
    case 'unknown':
      return { state: 'in_doubt', problem, answer, items: [] };
    case 'not_processed':
      return { state: isRefusal(error, problem) ? 'rejected' : 'not_sent', problem, answer, items: [] };
  }
}

/** The platform refused the request itself, by a documented code: the same body would get the same refusal. */
function isRefusal(error: unknown, problem: ProblemException): boolean {
  return (
    error instanceof UpstreamFailure &&
    error.kind === 'refused' &&
    problem.slug !== 'upstream-credential-rejected' &&
    problem.slug !== 'session-expired'
  );
}

function itemsOf(error: unknown): readonly PlacedItem[] {
  return error instanceof UpstreamFailure ? ((error.details.matched ?? []) as readonly PlacedItem[]) : [];
}

/** Whether the record has exactly these placed items: a number that was freed may belong to another order now. */
export function agrees({ state, details }: LedgerRecord, items: readonly PlacedItem[]): boolean {
  if (!['succeeded', 'accepted', 'incomplete'].includes(state)) return false;
  const known = (details.order?.items ?? []).map(({ licenseOrderId }) => licenseOrderId);
  return known.length === 0 || items.every(({ licenseOrderId }) => known.includes(licenseOrderId));
}
