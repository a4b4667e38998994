import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { linesOf } from './run.ts';
import { playScene, type SceneName } from './scenes.ts';
import type { OrderStore } from './servers.ts';
import { Site } from './site.ts';

/*
 * Orders while their store fails, in each form of GUARD_REDIS_URL: real servers with TLS and users. Needs the build (`nest build`) and
 * gcc. The whole form is `npm run topology`.
 */

const ORDERS = 15;
/** Rows of the fault catalogue. */
const rows: readonly (readonly [
  kind: OrderStore['kind'],
  ...(readonly (readonly [id: string, scene: SceneName])[]),
])[] = [
  [
    'sentinel',
    ['N1', 'master killed'],
    ['N2', 'masters switched'],
    ['N5', 'split brain'],
    ['N6', 'replicas cut off'],
    ['N3', 'power cut'],
    ['R12', 'settings changed'],
  ],
  ['cluster', ['N1', 'master killed'], ['N2', 'masters switched'], ['N5', 'split brain']],
  ['single', ['N4', 'clock steps'], ['R21', 'log cut'], ['R21', 'backup restored']],
];

describe.each(rows.map(([kind, ...scenes]) => ({ kind, scenes })))('On $kind', ({ kind, scenes }) => {
  let site: Site;
  beforeAll(async () => {
    site = await Site.open(kind);
  }, 300_000);
  afterAll(() => site.close());

  it.each(scenes)(
    '%s %s: no order is placed twice, and no response is false',
    async (_, scene) => {
      const played = await playScene(site, scene, { orders: ORDERS });
      process.stderr.write(`${linesOf(kind, played)}\n`);
      expect(played.violations).toEqual([]);
      expect(played.faults).toEqual([]);
      expect(played.orders).toBeGreaterThanOrEqual(ORDERS);
    },
    400_000,
  );
});
