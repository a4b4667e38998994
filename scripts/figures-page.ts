/**
 * Makes the page of the figures of the last run of the bench, from the file that `npm run bench -- --json docs/bench.json` writes, and from
 * those of `npm run bench -- --against <commit>`.
 */

interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

type Run = { readonly label: string; readonly timesFirst: Spread } & Readonly<
  Partial<Record<Metric, Spread>>
>;

interface Bench {
  readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string };
  readonly rounds: number;
  readonly seconds: number;
  readonly scenarios: readonly {
    readonly name: string;
    readonly metric?: Metric;
    readonly runs: readonly Run[];
  }[];
  readonly lines: readonly {
    readonly scenario: string;
    readonly what: string;
    readonly limit: string;
    readonly measured: number;
    readonly rounds?: string;
    readonly verdict: string;
  }[];
}

const METRICS = {
  cpuMicros: ['CPU, µs', 1],
  serverMicros: ['CPU of its servers, µs', 1],
  p50Ms: ['p50, ms', 2],
  p99Ms: ['p99, ms', 2],
  megabytes: ['MB', 0],
  startMs: ['start, ms', 0],
} as const;
type Metric = keyof typeof METRICS;

/** The contenders of the bench, which the lines compare with the gateway. The table of scenarios leaves them out. */
const PEER = /^(?:floor|naive Nest)/;

/** The load of the cores in the table of capacity. A higher one makes callers wait. */
const BUSY = 0.6;
const PER_SECOND = 10_000;

/** `against` has the files of the comparisons with earlier commits, by commit. */
export function figuresPage(json: string, against: Readonly<Record<string, string>>): string {
  const { machine, rounds, seconds, scenarios, lines } = JSON.parse(json) as Bench;
  const isStart = ({ runs }: Bench['scenarios'][number]) => runs.some(({ startMs }) => startMs);
  const own = scenarios.map((scenario) => ({
    ...scenario,
    runs: scenario.runs.filter(({ label }, index) => index === 0 || !PEER.test(label)),
  }));
  return `# Figures

The last run of each scenario, on ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}: medians (least–most) of ${rounds} rounds of
${seconds} s. Measure on your machine with \`npm run bench\`. [Performance](performance.md) explains the lines and the contenders,
and how to make this page; [scaling](scaling.md) explains the capacity.

## Lines

${table([['scenario', 'what', 'line', 'here', 'rounds', ''], ...withoutRepeats(lines.map(({ scenario, what, limit, measured, rounds: met = '', verdict }) => [scenario, what, limit, measured.toFixed(2), met.replace(' of ', '/'), verdict]))])}
${besideCommits(against)}## Capacity

${table([[`for ${PER_SECOND.toLocaleString('en')} requests/s, cores ${BUSY * 100} % busy`, 'requests/s a core', 'cores', 'of its servers'], ...scenarios.flatMap(capacity)])}
## Scenarios

"× first row" divides the value that the scenario is about (CPU time, p99, memory or start) by that of its first row. The servers
are PostgreSQL and Redis. \`npm run bench\` prints the other contenders too, which \`docs/bench.json\` has.

${scenariosTable(own.filter((scenario) => !isStart(scenario)))}
${scenariosTable(own.filter(isStart))}`;
}

/** Returns the processor time of this commit divided by that of earlier ones, in turns in the same run. */
function besideCommits(against: Readonly<Record<string, string>>): string {
  const commits = Object.keys(against);
  const benches = Object.values(against).map((json) => JSON.parse(json) as Bench);
  const names = [...new Set(benches.flatMap(({ scenarios }) => scenarios.map(({ name }) => name)))];
  const cell = (name: string) => (bench: Bench) => {
    const run = bench.scenarios.find((scenario) => scenario.name === name)?.runs[1];
    return run ? times(run) : '';
  };
  const serversOf = (name: string) => (bench: Bench) =>
    bench.lines
      .find(({ scenario, what }) => scenario === name && what.includes('Redis'))
      ?.measured.toFixed(2) ?? '';
  const rows = names.flatMap((name) => [
    [name, ...benches.map(cell(name))],
    [`${name}: CPU of PostgreSQL and Redis`, ...benches.map(serversOf(name))],
  ]);
  const known = rows.filter(([, ...cells]) => cells.some((each) => each !== ''));
  return `## Beside earlier commits

\`npm run bench -- --against <commit> --json docs/bench-<commit>.json\`: this commit ÷ that one, in turns. Both
kept their orders in Redis, and a2deacf had no imports, events and webhooks. Its
orders are not compared, because it does not take those of the bench.

${table([['scenario', ...commits.map((commit) => `÷ ${commit}`)], ...known])}
`;
}

function times({ timesFirst: { median, min, max } }: Run): string {
  return `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;
}

/** Returns the rows of capacity for a scenario that compares the gateway with the bare relay. */
function capacity({ name, runs }: Bench['scenarios'][number]): string[][] {
  const own = runs[0]?.label === 'bare' ? runs.find(({ label }) => label === 'gateway') : undefined;
  if (!own?.cpuMicros) return [];
  const cores = (micros = 0) => ((micros * PER_SECOND) / 1e6 / BUSY).toFixed(1);
  const each = Math.round(1e6 / own.cpuMicros.median).toLocaleString('en');
  return [[name, each, cores(own.cpuMicros.median), cores(own.serverMicros?.median)]];
}

function scenariosTable(scenarios: Bench['scenarios']): string {
  const shown = (Object.keys(METRICS) as Metric[]).filter((metric) =>
    scenarios.some(({ runs }) => runs.some((run) => run[metric])),
  );
  const rows = scenarios.flatMap(({ name, runs }) =>
    runs.map((run, index) => [
      name,
      run.label,
      index === 0 ? '' : times(run),
      ...shown.map((metric) => run[metric]?.median.toFixed(METRICS[metric][1]) ?? ''),
    ]),
  );
  return table([
    ['scenario', '', '× first row', ...shown.map((metric) => METRICS[metric][0])],
    ...withoutRepeats(rows),
  ]);
}

/** Leaves the first cell empty where it repeats that of the row above. */
function withoutRepeats(rows: readonly (readonly string[])[]): string[][] {
  return rows.map(([first = '', ...rest], index) => [rows[index - 1]?.[0] === first ? '' : first, ...rest]);
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  return line(head) + line(head.map(() => '---')) + rows.map(line).join('');
}
