import { ProblemException } from '../../problem/problem.exception.ts';
import { TokenFailure } from '../../token/token-failure.ts';
import { ForeignTenant } from '../tenancy.ts';
import { UpstreamFailure } from '../upstream-failure.ts';
import { problemOf } from './upstream-failure.problem.ts';

/** The problem that a failure on the way to the platform is to a caller; anything else as it is. */
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
