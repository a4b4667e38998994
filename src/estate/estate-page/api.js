/** Calls of the API with the reader's key, which the API page keeps in the same place for this tab. */
const STORED = 'licensing-gateway.credential';
const element = (id) => document.getElementById(id);
let kept = sessionStorage.getItem(STORED) ?? '';

function headers() {
  const text = kept.trim().replace(/^(x-api-key:|authorization:\s*bearer|bearer)\s*/i, '');
  if (!/^[\x21-\x7e]+$/.test(text)) return {};
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text) ? { authorization: `Bearer ${text}` } : { 'x-api-key': text };
}

export const hasKey = () => kept !== '';

/** @throws what the gateway says of the failure, in words. */
export async function get(path, query, accept = 'application/json') {
  const url = new URL(`../v1/${path}`, import.meta.url);
  url.search = new URLSearchParams(query);
  const response = await fetch(url, { headers: { ...headers(), accept } });
  if (response.ok) return response;
  const { status } = response;
  const problem = await response.json().catch(() => ({}));
  if (status === 401) ask('The gateway does not know this key.');
  const [wrong] = problem.errors ?? [];
  const what = wrong ? `${wrong.parameter ?? wrong.pointer} ${wrong.detail}` : problem.detail;
  throw new Error(what ?? problem.title ?? `The gateway answered ${status}.`);
}

export function ask(fault = '') {
  element('fault').textContent = fault;
  element('credential').value = '';
  element('forget').hidden = kept === '';
  if (!element('dialog').open) element('dialog').showModal();
}

function keep(text) {
  kept = text;
  if (text === '') sessionStorage.removeItem(STORED);
  else sessionStorage.setItem(STORED, text);
  element('key').textContent = text === '' ? 'Enter a key' : 'Change the key';
}

/** @param changed is called when there is another key. */
export function watchKey(changed) {
  keep(kept);
  element('key').addEventListener('click', () => ask());
  element('cancel').addEventListener('click', () => element('dialog').close());
  element('forget').addEventListener('click', () => {
    keep('');
    location.reload();
  });
  element('login').addEventListener('submit', (event) => {
    event.preventDefault();
    const text = element('credential').value;
    if (text.trim() === '') return (element('fault').textContent = 'Paste a key first.');
    keep(text);
    element('dialog').close();
    return changed();
  });
}
