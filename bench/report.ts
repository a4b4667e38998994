import { spread } from './figures.ts';
import type { Judged, Result } from './lines.ts';
import type { Metric } from './measure.ts';

/** The figures as text: a table for each scenario, then the lines. */

const FORMS: readonly (readonly [metric: Metric, heading: string, form: (value: number) => string])[] = [
  ['cpuMicros', 'CPU µs', (value) => value.toFixed(value < 1_000 ? 1 : 0)],
  ['perSecond', 'requests/s', (value) => value.toFixed(0)],
  ['p50Ms', 'p50 ms', (value) => value.toFixed(2)],
  ['p99Ms', 'p99 ms', (value) => value.toFixed(2)],
  ['megabytes', 'MB', (value) => value.toFixed(0)],
  ['startMs', 'start ms', (value) => value.toFixed(0)],
];

export function scenarioTable({ name, note, metric: main, runs }: Result): string {
  const has = FORMS.filter(([metric]) => runs[0]?.rounds[0]?.[metric] !== undefined);
  // What is compared stands first.
  const shown = [...has.filter(([metric]) => metric === main), ...has.filter(([metric]) => metric !== main)];
  const first = runs[0]?.rounds ?? [];
  const rows = runs.map(({ label, rounds }) => {
    const value = (metric: Metric) => rounds.map((round) => round[metric] ?? Number.NaN);
    const beside = value(main).map((own, round) => own / (first[round]?.[main] ?? Number.NaN));
    const { median, min, max } = spread(beside);
    const ratio = `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;
    return [label, ratio, ...shown.map(([metric, , form]) => form(spread(value(metric)).median))];
  });
  const head = ['', `× ${runs[0]?.label}`, ...shown.map(([, heading]) => heading)];
  return `\n${name}${note === undefined ? '' : ` (${note})`}\n${table([head, ...rows])}`;
}

export function linesTable(judged: readonly Judged[], isJudged: boolean): string {
  const rows = judged.map(({ scenario, what, limit, measured, verdict }) => [
    scenario,
    what,
    limit,
    measured.toFixed(2),
    isJudged ? verdict : '',
  ]);
  return `\n${table([['line', 'what', 'limit', 'here', ''], ...rows], 2)}`;
}

/** The first columns are words, the others figures. */
function table(rows: readonly (readonly string[])[], words = 1): string {
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length))) ?? [];
  const cell = (text: string, column: number) =>
    column < words ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
  return rows.map((row) => `  ${row.map(cell).join('  ').trimEnd()}\n`).join('');
}
