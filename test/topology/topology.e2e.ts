import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { linesOf } from './run.ts';
import { playScene, type SceneName } from './scenes.ts';
import { Site } from './site.ts';

/* Orders while their store fails: real servers with TLS and users. All scenes, in each form of GUARD_REDIS_URL, are in the long form. */

const ORDERS = 8;
/** Rows of docs/faults.md. */
const rows: readonly (readonly [row: string, SceneName])[] = [
  ['N1', 'master killed'],
  ['N6', 'replicas cut off'],
];

let site: Site;
beforeAll(async () => {
  site = await Site.open('sentinel');
}, 300_000);
afterAll(() => site.close());

it.each(rows)(
  '%s %s, with Sentinel: no order is placed twice, and no response is false',
  async (_, scene) => {
    const played = await playScene(site, scene, { orders: ORDERS });
    process.stderr.write(`${linesOf('sentinel', played)}\n`);
    expect(played.faults).toEqual([]);
    expect(played.orders).toBeGreaterThanOrEqual(ORDERS);
  },
  400_000,
);
