/** What all enterprises have: a picture that filters, and a list whose filters are in the address. */
import { Credential } from './credential.js';
import { button, h, table } from './dom.js';
import { ago, count, learnServerTime, plural, serverNow } from './format.js';
import { age, overview } from './picture.js';

const PAGE_SIZE = 50;
const FILTERS = [
  ...['find', 'enterpriseGlobalId', 'productUri', 'licenseType', 'memberGlobalId'],
  ...['endsAfter', 'endsBefore', 'unassigned', 'sort', 'page'],
];
const element = (id) => document.getElementById(id);
const form = element('filters');
const credential = new Credential('tokens' in document.documentElement.dataset, () =>
  credential.isGiven ? load() : location.reload(),
);
/** The number of the last load: an answer that comes after a later question is not shown. */
let loads = 0;
/** The filters of the last load, and of the rows that are shown, as the address has them. */
let asked, shown;
/** The enterprises of which the copy does not have everything. */
let unfinished = [];

class NoAnswer extends Error {}
class UnknownKey extends Error {}

/** @throws what the gateway says of the failure, in words. */
async function get(path, query, accept = 'application/json') {
  const url = new URL(`../v1/${path}`, import.meta.url);
  url.search = new URLSearchParams(query);
  const response = await fetch(url, { headers: { ...credential.headers, accept } }).catch(() => {
    throw new NoAnswer('The gateway does not answer. Try again in a moment.');
  });
  const at = Date.parse(response.headers.get('date'));
  if (at) learnServerTime(at);
  if (response.ok) {
    const read = accept === 'text/csv' ? response.blob() : response.json();
    const body = await read.catch(() => {
      throw new NoAnswer('The answer did not come whole. Try again in a moment.');
    });
    return { headers: response.headers, body };
  }
  const { status } = response;
  const problem = await response.json().catch(() => ({}));
  if (status === 401)
    throw new UnknownKey(
      'Authorization' in credential.headers
        ? 'The gateway does not accept this token.'
        : 'The gateway does not know this key.',
    );
  const [wrong] = problem.errors ?? [];
  const what = wrong ? `${wrong.parameter ?? wrong.pointer} ${wrong.detail}` : problem.detail;
  throw new Error(what ?? problem.title ?? `The gateway answered ${status}.`);
}

function filters() {
  const query = new URLSearchParams(location.search);
  return Object.fromEntries(FILTERS.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])));
}

/** Changes filters, which begins with the first page. An empty value takes a filter away. */
function choose(changes) {
  const wanted = Object.entries({ ...filters(), page: '', ...changes }).filter(([, value]) => value);
  const query = new URLSearchParams(wanted).toString();
  history.pushState(null, '', query === '' ? location.pathname : `?${query}`);
  return load();
}

const inDays = (days) => new Date(serverNow() + days * 86_400_000).toISOString().slice(0, 10);

function nextQuarter() {
  const now = new Date(serverNow());
  const first = Math.floor(now.getUTCMonth() / 3) * 3 + 3;
  const from = (months) => new Date(Date.UTC(now.getUTCFullYear(), months, 1)).toISOString().slice(0, 10);
  return { endsAfter: from(first), endsBefore: from(first + 3) };
}

function shortcuts(now) {
  const ends = [
    ['Ends within 60 days', { endsAfter: inDays(0), endsBefore: inDays(60) }],
    ['Ends next quarter', nextQuarter()],
    ['Assigned to nobody', { unassigned: 'true', memberGlobalId: '' }],
  ];
  const buttons = ends.map(([text, wanted]) => {
    const isOn = Object.entries(wanted).every(([name, value]) => (now[name] ?? '') === value);
    const off = Object.fromEntries(Object.keys(wanted).map((name) => [name, '']));
    const made = button(text, () => choose(isOn ? off : wanted));
    made.setAttribute('aria-pressed', String(isOn));
    made.dataset.key = text;
    return made;
  });
  renew('shortcuts', buttons);
}

/** Replaces the content, and leaves the focus on the button with the same key. */
function renew(id, content) {
  const focused = document.activeElement?.closest?.(`#${id} button`)?.dataset.key;
  element(id).replaceChildren(...content);
  const again = [...element(id).querySelectorAll('button')];
  again.find((each) => focused && each.dataset.key === focused)?.focus();
}

