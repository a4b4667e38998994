/** The section "Orders": what is known of each order whose end is open, what to check at the platform, and the way to settle it. */
import { button, facts, h, panel, table, word } from './dom.js';
import { ago, count, duration, plural, time } from './format.js';
import { settle } from './settle.js';

const RESULTS = {
  settled: ['good', 'found, and settled'],
  not_found: ['off', 'not found'],
  gone_once: ['off', 'what it deletes is gone: confirmed by the next search'],
  not_seen: ['off', 'the gateway never saw what it deletes'],
  unreadable: ['off', 'a list of the platform did not come whole'],
  no_user: ['off', 'no configured user serves the enterprise'],
  incomplete: ['watch', 'found in part'],
  placed_twice: ['act', 'found more often than ordered'],
  failed: ['watch', 'the search failed'],
};

/** What follows if nothing of the order was carried out, or only a part. `nothing` says how that looks. */
const NOT_CARRIED_OUT = {
  in_doubt: (nothing) =>
    `${nothing}, 15 minutes after it was sent, and the platform is well: settle it as not placed.`,
  incomplete: () => 'Only a part of it: ask the owner of the platform first.',
  accepted: (nothing) =>
    `${nothing}: ask the owner of the platform whether it still works on it. Only what it will never place is not placed.`,
};

export const orders = {
  title: 'Orders in doubt',
  path: () => 'orders',
  count: ({ waiting }) => waiting,
  render: ({ at }, { total, unread, items }, refresh) =>
    total === 0
      ? panel('None', 'The outcome of every order is known.')
      : [
          h(
            'p.quiet',
            'Each was sent once, and its outcome is unknown. The gateway never sends it again. The oldest comes first; orders that the platform accepted for later, and has not shown since, come last.',
          ),
          unread > 0 && h('p.notice', `${plural(unread, 'record')} cannot be read: the log names them.`),
          total > items.length + unread &&
            h('p.notice', `${count(total)} in all: these are the oldest ${items.length + unread}.`),
          items.map((order) => card(order, at, refresh)),
        ],
};

function card(order, at, refresh) {
  const { channelCode, channelOrderId, state, caller, sentAt, syncMode, items = [], placed } = order;
  const licenseOrder = ({ sequence }) => placed?.find((each) => each.sequence === sequence)?.licenseOrderId;
  return h(
    'section.panel',
    {
      'data-key': `${channelCode} ${channelOrderId}`,
      'aria-label': `Order ${channelOrderId} of channel ${channelCode}`,
    },
    h(
      'div.buttons',
      h('h2', channelOrderId),
      word(state === 'in_doubt' ? 'act' : 'watch', state.replace('_', ' ')),
      button('Settle…', () => settle(order, refresh), '.main'),
    ),
    facts({
      Channel: channelCode,
      Caller: caller,
      Sent: `${time(sentAt, at)}, ${ago(sentAt, at)}`,
      Mode: syncMode,
    }),
    table(
      `Items of ${channelOrderId}`,
      [
        ['Item', ({ sequence }) => sequence],
        ['Type', ({ orderType }) => orderType],
        ['Enterprise', ({ enterpriseGlobalId }) => enterpriseGlobalId ?? '–'],
        ['Licence order', (item) => licenseOrder(item) ?? 'not known'],
      ],
      items,
      ({ sequence }) => sequence,
    ),
    h('h3', 'What each search found'),
    looks(order, at),
    h('h3', 'What to check at the platform'),
    checks(order),
  );
}

function looks({ attempts, nextAt, noMore }, at) {
  if (attempts === null) return h('p.quiet', 'What was found is not known: the database does not answer.');
  const look = ({ at: when, result, licenseOrders, failure }) =>
    h(
      'li',
      `${time(when, at)} `,
      word(...(RESULTS[result] ?? ['off', result])),
      licenseOrders.length > 0 && ` ${licenseOrders.join(', ')}`,
      failure && ` (${failure})`,
    );
  const next = nextAt === null ? noMore : `${time(nextAt, at)} next, in ${duration(nextAt - at)}`;
  return h('ol', attempts.map(look), h('li.quiet', next));
}

function checks({ channelCode, channelOrderId, sentAt, items = [], state }) {
  const bought = items.filter(({ orderType }) => orderType === 'new_buy').length;
  const deletes = bought < items.length;
  const enterprises = [...new Set(items.map(({ enterpriseGlobalId }) => enterpriseGlobalId).filter(Boolean))];
  const names = enterprises.join(', ');
  const placed = [
    bought > 0 && `One licence order for each purchase (${bought})`,
    deletes && 'Everything that it deletes is gone',
  ];
  const nothing = [bought > 0 && 'None', deletes && 'All that it deletes is still there'];
  return h(
    'ol',
    h(
      'li',
      `Search its licence orders for channelOrderId ${channelOrderId}, channelCode ${channelCode}`,
      names && `, of ${names}`,
      `, made at ${new Date(sentAt).toISOString()} or later.`,
    ),
    deletes && h('li', `Search the assets of ${names || 'the customer'} for what it deletes.`),
    h('li', `${both(placed)}: settle it as placed.`),
    h('li', NOT_CARRIED_OUT[state](both(nothing))),
    h(
      'li',
      'More than one for an item: it was placed twice. Tell the owner of the platform before you settle it.',
    ),
  );
}

/** Joins those parts of a sentence that apply. */
function both(parts) {
  const [first, second] = parts.filter(Boolean);
  return second ? `${first}, and ${second[0].toLowerCase()}${second.slice(1)}` : first;
}
