import type { ProblemException } from '../../problem/problem.exception.ts';
import { UpstreamFailure } from '../../upstream/upstream-failure.ts';
import type { RowResult, WaitingMember, WaitingRow } from '../store/job-record.ts';
import type { KnownMembers } from './known-members.ts';

/** The result of a row. Undefined if the row stays open. */
export type RowOutcome = Omit<RowResult, 'account' | 'was'> | undefined;

/** The refusals that say nothing about the rows. The same call may succeed later. */
const LATER: ReadonlySet<string> = new Set([
  'upstream-unavailable',
  'upstream-timeout',
  'dependency-unavailable',
  'overloaded',
  'maintenance',
  'too-many-requests',
  'upstream-credential-rejected',
  'upstream-contract-violation',
  'upstream-unmapped-error',
]);
/** The refusals after which the job cannot go on. */
const FINAL: ReadonlySet<string> = new Set(['session-expired', 'user-required', 'forbidden']);

/** True if nothing was done, and the same rows would be refused again. */
export function refusesRows({ body: { code, outcome }, cause }: ProblemException): boolean {
  // The id of a member cannot be in a path, so no call about this member can ever be sent.
  if (cause instanceof UpstreamFailure && cause.kind === 'nonconforming' && !cause.sent) return true;
  return outcome === 'not_processed' && !LATER.has(code) && !FINAL.has(code);
}

export function isFinal({ body }: ProblemException): boolean {
  return FINAL.has(body.code);
}

/** The number of unreadable answers after which the gateway expects no readable one for a row. */
const MAX_UNREADABLE = 5;

export function isUnreadable(code: string): boolean {
  return code === 'upstream-contract-violation';
}

/** Returns the platform's code, if it refused a call by one that the gateway does not know. Undefined for other problems. */
export function codeOfUnmapped({ body: { code, upstream } }: ProblemException): string | undefined {
  return code === 'upstream-unmapped-error' ? (upstream?.code ?? '') : undefined;
}

const UNREAD = 'The platform answered several times in a way that the gateway cannot read';
export const NOT_LOOKED_UP = 'The members could not be looked up within a day.';
const NOT_COMPARED =
  'The values of the row were deleted after a day, so they cannot be compared with those of the member.';
const NOT_SHOWN = 'The list of members does not show it.';

/** The outcome of a row that may have been sent, where it is unknown for this reason what became of it. */
export function unknownBecause(reason: string): RowOutcome {
  return {
    status: 'unknown',
    code: 'outcome-unknown',
    message: `The row may have been sent, and the gateway could not find out what became of it: ${reason}`,
  };
}

/** True for a row of a member who was there before. */
export function isChange({ was }: RowResult): boolean {
  return was === 'different' || was === 'surplus';
}

/** True for a row that is not sent again, because the gateway expects no readable answer for it. */
export function isGivenUp({ unreadable = 0 }: WaitingRow): boolean {
  return unreadable >= MAX_UNREADABLE;
}

/** True if a row has the outcome because a list lacks its member. One list may leave a member out, so a second one must lack it too. */
export function restsOnAbsence(result: RowResult, outcome: RowOutcome): boolean {
  return outcome?.status === 'deleted' || (outcome?.status === 'failed' && !isChange(result));
}

/** True if `found` shows for certain that a row which it does not show as carried out had no effect. */
function hadNoEffect(result: RowResult, found: KnownMembers): boolean {
  const { account, memberGlobalId = '' } = result;
  return isChange(result) ? found.has(memberGlobalId) : !found.mayHave(account);
}

/** Returns the outcome of a row that is sent no more, and that `found` does not show as carried out. Undefined if it had no effect. */
export function unlistedOutcome({ member }: WaitingRow, result: RowResult, found: KnownMembers): RowOutcome {
  if (result.was === 'different' && !hasValues(member)) return unknownBecause(NOT_COMPARED);
  return hadNoEffect(result, found) ? undefined : unknownBecause(NOT_SHOWN);
}

/** False for a row whose values were deleted after a day. A row that adds or changes a member has a name. */
export function hasValues({ name }: WaitingMember): boolean {
  return name !== undefined;
}

/** Returns the outcome of a row that `found` does not show as carried out. Undefined if the row is to be sent again. */
export function unreadOutcome(row: WaitingRow, result: RowResult, found: KnownMembers): RowOutcome {
  if (!isGivenUp(row)) return undefined;
  const { refused } = row;
  const why = refused
    ? `The platform refused the row with its code ${refused.by}, which the gateway does not know`
    : UNREAD;
  if (!hadNoEffect(result, found)) return unknownBecause(`${why}.`);
  const code = refused ? 'upstream-unmapped-error' : 'upstream-contract-violation';
  return { status: 'failed', code, message: `${why}, and the row had no effect.` };
}

/** The outcome of a row whose account the platform refused, as it does if a member has the account. */
export const UNTOLD: RowOutcome = {
  status: 'unknown',
  code: 'suffix-unknown',
  message:
    'The platform refused to add this account, and a member may have it: its account cannot be told yet from the code of the enterprise. Add one new member, then send the row again.',
};

/** The outcome of a row that an earlier call may have carried out, and whose account the platform refused afterwards. */
export const UNSHOWN: RowOutcome = {
  status: 'unknown',
  code: 'upstream-contract-violation',
  message:
    'The platform refused to add this account, and it lists members without an id or a user name: an earlier call may have added one of them.',
};

/** The result of a row that the store has lost, or that no key of this gateway can open. */
export const GONE = {
  status: 'unknown',
  code: 'outcome-unknown',
  message: 'The database has lost this row of the import; it may have been sent.',
} as const satisfies RowOutcome;

/** The outcome of a row to add whose member is there, where the database has lost the records of an import's calls. */
export const PERHAPS_ADDED = {
  status: 'unknown',
  code: 'outcome-unknown',
  message:
    'A member with this account is there. The database has lost records of this import, so it is unknown whether the import added the member.',
} as const satisfies RowOutcome;
