/** The section "Scheduled": the orders for a later day, what is due in the next days first, and why one waits. */
import { h, panel, table, word } from './dom.js';
import { count, duration, plural, time } from './format.js';

const DAY_MS = 24 * 3_600_000;
const DAYS = 7;
const TYPES = { new_buy: 'buys', delete_asset: 'deletes assets', delete_product: 'deletes products' };

export const scheduled = {
  title: 'Scheduled',
  path: () => 'scheduled',
  count: ({ scheduled: waiting }) => waiting,
  render: ({ at }, { total, unread, items }) => {
    if (total === 0) return panel('None', 'No order waits for a later day.');
    const isSoon = ({ notBefore }) => notBefore < at + DAYS * DAY_MS;
    // `waits` follows the clock of the database, by which orders are sent.
    const late = items.filter(({ waits }) => waits !== null);
    const soon = items.filter((order) => isSoon(order) && !late.includes(order));
    const others = items.filter((order) => !isSoon(order) && !late.includes(order));
    return [
      h(
        'p.quiet',
        'Each is sent at its time, once. Its caller may cancel it until then, and its rights, budgets and deletions are looked at again.',
      ),
      unread > 0 && h('p.notice', `${plural(unread, 'record')} cannot be read: the log names them.`),
      total > items.length + unread &&
        h('p.notice', `${count(total)} in all: these are the ${items.length} that are due first.`),
      late.length > 0 && panel('Their time has come', list('Late', at, late, true)),
      panel(
        `Due in the next ${DAYS} days`,
        soon.length > 0 ? list('Next', at, soon) : h('p', total > items.length ? 'None of these.' : 'None.'),
      ),
      others.length > 0 && panel('Later', list('Later', at, others)),
    ];
  },
};

function list(label, at, orders, isLate = false) {
  const why = [
    'Why it waits',
    ({ waits, notBefore }) => [word('watch', `${duration(Math.max(0, at - notBefore))} late`), ` ${waits}`],
  ];
  return table(
    label,
    [
      ['Order', ({ channelOrderId }) => channelOrderId],
      ['Channel', ({ channelCode }) => channelCode, '.wide'],
      ['Not before', ({ notBefore }) => time(notBefore, at)],
      isLate ? why : ['In', ({ notBefore }) => duration(notBefore - at)],
      ['What it does', ({ items }) => doing(items)],
      ['Enterprise', ({ items }) => enterprisesOf(items), '.wide'],
      ['Caller', ({ caller }) => caller, '.wide'],
    ],
    orders,
    ({ channelCode, channelOrderId }) => `${channelCode} ${channelOrderId}`,
  );
}

function doing(items = []) {
  const kinds = [...new Set(items.map(({ orderType }) => orderType))];
  const words = kinds.map((kind) => TYPES[kind] ?? kind).join(', ');
  return items.length > 1 ? `${words} (${plural(items.length, 'item')})` : words;
}

function enterprisesOf(items = []) {
  const ids = items.map(({ enterpriseGlobalId }) => enterpriseGlobalId).filter(Boolean);
  return [...new Set(ids)].join(', ') || '–';
}
