import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { ratio, spread } from './figures.ts';
import { WrongAnswer } from './generator.ts';
import { judge, type Result, values } from './lines.ts';
import type { Metric } from './measure.ts';
import { capacityTable, linesTable, scenarioTable } from './report.ts';
import { hasNginx } from './nginx.ts';
import { named } from './scenarios.ts';
import { type Extent, Stage } from './stage.ts';

/**
 * Compares the gateway with its peers in one run. `--only <words of a name>` selects scenarios, `--rounds` and `--seconds` set their
 * extent, `--json <file>` names the file of the figures. `--short` plays everything once and briefly: it finds wrong responses and judges
 * no time. Exits with 1 for a wrong response, not for a missed line.
 */

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    short: { type: 'boolean', default: false },
    json: { type: 'string', default: 'bench/results.json' },
  },
});
const usual: Extent = options.short
  ? { rounds: 1, seconds: 0.15, warmup: 0, maxConnections: 8 }
  : { rounds: 5, seconds: 0.9, warmup: 2, maxConnections: Infinity };
const extent: Extent = {
  ...usual,
  ...(options.rounds !== undefined && { rounds: Number(options.rounds) }),
  ...(options.seconds !== undefined && { seconds: Number(options.seconds) }),
};
const chosen = named(options.only);

const began = performance.now();
const results: Result[] = [];
const stage = await Stage.open();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stage.close().finally(() => process.exit(130)));
try {
  for (const [index, scenario] of chosen.entries()) {
    const place = `[${index + 1}/${chosen.length}] ${scenario.name}`;
    const result = await stage.play(scenario, extent, (what) => progress(`${place}: ${what}`));
    progress('');
    results.push(result);
    process.stdout.write(scenarioTable(result));
  }
} catch (error) {
  if (!(error instanceof WrongAnswer)) throw error;
  progress('');
  process.stderr.write(`\n${error.message}\n`);
  await stage.close();
  process.exit(1);
} finally {
  progress('');
  await stage.close();
}

const judged = results.flatMap(judge);
process.stdout.write(linesTable(judged, !options.short) + capacityTable(results));
if (!hasNginx)
  process.stdout.write(
    '\nnginx + njs is not compared: install `nginx` and `libnginx-mod-http-js` (Debian).\n',
  );
const machine = { cpu: cpus()[0]?.model ?? '', cores: availableParallelism(), node: process.version };
writeFileSync(
  options.json,
  `${JSON.stringify({ machine, rounds: extent.rounds, seconds: extent.seconds, scenarios: results.map(summary), lines: judged }, undefined, 2)}\n`,
);
const seconds = ((performance.now() - began) / 1_000).toFixed(0);
process.stdout.write(
  `\n${machine.cpu}, ${machine.cores} cores, Node ${machine.node}; ${extent.rounds} rounds of ${extent.seconds} s, medians (least–most); ${seconds} s in all\n` +
    `${options.json}\n`,
);

function summary({ scenario: { name, metric }, runs }: Result): object {
  return {
    name,
    runs: runs.map(({ label, rounds }) => ({
      label,
      timesFirst: ratio(values(rounds, metric), values(runs[0]?.rounds ?? [], metric)),
      ...Object.fromEntries(
        (Object.keys(rounds[0] ?? {}) as Metric[]).map((each) => [each, spread(values(rounds, each))]),
      ),
    })),
  };
}

/** One line that is overwritten, on a terminal. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
