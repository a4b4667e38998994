import { ratio, spread } from './figures.ts';
import { type Judged, type Result, values } from './lines.ts';
import type { Metric } from './measure.ts';

/** The figures as text: a table for each scenario, then the lines. */

const FORMS: readonly (readonly [metric: Metric, heading: string, form: (value: number) => string])[] = [
  ['cpuMicros', 'CPU µs', (value) => value.toFixed(value < 1_000 ? 1 : 0)],
  ['serverMicros', 'servers µs', (value) => (Number.isNaN(value) ? '' : value.toFixed(1))],
  ['perSecond', 'requests/s', (value) => value.toFixed(0)],
  ['p50Ms', 'p50 ms', (value) => value.toFixed(2)],
  ['p99Ms', 'p99 ms', (value) => value.toFixed(2)],
  ['megabytes', 'MB', (value) => value.toFixed(0)],
  ['startMs', 'start ms', (value) => value.toFixed(0)],
  ['refused', 'refused', (value) => `${(value * 100).toFixed(1)} %`],
];

export function scenarioTable({ scenario: { name, note, metric: main }, runs }: Result): string {
  const has = FORMS.filter(([metric]) =>
    runs.some(({ rounds }) => values(rounds, metric).some((value) => value > 0)),
  );
  // The compared runs come first.
  const shown = [...has.filter(([metric]) => metric === main), ...has.filter(([metric]) => metric !== main)];
  const rows = runs.map(({ label, rounds }) => {
    const { median, min, max } = ratio(values(rounds, main), values(runs[0]?.rounds ?? [], main));
    const beside = `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;
    return [label, beside, ...shown.map(([metric, , form]) => form(spread(values(rounds, metric)).median))];
  });
  const head = ['', `× ${runs[0]?.label}`, ...shown.map(([, heading]) => heading)];
  return `\n${name}${note === undefined ? '' : ` (${note})`}\n${table([head, ...rows])}`;
}

export function linesTable(judged: readonly Judged[], isJudged: boolean): string {
  const rows = judged.map(({ scenario, what, limit, measured, rounds, verdict }) => [
    scenario,
    what,
    limit,
    measured.toFixed(2),
    isJudged ? verdict : '',
    isJudged ? rounds : '',
  ]);
  return `\n${table([['line', 'what', 'limit', 'here', '', 'rounds'], ...rows], 2)}`;
}

const WANTED_PER_SECOND = 10_000;
/** The load of a core above which callers wait. */
const BUSY = 0.6;

/** Returns a table of the cores that this many requests a second need, by the measured costs. */
export function capacityTable(results: readonly Result[]): string {
  const cores = (micros: number) => ((micros * WANTED_PER_SECOND) / 1e6 / BUSY).toFixed(1);
  const rows = results.flatMap(({ scenario: { name }, runs }) => {
    const rounds =
      runs[0]?.label === 'bare' ? runs.find(({ label }) => label === 'gateway')?.rounds : undefined;
    if (!rounds) return [];
    const [own, servers] = [
      spread(values(rounds, 'cpuMicros')).median,
      spread(values(rounds, 'serverMicros')).median,
    ];
    return [[name, (1e6 / own).toFixed(0), cores(own), cores(servers)]];
  });
  const head = ['for 10,000 requests/s, cores 60 % busy', 'requests/s a core', 'cores', 'of servers'];
  return rows.length === 0 ? '' : `\n${table([head, ...rows])}`;
}

/** Returns a table. The first columns are words, the others figures. */
function table(rows: readonly (readonly string[])[], words = 1): string {
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length))) ?? [];
  const cell = (text: string, column: number) =>
    column < words ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
  return rows.map((row) => `  ${row.map(cell).join('  ').trimEnd()}\n`).join('');
}
