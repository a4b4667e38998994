/** The search field: what it finds in the document, and the list of hits under it. */
import { fieldsOf } from './fields.js';
import { namedOperations, resolve } from './prepare.js';

/** So many hits of a kind are shown. */
const SHOWN = 7;

const TITLES = { operation: 'Operations', field: 'Fields', problem: 'Problems' };

/** `open` shows an operation. */
export function connectSearch(api, open) {
  const field = element('find');
  const list = element('hits');
  const nothing = element('nothing');
  let entries;
  let active = -1;

  const options = () => [...list.querySelectorAll('[role=option]')];
  const isOpen = () => !list.hidden;
  const close = () => {
    list.hidden = true;
    nothing.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    mark(-1);
  };
  const mark = (index) => {
    active = index;
    for (const [at, option] of options().entries()) {
      option.setAttribute('aria-selected', String(at === index));
      if (at === index) option.scrollIntoView({ block: 'nearest' });
    }
    if (index < 0) field.removeAttribute('aria-activedescendant');
    else field.setAttribute('aria-activedescendant', `hit-${index}`);
  };
  const show = async () => {
    entries ??= entriesOf(api);
    const all = await entries;
    const hits = hitsFor(all, field.value);
    list.replaceChildren(...groupsOf(hits, take));
    list.hidden = hits.length === 0;
    nothing.hidden = hits.length > 0 || field.value.trim() === '';
    field.setAttribute('aria-expanded', String(hits.length > 0));
    mark(hits.length > 0 ? 0 : -1);
  };
  const take = ({ operation }, event) => {
    close();
    // The page of a problem is a link.
    if (!operation) return;
    event.preventDefault();
    field.blur();
    open(operation);
  };

  field.addEventListener('input', () => void show());
  field.addEventListener('focus', () => void show());
  field.addEventListener('blur', close);
  // A press on a hit must not take the focus away before it is a click.
  list.addEventListener('mousedown', (event) => event.preventDefault());
  field.addEventListener('keydown', (event) => {
    const count = options().length;
    const moves = { ArrowDown: active + 1, ArrowUp: active - 1 };
    if (event.key === 'Escape' && isOpen()) {
      event.preventDefault();
      close();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      options()[active]?.click();
    } else if (event.key in moves && count > 0) {
      event.preventDefault();
      mark((moves[event.key] + count) % count);
    }
  });
  document.addEventListener('keydown', (event) => {
    const isShortcut = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k';
    const isTyping = event.target.closest?.('input, textarea, select, dialog') !== null;
    if (!isShortcut && (event.key !== '/' || isTyping)) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

/** Hits of a kind stand together. */
function groupsOf(hits, take) {
  return Object.entries(TITLES).flatMap(([kind, title]) => {
    const own = [...hits.entries()].filter(([, hit]) => hit.kind === kind);
    if (own.length === 0) return [];
    const group = made('div', { role: 'group', 'aria-label': title }, [
      made('p', { role: 'presentation' }, [title]),
      ...own.map(([index, hit]) => {
        const option = made('a', { role: 'option', id: `hit-${index}`, href: hit.href, tabindex: '-1' }, [
          made('strong', {}, [hit.name]),
          made('span', {}, [hit.about]),
        ]);
        option.addEventListener('click', (event) => take(hit, event));
        return option;
      }),
    ]);
    return [group];
  });
}

/** Those that have every word, first those that have them in their names. */
function hitsFor(entries, phrase) {
  const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const ranked = entries
    .filter(({ all }) => words.every((word) => all.includes(word)))
    .map((entry) => ({ entry, rank: rankOf(entry.name.toLowerCase(), words) }))
    .sort((one, other) => one.rank - other.rank);
  return Object.keys(TITLES).flatMap((kind) =>
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

async function entriesOf(api) {
  const entries = [...operationEntries(api), ...fieldEntries(api)];
  const { items } = await (await fetch('/problems', { headers: { accept: 'application/json' } })).json();
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
  return [...fields].map(
    ([
      name,
      {
        operations: [first, ...others],
        description,
      },
    ]) => ({
      kind: 'field',
      name,
      about: `${first.operationId}${others.length > 0 ? ` and ${others.length} more` : ''}: ${description.replaceAll('`', '')}`,
      href: first.href,
      operation: first,
    }),
  );
}

function element(id) {
  return document.getElementById(id);
}

function made(name, attributes, children) {
  const node = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, value);
  node.append(...children);
  return node;
}
