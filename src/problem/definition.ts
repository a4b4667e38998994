import { enumeration, type WordOf } from '../shared/enumeration.ts';

/** What is known about the effect on the platform: provably none, there was one, or it is not known. */
export const outcomes = enumeration(
  'Outcome',
  ['not_processed', 'processed', 'unknown'],
  'What is known about the effect on the platform: provably none, there was one, or it is not known',
);
export type Outcome = WordOf<typeof outcomes>;

export interface ProblemDefinition {
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

/** The usual case: a refusal that changed nothing. The same request would be refused again. */
export const defaultOutcome = { outcome: 'not_processed', retryable: false } as const;
