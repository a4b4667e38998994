import { drawing, text } from './svg.ts';

/** Panels of a Grafana dashboard with the values that Prometheus has for them. */

export interface Panel {
  readonly type: 'row' | 'stat' | 'timeseries';
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
}

/** In seconds; `from` and `until` since the epoch. */
interface Range {
  readonly from: number;
  readonly until: number;
  readonly step: number;
}

export interface Series {
  readonly legend: string;
  /** Seconds since the epoch, and the value. */
  readonly points: readonly (readonly [at: number, value: number])[];
}

/** Of a column and a row of the grid, in pixels. */
const COLUMN = 50;
const ROW = 24;
const COLUMNS = 24;
const PAD = 8;
const LEGEND_LINE = 15;
const LEGEND_MOST = 8;
const COLOURS = ['#2f81f7', '#3fb950', '#d29922', '#db6d28', '#bc8cff', '#f778ba', '#39c5cf', '#8b949e'];

const STYLE = `path { fill: none; stroke-width: 1.5; stroke-linecap: round; }
.panel { fill: none; stroke: #8b949e66; }
.axis { stroke: #8b949e66; }
.axis-label { text-anchor: end; }
.value { font-size: 26px; font-weight: 600; }
.note { font-size: 11px; }`;

export function picture(
  title: string,
  panels: readonly Panel[],
  seriesOf: ReadonlyMap<Panel, readonly Series[]>,
  range: Range,
): string {
  const height = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) * ROW + 2 * ROW;
  const drawn = panels.map((panel) => {
    const { x, y, w, h } = panel.gridPos;
    const inner = bodyOf(panel, seriesOf.get(panel) ?? [], w * COLUMN - PAD, h * ROW - PAD, range);
    return `<g transform="translate(${x * COLUMN + PAD / 2} ${y * ROW + 2 * ROW})">${inner}</g>`;
  });
  return drawing(
    COLUMNS * COLUMN,
    height,
    title,
    STYLE,
    [text(PAD, ROW, title, 'heading'), ...drawn].join('\n'),
  );
}

function bodyOf(
  { type, title, fieldConfig }: Panel,
  series: readonly Series[],
  width: number,
  height: number,
  range: Range,
): string {
  const { from, until, step } = range;
  if (type === 'row') return text(0, height, title, 'heading');
  const frame = `<rect class="panel" width="${width}" height="${height}" rx="4"/>${text(PAD, 16, title, 'quiet')}`;
  const unit = fieldConfig?.defaults.unit ?? 'none';
  const all = series.flatMap(({ points }) => points);
  if (all.length === 0) return frame + text(PAD, height / 2 + 4, 'No data', 'quiet');
  if (type === 'stat') {
    const last = series[0]?.points.at(-1)?.[1] ?? Number.NaN;
    return frame + text(PAD, height / 2 + 18, amount(last, unit), 'value');
  }
  const shown = series.toSorted((one, other) => area(other) - area(one));
  const lines = Math.min(shown.length, LEGEND_MOST);
  const columns = width > 500 ? 4 : 2;
  const left = 58;
  const top = 26;
  const bottom = height - 8 - Math.ceil(lines / columns) * LEGEND_LINE;
  const most = Math.max(...all.map(([, value]) => value)) || 1;
  const toX = (at: number) => left + ((at - from) / (until - from)) * (width - left - PAD);
  const toY = (value: number) => bottom - (Math.max(0, value) / most) * (bottom - top);
  const paths = shown.map(({ points }, index) => {
    const path = points.map(([at, value], point) => {
      const isAfterGap = at - (points[point - 1]?.[0] ?? -Infinity) > step;
      return `${isAfterGap ? 'M' : 'L'}${toX(at).toFixed(1)},${toY(value).toFixed(1)}${isAfterGap ? 'h0' : ''}`;
    });
    return `<path d="${path.join('')}" stroke="${colourOf(index)}"/>`;
  });
  const legend = shown.slice(0, LEGEND_MOST).map(({ legend: name }, index) => {
    const x = PAD + (index % columns) * ((width - PAD) / columns);
    const y = bottom + LEGEND_LINE * (1 + Math.floor(index / columns));
    const more =
      index === LEGEND_MOST - 1 && shown.length > LEGEND_MOST ? `, ${shown.length - LEGEND_MOST} more` : '';
    return `<rect x="${x.toFixed(1)}" y="${(y - 8).toFixed(1)}" width="8" height="8" fill="${colourOf(index)}"/>${text(x + 12, y, name + more, 'note')}`;
  });
  const axis = [0, most].map(
    (value) =>
      `<line class="axis" x1="${left}" x2="${width - PAD}" y1="${toY(value).toFixed(1)}" y2="${toY(value).toFixed(1)}"/>` +
      text(left - 4, toY(value) + 4, amount(value, unit), 'axis-label note quiet'),
  );
  return [frame, ...axis, ...paths, ...legend].join('');
}

const colourOf = (index: number) => COLOURS[index % COLOURS.length];
const area = ({ points }: Series) => points.reduce((sum, [, value]) => sum + value, 0);

/** With its unit, as Grafana names units. */
function amount(value: number, unit: string): string {
  switch (unit) {
    case 's':
      return value >= 172_800
        ? `${short(value / 86_400)} days`
        : value >= 1
          ? `${short(value)} s`
          : `${short(value * 1_000)} ms`;
    case 'bytes':
      return `${short(value / 1_048_576)} MiB`;
    case 'percentunit':
      return `${short(value * 100)} %`;
    case 'reqps':
    case 'ops':
      return `${short(value)}/s`;
    default:
      return short(value);
  }
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
