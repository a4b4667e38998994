import { parseArgs } from 'node:util';
import { bare, type Contender, gateway, Platform } from './contenders.ts';
import { spread, type Spread } from './figures.ts';
import { type Measured, measure } from './measure.ts';
import { type Scenario, scenarios } from './scenarios.ts';

/**
 * The gateway beside its peers: `npm run bench [-- --only <words> --rounds <n> --seconds <s>]`. Everybody runs at once and is put
 * under load in turns, so that whatever else the machine does hits all of them; CPU is the process's own.
 */

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1.5' },
    warmup: { type: 'string', default: '3' },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const warmup = Number(values.warmup);

const starters: Record<string, (platform: Platform) => Promise<Contender>> = {
  bare,
  gateway: (platform) => gateway(platform),
  'gateway, embedded': (platform) => gateway(platform, 'embedded'),
};

async function play(
  scenario: Scenario,
  platform: Platform,
  contenders: Map<string, Contender>,
): Promise<Measured[][]> {
  const turn = (run: Scenario['runs'][number], time: number) => {
    const contender = contenders.get(run.contender);
    if (!contender) throw new Error(`nobody is called ${run.contender}`);
    return measure({ ...contender, contender: run.contender }, run, platform, time);
  };
  for (const run of scenario.runs) await turn(run, warmup);
  const measured: Measured[][] = scenario.runs.map(() => []);
  for (let round = 1; round <= rounds; round++) {
    progress(`${scenario.name}: round ${round} of ${rounds}`);
    for (const [index, run] of scenario.runs.entries()) measured[index]?.push(await turn(run, seconds));
  }
  progress('');
  return measured;
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

const chosen = scenarios.filter(({ name }) => name.toLowerCase().includes(values.only.toLowerCase()));
const names = new Set(chosen.flatMap(({ runs }) => runs.map(({ contender }) => contender)));
const platform = await Platform.start();
const contenders = new Map<string, Contender>();
try {
  for (const name of names)
    contenders.set(name, await (starters[name] as (typeof starters)[string])(platform));
  for (const scenario of chosen) {
    const measured = await play(scenario, platform, contenders);
    process.stdout.write(`${scenario.name}\n`);
    for (const [index, { contender }] of scenario.runs.entries()) {
      const own = measured[index] ?? [];
      const ratios = own.map(
        ({ cpuMicros }, round) => cpuMicros / (measured[0]?.[round]?.cpuMicros ?? Number.NaN),
      );
      const of = (pick: (each: Measured) => number) => spread(own.map(pick)).median;
      process.stdout.write(
        `  ${contender.padEnd(20)} ${of(({ cpuMicros }) => cpuMicros)
          .toFixed(1)
          .padStart(9)} µs CPU  × ${range(spread(ratios))}` +
          `  ${of(({ perSecond }) => perSecond)
            .toFixed(0)
            .padStart(
              6,
            )}/s  p50 ${of(({ p50 }) => p50).toFixed(2)} ms  p99 ${of(({ p99 }) => p99).toFixed(2)} ms\n`,
      );
    }
  }
} finally {
  await Promise.all([...contenders.values()].map(({ running }) => running.stop()));
  await platform.stop();
}

function range({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;
}
