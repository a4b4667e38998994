import { OrderLedgerUnavailable } from '../../order-ledger/order-ledger-store.ts';
import { TokenFailure } from '../../token/token-failure.ts';
import { ForeignTenant } from '../tenancy.ts';
import { UpstreamFailure } from '../upstream-failure.ts';
import { ProblemException } from '../../problem/problem.exception.ts';
import { problemOf } from './upstream-failure.problem.ts';

/** The problem that a failure on the way to upstream is to a caller; anything else as it is. */
export function asProblem(error: unknown): unknown {
  if (error instanceof UpstreamFailure) return problemOf(error);
  if (error instanceof ForeignTenant) return new ProblemException('forbidden', { cause: error });
  if (error instanceof TokenFailure) {
    return error.kind === 'rejected'
      ? new ProblemException('upstream-credential-rejected', { cause: error })
      : new ProblemException('dependency-unavailable', { retryAfter: error.retryAfter ?? 1, cause: error });
  }
  if (error instanceof OrderLedgerUnavailable)
    return new ProblemException('dependency-unavailable', { retryAfter: 1, cause: error });
  return error;
}

export function asThrownProblem(error: unknown): never {
  throw asProblem(error);
}
