import { ProblemException } from '../../problem/problem.exception.ts';
import { TokenFailure } from '../../token/token-failure.ts';
import { ForeignTenant } from '../tenancy.ts';
import { UpstreamFailure } from '../upstream-failure.ts';
import { problemOf } from './upstream-failure.problem.ts';

/** Converts a failure of a call to the platform to the problem for the caller; returns other errors unchanged. */
export function asProblem(error: unknown): unknown {
  if (error instanceof UpstreamFailure) return problemOf(error);
  if (error instanceof ForeignTenant) return new ProblemException('forbidden', { cause: error });
  if (error instanceof TokenFailure) {
    return error.kind === 'rejected'
      ? new ProblemException('upstream-credential-rejected', { cause: error })
      : new ProblemException('dependency-unavailable', { retryAfter: error.retryAfter ?? 1, cause: error });
  }
  return error;
}

/**
 * The platform answers an enterprise that it does not know with an empty list at some reads and with a refusal at others. Callers get the
 * same for all: it has nothing. Only a refusal that names the id of the enterprise counts; every other failure stays one.
 */
export function nothingIfUnknown(error: unknown): readonly never[] {
  if (
    error instanceof UpstreamFailure &&
    error.kind === 'refused' &&
    error.operation.effect === 'read' &&
    /\benterpriseGlobalId\b/.test(error.details.message ?? '')
  )
    return [];
  throw error;
}
