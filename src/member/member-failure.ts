import type { Log } from '../observability/log.ts';
import { problemDefinition } from '../problem/catalogue.ts';
import { logFields, type ProblemException } from '../problem/problem.exception.ts';
import { problemFrom } from '../upstream/problems/as-problem.ts';

export type Settled<T> = { readonly value: T } | { readonly problem: ProblemException };

/** Waits for a call whose failure must not end the other calls. It still throws a fault of the gateway itself. */
export async function settle<T>(call: Promise<T>): Promise<Settled<T>> {
  try {
    return { value: await call };
  } catch (error) {
    return { problem: problemFrom(error) };
  }
}

export function describe({ slug, body }: ProblemException): string {
  return body.detail ?? problemDefinition(slug).title;
}

/** Logs the cause of a failure, because the response has only a part of it. */
export function logPartial(log: Log, requestId: string, part: string, problem: ProblemException): void {
  log.warn(
    { event: 'partial-failure', requestId, part, ...logFields(problem) },
    'A part of a request failed at the platform',
  );
}
