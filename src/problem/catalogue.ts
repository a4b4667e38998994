import { enumeration, type WordOf } from '../shared/enumeration.ts';
import all from './problems.json' with { type: 'json' };

/** What is known about the effect on the platform: provably none, there was one, or it is not known. */
export const outcomes = enumeration(
  'Outcome',
  ['not_processed', 'processed', 'unknown'],
  'What is known about the effect on the platform: provably none, there was one, or it is not known',
);
export type Outcome = WordOf<typeof outcomes>;

interface ProblemDefinition {
  /** HTTP statuses of the problem; the first is the usual one. */
  readonly statuses: readonly [number, ...number[]];
  readonly title: string;
  /** The usual outcome. One occurrence may have another outcome where `outcomeVaries` is set. */
  readonly outcome: Outcome;
  readonly outcomeVaries?: true;
  /** Whether the same request may be sent again as it is. */
  readonly retryable: boolean;
  /** When it is sent, and what the caller can do. */
  readonly meaning: string;
  readonly remedy: string;
}

export type ProblemSlug = keyof typeof all;

/**
 * Every problem that this gateway can send, as data. The filter, the OpenAPI document, the `/problems` pages and the documentation
 * are made from it, so that they all say the same.
 */
// TypeScript takes the words of a JSON file for any text, and its lists for lists that may be empty; a test holds them.
const problems = all as unknown as Readonly<Record<ProblemSlug, ProblemDefinition>>;

export const problemSlugs = Object.keys(problems) as ProblemSlug[];
export const problemCodes = enumeration(
  'ProblemCode',
  problemSlugs,
  'Codes of problems; each has a page, `/problems/{code}`',
);

export function isProblem(word: string): word is ProblemSlug {
  return Object.hasOwn(problems, word);
}

export function problemDefinition(slug: ProblemSlug): ProblemDefinition {
  return problems[slug];
}

/** RFC 9457 `type`: a relative reference to a page of this gateway. */
export function problemType(slug: ProblemSlug): string {
  return `/problems/${slug}`;
}
