/** The section "Now": what needs an operator, how busy the gateway is, and what it depends on. */
import { empty, h, panel, state as word, table } from './dom.js';
import { ago, count, duration, latency, megabytes, rate, share } from './format.js';

export function now(state) {
  const { view } = state;
  return [
    attention(state),
    h(
      'div',
      { class: 'tiles' },
      tile('Requests', rate(view.minute.perSecond), 'a second, in the last minute', barsOf(view.series)),
      tile(
        'Latency, p99',
        latency(view.minute.p99),
        `half of them within ${latency(view.minute.p50)}`,
        lineOf(view.series),
      ),
      tile(
        'Failed',
        share(view.minute.failed, view.minute.requests),
        `${count(view.minute.failed)} of ${count(view.minute.requests)} in the last minute`,
      ),
      tile('In flight', count(view.inFlight), 'requests without a response'),
    ),
    h(
      'div',
      { class: 'columns' },
      h(
        'div',
        { class: 'stack' },
        dependencies(state),
        traffic('Operations', 'of callers, last minute', view.operations, ([status]) =>
          status.startsWith('5'),
        ),
        cache(view),
      ),
      h(
        'div',
        { class: 'stack' },
        replicas(state),
        traffic(
          'Calls to the platform',
          'attempts, last minute',
          view.platform,
          ([outcome]) => outcome !== 'success',
        ),
        refusals(view),
      ),
    ),
    events(state),
  ];
}

function attention({ attention: items }) {
  if (items.length === 0)
    return h(
      'section',
      { class: 'panel calm' },
      h('h2', {}, word('good', 'All is well')),
      h(
        'p',
        { class: 'quiet' },
        'Orders are taken, tokens are valid, every circuit is closed, and no order is in doubt.',
      ),
    );
  return h(
    'section',
    { class: 'panel attention' },
    h('header', {}, h('h2', {}, 'Needs attention')),
    h(
      'ul',
      {},
      items.map(({ level, title, detail, section, alert }) =>
        h(
          'li',
          { class: level, 'data-key': `${level} ${title}` },
          word(level, level === 'act' ? 'Act' : 'Watch'),
          h(
            'div',
            {},
            h('strong', {}, title),
            h('p', {}, detail),
            h(
              'p',
              { class: 'quiet' },
              section !== 'now' && h('a', { href: `#${section}` }, 'Show'),
              alert && h('span', {}, 'Runbook: ', h('code', {}, alert)),
            ),
          ),
        ),
      ),
    ),
  );
}

function tile(title, value, note, plot) {
  return h(
    'section',
    { class: 'panel tile' },
    h('h2', {}, title),
    h('p', { class: 'value' }, value),
    h('p', { class: 'quiet' }, note),
    plot,
  );
}

const [WIDTH, HEIGHT] = [240, 40];

function picture(label, ...shapes) {
  return h(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label, preserveAspectRatio: 'none' },
    h('line', { class: 'ground', x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 }),
    ...shapes,
  );
}

/** Requests a second over five minutes; what failed stands at the bottom, in another colour. */
function barsOf(series) {
  const most = Math.max(...series.map(({ perSecond }) => perSecond), 1);
  const step = WIDTH / series.length;
  const bar = (kind) => (beat, index) => {
    const height = (beat[kind] / most) * (HEIGHT - 2);
    if (height === 0) return null;
    return h('rect', {
      class: kind,
      x: index * step,
      y: HEIGHT - height,
      width: step - 1,
      height,
    });
  };
  return picture(
    `Requests a second in the last five minutes, at most ${rate(most)}`,
    series.map(bar('perSecond')),
    series.map(bar('failed')),
  );
}

/** p99 over five minutes, with gaps where nothing was asked. */
function lineOf(series) {
  const most = Math.max(...series.map(({ p99 }) => p99 ?? 0), 0.001);
  const step = WIDTH / series.length;
  let path = '';
  let pen = 'M';
  for (const [index, { p99 }] of series.entries()) {
    if (p99 === null) {
      pen = 'M';
      continue;
    }
    const y = (HEIGHT - 2 - (p99 / most) * (HEIGHT - 4)).toFixed(1);
    path += `${pen}${(index * step).toFixed(1)} ${y}h${step.toFixed(1)}`;
    pen = 'L';
  }
  return picture(
    `99th percentile of the latency in the last five minutes, at most ${latency(most)}`,
    path !== '' && h('path', { class: 'line', d: path }),
  );
}

