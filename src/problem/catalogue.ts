import { enumeration, type WordOf } from '../shared/enumeration.ts';
import all from './problems.json' with { type: 'json' };

/** The knowledge about the effect on the platform: there was provably none, there was one, or it is not known. */
export const outcomes = enumeration(
  'Outcome',
  ['not_processed', 'processed', 'unknown'],
  'What is known about the effect on the platform: provably none, there was one, or it is not known',
);
export type Outcome = WordOf<typeof outcomes>;

interface ProblemDefinition {
  /** HTTP statuses of the problem. The first is the usual one. */
  readonly statuses: readonly [number, ...number[]];
  readonly title: string;
  /** The usual outcome. A single occurrence may have another one if `outcomeVaries` is set. */
  readonly outcome: Outcome;
  readonly outcomeVaries?: true;
  /** True if the same request may be sent again unchanged. */
  readonly retryable: boolean;
  /** When the problem is sent, and what the caller can do. */
  readonly meaning: string;
  readonly remedy: string;
}

export type ProblemSlug = keyof typeof all;

/**
 * Every problem that this gateway can send, as data. The filter, the OpenAPI document, the `/problems` pages and the documentation are made
 * from it, so that all of them agree.
 */
// TypeScript reads the words of a JSON file as any text, and its lists as lists that may be empty. A test checks both.
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
