/** A dialog of several steps, of which the first asks for the operator's credential. */
import { use } from './credential.js';
import { h, show } from './dom.js';

export function dialogOf(place, title) {
  const close = () => place.close();
  const button = (text, press) => {
    const made = h('button', { type: 'button' }, text);
    made.addEventListener('click', press);
    return made;
  };
  const dismiss = () => button('Close', close);
  const back = (to) => button('Back', to);
  /** Shows one step. `submit` returns what is wrong, or nothing. */
  const step = (children, submit, buttons) => {
    const form = h(
      'form',
      { method: 'dialog' },
      h('h2', { id: 'dialog-title' }, title),
      ...children,
      h('p', { class: 'fault', role: 'alert' }),
      h('div', { class: 'buttons' }, buttons),
    );
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const wrong = await submit(new FormData(form)).catch(
        () => 'The gateway does not answer. Nothing is known to have changed.',
      );
      if (wrong) show(form.querySelector('.fault'), wrong);
    });
    place.replaceChildren(form);
    form.querySelector('input:not([type=radio]):not([disabled]), input:not([disabled]), button')?.focus();
  };
  /** Goes on with `then` once there is a credential with this scope. */
  const askCredential = (scope, then) =>
    step(
      [
        h('label', { for: 'credential' }, `API key or token of a caller with the scope ${scope}`),
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
        const wrong = await use(String(form.get('credential')), scope);
        if (!wrong) then();
        return wrong;
      },
      [h('button', { type: 'submit', class: 'main' }, 'Go on'), dismiss()],
    );
  return { step, askCredential, dismiss, back, close };
}

/** A problem of the API in one line. */
export function faultIn({ title, detail, errors = [] }) {
  const faults = errors.map((each) => `${each.pointer ?? each.parameter}: ${each.detail}`);
  return [title, detail, ...faults].filter(Boolean).join(': ');
}
