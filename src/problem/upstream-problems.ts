import { defaultOutcome, type ProblemDefinition } from './definition.ts';

/** What the platform refused, failed to do, or left open. */
export const upstreamProblems = {
  'upstream-rejected': {
    ...defaultOutcome,
    statuses: [422],
    title: 'The licensing platform refused the data',
    meaning: 'The request reached the platform, and its own checks refused it. Nothing was changed.',
    remedy: '`detail` carries the reason in the words of the platform. Correct the data and send again.',
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
    meaning: 'The platform knows no employee by this id.',
    remedy: 'Look the member up in the list of the enterprise.',
  },
  'member-ambiguous': {
    ...defaultOutcome,
    statuses: [409],
    title: 'The account matches several members',
    meaning: 'The platform found more than one employee for this account and changed none.',
    remedy: "Have the enterprise's accounts put in order on the platform.",
  },
  'asset-not-found': {
    ...defaultOutcome,
    statuses: [404],
    title: 'No such asset',
    meaning: 'The platform knows no asset by this number or id.',
    remedy: 'Look the asset up in the list of the enterprise.',
  },
  'asset-of-other-customer': {
    ...defaultOutcome,
    statuses: [409],
    title: 'The asset belongs to another customer',
    meaning: 'The asset number is not one of the customer that the member belongs to.',
    remedy: "Use an asset number of the member's own enterprise.",
  },
  'asset-assigned-twice': {
    ...defaultOutcome,
    statuses: [409],
    title: 'The asset number is configured twice',
    meaning: 'The platform already has this asset number assigned.',
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
    meaning: 'The platform says that the rights of the employee do not suffice.',
    remedy: 'Act as a user with the rights, for example the administrator of the enterprise.',
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
    meaning: 'The platform refuses loans into this lock in its present state.',
    remedy: 'Check the lock on the platform.',
  },
  'lent-to-other-member': {
    ...defaultOutcome,
    statuses: [409],
    title: 'The lock is lent to another member',
    meaning: 'The lent lock is in the hands of another employee.',
    remedy: 'Use another lock, or return this one first.',
  },
  'upstream-credential-rejected': {
    ...defaultOutcome,
    statuses: [502],
    outcomeVaries: true,
    title: "The platform refused the gateway's credentials",
    meaning: 'The platform refused the credentials of the gateway itself, also after they were renewed.',
    remedy: "Nothing a caller can mend: the gateway's operator has to check its key, secret and scopes.",
  },
  'upstream-unmapped-error': {
    ...defaultOutcome,
    statuses: [502],
    outcomeVaries: true,
    title: 'The platform answered with an unknown error code',
    meaning:
      'The code is in no documentation of the platform. On a read nothing happened; after a write nobody knows.',
    remedy:
      'After a write, look at what is there before sending it again. The code stands in `upstream.code`.',
  },
  'upstream-contract-violation': {
    ...defaultOutcome,
    statuses: [502],
    outcomeVaries: true,
    title: 'The answer of the platform does not fit its interface',
    meaning: 'The platform answered something that its interface does not allow. None of it is shown.',
    remedy: 'A read may be tried later. After a write, look at what is there before sending it again.',
  },
  'upstream-unavailable': {
    statuses: [503],
    outcome: 'not_processed',
    retryable: true,
    title: 'The platform is not available',
    meaning:
      'The platform was not reached, or it said on a read that it cannot serve now. Nothing happened there.',
    remedy: 'Send the same request again, not before the time in `Retry-After` where it is given.',
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
    title: 'Nobody knows whether the write was carried out',
    meaning:
      'The write was sent and its answer is lost (504 when time ran out) or unreadable (502), or the platform reported a fault that leaves it open. ' +
      '`retryable` is true only for writes that have the same effect when repeated.',
    remedy:
      'Look at what is there before sending it again. Orders are never to be repeated under another number. ' +
      'One with the outcome `processed` was placed, only its answer did not name all of its licence orders.',
  },
} as const satisfies Record<string, ProblemDefinition>;
