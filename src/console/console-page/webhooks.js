/** The section "Webhooks": the receivers of all callers, failing ones first, and the way to send an event again. */
import { call } from './credential.js';
import { question } from './dialog.js';
import { button, h, panel, table, word } from './dom.js';
import { ago, count, duration, plural } from './format.js';

const KINDS = { ok: 'good', failing: 'act', off: 'watch' };
const WHY_OFF = {
  'by-request': 'switched off by its owner',
  gone: 'the receiver answered 410',
  failing: 'no delivery was accepted for 3 days',
  'address-refused': 'for 3 days its host or address was one that may not be called',
};

/** The webhook whose deliveries are shown. */
let open = '';

export const webhooks = {
  title: 'Webhooks',
  path: () => `webhooks?deliveries=${encodeURIComponent(open)}`,
  count: ({ webhooks: troubled }) => troubled,
  render: ({ at }, { total, items }, refresh) =>
    total === 0
      ? panel('None', 'No caller has a webhook.')
      : [
          panel(
            items.length === total
              ? plural(total, 'webhook')
              : `${items.length} of ${plural(total, 'webhook')}: failing ones first`,
            table('Webhooks', columns(at, refresh), items, ({ webhookId }) => webhookId),
          ),
          items.filter(({ deliveries }) => deliveries).map((each) => waiting(each, at, refresh)),
        ],
};

const columns = (at, refresh) => [
  [
    'Webhook',
    ({ webhookId, url, description, state, pending }) => [
      h('code', url),
      description && h('div', description),
      h('br'),
      h('code', webhookId),
      h(
        'div.buttons',
        (state !== 'ok' || pending > 0 || webhookId === open) &&
          button(webhookId === open ? 'Hide deliveries' : 'Show deliveries', () =>
            toggle(webhookId, refresh),
          ),
      ),
    ],
  ],
  ['Caller', ({ caller }) => caller, '.wide'],
  [
    'State',
    ({ state, offReason }) => [
      word(KINDS[state] ?? 'off', state),
      offReason && h('div.quiet', WHY_OFF[offReason] ?? offReason),
    ],
  ],
  ['Last error', ({ state, lastError }) => state !== 'ok' && lastError && h('code', lastError)],
  ['Waiting', ({ pending }) => count(pending)],
  ['Failing since', ({ failingSince }) => failingSince && ago(Date.parse(failingSince), at), '.wide'],
  ['Delivered', ({ lastDeliveredAt }) => lastDeliveredAt && ago(Date.parse(lastDeliveredAt), at), '.wide'],
];

function toggle(webhookId, refresh) {
  open = open === webhookId ? '' : webhookId;
  void refresh();
}

function waiting(webhook, at, refresh) {
  const { deliveries, undelivered, webhookId } = webhook;
  const shown =
    deliveries.length < undelivered ? `${deliveries.length} of ${count(undelivered)}` : undelivered;
  return panel(
    `Not delivered to ${webhookId}: ${shown}`,
    table(
      'Deliveries',
      [
        ['Event', ({ eventId, type }) => [type, h('br'), h('code', eventId)]],
        [
          'State',
          ({ state, attempts }) => [
            word(state === 'failed' ? 'act' : 'watch', state),
            ` ${plural(attempts, 'attempt')}`,
          ],
        ],
        ['Error', ({ error }) => h('code', error ?? '–')],
        ['Next', ({ nextAttemptAt }) => nextAttemptAt && `in ${duration(nextAttemptAt - at)}`, '.wide'],
        ['', ({ eventId }) => button('Send again…', () => redeliver(webhook, eventId, refresh))],
      ],
      deliveries,
      ({ eventId }) => eventId,
    ),
  );
}

function redeliver({ webhookId, url, caller }, eventId, refresh) {
  const title = `Send ${eventId} again`;
  const meaning = [
    h('p', ['To ', h('code', url), `, a webhook of ${caller}: only that caller's key may do it.`]),
    h('p', 'A receiver that has had the event sees the same webhook-id.'),
  ];
  const yes = button('Yes, send it again');
  const path = `/v1/webhooks/${encodeURIComponent(webhookId)}/deliveries/${encodeURIComponent(eventId)}`;
  question({ title, scope: 'webhooks:write', meaning, yes, send: () => call('POST', path) }, refresh);
}
