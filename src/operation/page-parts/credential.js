/**
 * The reader's API key or token. Pages of one origin keep it together, for this tab. A page sends it with every request, and tells the
 * reader when it is no longer valid.
 */

const STORED = 'licensing-gateway.credential';
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

const element = (id) => document.getElementById(id);

/** Returns the header for a pasted text: a key or a token, with or without the name of a header or a scheme in front. */
function headerOf(text) {
  const bare = text
    .trim()
    .replace(/^(x-api-key|authorization)\s*:\s*/i, '')
    .replace(/^bearer\s+/i, '')
    .replace(/^(["'])(.*)\1$/, '$2');
  return TOKEN.test(bare) ? ['Authorization', `Bearer ${bare}`] : ['X-Api-Key', bare];
}

export class Credential {
  #text = sessionStorage.getItem(STORED) ?? '';
  /** @readonly */
  #acceptsTokens;
  /** @readonly */
  #changed;

  /** @param changed is called when the reader has given another credential, or has signed out. */
  constructor(acceptsTokens, changed = () => {}) {
    this.#acceptsTokens = acceptsTokens;
    this.#changed = changed;
    element('dialog').querySelector('label').textContent = acceptsTokens
      ? 'API key or token (JWT)'
      : 'API key';
    element('hint').textContent =
      'The demo prints its key in the terminal, after "API key", and makes a new one at every start. ' +
      'Elsewhere the operator of the gateway gives out keys' +
      (acceptsTokens ? '; a token comes from the configured issuer.' : '.');
    element('authorize').addEventListener('click', () => this.ask());
    element('cancel').addEventListener('click', () => element('dialog').close());
    element('forget').addEventListener('click', () => {
      this.#keep('');
      this.#show('Authorize');
      element('dialog').close();
      this.#changed();
    });
    element('form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#use(element('credential').value);
    });
    if (this.isGiven) void this.check();
  }

  get isGiven() {
    return this.#text !== '';
  }

  get headers() {
    return this.isGiven ? Object.fromEntries([headerOf(this.#text)]) : {};
  }

  /** @param fault is what is wrong with the credential that the page has. */
  ask(fault = '') {
    element('fault').textContent = fault;
    element('forget').hidden = !this.isGiven;
    // The reader may be typing in the open dialog.
    if (element('dialog').open) return;
    element('credential').value = '';
    element('dialog').showModal();
  }

  /** Checks whether the kept credential is still accepted, and shows the result. */
  async check() {
    if (!this.isGiven) return this.#show('Authorize', 'This request had no API key.');
    const text = this.#text;
    const { caller, fault, unchecked } = await this.#callerOf(text);
    // Meanwhile the reader may have given another one.
    if (text !== this.#text) return;
    if (caller) this.#show(`Authorized: ${caller.name}`);
    else if (fault) this.#show('Authorize', `The kept credential does not work any more. ${fault}`);
    else if (unchecked) this.#show('Authorized', `The kept credential could not be checked. ${unchecked}`);
  }

  async #use(text) {
    if (text.trim() === '') {
      element('fault').textContent = 'Paste a key first.';
      return;
    }
    const { caller, fault, unchecked } = await this.#callerOf(text);
    if (!caller) {
      element('fault').textContent = fault ?? unchecked ?? 'The gateway did not answer.';
      return;
    }
    this.#keep(text);
    this.#show(`Authorized: ${caller.name}`);
    element('dialog').close();
    this.#changed();
  }

  /** Asks the gateway for the caller of the credential. */
  async #callerOf(text) {
    const [name, value] = headerOf(text);
    if (name === 'Authorization' && !this.#acceptsTokens)
      return { fault: 'This is a token, and this gateway accepts API keys only: no issuer is configured.' };
    // A header cannot contain such a text.
    if (!/^[\x20-\x7e]+$/.test(value)) return { fault: 'A key has letters, digits, - and _ only.' };
    const me = new URL('../v1/callers/me', import.meta.url);
    const response = await fetch(me, { headers: { [name]: value } }).catch(() => undefined);
    if (!response) return {};
    // A proxy's page is no JSON.
    const body = await response.json().catch(() => ({}));
    if (response.ok && body.name) return { caller: body };
    if (response.status !== 401) return { unchecked: `${body.title ?? `HTTP ${response.status}`}.` };
    return {
      fault:
        name === 'X-Api-Key'
          ? 'The gateway does not know this key: it is mistyped or was removed, or the demo was started again and printed a new one.'
          : 'The gateway does not accept this token: it has expired, or is meant for another service.',
    };
  }

  #keep(text) {
    this.#text = text;
    if (text === '') sessionStorage.removeItem(STORED);
    else sessionStorage.setItem(STORED, text);
  }

  #show(label, notice = '') {
    element('authorize').textContent = label;
    element('credential-notice').textContent = notice;
    element('credential-notice').hidden = notice === '';
  }
}
