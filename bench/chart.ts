import { ratio, spread } from './figures.ts';
import { type Result, values } from './lines.ts';
import { drawing, text } from './svg.ts';

/** CPU time of a request as bars, readable on light and dark pages. */

const WIDTH = 760;
const LABELS = 190;
const BAR = 16;
const GAP = 4;
const HEAD = 26;
const COLOURS: Readonly<Record<string, string>> = {
  gateway: '#2f81f7',
  'gateway, embedded': '#79b8ff',
  bare: '#8b949e',
};
const OTHERS = '#d29922';

export function chart(results: readonly Result[]): string {
  const parts: string[] = [];
  let y = 30;
  for (const { name, runs } of results) {
    const cpu = runs.map(({ rounds }) => values(rounds, 'cpuMicros'));
    const bars = runs.map(({ label }, index) => ({
      label,
      micros: spread(cpu[index] ?? []).median,
      times: ratio(cpu[index] ?? [], cpu[0] ?? []).median,
    }));
    const longest = Math.max(...bars.map(({ micros }) => micros));
    parts.push(text(0, y + 14, name, 'heading'));
    y += HEAD;
    for (const { label, micros, times } of bars) {
      const width = Math.max(2, ((WIDTH - LABELS - 150) * micros) / longest);
      const figure = `${micros.toFixed(0)} µs, × ${times.toFixed(2)}`;
      parts.push(
        text(LABELS - 8, y + 12, label, 'label'),
        `<rect x="${LABELS}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="2" fill="${COLOURS[label] ?? OTHERS}"/>`,
        text(LABELS + width + 8, y + 12, figure, 'quiet'),
      );
      y += BAR + GAP;
    }
    y += 12;
  }
  const title = 'CPU time of the process for each request, and × the bare reference; shorter is better';
  return drawing(
    WIDTH,
    y,
    title,
    '.label { text-anchor: end; }',
    [text(0, 14, title, 'quiet'), ...parts].join('\n'),
  );
}
