/** The dialog that settles an order: the credential, what was found, and a confirmation that repeats what it means. */
import { call, caller, forget, use } from './credential.js';
import { h, show } from './dom.js';
import { duration, time } from './format.js';

/** As the API has it: earlier, the platform may still place the order. */
const NOT_PLACED_AFTER_MS = 15 * 60_000;

/** `done` is called after a settlement. */
export function openSettlement(dialog, order, done) {
  const draft = { as: undefined, reason: '', licenseOrders: {} };
  const title = () => h('h2', { id: 'settle-title' }, `Settle order ${order.channelOrderId}`);
  const fault = (text) => h('p', { class: 'fault', role: 'alert' }, text);
  const close = () => dialog.close();
  /** Shows one step; `submit` returns what is wrong, or nothing. */
  const step = (children, submit, buttons) => {
    const form = h(
      'form',
      { method: 'dialog' },
      title(),
      ...children,
      fault(''),
      h('div', { class: 'buttons' }, buttons),
    );
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const wrong = await submit(new FormData(form)).catch(
        () => 'The gateway does not answer. Nothing is known to have changed.',
      );
      if (wrong) show(form.querySelector('.fault'), wrong);
    });
    dialog.replaceChildren(form);
    form.querySelector('input:not([type=radio]):not([disabled]), input:not([disabled]), button')?.focus();
  };
  const cancel = () => {
    const button = h('button', { type: 'button' }, 'Cancel');
    button.addEventListener('click', close);
    return button;
  };
  const back = (to) => {
    const button = h('button', { type: 'button' }, 'Back');
    button.addEventListener('click', to);
    return button;
  };

  const askCredential = () =>
    step(
      [
        h('label', { for: 'credential' }, 'API key or token of a caller with the scope orders:settle'),
        h('input', {
          id: 'credential',
          name: 'credential',
          type: 'password',
          autocomplete: 'off',
          spellcheck: 'false',
        }),
        h(
          'p',
          { class: 'quiet' },
          'It stays in the memory of this tab until you close or reload it. The log names this caller.',
        ),
      ],
      async (form) => {
        const wrong = await use(String(form.get('credential')));
        if (!wrong) askResult();
        return wrong;
      },
      [h('button', { type: 'submit', class: 'main' }, 'Go on'), cancel()],
    );

  const askResult = () => {
    const possibleAt = order.submittedAt + NOT_PLACED_AFTER_MS;
    const isEarly = Date.now() < possibleAt;
    const other = h('button', { type: 'button', class: 'link' }, 'use another credential');
    other.addEventListener('click', () => {
      forget();
      askCredential();
    });
    step(
      [
        h('p', { class: 'quiet' }, `As the caller ${caller()}; `, other),
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
      [h('button', { type: 'submit', class: 'main' }, 'Go on'), cancel()],
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
        cancel(),
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
    if (!ok)
      return [
        body.title,
        body.detail,
        ...(body.errors ?? []).map((each) => `${each.pointer}: ${each.detail}`),
      ]
        .filter(Boolean)
        .join(': ');
    close();
    void done();
    return undefined;
  };

  if (caller() === undefined) askCredential();
  else askResult();
  dialog.showModal();
}

function choice(value, text, draft, disabled = false) {
  return h(
    'label',
    { class: 'choice' },
    h('input', { type: 'radio', name: 'as', value, disabled, checked: draft.as === value && !disabled }),
    text,
  );
}
