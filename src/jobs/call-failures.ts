import { ProblemException } from '../problem/problem.exception.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import type { RowOutcome } from './chunk-rows.ts';

/* What the failure of a call means for its rows. */

/** Refusals that say nothing about the rows: the same call may succeed later. */
const LATER: ReadonlySet<string> = new Set([
  ...[
    'upstream-unavailable',
    'upstream-timeout',
    'dependency-unavailable',
    'overloaded',
    'too-many-requests',
  ],
  ...['upstream-credential-rejected', 'upstream-contract-violation', 'upstream-unmapped-error'],
]);
/** The job cannot go on. */
const FINAL: ReadonlySet<string> = new Set(['session-expired', 'user-required', 'forbidden']);

/** Whether nothing was done, and the same rows would be refused again. */
export function refusesRows({ body: { code, outcome } }: ProblemException): boolean {
  return outcome === 'not_processed' && !LATER.has(code) && !FINAL.has(code);
}

/** Whether the job cannot go on. */
export function isFinal({ body }: ProblemException): boolean {
  return FINAL.has(body.code);
}

/** After so many answers the platform will not say anything else. */
export const MOST_UNREADABLE = 5;
export const UNREADABLE_CODES: ReadonlySet<string> = new Set([
  'upstream-unmapped-error',
  'upstream-contract-violation',
]);
export const UNREADABLE: RowOutcome = {
  status: 'failed',
  code: 'upstream-contract-violation',
  message:
    'The platform answered several times in a way that the gateway cannot read, and the row had no effect.',
};
export const UNKNOWN: RowOutcome = {
  status: 'unknown',
  code: 'outcome-unknown',
  message: 'The row was sent, and the list of members could not be read for a day.',
};

/** Of a row that the store has lost, or that no key of this gateway opens. */
export const GONE = {
  status: 'unknown',
  code: 'outcome-unknown',
  message: 'The order store has lost this row of the import; it may have been sent.',
} as const satisfies RowOutcome;

/** Failures of the gateway itself are thrown on: the job is then tried again. */
export function callProblem(error: unknown): ProblemException {
  const problem = asProblem(error);
  if (problem instanceof ProblemException) return problem;
  throw error;
}
