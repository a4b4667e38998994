import { beforeAll, describe, expect, it } from '@jest/globals';
import { playVariants, type Report, type Sizes, type Story } from './engine.ts';
import { imports } from './imports/story.ts';
import { orders } from './orders/story.ts';
import type { ChaosStage } from './stage.ts';

/* Each deliberate bug of a gateway, with the acts that find it. Needs the build. */

describe('The orders of a broken gateway', () => {
  const none = { orders: 0, kills: 0, fileKills: 0, databaseKills: 0, restarts: 0, cuts: 0, redisKills: 0 };
  findsAll(orders, { ...none, seed: 1, ofEach: 1, submits: 3, processes: 1 });
});

describe('The imports of a broken gateway', () => {
  findsAll(imports, { seed: 1, imports: 0, rows: 0, processes: 1, kills: 0, databaseKills: 0 });
});

function findsAll<S extends ChaosStage, Z extends Sizes>(story: Story<S, Z>, sizes: Z): void {
  let runs: ReadonlyMap<string, Promise<Report>>;
  beforeAll(() => void (runs = playVariants(story, sizes)));

  it.each(Object.keys(story.variants))('show %s', async (variant) => {
    const report = await runs.get(variant);
    process.stderr.write(`${report?.text}\n`);
    expect(report?.faults).not.toEqual([]);
  });
}
