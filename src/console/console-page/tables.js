/** The sections that are one table each: gaps and callers. */
import { empty, h, panel, state as word, table } from './dom.js';
import { ago, count, plural, rate, time } from './format.js';

const KINDS = {
  'unknown-field': 'a field that the interface does not have',
  'unknown-word': 'a word that the interface does not have',
  'wrong-type': 'a value of another type',
  null: 'null where a value is due',
  empty: 'empty where a value is due',
  missing: 'a field is missing',
  'time-unit': 'a time in another unit',
  limit: 'a limit that the interface does not have',
};

export function gaps({ at }, { items }) {
  if (items.length === 0)
    return panel('Gaps', null, empty('None: what the platform answers is what its interface says.'));
  return [
    h(
      'p',
      { class: 'lead' },
      "Where the platform's answers depart from its interface. Callers are served all the same. The list has names of fields and never a value, so it may be sent to the platform's owner.",
    ),
    h(
      'section',
      { class: 'panel' },
      h(
        'header',
        {},
        h('h2', {}, plural(items.length, 'gap')),
        h('button', { type: 'button', 'data-action': 'copy-gaps' }, 'Copy as a table'),
      ),
      table(
        'Gaps',
        [
          {
            head: 'Operation and field',
            cell: ({ operation, path }) => [operation, h('br'), h('code', {}, path)],
          },
          { head: 'What', cell: ({ kind }) => KINDS[kind] ?? kind },
          { head: 'Answers', number: true, cell: (gap) => count(gap.count) },
          { head: 'First', wide: true, cell: ({ firstSeenAt }) => time(firstSeenAt, at) },
          { head: 'Last', cell: ({ lastSeenAt }) => ago(lastSeenAt, at) },
        ],
        items,
        ({ operation, path, kind }) => `${operation} ${path} ${kind}`,
      ),
    ),
  ];
}

/** Markdown, which mail and trackers show as a table or as it is. */
export async function copyGaps(button, items) {
  const rows = items.map(({ operation, path, kind, count: number, firstSeenAt, lastSeenAt }) => [
    operation,
    path,
    KINDS[kind] ?? kind,
    number,
    ...[firstSeenAt, lastSeenAt].map((ms) => new Date(ms).toISOString()),
  ]);
  const lines = [['Operation', 'Field', 'What', 'Answers', 'First', 'Last'], Array(6).fill('---'), ...rows];
  const text = lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
  const label = button.textContent;
  await navigator.clipboard.writeText(text).then(
    () => (button.textContent = 'Copied'),
    () => (button.textContent = 'The browser does not allow it'),
  );
  setTimeout(() => (button.textContent = label), 3_000);
}

export function callers({ view }) {
  if (view.callers.length === 0) return panel('Callers', null, empty('CALLERS_FILE has none.'));
  return panel(
    'Callers',
    'last five minutes',
    table(
      'Callers',
      [
        { head: 'Caller', cell: ({ name }) => name },
        { head: 'Requests', number: true, cell: ({ requests }) => count(requests) },
        { head: 'A second', number: true, wide: true, cell: ({ requests }) => rate(requests / 300) },
        { head: 'In flight', number: true, wide: true, cell: ({ inFlight }) => count(inFlight) },
        {
          head: 'Refused',
          number: true,
          cell: ({ refused }) => (refused === 0 ? '0' : word('watch', count(refused))),
        },
        {
          head: 'Left now',
          number: true,
          cell: ({ limit, left }) =>
            limit === null
              ? 'no limit'
              : `${count(left ?? limit.requests)} of ${count(limit.requests)} in ${limit.perSeconds} s`,
        },
      ],
      view.callers,
      ({ name }) => name,
    ),
  );
}
