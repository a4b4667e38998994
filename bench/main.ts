import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { ratio, spread } from './figures.ts';
import type { Extent } from './extent.ts';
import { WrongAnswer } from './generator.ts';
import { judge, type Result, values } from './lines.ts';
import type { Metric } from './measure.ts';
import { capacityTable, linesTable, scenarioTable } from './report.ts';
import { hasNginx } from './nginx.ts';
import { besideBefore, named } from './scenarios.ts';
import { Stage } from './stage.ts';
import { builtTree } from './tree.ts';

/**
 * Compares the gateway with its peers in one run. `--only <words of a name>` selects scenarios. `--rounds`, `--seconds`, `--warmup` and
 * `--processes` set their extent. `--json <file>` names the file of the figures; with `--only`, the file keeps its other scenarios.
 * `--short` plays everything once and briefly: it finds wrong responses and judges no time. Exits with 1 for a wrong response, not for a
 * missed line.
 *
 * `--against <commit>` builds that commit and compares this gateway with it instead, in turns. `--limit` is the highest cost of a scenario
 * in relation to it, and a missed line is an exit with 1. `--node-options` applies to this commit's gateway alone.
 */

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    warmup: { type: 'string' },
    processes: { type: 'string' },
    against: { type: 'string' },
    limit: { type: 'string', default: '1.1' },
    'node-options': { type: 'string', default: '' },
    short: { type: 'boolean', default: false },
    json: { type: 'string', default: 'bench/results.json' },
  },
});
const usual: Extent = options.short
  ? { rounds: 1, seconds: 0.15, warmup: 0, processes: 1, maxConnections: 8 }
  : { rounds: 9, seconds: 0.9, warmup: 20, processes: 3, maxConnections: Infinity };
const given = (['rounds', 'seconds', 'warmup', 'processes'] as const).flatMap((name) =>
  options[name] === undefined ? [] : [[name, Number(options[name])] as const],
);
const extent: Extent = { ...usual, ...Object.fromEntries(given) };
const isAgainst = options.against !== undefined;
const chosen = named(options.only).flatMap((scenario) =>
  isAgainst ? (besideBefore(scenario, Number(options.limit)) ?? []) : [scenario],
);
const before = options.against === undefined ? undefined : await builtTree(options.against);

const machine = { cpu: cpus()[0]?.model ?? '', cores: availableParallelism(), node: process.version };
const began = performance.now();
const results: Result[] = [];
const stage = await Stage.open(before, options['node-options']);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stage.close().finally(() => process.exit(130)));
try {
  for (const [index, scenario] of chosen.entries()) {
    const place = `[${index + 1}/${chosen.length}] ${scenario.name}`;
    const result = await stage.play(scenario, extent, (what) => progress(`${place}: ${what}`));
    progress('');
    results.push(result);
    process.stdout.write(scenarioTable(result));
    writeFigures();
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
process.stdout.write(linesTable(judged, !options.short) + (isAgainst ? '' : capacityTable(results)));
if (!hasNginx && !isAgainst)
  process.stdout.write(
    '\nnginx + njs is not compared: install `nginx` and `libnginx-mod-http-js` (Debian).\n',
  );
const took = ((performance.now() - began) / 1_000).toFixed(0);
process.stdout.write(
  `\n${machine.cpu}, ${machine.cores} cores, Node ${machine.node}; ${extent.rounds} rounds of ${extent.seconds} s, medians (least–most); ${took} s in all\n` +
    `${options.json}\n`,
);
if (isAgainst && !options.short && judged.some(({ verdict }) => verdict === 'missed')) process.exitCode = 1;

interface Figures {
  readonly scenarios: readonly { readonly name: string }[];
  readonly lines: readonly { readonly scenario: string }[];
}

/** Returns the earlier figures in the file that were measured on this machine in the same rounds, so that scenarios can run one by one. */
function earlier(measuredBy: object): Figures {
  if (options.only === '' || !existsSync(options.json)) return { scenarios: [], lines: [] };
  const figures = JSON.parse(readFileSync(options.json, 'utf8')) as Figures;
  return isDeepStrictEqual({ ...figures, ...measuredBy }, figures) ? figures : { scenarios: [], lines: [] };
}

/** Writes the figures after each scenario, so that a run that is ended early keeps its measurements. */
function writeFigures(): void {
  const { rounds, seconds } = extent;
  const measuredBy = { machine, rounds, seconds };
  const kept = earlier(measuredBy);
  const isOther = (name: string) => results.every(({ scenario }) => scenario.name !== name);
  const order = named('').map(({ name }) => name);
  const inOrder = <T>(all: readonly T[], nameOf: (each: T) => string) =>
    all.toSorted((one, other) => order.indexOf(nameOf(one)) - order.indexOf(nameOf(other)));
  const scenarios = [...kept.scenarios.filter(({ name }) => isOther(name)), ...results.map(summary)];
  const lines = [...kept.lines.filter(({ scenario }) => isOther(scenario)), ...results.flatMap(judge)];
  const figures = {
    ...measuredBy,
    scenarios: inOrder(scenarios, ({ name }) => name),
    lines: inOrder(lines, ({ scenario }) => scenario),
  };
  writeFileSync(options.json, `${JSON.stringify(figures, undefined, 2)}\n`);
}

function summary({ scenario: { name, metric }, runs }: Result): { name: string; runs: object[] } {
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

/** Prints one line that is overwritten, on a terminal. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
