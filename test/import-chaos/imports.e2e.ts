import { randomInt } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { figuresOf, runImportChaos } from './run.ts';

/*
 * Needs the build (`nest build`). The full form and the broken variants are `npm run chaos:imports`. A seed that was printed goes into
 * CHAOS_SEED to replay the plan.
 */
const seed = Number(process.env['CHAOS_SEED'] ?? randomInt(2 ** 31));

it('J5 imports add no member twice and give every row a true result while gateways and the store are killed', async () => {
  const size = { imports: 4, rows: 500, processes: 3, kills: 4, redisKills: 2 };
  const report = await runImportChaos({ ...size, seed });
  process.stderr.write(`imports, seed ${seed}: ${figuresOf(report)}\n`);
  expect(report.violations).toEqual([]);
  expect(report.spoiled).toBeGreaterThan(0);
}, 600_000);
