import { randomInt } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { figuresOf, type Report, runChaos } from './run.ts';
import { type VariantName, variantNames, variants } from './variants.ts';

/*
 * Needs the build (`nest build`). The full form is `npm run chaos`. A seed that was printed goes into CHAOS_SEED to replay the plan.
 */
const seed = Number(process.env['CHAOS_SEED'] ?? randomInt(2 ** 31));
const say = (text: string) => process.stderr.write(`${text}\n`);

describe('Orders while gateways and the order store are killed, and the platform fails', () => {
  let report: Report;
  beforeAll(async () => {
    const options = { orders: 2_000, submits: 3, processes: 3, kills: 8, redisKills: 3, seed };
    report = await runChaos(options);
    say(`chaos, seed ${seed}\n${figuresOf(report)}`);
  }, 600_000);

  it('S2 are carried out at most once, reported truly, and found afterwards', () => {
    expect(report.violations).toEqual([]);
    // The planned number, and the platform carried most of them out.
    expect(report.orders).toBeGreaterThanOrEqual(2_000);
    expect(report.commits).toBeGreaterThan(report.orders / 2);
    expect(report.restarts).toBeGreaterThanOrEqual(11);
  });

  it('S19 are in the trail of writes: one line for each response', () => {
    expect(report.unaudited).toEqual([]);
    expect(report.answers).toBeGreaterThan(report.orders);
  });
});

describe('The chaos run finds a broken gateway', () => {
  const runs = new Map<VariantName, PromiseWithResolvers<Report>>(
    variantNames.map((name) => [name, Promise.withResolvers<Report>()]),
  );

  // Several at once, since they mostly wait for leases and deadlines.
  beforeAll(() => {
    const left = variantNames.values();
    const lane = async () => {
      for (const variant of left)
        await runVariant(variant).then(runs.get(variant)?.resolve, runs.get(variant)?.reject);
    };
    for (const { promise } of runs.values()) promise.catch(() => undefined);
    for (let lanes = 0; lanes < 3; lanes++) void lane();
  });

  it.each(variantNames)(
    '%s',
    async (variant) => {
      const report = await runs.get(variant)?.promise;
      expect(report?.violations).not.toEqual([]);
    },
    300_000,
  );
});

async function runVariant(variant: VariantName): Promise<Report> {
  const options = { orders: 0, submits: 3, processes: 3, kills: 0, redisKills: 0, seed };
  const report = await runChaos(options, { variant, only: variants[variant].acts });
  const [first] = report.violations;
  const caught = first
    ? `${first.act}: ${first.fault}, ${first.what} (${report.violations.length})`
    : 'NOT FOUND';
  say(`${variant.padEnd(38)} ${report.seconds.toFixed(1).padStart(5)} s  ${caught}`);
  return report;
}
