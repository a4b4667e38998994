import { randomInt } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { play } from './engine.ts';
import { stories } from './stories.ts';

/* The long forms of the stories, with all their acts. A seed that was printed goes into CHAOS_SEED to replay the plan. */

const seed = Number(process.env['CHAOS_SEED'] ?? randomInt(2 ** 31));

it.each(Object.entries(stories))('%s: its promises hold in the long form', async (_, story) => {
  const { faults, text } = await play(story, { ...story.sizes, seed } as never);
  process.stderr.write(`${text}\n`);
  expect(faults).toEqual([]);
});
