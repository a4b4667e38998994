/** The section "Orders in doubt": what is known of each order whose end is open, what to check at the platform, and the way to settle it. */
import { empty, h, panel, state as word, table } from './dom.js';
import { ago, count, duration, plural, time } from './format.js';

const RESULTS = {
  settled: ['good', 'found, and settled'],
  not_found: ['off', 'not found'],
  incomplete: ['watch', 'found in part'],
  placed_twice: ['act', 'found more often than ordered'],
  failed: ['watch', 'could not look'],
};

const STATES = {
  in_doubt: ['act', 'in doubt'],
  incomplete: ['watch', 'incomplete'],
  accepted: ['watch', 'accepted'],
};

export function orders({ at }, data) {
  if (data === null)
    return panel(
      'Orders in doubt',
      null,
      empty('The order store does not answer: see "Now" for the reason.'),
    );
  const { total, unread, items } = data;
  if (total === 0) return panel('Orders in doubt', null, empty('None: the outcome of every order is known.'));
  return [
    h(
      'p',
      { class: 'lead' },
      'Each was sent once, and its outcome is unknown. The gateway looks for it at the platform, ever more rarely, and never sends it again. ',
      'The oldest comes first; after those in doubt come those that the platform accepted for later, and that nothing has shown since.',
    ),
    unread > 0 &&
      h('p', { class: 'notice' }, `${plural(unread, 'record')} cannot be read: see the events under "Now".`),
    total > items.length + unread &&
      h('p', { class: 'notice' }, `${count(total)} in all: these are the oldest ${items.length + unread}.`),
    items.map((order) => card(order, at)),
  ];
}

function card(order, at) {
  const { channelCode, channelOrderId, state, caller, submittedAt, syncMode, items = [] } = order;
  const name = `${channelCode} ${channelOrderId}`;
  return h(
    'section',
    {
      class: 'panel order',
      'data-key': name,
      'aria-label': `Order ${channelOrderId} of channel ${channelCode}`,
    },
    h(
      'header',
      {},
      h('h2', {}, channelOrderId),
      word(...STATES[state]),
      h('button', { type: 'button', class: 'main', 'data-action': 'settle', 'data-order': name }, 'Settle…'),
    ),
    h(
      'dl',
      { class: 'facts' },
      fact('Channel', channelCode),
      fact('Caller', caller),
      fact('Sent', `${time(submittedAt, at)}, ${ago(submittedAt, at)}`),
      fact('Mode', syncMode),
    ),
    table(
      `Items of ${channelOrderId}`,
      [
        { head: 'Item', cell: ({ sequence }) => sequence },
        { head: 'Type', cell: ({ orderType }) => orderType },
        { head: 'Enterprise', cell: ({ enterpriseGlobalId }) => enterpriseGlobalId ?? '–' },
        {
          head: 'Licence order',
          cell: ({ sequence }) =>
            order.placed?.find((each) => each.sequence === sequence)?.licenseOrderId ?? 'not known',
        },
      ],
      items,
      ({ sequence }) => `item ${sequence}`,
    ),
    h('div', { class: 'columns' }, looks(order, at), checks(order)),
  );
}

function fact(name, value) {
  return [h('dt', {}, name), h('dd', {}, value)];
}

function looks({ attempts, nextAt, noMore }, at) {
  const list =
    attempts === null
      ? h('p', { class: 'quiet' }, 'What was found is not known: the shared Redis is away.')
      : h(
          'ol',
          { class: 'looks' },
          attempts.map(({ at: when, result, licenseOrders, failure }) =>
            h(
              'li',
              { 'data-key': String(when) },
              h('span', { class: 'when' }, time(when, at)),
              word(...(RESULTS[result] ?? ['off', result])),
              licenseOrders.length > 0 && ` ${licenseOrders.join(', ')}`,
              failure && ` (${failure})`,
            ),
          ),
          h(
            'li',
            { 'data-key': 'next', class: 'quiet' },
            nextAt === null
              ? noMore
              : [
                  h('span', { class: 'when' }, time(nextAt, at)),
                  `next, in ${duration((nextAt - at) / 1_000)}`,
                ],
          ),
        );
  return h('div', {}, h('h3', {}, 'What each look found'), list);
}

function checks({ channelCode, channelOrderId, submittedAt, items = [], state }) {
  const sent = new Date(submittedAt).toISOString();
  const enterprises = [...new Set(items.map(({ enterpriseGlobalId }) => enterpriseGlobalId).filter(Boolean))];
  return h(
    'div',
    {},
    h('h3', {}, 'What to check at the platform'),
    h(
      'ol',
      {},
      h(
        'li',
        {},
        `Search its licence orders for channelOrderId ${channelOrderId}, channelCode ${channelCode}`,
        enterprises.length > 0 && `, of ${enterprises.join(', ')}`,
        `, made at ${sent} or later.`,
      ),
      h(
        'li',
        {},
        `${items.length === 1 ? 'One licence order' : `${items.length} licence orders, one for each item`}: settle it as placed.`,
      ),
      h(
        'li',
        {},
        state === 'incomplete'
          ? 'Some: ask the owner of the platform first.'
          : state === 'accepted'
            ? 'None: ask the owner of the platform whether it still works on it. Only what it will never place is not placed.'
            : 'None, 15 minutes after it was sent, and the platform is well: settle it as not placed.',
      ),
      h(
        'li',
        {},
        'More than one for an item: it was placed twice. Tell the owner of the platform before you settle it.',
      ),
    ),
  );
}
