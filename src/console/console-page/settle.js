/** The dialog that settles an order: the credential, what was found, and a confirmation that repeats what it means. */
import { call, caller, forget } from './credential.js';
import { dialogOf, faultIn } from './dialog.js';
import { h } from './dom.js';
import { duration, time } from './format.js';

/** As the API has it: earlier, the platform may still place the order. */
const NOT_PLACED_AFTER_MS = 15 * 60_000;

const SCOPE = 'orders:settle';

/** `done` is called after a settlement. */
export function openSettlement(place, order, done) {
  const draft = { as: undefined, reason: '', licenseOrders: {} };
  const { step, askCredential, dismiss, back, close } = dialogOf(
    place,
    `Settle order ${order.channelOrderId}`,
  );

  const askResult = () => {
    const possibleAt = order.submittedAt + NOT_PLACED_AFTER_MS;
    // An accepted order is shown when it may be settled.
    const isEarly = order.state !== 'accepted' && Date.now() < possibleAt;
    const other = h('button', { type: 'button', class: 'link' }, 'use another credential');
    other.addEventListener('click', () => {
      forget();
      askCredential(SCOPE, askResult);
    });
    step(
      [
        h('p', { class: 'quiet' }, `As the caller ${caller(SCOPE)}; `, other),
        h(
          'fieldset',
          {},
          h('legend', {}, 'What did you find at the platform?'),
          choice('succeeded', 'The order was placed', draft),
          choice('not_placed', 'The order was not placed', draft, isEarly),
          isEarly &&
            h(
              'p',
              { class: 'quiet' },
              `"Not placed" is possible from ${time(possibleAt)}, in ${duration((possibleAt - Date.now()) / 1_000)}: until then the platform may still place it.`,
            ),
        ),
        h('label', { for: 'reason' }, 'How did you find out? The record keeps it.'),
        h('input', {
          id: 'reason',
          name: 'reason',
          maxlength: 500,
          autocomplete: 'off',
          value: draft.reason,
        }),
        h(
          'details',
          {},
          h('summary', {}, 'Licence orders, if it was placed and you know them'),
          (order.items ?? []).map(({ sequence }) => [
            h('label', { for: `item-${sequence}` }, `Licence order of item ${sequence}`),
            h('input', {
              id: `item-${sequence}`,
              name: `item-${sequence}`,
              autocomplete: 'off',
              value: draft.licenseOrders[sequence] ?? '',
            }),
          ]),
        ),
      ],
      async (form) => {
        draft.as = form.get('as');
        draft.reason = String(form.get('reason')).trim();
        for (const { sequence } of order.items ?? [])
          draft.licenseOrders[sequence] = String(form.get(`item-${sequence}`)).trim();
        if (!draft.as) return 'Say what you found.';
        if (!draft.reason) return 'Say how you found out.';
        if (draft.as === 'not_placed' && items().length > 0)
          return 'An order that was not placed has no licence orders.';
        confirm();
        return undefined;
      },
      [h('button', { type: 'submit', class: 'main' }, 'Go on'), dismiss()],
    );
  };

  const items = () =>
    Object.entries(draft.licenseOrders)
      .filter(([, licenseOrderId]) => licenseOrderId !== '')
      .map(([sequence, licenseOrderId]) => ({ sequence: Number(sequence), licenseOrderId }));

  const confirm = () => {
    const isPlaced = draft.as === 'succeeded';
    const name = `${order.channelOrderId} of channel ${order.channelCode}`;
    step(
      [
        h(
          'p',
          {},
          h(
            'strong',
            {},
            isPlaced
              ? `You say: order ${name} was placed.`
              : `You say: order ${name} was not placed, and will not be.`,
          ),
        ),
        h(
          'ul',
          {},
          isPlaced
            ? [
                h(
                  'li',
                  {},
                  'The gateway records it as placed. A caller that repeats the number gets this record, and nothing is sent.',
                ),
                h(
                  'li',
                  {},
                  h(
                    'strong',
                    {},
                    'If the platform does not have it, the customer never gets what was ordered.',
                  ),
                ),
              ]
            : [
                h(
                  'li',
                  {},
                  'The number becomes free: the caller may send the order again, and then it is placed.',
                ),
                h(
                  'li',
                  {},
                  h(
                    'strong',
                    {},
                    'If the platform has it after all, the customer gets it twice and pays twice.',
                  ),
                ),
              ],
          h('li', {}, 'This cannot be taken back. The log records you and your reason.'),
        ),
        h('p', { class: 'quiet' }, `Reason: ${draft.reason}`),
      ],
      settle,
      [
        h(
          'button',
          { type: 'submit', class: isPlaced ? 'main' : 'danger' },
          isPlaced ? 'Yes, it was placed' : 'Yes, it was not placed',
        ),
        back(askResult),
        dismiss(),
      ],
    );
  };

  const settle = async () => {
    const path = [order.channelCode, order.channelOrderId].map(encodeURIComponent).join('/');
    const found = items();
    const { ok, body } = await call('POST', `/v1/license-orders/${path}/settlement`, {
      ...{ as: draft.as, reason: draft.reason },
      ...(found.length > 0 && { items: found }),
    });
    if (!ok && body.code === 'order-not-settleable' && !body.retryable) {
      showStanding(body);
      void done();
      return undefined;
    }
    if (!ok) return faultIn(body);
    close();
    void done();
    return undefined;
  };

  /** Another result stands there: the order was settled, or found, since this dialog was opened. */
  const showStanding = (problem) => {
    const found = items().map(({ sequence, licenseOrderId }) => `, item ${sequence} as ${licenseOrderId}`);
    step(
      [
        h('p', {}, h('strong', {}, 'Nothing was changed: the order has a result already.')),
        h(
          'dl',
          { class: 'facts' },
          h('dt', {}, 'What stands there'),
          h('dd', {}, problem.detail),
          h('dt', {}, 'What you said'),
          h('dd', {}, `${draft.as}${found.join('')}. Reason: ${draft.reason}`),
        ),
        h(
          'p',
          { class: 'quiet' },
          'If both cannot be true, compare the order with the list of the platform, and talk to who settled it: the log has the line.',
        ),
      ],
      () => {
        close();
        return Promise.resolve(undefined);
      },
      [h('button', { type: 'submit', class: 'main' }, 'Close')],
    );
  };

  if (caller(SCOPE) === undefined) askCredential(SCOPE, askResult);
  else askResult();
  place.showModal();
}

function choice(value, text, draft, disabled = false) {
  return h(
    'label',
    { class: 'choice' },
    h('input', { type: 'radio', name: 'as', value, disabled, checked: draft.as === value && !disabled }),
    text,
  );
}
