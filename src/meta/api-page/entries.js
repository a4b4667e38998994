/** What the search field finds: operations and fields of the document, and problems. */
import { fieldsOf } from './fields.js';
import { namedOperations, resolve } from './prepare.js';

/** In the order in which they are shown. */
const KINDS = ['operation', 'field', 'problem'];
/** So many hits of a kind are shown. */
const SHOWN = 7;

/** Those that have every word, first those that have them in their names. */
export function hitsFor(entries, phrase) {
  const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const ranked = entries
    .filter(({ all }) => words.every((word) => all.includes(word)))
    .map((entry) => ({ entry, rank: rankOf(entry.name.toLowerCase(), words) }))
    .sort((one, other) => one.rank - other.rank);
  return KINDS.flatMap((kind) =>
    ranked
      .filter(({ entry }) => entry.kind === kind)
      .slice(0, SHOWN)
      .map(({ entry }) => entry),
  );
}

function rankOf(name, words) {
  if (name === words.join('')) return 0;
  if (words.every((word) => name.includes(word))) return name.startsWith(words[0]) ? 1 : 2;
  return 3;
}

export async function entriesOf(api) {
  const entries = [...operationEntries(api), ...fieldEntries(api)];
  const problems = new URL('../problems', import.meta.url);
  const response = await fetch(problems, { headers: { accept: 'application/json' } }).catch(() => undefined);
  // Without the gateway, which may be stopped, the rest is found.
  const { items } = response?.ok ? await response.json() : { items: [] };
  for (const { type, code, statuses, title, meaning } of items)
    entries.push({
      kind: 'problem',
      name: code,
      about: `${statuses.join(', ')}: ${title}`,
      href: type,
      more: meaning,
    });
  return entries.map((entry) => ({
    ...entry,
    all: [entry.name, entry.about, entry.more ?? ''].join(' ').toLowerCase(),
  }));
}

function operationEntries(api) {
  return namedOperations(api).map(({ href, ...operation }) => ({
    kind: 'operation',
    name: operation.operationId,
    about: `${operation.method.toUpperCase()} ${operation.path}`,
    more: [operation.tag, operation.summary, operation.description].join(' '),
    href,
    operation,
  }));
}

/** Each name once. It leads to an operation that takes the field, or else to one that answers with it. */
function fieldEntries(api) {
  const fields = new Map();
  const add = (operation, path, description = '') => {
    const name = path.split('.').at(-1).replaceAll('[]', '');
    const known = fields.get(name) ?? { operations: [], description };
    fields.set(name, known);
    known.description ||= description;
    if (!known.operations.includes(operation)) known.operations.push(operation);
  };
  const operations = namedOperations(api);
  const addAll = (operation, { content = {} }) => {
    for (const { schema = {} } of Object.values(content))
      for (const { path, description } of fieldsOf(api, schema)) add(operation, path, description);
  };
  for (const operation of operations) addAll(operation, operation.requestBody ?? {});
  for (const operation of operations)
    for (const { name, description } of operation.parameters ?? []) add(operation, name, description);
  for (const operation of operations)
    for (const [status, response] of Object.entries(operation.responses))
      if (Number(status) < 300) addAll(operation, resolve(api, response));
  return [...fields].map(([name, known]) => {
    const [operation, ...others] = known.operations;
    const where = operation.operationId + (others.length > 0 ? ` and ${others.length} more` : '');
    const about = `${where}: ${known.description.replaceAll('`', '')}`;
    return { kind: 'field', name, about, href: operation.href, operation };
  });
}
