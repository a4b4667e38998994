/** The operator's console: asks for the state every two seconds while it can be seen, and shows the section that the address names. */
import { attention } from './attention.js';
import { h, panel, show } from './dom.js';
import { learnServerTime, time } from './format.js';
import { budgets } from './budgets.js';
import { gaps } from './gaps.js';
import { jobs } from './jobs.js';
import { maintenance } from './maintenance.js';
import { orders } from './orders.js';
import { scheduled } from './scheduled.js';
import { settings } from './settings.js';
import { webhooks } from './webhooks.js';

const EVERY_MS = 2_000;
const byId = (id) => document.getElementById(id);

/** `path`: the data that a section needs beside the state. */
const sections = { attention, orders, scheduled, jobs, webhooks, gaps, maintenance, budgets, settings };

let state;
/** The data of the section that is shown; null where its store does not answer. */
let data;
let section = current();
let isPaused = false;
let lastAnswer;
/** The number of refreshes, and of the one that is shown: an answer to an earlier one is out of date. */
let [begun, shown] = [0, 0];

function current() {
  const name = location.hash.slice(1);
  return Object.hasOwn(sections, name) ? name : 'attention';
}

async function read(path) {
  const response = await fetch(`/console/${path}`, { signal: AbortSignal.timeout(10_000) });
  if (response.status === 503) return null;
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return response.json();
}

async function refresh() {
  const mine = ++begun;
  const asked = section;
  const { path } = sections[asked];
  const answers = await Promise.all([read('state'), path ? read(path()) : {}]).catch(() => []);
  if (mine < shown) return;
  shown = mine;
  const [newState, newData] = answers;
  if (newState) {
    [state, lastAnswer] = [newState, newState.at];
    learnServerTime(lastAnswer);
    if (asked === section) data = newData;
  } else {
    const since = lastAnswer === undefined ? '' : ` since ${time(lastAnswer)}: below is what it said then`;
    show(byId('notice'), `This replica does not answer${since}.`);
  }
  byId('notice').hidden = Boolean(newState);
  render();
}

function render() {
  if (!state) return;
  const { attention: items, replica } = state;
  const { title, render: content } = sections[section];
  const summary = items.length === 0 ? 'All is well' : items.map((each) => each.title).join('. ');
  show(byId('summary'), summary);
  show(byId('sections'), Object.entries(sections).map(link));
  show(byId('live'), isPaused ? `Paused at ${time(lastAnswer)}` : time(lastAnswer));
  show(byId('replica'), replica);
  document.title = `${items.length > 0 ? `(${items.length}) ` : ''}${title}: console`;
  const isAway = panel('Not known', 'The database does not respond: see "Attention" for the reason.');
  const hadFocus = byId('main').contains(document.activeElement);
  show(byId('main'), h('h1', title), data === null ? isAway : data && content(state, data, refresh));
  // The element with the focus may be gone, such as the button of an order that is settled now.
  if (hadFocus && document.activeElement === document.body) byId('main').focus();
}

function link([name, { title, count }]) {
  const attributes = { href: `#${name}`, 'aria-current': name === section && 'page' };
  return h('a', attributes, title, count(state) > 0 && ` (${count(state)})`);
}

async function follow() {
  for (;;) {
    if (!isPaused && !document.hidden) await refresh();
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

addEventListener('hashchange', () => {
  if (location.hash === '#main') return;
  [section, data] = [current(), undefined];
  render();
  byId('main').focus();
  void refresh();
});
byId('pause').addEventListener('click', ({ currentTarget }) => {
  isPaused = !isPaused;
  currentTarget.setAttribute('aria-pressed', String(isPaused));
  if (isPaused) render();
  else void refresh();
});

void follow();
