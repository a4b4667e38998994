import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { linesOf } from './run.ts';
import { playScene, type SceneName } from './scenes.ts';
import { Site } from './site.ts';

/*
 * Orders while their store fails, in each form of GUARD_REDIS_URL: real servers with TLS and users. Needs the build (`nest build`) and
 * gcc. All scenes are in the long form.
 */

const ORDERS = 8;
/** Rows of the fault catalogue. */
const rows = {
  sentinel: [
    ['N1', 'master killed'],
    ['N6', 'replicas cut off'],
    ['R12', 'settings changed'],
  ],
  single: [
    ['R21', 'log cut'],
    ['R21', 'backup restored'],
  ],
} as const;

describe.each(['sentinel', 'single'] as const)('On %s', (kind) => {
  let site: Site;
  beforeAll(async () => {
    site = await Site.open(kind);
  }, 300_000);
  afterAll(() => site.close());

  it.each<readonly [string, SceneName]>(rows[kind])(
    '%s %s: no order is placed twice, and no response is false',
    async (_, scene) => {
      const played = await playScene(site, scene, { orders: ORDERS });
      process.stderr.write(`${linesOf(kind, played)}\n`);
      expect(played.faults).toEqual([]);
      expect(played.orders).toBeGreaterThanOrEqual(ORDERS);
    },
    400_000,
  );
});
