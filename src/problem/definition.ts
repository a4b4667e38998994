import { enumeration, type WordOf } from '../shared/enumeration.ts';

/** What is known about the effect upstream: provably none, there was one, or it is not known. */
export const outcomes = enumeration('Outcome', ['not_processed', 'processed', 'unknown']);
export type Outcome = WordOf<typeof outcomes>;

export interface ProblemDefinition {
  /** HTTP statuses it is sent with; the first is the usual one. */
  readonly statuses: readonly [number, ...number[]];
  readonly title: string;
  /** The usual outcome; a single problem may carry another one where `outcomeVaries`. */
  readonly outcome: Outcome;
  readonly outcomeVaries?: true;
  /** Whether the same request may be sent again as it is. */
  readonly retryable: boolean;
  /** When it is sent, and what the caller can do. */
  readonly meaning: string;
  readonly remedy: string;
}

/** The usual case: a refusal that changed nothing and would be given again. */
export const defaultOutcome = { outcome: 'not_processed', retryable: false } as const;
