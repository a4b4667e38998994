/** The dialog that settles an order: the credential, what was found, and a confirmation that repeats what it means. */
import { call } from './credential.js';
import { asCaller, close, faultIn, step } from './dialog.js';
import { button, facts, h } from './dom.js';
import { duration, serverNow, time } from './format.js';

/** The API refuses "not placed" before this time, because the platform may still place the order. */
const NOT_PLACED_AFTER_MS = 15 * 60_000;

const SCOPE = 'orders:settle';

const MEANINGS = {
  succeeded: {
    said: 'was placed',
    effect:
      'The gateway records it as placed. A caller that repeats the number gets this record, and nothing is sent.',
    risk: 'If the platform does not have it, the customer never gets what was ordered.',
  },
  not_placed: {
    said: 'was not placed',
    effect: 'It will not be placed later. The number becomes free: the caller may send the order again.',
    risk: 'If the platform has it after all, the customer gets it twice and pays twice.',
  },
};

/** `refresh` is called after a settlement. */
export function settle(order, refresh) {
  const { channelCode, channelOrderId, items = [] } = order;
  const title = `Settle order ${channelOrderId}`;
  /** What the operator has said so far. */
  let said = {};

  const found = () =>
    items
      .map(({ sequence }) => ({ sequence, licenseOrderId: said[`item-${sequence}`].trim() }))
      .filter(({ licenseOrderId }) => licenseOrderId !== '');

  const field = (name, label) => [
    h('label', { for: name }, label),
    h('input', { id: name, name, maxlength: 500, autocomplete: 'off', value: said[name] ?? '' }),
  ];

  const choice = (value, disabled) => {
    const checked = said.as === value && !disabled;
    const input = h('input', { type: 'radio', name: 'as', value, disabled, checked });
    return h('label.choice', input, `The order ${MEANINGS[value].said}`);
  };

  const askResult = () => {
    const possibleAt = order.sentAt + NOT_PLACED_AFTER_MS;
    const leftMs = possibleAt - serverNow();
    const content = [
      h(
        'fieldset',
        h('legend', 'What did you find at the platform?'),
        choice('succeeded', false),
        choice('not_placed', leftMs > 0),
        leftMs > 0 &&
          h(
            'p.quiet',
            `"Not placed" is possible from ${time(possibleAt)}, in ${duration(leftMs)}: until then the platform may still place it.`,
          ),
      ),
      field('reason', 'How did you find out? The record keeps it.'),
      h(
        'details',
        h('summary', 'Licence orders, if it was placed and you know them'),
        items.map(({ sequence }) => field(`item-${sequence}`, `Licence order of item ${sequence}`)),
      ),
    ];
    step(title, content, button('Go on', null, '.main'), async (form) => {
      said = form;
      if (!said.as) return 'Say what you found.';
      if (!said.reason.trim()) return 'Say how you found out.';
      if (said.as === 'not_placed' && found().length > 0)
        return 'An order that was not placed has no licence orders.';
      return confirm();
    });
  };

  const confirm = () => {
    const { said: result, effect, risk } = MEANINGS[said.as];
    const content = [
      h('p', h('strong', `You say: order ${channelOrderId} of channel ${channelCode} ${result}.`)),
      h('p', effect),
      h('p', h('strong', risk)),
      h('p', 'This cannot be taken back. The log records you and your reason.'),
      h('p.quiet', `Reason: ${said.reason}`),
    ];
    const yes = button(`Yes, it ${result}`, null, said.as === 'succeeded' ? '.main' : '.danger');
    step(title, content, yes, send, button('Back', askResult));
  };

  const send = async () => {
    const path = [channelCode, channelOrderId].map(encodeURIComponent).join('/');
    const { ok, body } = await call('POST', `/v1/license-orders/${path}/settlement`, {
      ...{ as: said.as, reason: said.reason.trim() },
      ...(found().length > 0 && { items: found() }),
    });
    const isSettled = body.code === 'order-not-settleable' && !body.retryable;
    if (!ok && !isSettled) return faultIn(body);
    if (ok) close();
    else showOther(body);
    return void refresh();
  };

  /** Another result stands there: the order was settled, or found, since this dialog was opened. */
  const showOther = ({ detail }) => {
    const named = found().map(({ sequence, licenseOrderId }) => `, item ${sequence} as ${licenseOrderId}`);
    const content = [
      h('p', h('strong', 'Nothing was changed: the order has a result already.')),
      facts({
        'What stands there': detail,
        'What you said': `${said.as}${named.join('')}. Reason: ${said.reason}`,
      }),
      h(
        'p.quiet',
        'If both cannot be true, compare the order with the list of the platform, and talk to who settled it: the log has the line.',
      ),
    ];
    step(title, content);
  };

  asCaller(title, SCOPE, askResult);
}
