import type { UpstreamOperation } from '../operations.ts';
import { TokenFailure } from '../../token/token-failure.ts';
import { ForeignTenant } from '../own-tenants.ts';
import { UpstreamFailure } from '../upstream-failure.ts';
import type { Outcome, ProblemSlug } from '../../problem/catalogue.ts';
import { ProblemException, type RequestFault } from '../../problem/problem.exception.ts';
import { hasField, inOurWords } from './wire-names.ts';
import { meaningOf } from './upstream-codes.ts';

/** Converts a failure of a call to the platform to the problem for the caller; returns other errors unchanged. */
export function asProblem(error: unknown): unknown {
  if (error instanceof UpstreamFailure) return problemOf(error);
  if (error instanceof ForeignTenant) return new ProblemException('forbidden', { cause: error });
  if (error instanceof TokenFailure) {
    return error.kind === 'rejected'
      ? new ProblemException('upstream-credential-rejected', { cause: error })
      : new ProblemException('dependency-unavailable', {
          detail: NO_TOKEN,
          retryAfter: error.retryAfter ?? 1,
          cause: error,
        });
  }
  return error;
}

/** Returns the problem of a failed call. Throws a failure of the gateway itself. */
export function problemFrom(error: unknown): ProblemException {
  const known = asProblem(error);
  if (known instanceof ProblemException) return known;
  throw error;
}

const NO_TOKEN =
  'The token endpoint of the platform gives the gateway no access token. Nothing was sent to the platform.';

const INCOMPLETE =
  'The order was placed, but the answer of the platform does not name one licence order for each of its items. Do not send it again, also not under another number.';

const placedBefore = (code: string | undefined) =>
  `The platform says that an order with this number was placed before (its code ${code}). That may be this order or another one, so whether this order was placed is not known. ` +
  'Do not send it under another number: the record at `Location` says what became of it.';

const UNASKED =
  'The platform has an object with an id that cannot be in a path, so it cannot be asked about the object. Nothing was sent.';

const DELAYED = 'The gateway was too busy to send the order in time, twice, so it did not send it.';

function problemOf(failure: UpstreamFailure): ProblemException {
  const { operation, kind, sent, details } = failure;
  const write = operation.effect !== 'read';
  const openOutcome: Outcome = write ? 'unknown' : 'not_processed';
  switch (kind) {
    case 'refused':
      return refusal(failure);
    case 'unauthorized':
      return write ? unknown(failure, 502) : problem('upstream-credential-rejected', failure);
    case 'delayed':
      return problem('upstream-unavailable', failure, { detail: DELAYED, retryAfter: 1 });
    case 'unreachable':
    case 'circuit-open':
    case 'abandoned':
      return problem('upstream-unavailable', failure, { retryAfter: details.retryAfter ?? 1 });
    case 'connect-timeout':
      return write
        ? problem('upstream-unavailable', failure, { retryAfter: 1 })
        : problem('upstream-timeout', failure);
    case 'timeout':
      if (!write) return problem('upstream-timeout', failure);
      // Nothing was written to a connection, because the wait for a connection used up all the time.
      return sent ? unknown(failure, 504) : problem('upstream-unavailable', failure, { retryAfter: 1 });
    case 'unavailable':
      if (write) return unknown(failure, 502);
      if (details.status === 504) return problem('upstream-timeout', failure);
      return problem('upstream-unavailable', failure, { retryAfter: details.retryAfter ?? 1 });
    case 'lost':
      return write ? unknown(failure, 502) : problem('upstream-unavailable', failure, { retryAfter: 1 });
    case 'unreadable':
      return write ? unknown(failure, 502) : problem('upstream-contract-violation', failure);
    case 'nonconforming':
      // Nothing is sent about an object whose id cannot be in a path.
      return sent
        ? problem('upstream-contract-violation', failure, { outcome: openOutcome })
        : problem('upstream-contract-violation', failure, { detail: UNASKED });
    case 'incomplete':
      return problem('outcome-unknown', failure, { status: 502, outcome: 'processed', detail: INCOMPLETE });
  }
}

function refusal(failure: UpstreamFailure): ProblemException {
  const { operation, details } = failure;
  const write = operation.effect !== 'read';
  const outcome = write ? 'unknown' : 'not_processed';
  const known = meaningOf(operation, details);
  if (known && details.taught) return taughtProblem(known.slug, failure);
  if (!known) return problem('upstream-unmapped-error', failure, { outcome });
  // The platform's own text says "retry". A retry of a write would place orders twice.
  if (known.transient) return write ? unknown(failure, 502) : problem(known.slug, failure, { retryAfter: 1 });
  if (known.refuses === 'userToken' && details.actingAs === 'session')
    return problem('session-expired', failure);
  if (known.refuses) return problem(known.slug, failure, known.refuses === 'nonce' ? { outcome } : {});
  if (known.slug === 'outcome-unknown')
    return problem(known.slug, failure, { status: 502, retryable: false });
  const spoken = known.speaks && details.message ? inOurWords(operation, details.message) : undefined;
  const pointer = known.field && pointerTo(known.field, operation);
  const pointers = pointer ? [pointer] : (spoken?.pointers ?? []);
  const detail = spoken?.text ?? 'is refused by the platform';
  return problem(known.slug, failure, {
    detail: spoken?.text,
    errors: pointers.length > 0 ? pointers.map((at) => faultAt(at, operation, detail)) : undefined,
  });
}

/**
 * Returns the problem of a taught code. The words that accompany such a code may be about anything, so only the code reaches the caller.
 */
function taughtProblem(slug: ProblemSlug, failure: UpstreamFailure): ProblemException {
  const { code } = failure.details;
  switch (failure.details.taught) {
    case 'placed-before':
      return problem(slug, failure, { status: 502, detail: placedBefore(code) });
    case 'busy':
      return problem(slug, failure, {
        detail: `The platform is too busy (its code ${code}), and did nothing.`,
        retryAfter: 1,
      });
    case 'refused':
      return problem(slug, failure, { detail: `The platform refused it with its code ${code}.` });
    default:
      return problem(slug, failure);
  }
}

/** Returns a fault of the request. The platform has some ids in its body that callers have in the path. */
function faultAt(pointer: string, { name, method, path }: UpstreamOperation, detail: string): RequestFault {
  const field = pointer.slice(1);
  const isInPath = path.includes(`{${field}}`) || (name === 'updateCustomer' && field === 'crmCustomerId');
  return isInPath || method === 'GET' ? { parameter: field, detail } : { pointer, detail };
}

/**
 * Returns the pointer to a list, because the platform does not say which row of a list it means. Undefined if the request has no such field:
 * a platform may send a code of another operation.
 */
function pointerTo(field: string, operation: UpstreamOperation): string | undefined {
  if (operation.name === 'addMembers') return '/members';
  return hasField(operation, field) ? `/${field}` : undefined;
}

function unknown(failure: UpstreamFailure, status: 502 | 504): ProblemException {
  return problem('outcome-unknown', failure, {
    status,
    retryable: failure.operation.effect === 'repeatable',
  });
}

function problem(
  slug: ProblemSlug,
  failure: UpstreamFailure,
  details: Omit<
    ConstructorParameters<typeof ProblemException>[1] & object,
    'upstream' | 'upstreamCode' | 'cause'
  > = {},
): ProblemException {
  const { code, status, taught } = failure.details;
  const upstream = status === undefined ? undefined : { operation: failure.operation.name, code, status };
  const upstreamCode = taught && meaningOf(failure.operation, failure.details) ? code : undefined;
  return new ProblemException(slug, { upstream, upstreamCode, cause: failure, ...details });
}
