import { randomInt } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { runChaos } from './run.ts';

/* Needs the build (`nest build`). The full form is `npm run chaos:client`. */

it('K44 orders by the client, while the gateway is killed and started again, are placed once or in doubt', async () => {
  const seed = Number(process.env['CHAOS_SEED'] ?? randomInt(2 ** 31));
  const report = await runChaos({ orders: 120, kills: 3, seed, atOnce: 12, waitMs: 12_000 });
  process.stderr.write(`client chaos, seed ${seed}: ${JSON.stringify(report)}\n`);
  expect(report.violations).toEqual([]);
  expect(report.orders).toBe(120);
  expect(report.ends['succeeded']).toBeGreaterThan(50);
}, 300_000);
