import type { Log } from '../observability/log.ts';
import { problemDefinition } from '../problem/catalogue.ts';
import { logFields } from '../problem/log-fields.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';

/** How one of several calls upstream ended. */
export type Settled<T> = { readonly value: T } | { readonly problem: ProblemException };

/** Waits for a call whose failure must not take others with it; a fault of our own still does. */
export async function settle<T>(call: Promise<T>): Promise<Settled<T>> {
  try {
    return { value: await call };
  } catch (error) {
    const problem = asProblem(error);
    if (problem instanceof ProblemException) return { problem };
    throw error;
  }
}

export function describe({ slug, body }: ProblemException): string {
  return body.detail ?? problemDefinition(slug).title;
}

/** A failure that the caller's answer mentions only in part has no other place for its cause. */
export function logPartial(log: Log, requestId: string, part: string, problem: ProblemException): void {
  log.warn(
    { event: 'partial-failure', requestId, part, ...logFields(problem) },
    'A part of a request failed upstream',
  );
}
