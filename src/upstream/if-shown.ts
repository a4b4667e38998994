import { ProblemException } from '../problem/problem.exception.ts';
import { asProblem } from './problems/as-problem.ts';

/** What a dry run reads for its effects; undefined where the platform does not show it. */
export async function ifShown<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (asProblem(error) instanceof ProblemException) return undefined;
    throw error;
  }
}
