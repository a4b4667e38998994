import { ProblemException, type UpstreamResponse } from '../../problem/problem.exception.ts';

/** Returns the problem of something that the platform sent and the gateway cannot use, before the gateway sends a write. */
export function violation(detail?: string, upstream?: UpstreamResponse): ProblemException {
  return new ProblemException('upstream-contract-violation', { detail, upstream });
}
