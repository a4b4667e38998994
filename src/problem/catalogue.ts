import type { ProblemDefinition } from './definition.ts';
import { gatewayProblems } from './gateway-problems.ts';
import { upstreamProblems } from './upstream-problems.ts';

/**
 * Every problem this gateway can answer with, as data. The filter, the OpenAPI document, the `/problems` pages and the
 * documentation are made from it, so that none of them can say something else than the others.
 */
export const problems = { ...gatewayProblems, ...upstreamProblems };

export type ProblemSlug = keyof typeof problems;

export const problemSlugs = Object.keys(problems) as ProblemSlug[];

export function problemDefinition(slug: ProblemSlug): ProblemDefinition {
  return problems[slug];
}

/** RFC 9457 `type`: a relative reference that this gateway itself resolves. */
export function problemType(slug: ProblemSlug): string {
  return `/problems/${slug}`;
}
