import { randomInt } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { client } from './client/story.ts';
import { play, type Report } from './engine.ts';
import { imports } from './imports/story.ts';
import { orders } from './orders/story.ts';

/* The long forms of the stories, with all their acts. A seed that was printed goes into CHAOS_SEED to replay the plan. */

const seed = Number(process.env['CHAOS_SEED'] ?? randomInt(2 ** 31));
const stories: readonly (readonly [string, () => Promise<Report>])[] = [
  ['orders', () => play(orders, { ...orders.sizes, seed })],
  ['imports', () => play(imports, { ...imports.sizes, seed })],
  ['orders by the client', () => play(client, { ...client.sizes, seed })],
];

it.each(stories)('%s hold their promises over many kills', async (_, run) => {
  const { faults, text } = await run();
  process.stderr.write(`${text}\n`);
  expect(faults).toEqual([]);
});
