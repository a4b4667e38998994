import { ratio, spread } from './figures.ts';
import { type Result, values } from './lines.ts';

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
        text(LABELS + width + 8, y + 12, figure, 'figure'),
      );
      y += BAR + GAP;
    }
    y += 12;
  }
  const title = 'CPU time of the process for each request, and × the bare reference; shorter is better';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img" aria-label="${title}">
<style>
text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; }
.title, .figure { fill: #59636e; }
.heading { font-weight: 600; }
.label { text-anchor: end; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .title, .figure { fill: #9198a1; } }
</style>
${text(0, 14, title, 'title')}
${parts.join('\n')}
</svg>
`;
}

function text(x: number, y: number, words: string, style: string): string {
  const safe = words.replace(/&/g, '&amp;').replace(/</g, '&lt;');
  return `<text x="${x.toFixed(1)}" y="${y}" class="${style}">${safe}</text>`;
}
