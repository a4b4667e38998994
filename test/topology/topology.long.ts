import { expect, it } from '@jest/globals';
import { linesOf, runScenes } from './run.ts';
import { scenesOn } from './scenes.ts';

/* Every scene on every kind of order store. */

it.each(['sentinel', 'cluster', 'single'] as const)(
  'Each failure of a %s leaves orders true',
  async (kind) => {
    const played = await runScenes(kind, scenesOn(kind), {
      orders: 40,
      onPlayed: (one) => process.stderr.write(`${linesOf(kind, one)}\n`),
    });
    expect(played.filter(({ faults }) => faults.length > 0).map((one) => linesOf(kind, one))).toEqual([]);
  },
);
