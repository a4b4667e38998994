import { randomInt } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type ImportReport, runImportChaos } from './run.ts';
import { variants } from './variants.ts';

/*
 * Needs the build (`nest build`). The full form is `npm run chaos:imports`. A seed that was printed goes into CHAOS_SEED to replay the plan.
 */
const seed = Number(process.env['CHAOS_SEED'] ?? randomInt(2 ** 31));
const say = (text: string) => process.stderr.write(`${text}\n`);

function figures({ seconds, rows, states, kills, redisKills, spoiled }: ImportReport): string {
  return `${rows} rows in ${seconds.toFixed(1)} s, ${kills} kills, Redis killed ${redisKills} times, ${spoiled} calls spoiled, ${JSON.stringify(states)}`;
}

describe('Imports while gateways and the store are killed, and the platform fails', () => {
  it('J5 add no member twice, and every row has a true result', async () => {
    const size = { imports: 4, rows: 800, processes: 3, kills: 5, redisKills: 2 };
    const report = await runImportChaos({ ...size, seed, faults: true });
    say(`imports, seed ${seed}: ${figures(report)}`);
    expect(report.violations).toEqual([]);
    expect(report.spoiled).toBeGreaterThan(0);
  }, 300_000);
});

describe('The chaos run of imports finds a broken gateway', () => {
  it.each(Object.keys(variants))(
    'J5 %s',
    async (variant) => {
      const size = { imports: 2, rows: 2_000, processes: 2, kills: 3, redisKills: 0 };
      const report = await runImportChaos({ ...size, seed, faults: true, variant });
      say(
        `${variant.padEnd(34)} ${report.seconds.toFixed(1).padStart(5)} s  ${report.violations[0] ?? 'NOT FOUND'}`,
      );
      expect(report.violations).not.toEqual([]);
    },
    300_000,
  );
});
