import type { WireAnswer } from './classify.ts';
import type { ContractNotes } from './wire/contract-notes.ts';

/** The bytes of a success, the result that was made of them, and how they departed from the interface. */
export interface KnownAnswer {
  readonly body: Buffer;
  readonly result: unknown;
  readonly notes: ContractNotes;
}

/**
 * Of a read that is made again and again in the same way: the platform's last answer. Where the next one has the same bytes, its result is the
 * same object, neither read nor mapped again.
 */
export interface LastAnswer {
  known?: KnownAnswer;
}

export function isKnown(known: KnownAnswer, { status, headers, body }: WireAnswer): boolean {
  return status === 200 && headers['content-encoding'] === undefined && known.body.equals(body);
}
