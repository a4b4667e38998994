/** A dialog of several steps, of which the first asks for the operator's credential. */
import { caller, forget, use } from './credential.js';
import { button, h } from './dom.js';

const place = document.getElementById('dialog');
/** The task of the dialog: its title, the scope that it needs, and the step after the credential. */
let task;

export const close = () => place.close();

// The button that opened the dialog may be gone meanwhile.
place.addEventListener('close', () => {
  if (document.activeElement === document.body) document.getElementById('main').focus();
});

/** Shows one step. `submit` gets the fields and returns what is wrong, or nothing; `back` is the button that leads back. */
export function step(title, content, go, submit, back) {
  show(title, [who(), content], go, submit, back);
}

/** Names the caller as whom the dialog acts, which the operator may change. */
function who() {
  const name = caller(task.scope);
  if (!name) return null;
  const another = () => {
    forget();
    askCredential();
  };
  return h('p.quiet', `As the caller ${name}; `, button('use another credential', another, '.link'));
}

function show(title, content, go, submit, back, wrongBefore = '') {
  const fault = h('p.fault', { role: 'alert' }, wrongBefore);
  if (go) go.type = 'submit';
  const buttons = h('div.buttons', go, back, button('Close', close));
  const form = h('form', h('h2', { id: 'dialog-title' }, title), content, fault, buttons);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const wrong = await submit(Object.fromEntries(new FormData(form))).catch(
      () => 'The gateway does not answer. Nothing is known to have changed.',
    );
    fault.textContent = wrong ?? '';
    // The gateway does not know the credential any more.
    if (wrong && !caller(task.scope) && !form.elements[CREDENTIAL]) askCredential(wrong);
  });
  place.replaceChildren(form);
  if (!place.open) place.showModal();
  form.querySelector('input:enabled, button:not(.link)').focus();
}

/** Goes on with `then` once there is a credential with this scope. */
export function asCaller(title, scope, then) {
  task = { title, scope, goOn: then };
  if (caller(scope)) then();
  else askCredential();
}

/** Asks one question. The answer yes calls the operation. */
export function question({ title, scope, meaning, yes, send }, refresh) {
  asCaller(title, scope, () => step(title, meaning, yes, () => done(send(), refresh)));
}

/** Closes the dialog if the operation that was called has succeeded, and returns its problem otherwise. */
export async function done(called, refresh) {
  const { ok, body } = await called;
  if (!ok) return faultIn(body);
  close();
  return void refresh();
}

const CREDENTIAL = 'credential';

function askCredential(wrongBefore) {
  const { title, scope, goOn } = task;
  const id = CREDENTIAL;
  const field = { id, name: id, type: 'password', autocomplete: 'off', spellcheck: 'false' };
  const content = [
    h('label', { for: id }, `API key or token of a caller with the scope ${scope}`),
    h('input', field),
    h(
      'p.quiet',
      'It stays in the memory of this tab until you close or reload it. The log names this caller.',
    ),
  ];
  const submit = async (form) => {
    const wrong = await use(form[id], scope);
    if (!wrong) goOn();
    return wrong;
  };
  show(title, content, button('Go on', null, '.main'), submit, null, wrongBefore);
}

/** A problem of the API in one line. */
export function faultIn({ title, detail, errors = [] }) {
  const faults = errors.map((each) => `${each.pointer ?? each.parameter}: ${each.detail}`);
  return [title, detail, ...faults].filter(Boolean).join(': ');
}