const CIRCUITS = { closed: ['good', 'closed'], 'half-open': ['watch', 'trying'], open: ['act', 'open'] };

function dependencies({ replicas: all, view }) {
  const part = (name, of, off) => {
    const down = all.filter((each) => of(each).status === 'down');
    if (all.every((each) => of(each).status === 'off')) return { name, state: word('off', 'off'), note: off };
    if (down.length === 0) return { name, state: word('good', 'up'), note: '' };
    const some = down.length === all.length ? '' : `${down.length} of ${all.length} replicas: `;
    return { name, state: word('act', 'down'), note: `${some}${of(down[0]).reason ?? ''}` };
  };
  const failure = all.map(({ tokens }) => tokens).find(Boolean);
  const rows = [
    part('Order store', ({ orders }) => orders, 'Orders are recorded in this process only'),
    part('Shared Redis', ({ redis }) => redis, 'Everything stays in this process'),
    ...(failure
      ? [{ name: `Token ${failure.principal}`, state: word('act', failure.kind), note: failure.reason }]
      : []),
    ...view.tokens.map(({ name, ageS, renewsInS, endsInS }) => ({
      name: `Token ${name}`,
      state: word('good', 'valid'),
      note: `${duration(ageS)} old, ${renewsInS > 0 ? `renewed in ${duration(renewsInS)}` : 'renewed at its next use'}, ends in ${duration(endsInS)}`,
    })),
    ...circuits(view.circuits, all.length),
  ];
  return panel(
    'Depends on',
    null,
    table(
      'What the gateway depends on',
      [
        { head: 'Part', cell: ({ name }) => name },
        { head: 'State', cell: ({ state }) => state },
        { head: 'Note', cell: ({ note }) => note },
      ],
      rows,
      ({ name }) => name,
    ),
  );
}

/** Those that are closed share a row. */
function circuits(all, number) {
  const closed = all.filter(({ state: circuit }) => circuit === 'closed');
  const rest = all.filter(({ state: circuit }) => circuit !== 'closed');
  const names = closed.map(({ group }) => group).join(', ');
  return [
    ...rest.map(({ group, state: circuit, replicas: of }) => ({
      name: `Circuit ${group}`,
      state: word(...CIRCUITS[circuit]),
      note: number === 1 ? '' : `on ${of} of ${number} replicas`,
    })),
    ...(closed.length > 0
      ? [
          {
            name: rest.length === 0 ? 'All circuits' : 'Other circuits',
            state: word(...CIRCUITS.closed),
            note: names,
          },
        ]
      : []),
  ];
}

const SILENT_MS = 15_000;

function replicas({ replicas: all, self, at, others }) {
  const words = (each) => {
    if (at - each.at > SILENT_MS) return word('watch', `silent for ${duration((at - each.at) / 1_000)}`);
    if (each.draining) return word('watch', 'stopping');
    return each.overload ? word('act', `overloaded: ${each.overload}`) : word('good', 'serving');
  };
  const notes = {
    none: 'Without Redis there is one only',
    away: 'Redis is away: others cannot be seen',
    seen: null,
  };
  return panel(
    'Replicas',
    notes[others],
    table(
      'Replicas',
      [
        {
          head: 'Process',
          cell: ({ id }) => [id, id === self && h('span', { class: 'quiet' }, ' this one')],
        },
        { head: 'State', cell: words },
        { head: 'Version', wide: true, cell: ({ version }) => version },
        { head: 'Up for', number: true, cell: ({ startedAt }) => duration((at - startedAt) / 1_000) },
        { head: 'In flight', number: true, cell: ({ inFlight }) => count(inFlight) },
        { head: 'Memory', number: true, wide: true, cell: ({ memoryBytes }) => megabytes(memoryBytes) },
      ],
      all,
      ({ id }) => id,
    ),
  );
}