/** The address may have a time; the field takes a day. */
const dayOf = (text = '') => text.slice(0, 10);

function fillForm(now) {
  for (const field of form.elements) {
    if (!field.name) continue;
    if (field.type === 'checkbox') field.checked = now[field.name] === 'true';
    else field.value = field.type === 'date' ? dayOf(now[field.name]) : (now[field.name] ?? '');
    // The address may name a sort order that the field does not offer.
    if (field.selectedIndex === -1) field.selectedIndex = 0;
  }
  shortcuts(now);
}

function showOverview(summary, now) {
  renew('overview', overview(summary, now, choose));
  // The time of the gateway is known now.
  shortcuts(now);
  const options = (values) => values.map((value) => h('option', { value }));
  element('enterprises').replaceChildren(
    ...options(summary.enterprises.map(({ enterpriseGlobalId }) => enterpriseGlobalId)),
  );
  element('products').replaceChildren(...options(summary.byProduct.map(({ productUri }) => productUri)));
  const { seenAt } = summary;
  unfinished = summary.enterprises.filter(({ state }) => state !== 'whole');
  element('age').replaceChildren(
    ...(seenAt === null
      ? ['Some of it was not read yet.']
      : ['Every enterprise read ', age(seenAt), ' or later.']),
  );
}

/** Says what a list lacks, so that a part is never taken for the whole. */
function incomplete(headers) {
  const number = Number(headers.get('x-estate-incomplete') ?? 0);
  const { enterpriseGlobalId: one } = filters();
  const own = unfinished.filter(({ enterpriseGlobalId }) => [enterpriseGlobalId, undefined].includes(one));
  const known = Math.min(number, own.length);
  const parts = [
    known > 0 &&
      `${plural(known, 'enterprise')} in this list ${known === 1 ? 'is' : 'are'} not whole: "By enterprise" says which and why.`,
    number > known && `The gateway has not read ${one ?? 'all enterprises'} yet.`,
  ];
  tell(parts.filter(Boolean).join(' '));
}

function tell(text) {
  element('notice').hidden = text === '';
  element('notice').textContent = text;
}

const date = (text) => (text === null ? '–' : text.slice(0, 10));
const link = (changes, text) => {
  const query = new URLSearchParams({ ...filters(), ...changes });
  query.delete('page');
  return h('a', { href: `?${query}` }, text);
};
function holder({ memberGlobalId, lent }) {
  if (memberGlobalId !== null) return link({ memberGlobalId, unassigned: '' }, memberGlobalId);
  return lent ? 'lent' : '–';
}
const COLUMNS = [
  ['Ends', ({ endsAt }) => date(endsAt)],
  [
    'Product',
    ({ productId, productUri, productName }) =>
      productUri ? link({ productUri }, productName ?? productUri) : (productName ?? productId ?? 'none'),
  ],
  ['Enterprise', ({ enterpriseGlobalId }) => link({ enterpriseGlobalId }, enterpriseGlobalId)],
  ['Number', ({ assetNum, assetId }) => assetNum ?? assetId],
  ['Type', ({ licenseType }) => licenseType ?? '–', '.wide'],
  ['Nodes', ({ limitConcurrent }) => (limitConcurrent === null ? '–' : count(limitConcurrent)), '.wide'],
  ['With', holder],
  ['Last in use', ({ lastOnlineAt }) => date(lastOnlineAt), '.wide'],
  ['Order', ({ channelOrderId }) => channelOrderId ?? '–', '.wide'],
  ['Seen', ({ seenAt }) => age(seenAt), '.wide'],
];

