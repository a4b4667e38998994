import type { Sizes, Story } from '../chaos/engine.ts';
import { runCases } from './cases.ts';
import { leak } from './leak.ts';
import { FuzzStage } from './stage.ts';

interface FuzzSizes extends Sizes {
  readonly cases: number;
  /** The number of rounds of the search for leaks. */
  readonly rounds: number;
}

/** Requests that are made from the document, and what a gateway keeps of requests of every kind. */
export const fuzz: Story<FuzzStage, FuzzSizes> = {
  command: 'npm run fuzz',
  sizes: { cases: 20_000, rounds: 100 },
  set: () => FuzzStage.set(),
  acts: { requests: runCases, leak },
  variants: {},
};
