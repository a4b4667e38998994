import type { ProblemException } from '../problem/problem.exception.ts';
import { problemFrom } from './problems/as-problem.ts';

/** What a dry run reads for its effects; undefined where the platform does not show it. A problem that `isThrown` is thrown instead. */
export async function ifShown<T>(
  read: () => Promise<T>,
  isThrown: (problem: ProblemException) => boolean = () => false,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isThrown(problemFrom(error))) throw error;
    return undefined;
  }
}

/** The platform, the database or an operator may let the same request through later. */
export function mayEnd({ body: { status } }: ProblemException): boolean {
  return status >= 500 || status === 429;
}

/** True if the platform cannot be asked now. An answer that cannot be read may stay so. */
export function isAway(problem: ProblemException): boolean {
  return mayEnd(problem) && problem.slug !== 'upstream-contract-violation';
}