function traffic(title, note, rows, isFailure) {
  if (rows.length === 0) return panel(title, note, empty('None.'));
  const failures = ({ results }) => Object.entries(results).filter(isFailure);
  const number = (row) => failures(row).reduce((sum, [, value]) => sum + value, 0);
  return panel(
    title,
    note,
    table(
      title,
      [
        {
          head: 'Operation',
          cell: ({ operation }) =>
            operation === 'none' ? h('em', {}, 'refused before its route') : operation,
        },
        { head: 'Count', number: true, cell: (row) => count(row.count) },
        {
          head: 'Failed',
          number: true,
          cell: (row) =>
            number(row) === 0
              ? '0'
              : h(
                  'span',
                  { class: 'state act' },
                  `${count(number(row))} (${failures(row)
                    .map(([result]) => result)
                    .join(', ')})`,
                ),
        },
        { head: 'p50', number: true, wide: true, cell: ({ p50 }) => latency(p50) },
        { head: 'p99', number: true, cell: ({ p99 }) => latency(p99) },
      ],
      rows,
      ({ operation }) => operation,
    ),
  );
}

function cache({ cache: results, tokenEvents }) {
  const all = Object.values(results).reduce((sum, value) => sum + value, 0);
  const cell = (name, value) => [h('dt', {}, name), h('dd', {}, value)];
  return panel(
    'Cache and tokens',
    'last five minutes',
    h(
      'dl',
      { class: 'facts' },
      cell(
        'Reads from the cache',
        all === 0 ? 'no reads' : `${share((results.hit ?? 0) + (results.shared ?? 0), all)} of ${count(all)}`,
      ),
      results.error > 0 && cell('Reads without the cache', `${count(results.error)}: it was not available`),
      Object.entries(tokenEvents).map(([name, value]) => {
        const [principal, event] = name.split(' ');
        return cell(`Tokens ${event}`, `${count(value)} (${principal})`);
      }),
    ),
  );
}

const REASONS = {
  'caller-rate': 'above the rate of the caller',
  'caller-in-flight': 'too many requests of the caller in flight',
  'in-flight': 'too many requests in flight',
  'event-loop': 'the process is too slow',
  heap: 'the heap is full',
  memory: 'the memory is full',
  waiting: 'too many requests wait',
  strangers: 'too many requests without a known key',
  connections: 'too many connections',
};

function refusals({ refused }) {
  const rows = Object.entries(refused);
  return panel(
    'Admission',
    'last five minutes',
    rows.length === 0
      ? empty('No request was refused because of load.')
      : h(
          'dl',
          { class: 'facts' },
          rows.map(([reason, value]) => [
            h('dt', {}, `Refused: ${REASONS[reason] ?? reason}`),
            h('dd', {}, count(value)),
          ]),
        ),
  );
}

const SHOWN = new Set(['level', 'time', 'event', 'msg']);

function events({ view, replicas: all, at }) {
  const title = 'Warnings and errors';
  if (view.events.length === 0) return panel(title, null, empty('None since the start.'));
  const fields = (line) =>
    Object.entries(line)
      .filter(([name, value]) => !SHOWN.has(name) && value !== null)
      .map(([name, value]) => `${name} ${value}`);
  return panel(
    title,
    'of the log, the newest first',
    h(
      'ul',
      { class: 'events' },
      view.events.map(({ line, count: number, replica }) =>
        h(
          'li',
          { 'data-key': `${replica} ${line.event} ${line.msg}` },
          line.level === 'error' ? word('act', 'error') : word('watch', 'warning'),
          h(
            'div',
            {},
            h('p', {}, line.msg),
            h('p', { class: 'quiet' }, [
              h('code', {}, line.event),
              ...[...fields(line), all.length > 1 && `replica ${replica}`]
                .filter(Boolean)
                .map((each) => ` · ${each}`),
            ]),
          ),
          h(
            'span',
            { class: 'quiet number' },
            `${number > 1 ? `${count(number)} times, last ` : ''}${ago(Date.parse(line.time), at)}`,
          ),
        ),
      ),
    ),
  );
}
