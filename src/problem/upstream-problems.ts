import { defaultOutcome, type ProblemDefinition } from './definition.ts';

/** Problems where the platform refused, failed, or left the outcome open. */
export const upstreamProblems = {
  'upstream-rejected': {
    ...defaultOutcome,
    statuses: [422],
    title: 'The licensing platform refused the data',
    meaning: 'The request reached the platform, and its own checks refused it. Nothing was changed.',
    remedy: "`detail` has the platform's own text of the reason. Correct the data and send again.",
  },
  'trial-member-limit': {
    ...defaultOutcome,
    statuses: [409],
    title: 'The enterprise may not have more trial members',
    meaning: 'The platform limits the trial accounts of an enterprise account, and the limit is reached.',
    remedy: 'Delete trial members or buy licences first.',
  },
  'member-not-found': {
    ...defaultOutcome,
    statuses: [404],
    title: 'No such member',
    meaning: 'The platform has no employee with this id.',
    remedy: "Find the member in the enterprise's list of members.",
  },
  'member-ambiguous': {
    ...defaultOutcome,
    statuses: [409],
    title: 'The account matches several members',
    meaning: 'The platform found more than one employee for this account and changed none.',
    remedy: 'Ask the administrator of the enterprise to correct its accounts on the platform.',
  },
  'asset-not-found': {
    ...defaultOutcome,
    statuses: [404],
    title: 'No such asset',
    meaning: 'The platform has no asset with this number or id.',
    remedy: "Find the asset in the enterprise's list of assets.",
  },
  'asset-of-other-customer': {
    ...defaultOutcome,
    statuses: [409],
    title: 'The asset belongs to another customer',
    meaning: 'The asset number does not belong to the customer of the member.',
    remedy: "Use an asset number of the member's own enterprise.",
  },
  'asset-assigned-twice': {
    ...defaultOutcome,
    statuses: [409],
    title: 'The asset number is configured twice',
    meaning: 'The platform has already assigned this asset number.',
    remedy: 'Withdraw it first, or leave it out.',
  },
  'account-not-bound': {
    ...defaultOutcome,
    statuses: [409],
    title: 'The acting account is not bound to a customer',
    meaning: 'The acting user is not bound to an authorization customer on the platform.',
    remedy: 'Bind the customer, or act as another user.',
  },
  'member-permission-insufficient': {
    ...defaultOutcome,
    statuses: [403],
    title: 'The member may not do this',
    meaning: 'The platform says that the employee does not have the rights for this.',
    remedy: 'Act as a user who has the rights, for example the administrator of the enterprise.',
  },
  'not-enough-nodes': {
    ...defaultOutcome,
    statuses: [409],
    title: 'Not enough free nodes',
    meaning: 'The asset has fewer free nodes than the loan needs.',
    remedy: 'Return other loans, or lend fewer assets.',
  },
  'already-lent': {
    ...defaultOutcome,
    statuses: [409],
    title: 'Already lent into another lock',
    meaning: 'The rights were lent into another lent lock before.',
    remedy: 'Return that loan first.',
  },
  'lent-lock-abnormal': {
    ...defaultOutcome,
    statuses: [409],
    title: 'The lent lock is in an abnormal state',
    meaning: 'The platform refuses loans into this lock in its current state.',
    remedy: 'Check the lock on the platform.',
  },
  'lent-to-other-member': {
    ...defaultOutcome,
    statuses: [409],
    title: 'The lock is lent to another member',
    meaning: 'Another employee has the lent lock.',
    remedy: 'Use another lock, or return this one first.',
  },
  'upstream-credential-rejected': {
    ...defaultOutcome,
    statuses: [502],
    outcomeVaries: true,
    title: "The platform refused the gateway's credentials",
    meaning:
      "The platform refused the gateway's own credentials, also after the gateway had renewed its token.",
    remedy:
      "A caller cannot correct this: the gateway's operator has to check the gateway's key, secret and scopes.",
  },
  'upstream-unmapped-error': {
    ...defaultOutcome,
    statuses: [502],
    outcomeVaries: true,
    title: 'The platform answered with an unknown error code',
    meaning:
      "The platform's documentation does not have this code. A read changed nothing; the outcome of a write is unknown.",
    remedy:
      'After a write, read the current state before you send the write again. `upstream.code` has the code.',
  },
  'upstream-contract-violation': {
    ...defaultOutcome,
    statuses: [502],
    outcomeVaries: true,
    title: 'The answer of the platform does not fit its interface',
    meaning:
      "The platform's interface does not allow what the platform answered. The gateway does not pass any of it on.",
    remedy: 'Send a read again later. After a write, read the current state before you send the write again.',
  },
  'upstream-unavailable': {
    statuses: [503],
    outcome: 'not_processed',
    retryable: true,
    title: 'The platform is not available',
    meaning:
      'The gateway could not reach the platform, or the platform answered a read with a temporary failure. Nothing was changed.',
    remedy: 'Send the same request again, after the time in `Retry-After` where the response has it.',
  },
  'upstream-timeout': {
    statuses: [504],
    outcome: 'not_processed',
    retryable: true,
    title: 'The platform did not answer in time',
    meaning: 'A read ran out of time. Reads change nothing.',
    remedy: 'Send the same request again.',
  },
  'outcome-unknown': {
    statuses: [502, 504],
    outcome: 'unknown',
    outcomeVaries: true,
    retryable: false,
    title: 'The outcome of the write is unknown',
    meaning:
      'The gateway sent the write, and then the answer was lost (504 when time ran out) or unreadable (502), or the platform reported a fault that leaves the outcome open. ' +
      '`retryable` is true only for writes that have the same effect when repeated.',
    remedy:
      'Read the current state before you send the write again. Never repeat an order under another number. ' +
      'An order with the outcome `processed` was placed, but the platform did not name all of its licence orders.',
  },
} as const satisfies Record<string, ProblemDefinition>;
