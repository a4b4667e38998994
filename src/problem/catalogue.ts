import { enumeration } from '../shared/enumeration.ts';
import type { ProblemDefinition } from './definition.ts';
import { gatewayProblems } from './gateway-problems.ts';
import { upstreamProblems } from './upstream-problems.ts';

/**
 * Every problem that this gateway can send, as data. The filter, the OpenAPI document, the `/problems` pages and the documentation
 * are made from it, so that they all say the same.
 */
export const problems = { ...gatewayProblems, ...upstreamProblems };

export type ProblemSlug = keyof typeof problems;

export const problemSlugs = Object.keys(problems) as ProblemSlug[];
export const problemCodes = enumeration(
  'ProblemCode',
  problemSlugs,
  'Codes of problems; each has a page, `/problems/{code}`',
);

export function problemDefinition(slug: ProblemSlug): ProblemDefinition {
  return problems[slug];
}

/** RFC 9457 `type`: a relative reference to a page of this gateway. */
export function problemType(slug: ProblemSlug): string {
  return `/problems/${slug}`;
}
