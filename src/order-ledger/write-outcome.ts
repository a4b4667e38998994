import type { CodeWord } from '../config/taught-codes.ts';
import { type Outcome, problemDefinition } from '../problem/catalogue.ts';
import { type ProblemBody, ProblemException } from '../problem/problem.exception.ts';
import { isGranted } from '../request/call-context.ts';
import { operations } from '../upstream/operations.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { isOwnRefusal } from '../upstream/problems/upstream-codes.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import { givesWay } from './begin-store.ts';
import {
  type Details,
  enterprisesOf,
  type KeptResponse,
  type LedgerRecord,
  locationOf,
  type PlacedItem,
  type State,
} from './ledger-record.ts';
import type { Known } from './write-steps.ts';

interface End {
  readonly state: State;
  readonly problem: ProblemException;
  readonly answer: KeptResponse;
  /** The items that the platform carried out although the write failed. */
  readonly items: readonly PlacedItem[];
}

/**
 * Returns the end of a write that failed with this error, by the `outcome` of its problem. An error that the gateway does not understand leaves
 * the write in doubt. A refusal of the gateway's own credentials says nothing about the order, so its number stays free.
 */
export function endOf(error: unknown): End {
  const known = asProblem(error);
  const problem =
    known instanceof ProblemException ? known : new ProblemException('internal-error', { cause: error });
  const states: Readonly<Record<Outcome, State>> = {
    processed: 'incomplete',
    unknown: 'in_doubt',
    not_processed: isRefusal(error, problem) ? 'rejected' : 'not_sent',
  };
  const state = states[problem.body.outcome];
  const { location } = problem.headers;
  return {
    state,
    problem,
    answer: { status: problem.getStatus(), body: problem.body, ...(location && { location }) },
    items: state === 'incomplete' ? itemsOf(error) : [],
  };
}

/** The problems with which the platform refused not the request itself, but its time or the gateway's credentials. */
const NOT_OF_THE_REQUEST: ReadonlySet<string> = new Set([
  'upstream-credential-rejected',
  'session-expired',
  'upstream-unavailable',
]);

/** Whether the platform refused the request itself, by a code that says so. The same body would get the same refusal. */
function isRefusal(error: unknown, problem: ProblemException): boolean {
  return (
    error instanceof UpstreamFailure && error.kind === 'refused' && !NOT_OF_THE_REQUEST.has(problem.slug)
  );
}

/**
 * Whether the gateway itself rejected a scheduled order at its time, for a reason that may be over by now, such as a budget or a lost right. The
 * reason `effects-changed` stays: a repeat would send the deletion without the comparison.
 */
function mayBeOver({ state, details: { answer } }: LedgerRecord): boolean {
  const { code, upstream } = (answer?.body ?? {}) as Partial<ProblemBody>;
  const isOfPlatform = upstream?.operation === operations.batchOrder.name;
  return state === 'rejected' && code !== undefined && code !== 'effects-changed' && !isOfPlatform;
}

/** Whether the record gives way to a write of its name: it ended without effect and the caller may see it, or the reason of its end may be over. */
export function isOver({ same, record }: Known, granted: ReadonlySet<string> = new Set()): boolean {
  const { order } = record.details;
  const isSeen = order && enterprisesOf(order).every((enterprise) => isGranted(granted, enterprise));
  return (same && mayBeOver(record)) || (isSeen === true && givesWay(record.state, same));
}

interface EndOfDoubt {
  readonly code: string;
  readonly state: State;
  readonly details: Details;
}

/**
 * Returns how an order in doubt ends after the profile was taught the code that the platform answered; undefined where the order stays in doubt.
 * Only the answer to the order itself counts, not that to another call.
 */
export function endOfDoubt(
  { details }: LedgerRecord,
  taughtOf: (code: string) => CodeWord | undefined,
): EndOfDoubt | undefined {
  const { operation, code, status } = (details.answer?.body as ProblemBody | undefined)?.upstream ?? {};
  const { order } = details;
  if (!order || code === undefined || operation !== operations.batchOrder.name) return undefined;
  const taught = taughtOf(code);
  if (taught === undefined || !isOwnRefusal({ status, code, taught })) return undefined;
  const failure = new UpstreamFailure(operations.batchOrder, 'refused', true, { status, code, taught });
  const { state, answer } = endOf(failure);
  if (state === 'in_doubt') return undefined;
  const reason = `the platform's profile says of its code ${code}: ${taught}`;
  return { code, state, details: { ...details, order: { ...order, reason }, answer } };
}

function itemsOf(error: unknown): readonly PlacedItem[] {
  return error instanceof UpstreamFailure ? ((error.details.matched ?? []) as readonly PlacedItem[]) : [];
}

const MAX_REASON = 2_000;

const MAX_FAULTS = 10;

/** Why a scheduled order was not placed, in the words of the gateway or the platform, for its record. */
export function reasonOf({ body, slug }: ProblemException): string {
  const { detail = problemDefinition(slug).meaning, errors = [] } = body;
  const faults = errors
    .slice(0, MAX_FAULTS)
    .flatMap((fault) => ('pointer' in fault ? `${fault.pointer} ${fault.detail}` : []));
  return [detail, ...(faults.length > 0 ? [`(${faults.join('; ')})`] : [])]
    .join(' ')
    .slice(0, MAX_REASON)
    .toWellFormed();
}

/** What to do about an order in doubt. For other writes the problem's own text says it. */
const IN_DOUBT =
  'The order was sent, and whether it was placed is not known. Do not send it under another number, since it may be placed already: ' +
  'the record at `Location` says what became of it, and the same number is not placed twice.';

/** A record without a response: its lease ended, and the replica that sent the write has not recorded its outcome. */
const LEASE_ENDED = { code: 'outcome-unknown', status: 502 } as const;

/** The response to a write that failed, now (`replayed` false) or earlier (docs/api.md, section 3). */
export function problemFor(record: LedgerRecord, replayed = true, cause?: unknown): ProblemException {
  const { answer } = record.details;
  const location = locationOf(record) ?? answer?.location;
  if (record.state === 'sending')
    return new ProblemException('request-in-progress', { retryAfter: 1, location });
  const body = (answer?.body ?? LEASE_ENDED) as ProblemBody;
  const { code, status, detail, outcome, retryable, upstream, upstreamCode, errors, resetsAt } = body;
  return new ProblemException(code, {
    status,
    detail: detail ?? (record.details.order && code === 'outcome-unknown' ? IN_DOUBT : undefined),
    outcome,
    retryable,
    upstream,
    upstreamCode,
    errors,
    ...(resetsAt !== undefined && { resetsAt }),
    location,
    replayed,
    cause,
  });
}
