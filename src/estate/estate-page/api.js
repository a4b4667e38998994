/** Calls of the API with the reader's credential. */
import { Credential } from './credential.js';

let changed;
const credential = new Credential('tokens' in document.documentElement.dataset, () => changed());

export const hasKey = () => credential.isGiven;
export const ask = () => credential.ask();

/** @param load is called when there is another key. */
export function watchKey(load) {
  changed = () => (hasKey() ? load() : location.reload());
}

/** @throws what the gateway says of the failure, in words. */
export async function get(path, query, accept = 'application/json') {
  const url = new URL(`../v1/${path}`, import.meta.url);
  url.search = new URLSearchParams(query);
  const response = await fetch(url, { headers: { ...credential.headers, accept } });
  if (response.ok) return response;
  const { status } = response;
  const problem = await response.json().catch(() => ({}));
  if (status === 401) credential.ask('The gateway does not know this key.');
  const [wrong] = problem.errors ?? [];
  const what = wrong ? `${wrong.parameter ?? wrong.pointer} ${wrong.detail}` : problem.detail;
  throw new Error(what ?? problem.title ?? `The gateway answered ${status}.`);
}