function showList({ items, page, total, totalPages }) {
  const found = total === 0 ? 'Nothing is like that' : plural(total, 'row');
  element('count').textContent = found;
  // The list lies below the picture, whose buttons change it.
  element('found').textContent = `${found} with these filters: go to the list`;
  element('found').hidden = Object.keys(filters()).every((name) => ['sort', 'page'].includes(name));
  const keyOf = ({ assetId, productId }) => `${assetId} ${productId}`;
  element('list').replaceChildren(...(items.length > 0 ? [table('Rows', COLUMNS, items, keyOf)] : []));
  const to = (number, text) =>
    button(text, () => choose({ page: String(number) }).then(() => element('count').focus()));
  element('pages').replaceChildren(
    ...(page > 1 ? [to(page - 1, 'Page before')] : []),
    ...(totalPages > 1 ? [h('span.quiet', `page ${count(page)} of ${count(totalPages)}`)] : []),
    ...(page < totalPages ? [to(page + 1, 'Next page')] : []),
  );
}

/** Removes what belongs to other filters or to another key. */
function showNothing() {
  for (const id of ['age', 'overview', 'count', 'list', 'pages', 'enterprises', 'products'])
    element(id).replaceChildren();
  element('found').hidden = true;
}

function fail(error) {
  if (error instanceof UnknownKey) {
    credential.ask(error.message);
    void credential.check();
  }
  tell(error.message);
}

/** Replaces a page of the address that lies beyond the last one. */
function showLast(number) {
  history.replaceState(null, '', `?${new URLSearchParams({ ...filters(), page: String(number) })}`);
  return load();
}

async function load() {
  const mine = ++loads;
  const { search } = location;
  asked = search;
  const now = filters();
  fillForm(now);
  if (!credential.isGiven) return credential.ask();
  try {
    const [{ body: summary }, { headers, body: page }] = await Promise.all([
      get('estate/summary', {}),
      get('estate', { ...now, pageSize: String(PAGE_SIZE) }),
    ]);
    if (mine !== loads) return;
    if (page.page > page.totalPages && page.totalPages > 0) return showLast(page.totalPages);
    showOverview(summary, now);
    showList(page);
    incomplete(headers);
    shown = search;
  } catch (error) {
    if (mine !== loads) return;
    if (!(error instanceof NoAnswer && search === shown)) showNothing();
    fail(error);
  }
}

async function download() {
  if (!credential.isGiven) return credential.ask();
  const mine = loads;
  const { page: _, ...wanted } = filters();
  const { headers, body: csv } = await get('estate', wanted, 'text/csv');
  // Without a byte order mark, Excel reads the file in the character set of the machine.
  const url = URL.createObjectURL(new Blob(['\ufeff', csv], { type: csv.type }));
  h('a', { href: url, download: 'estate.csv' }).click();
  URL.revokeObjectURL(url);
  // A failure before this one is over. Meanwhile the page may show another list.
  if (mine === loads) incomplete(headers);
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const given = new FormData(form);
  const now = filters();
  const valueOf = ({ name, type }) =>
    type === 'date' && given.get(name) === dayOf(now[name]) ? now[name] : (given.get(name) ?? '');
  void choose(
    Object.fromEntries(
      [...form.elements].filter(({ name }) => name).map((field) => [field.name, valueOf(field)]),
    ),
  );
});
// Applies a checkbox or a choice at once, because the form must not show a filter that the list does not have.
form.addEventListener('change', ({ target }) => {
  // An asset of a member is assigned, so the two filters exclude each other.
  if (target.name === 'unassigned' && target.checked) form.elements.memberGlobalId.value = '';
  if (['checkbox', 'select-one'].includes(target.type)) form.requestSubmit();
});
element('found').addEventListener('click', () => {
  element('count').scrollIntoView({ block: 'center' });
  element('count').focus({ preventScroll: true });
});
element('clear').addEventListener('click', () => {
  history.pushState(null, '', location.pathname);
  void load();
});
element('csv').addEventListener('click', () => void download().catch(fail));
// A link to a place on this page changes no filter.
addEventListener('popstate', () => location.search !== asked && void load());
// The ages grow while the page is open.
setInterval(() => {
  for (const each of document.querySelectorAll('time')) each.textContent = ago(Date.parse(each.dateTime));
}, 10_000);
document.addEventListener('click', (event) => {
  const target = event.target.closest?.('#list a');
  if (!target || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.pushState(null, '', target.href);
  // The pressed link is gone.
  void load().then(() => element('count').focus());
});
void load();
