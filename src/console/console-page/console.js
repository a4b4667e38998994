/** The operator's console: asks for the state every two seconds while it can be seen, and shows the section that the address names. */
import { h, show } from './dom.js';
import { time } from './format.js';
import { jobs, openCancellation } from './jobs.js';
import { now } from './now.js';
import { orders } from './orders.js';
import { openSettlement } from './settle.js';
import { callers, copyGaps, gaps } from './tables.js';

const EVERY_MS = 2_000;
const byId = (id) => document.getElementById(id);

/** `path`: the data that a section needs beside the state. */
const sections = {
  now: { title: 'Now', render: now },
  orders: { title: 'Orders in doubt', render: orders, path: 'orders', count: ({ waiting }) => waiting },
  gaps: { title: 'Gaps', render: gaps, path: 'gaps', count: ({ gaps: number }) => number },
  jobs: { title: 'Jobs', render: jobs, path: 'jobs', count: ({ jobs: running }) => running },
  callers: { title: 'Callers', render: callers },
};

let state;
/** The data of the section that is shown; null where its store does not answer. */
let data;
let section = current();
let replica = '';
/** The job whose failed rows are shown. */
let job = '';
let isPaused = false;
let lastAnswer;
let asking;

function current() {
  const name = location.hash.slice(1);
  return Object.hasOwn(sections, name) ? name : 'now';
}

async function read(path) {
  const response = await fetch(`/console/${path}`, { signal: AbortSignal.timeout(10_000) });
  if (response.status === 503) return null;
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return response.json();
}

async function refresh() {
  const asked = section;
  const { path } = sections[asked];
  try {
    const [newState, newData] = await Promise.all([
      read(`state?replica=${encodeURIComponent(replica)}`),
      path ? read(path === 'jobs' ? `jobs?rows=${encodeURIComponent(job)}` : path) : undefined,
    ]);
    if (newState) [state, lastAnswer] = [newState, Date.now()];
    if (asked === section) data = newData;
    byId('notice').hidden = true;
  } catch {
    const since = lastAnswer === undefined ? '' : ` since ${time(lastAnswer)}: below is what it said then`;
    show(byId('notice'), `This replica does not answer${since}.`);
    byId('notice').hidden = false;
  }
  render();
}

function render() {
  if (!state) return;
  renderBar();
  const { attention } = state;
  const summary = attention.length === 0 ? 'All is well' : attention.map(({ title }) => title).join('. ');
  if (byId('summary').textContent !== summary) byId('summary').textContent = summary;
  document.title = `${attention.length > 0 ? `(${attention.length}) ` : ''}${sections[section].title}: console`;
  const isLoaded = sections[section].path === undefined || data !== undefined;
  show(
    byId('main'),
    h('h1', { class: 'hidden' }, sections[section].title),
    isLoaded && sections[section].render(state, data),
  );
}

function renderBar() {
  show(
    byId('sections'),
    Object.entries(sections).map(([name, { title, count }]) =>
      h(
        'a',
        { href: `#${name}`, 'aria-current': name === section ? 'page' : null, 'data-key': name },
        title,
        count?.(state) > 0 && h('span', { class: 'count' }, count(state)),
      ),
    ),
  );
  const { replicas, self } = state;
  show(
    byId('replica'),
    h('option', { value: '' }, replicas.length === 1 ? 'The only one' : `All ${replicas.length}`),
    replicas.length > 1 &&
      replicas.map(({ id }) =>
        h('option', { value: id, 'data-key': id }, id === self ? `${id} (this one)` : id),
      ),
  );
  byId('replica').value = replicas.some(({ id }) => id === replica) ? replica : '';
  show(byId('live'), isPaused ? `Paused at ${time(lastAnswer)}` : time(lastAnswer));
}

async function follow() {
  for (;;) {
    if (!isPaused && !document.hidden) await (asking ??= refresh().finally(() => (asking = undefined)));
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

addEventListener('hashchange', () => {
  if (location.hash === '#main') return;
  [section, data] = [current(), undefined];
  render();
  scrollTo(0, 0);
  byId('main').focus({ preventScroll: true });
  void refresh();
});
byId('replica').addEventListener('change', ({ target }) => {
  replica = target.value;
  void refresh();
});
byId('pause').addEventListener('click', ({ currentTarget }) => {
  isPaused = !isPaused;
  currentTarget.setAttribute('aria-pressed', String(isPaused));
  if (isPaused) render();
  else void refresh();
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && !isPaused) void refresh();
});
document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('button[data-action]') : null;
  if (button?.dataset.action === 'copy-gaps') void copyGaps(button, data.items);
  if (button?.dataset.action === 'settle') {
    const order = data.items.find(
      (each) => `${each.channelCode} ${each.channelOrderId}` === button.dataset.order,
    );
    if (order) openSettlement(byId('dialog'), order, refresh);
  }
  if (button?.dataset.action === 'rows') {
    job = job === button.dataset.job ? '' : button.dataset.job;
    void refresh();
  }
  if (button?.dataset.action === 'cancel')
    openCancellation(
      byId('dialog'),
      data.items.find(({ jobId }) => jobId === button.dataset.job),
      refresh,
    );
});

void follow();
