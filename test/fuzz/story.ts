import type { Sizes, Story } from '../chaos/engine.ts';
import { runCases } from './cases.ts';
import { leak } from './leak.ts';
import { runSequences } from './sequences.ts';
import { FuzzStage } from './stage.ts';

interface FuzzSizes extends Sizes {
  readonly cases: number;
  readonly sequences: number;
  /** Of the search for leaks. */
  readonly rounds: number;
}

/** Requests that are made from the document, sequences of them, and what a gateway keeps of them. */
export const fuzz: Story<FuzzStage, FuzzSizes> = {
  command: 'npm run fuzz',
  sizes: { cases: 20_000, sequences: 2_000, rounds: 100 },
  set: () => FuzzStage.set(),
  acts: { requests: runCases, sequences: runSequences, leak },
  variants: {},
};
