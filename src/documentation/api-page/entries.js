/** The results of the search field: operations and fields of the document, recipes, problems, and codes of the platform. */
import { fieldsOf } from './fields.js';
import { namedOperations, resolve } from './prepare.js';

/** The kinds of results in the order in which they are shown. */
const KINDS = ['operation', 'recipe', 'field', 'problem', 'code'];
/** The most results of a kind that are shown. Of a task all are shown. */
const SHOWN = 7;
const OF_TASK = 1;
/** The shortest word that is compared with tasks. A shorter one begins too many words of tasks. */
const MIN_TASK_WORD = 3;
/** The shortest word of a task that a longer word may continue. If it is shorter, the longer word has another meaning. */
const MIN_STEM = 4;

/** Returns the entries that have every word of the phrase. Entries with a word in their names, or of a task with such a word, are first. */
export function hitsFor({ entries, ignored }, phrase) {
  const typed = phrase.toLowerCase().split(/\s+/).filter(Boolean);
  const telling = typed.filter((word) => !ignored.has(word));
  const words = telling.length > 0 ? telling : typed;
  if (words.length === 0) return [];
  const ranked = entries
    .filter((entry) => words.every((word) => entry.all.includes(word) || isOfTask(entry, word)))
    .map((entry) => ({ entry, rank: rankOf(entry, words) }))
    .sort((one, other) => one.rank - other.rank);
  return KINDS.flatMap((kind) =>
    ranked
      .filter(({ entry }) => entry.kind === kind)
      .filter(({ rank }, index) => rank <= OF_TASK || index < SHOWN)
      .map(({ entry }) => entry),
  );
}

/** True if the word begins a word of a task that leads to the entry, or continues one: `renewals` continues `renew`. */
function isOfTask({ tasks }, word) {
  if (word.length < MIN_TASK_WORD) return false;
  return tasks.some((each) => each.startsWith(word) || (each.length >= MIN_STEM && word.startsWith(each)));
}

function rankOf(entry, words) {
  const name = entry.name.toLowerCase();
  if (name === words.join('')) return 0;
  if (words.some((word) => isOfTask(entry, word))) return OF_TASK;
  if (words.every((word) => name.includes(word))) return name.startsWith(words[0]) ? 2 : 3;
  return 4;
}

/**
 * Returns all entries, and the words of a phrase that are ignored. If the gateway does not respond, because it may be stopping, its entries
 * are left out, and `isWhole` is false.
 */
export async function entriesOf(api) {
  const answers = await Promise.all([
    read('tasks.json', (response) => response.json()),
    read('../problems', (response) => response.json()),
    read('recipes', (response) => response.text()),
  ]);
  const [tasks = { ignored: '', tasks: [] }, problems = { items: [], codes: [] }, recipes = ''] = answers;
  const entries = [
    ...operationEntries(api),
    ...recipeEntries(recipes),
    ...fieldEntries(api),
    ...problemEntries(problems),
  ];
  return {
    isWhole: !answers.includes(undefined),
    ignored: new Set(tasks.ignored.split(' ')),
    entries: entries.map((entry) => ({
      ...entry,
      all: [entry.name, entry.about, entry.more ?? ''].join(' ').toLowerCase(),
      tasks: tasks.tasks.flatMap((task) => (leadsTo(task, entry) ? task.words.toLowerCase().split(' ') : [])),
    })),
  };
}

const READ = { headers: { accept: 'application/json' } };

async function read(path, parse) {
  try {
    const response = await fetch(new URL(path, import.meta.url), READ);
    return response.ok ? await parse(response) : undefined;
  } catch {
    return undefined;
  }
}

function leadsTo({ operations = [], extension, recipes = [] }, { kind, name, operation }) {
  if (kind === 'recipe') return recipes.includes(name);
  return kind === 'operation' && (operations.includes(name) || operation[extension] !== undefined);
}

/** Returns each section of the page of recipes. */
function recipeEntries(html) {
  // Only the main part is parsed, because the policy of this page refuses the style of the other one.
  const page = new DOMParser().parseFromString(html.slice(html.indexOf('<main>')), 'text/html');
  return [...page.querySelectorAll('h2')].map((heading) => ({
    kind: 'recipe',
    name: heading.textContent.replace(/^\d+\. /, ''),
    about: heading.nextElementSibling.textContent,
    href: `${new URL('recipes', import.meta.url).pathname}#${heading.id}`,
  }));
}

function problemEntries({ items, codes }) {
  const { pathname } = new URL('../problems', import.meta.url);
  return [
    ...items.map(({ type, code, statuses, title, meaning }) => ({
      ...{
        kind: 'problem',
        name: code,
        about: `${statuses.join(', ')}: ${title}`,
        href: type,
        more: meaning,
      },
    })),
    ...codes.map(({ code, meaning, problem, operations }) => ({
      ...{ kind: 'code', name: code, about: meaning, href: `${pathname}#${code}` },
      more: [problem, ...operations].join(' '),
    })),
  ];
}

function operationEntries(api) {
  return namedOperations(api).map(({ href, ...operation }) => ({
    kind: 'operation',
    name: operation.operationId,
    about: `${operation.method.toUpperCase()} ${operation.path}`,
    more: [operation.tag, operation.summary, operation.description, operation['x-dry-run']].join(' '),
    href,
    operation,
  }));
}

/** Returns each name once. It leads to an operation that accepts the field, or else to one whose response has it. */
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
