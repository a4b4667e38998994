/** The section "Gaps": codes of the platform that nobody knows, and where the platform's answers depart from its interface, as a table to copy. */
import { copied } from './copy.js';
import { button, h, panel, table } from './dom.js';
import { ago, count, plural, time } from './format.js';

const KINDS = {
  'unknown-field': 'a field that the interface does not have',
  'unknown-word': 'a word that the interface does not have',
  'wrong-type': 'a value of another type',
  null: 'null where a value is due',
  empty: 'empty where a value is due',
  missing: 'a field is missing',
  'time-unit': 'a time in another unit',
  limit: 'a limit that the interface does not have',
  'unknown-code': 'a code in a form that no profile can name',
};

export const gaps = {
  title: 'Gaps',
  path: () => 'gaps',
  count: ({ gaps: number }) => number,
  render: ({ at }, { items, codes }) =>
    items.length + codes.length === 0
      ? panel('None', 'The gateway has seen no answer of the platform that departs from its interface.')
      : [codes.length > 0 && codePanel(at, codes), items.length > 0 && gapPanel(at, items)],
};

function codePanel(at, codes) {
  return panel(
    `${plural(codes.length, 'code')} that nobody knows`,
    h(
      'p.quiet',
      'The platform answered with a code that its interface does not have, so callers got 502, and orders with it are in doubt. Ask the owner of the platform what it means, and write it into the file of PLATFORM_PROFILE_FILE with one of the words refused, busy and credentials. A code that an order got may also be placed-before. The words of the platform may be about a person.',
    ),
    table(
      'Codes',
      [
        ['Operation and code', ({ operation, code }) => [operation, h('br'), h('code', code)]],
        ["The platform's words", ({ words }) => words ?? 'none'],
        [
          'In the profile',
          ({ module, code }) => h('code', JSON.stringify({ codes: { [module]: { [code]: '…' } } })),
        ],
        ['Answers', ({ count: number }) => count(number)],
        ['Last', ({ lastSeenAt }) => ago(lastSeenAt, at)],
      ],
      codes,
      ({ operation, code }) => `${operation} ${code}`,
    ),
  );
}

function gapPanel(at, items) {
  const isRefusal = items.some(({ kind }) => kind === 'unknown-code');
  return panel(
    plural(items.length, 'gap'),
    h(
      'p.quiet',
      `Where the platform's answers depart from its interface. Callers are served all the same${isRefusal ? ', but got 502 for a code' : ''}. The list has names of fields and never a value, so it may be sent to the platform's owner.`,
    ),
    button('Copy as a table', (pressed) => copy(pressed, items)),
    table(
      'Gaps',
      [
        ['Operation and field', ({ operation, path }) => [operation, h('br'), h('code', path)]],
        ['What', ({ kind }) => KINDS[kind] ?? kind],
        ['Answers', ({ count: number }) => count(number)],
        ['First', ({ firstSeenAt }) => time(firstSeenAt, at), '.wide'],
        ['Last', ({ lastSeenAt }) => ago(lastSeenAt, at)],
      ],
      items,
      ({ operation, path, kind }) => `${operation} ${path} ${kind}`,
    ),
  );
}

/** Markdown, which mail and trackers show as a table or as it is. */
async function copy(pressed, items) {
  const rows = items.map(({ operation, path, kind, count: number, firstSeenAt, lastSeenAt }) => [
    ...[operation, path, KINDS[kind] ?? kind, number],
    ...[firstSeenAt, lastSeenAt].map((ms) => new Date(ms).toISOString()),
  ]);
  const lines = [['Operation', 'Field', 'What', 'Answers', 'First', 'Last'], Array(6).fill('---'), ...rows];
  const text = lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
  pressed.textContent = await copied(text);
}
