/** Checks that precede every operation: the nonce, the tokens, the content type and the body (section 5). */
import type { IncomingHttpHeaders } from 'node:http';
import { Refusal, unreadable } from '../errors.ts';
import { parseJson } from '../json.ts';
import type { Operation } from '../operations.ts';
import type { Profile } from '../profile.ts';
import type { Accounts } from './accounts.ts';
import type { NonceRegister } from './nonces.ts';
import type { Token, TokenStore } from './tokens.ts';

/** The scope that each module requires (interface section 5). */
const REQUIRED_SCOPE = { order: 'auth_order', member: 'auth_me' } as const;

/** The form of a nonce in each reading. The interface does not define the format of `g_nonce`. */
const NONCE_FORMS: Readonly<Record<Profile['nonceForm'], RegExp>> = {
  any: /^[^]{1,256}$/,
  uuid: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/,
  digits: /^\d{1,18}$/,
  short: /^[\dA-Za-z]{16}$/,
};

export interface Admission {
  /** Why the sandbox refuses the call, or null. */
  readonly refusal: Refusal | null;
  /** The parsed body. Undefined if the request has none, and the text if it is not JSON. */
  readonly body: unknown;
  /** The logged-in user of a member call. */
  readonly username: string | null;
}

export class Gatekeeper {
  readonly #tokens: TokenStore;
  readonly #nonces: NonceRegister;
  readonly #accounts: Accounts;
  readonly #profile: Profile;

  /** The fields of the profile change while the sandbox runs. */
  constructor(tokens: TokenStore, nonces: NonceRegister, accounts: Accounts, profile: Profile) {
    this.#tokens = tokens;
    this.#nonces = nonces;
    this.#accounts = accounts;
    this.#profile = profile;
  }

  /** Checks in the order nonce, tokens, content type, body. Every call uses up its nonce, even if a later check refuses it. */
  admit(
    operation: Operation,
    query: URLSearchParams,
    headers: IncomingHttpHeaders,
    bytes: Buffer,
  ): Admission {
    const parsed = parseBody(bytes);
    const user =
      operation.module === 'member' ? this.#token(headers['usertoken'], this.#profile.userToken) : null;
    const refusal =
      this.#checkNonce(query) ??
      this.#checkTokens(operation, headers, user) ??
      checkBody(operation, headers, parsed.readable);
    return { refusal, body: parsed.body, username: user?.user?.username ?? null };
  }

  #checkNonce(query: URLSearchParams): Refusal | null {
    const nonces = query.getAll('g_nonce');
    const nonce = nonces[0] ?? '';
    if (nonces.length !== 1 || nonce === '') return new Refusal('70001', 'g_nonce must be given once');
    const { nonceForm } = this.#profile;
    if (!NONCE_FORMS[nonceForm].test(nonce))
      return new Refusal('70001', nonceForm === 'any' ? 'g_nonce is too long' : 'g_nonce has another form');
    return this.#nonces.use(nonce) ? null : new Refusal('70001', 'g_nonce was used before');
  }

  #checkTokens(operation: Operation, headers: IncomingHttpHeaders, user: Token | null): Refusal | null {
    const scope = REQUIRED_SCOPE[operation.module];
    if (!isAppToken(this.#token(headers.authorization, 'bearer'), scope)) {
      return new Refusal('60000', `authorization must carry an application token with scope ${scope}`);
    }
    if (operation.module === 'order') return null;
    if (!isAppToken(this.#token(headers['clienttoken'], this.#profile.clientToken), scope)) {
      return new Refusal('60000', `clientToken must be an application token with scope ${scope}`);
    }
    return user?.grant === 'password' && this.#accounts.stillHolds(user)
      ? null
      : new Refusal('60005', 'userToken must be the token of a logged-in user');
  }

  #token(header: string | string[] | undefined, form: 'bare' | 'bearer'): Token | null {
    if (typeof header !== 'string') return null;
    const text = form === 'bare' ? header : /^bearer +(\S+)$/i.exec(header)?.[1];
    return text === undefined ? null : this.#tokens.valid(text);
  }
}

function isAppToken(token: Token | null, scope: string): boolean {
  return token !== null && token.grant === 'client_credentials' && token.scopes.includes(scope);
}

function checkBody(operation: Operation, headers: IncomingHttpHeaders, readable: boolean): Refusal | null {
  const hasBody = operation.method === 'POST' || operation.method === 'PUT';
  // Section 4.1 lists the header for every order operation, section 4.2 for POST and PUT only.
  if (!hasBody && operation.module === 'member') return null;
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) {
    return unreadable(operation.module, 'Content-Type must be application/json');
  }
  return readable || !hasBody ? null : unreadable(operation.module, 'the body is not JSON');
}

/** Parses a body. A missing body counts as unreadable JSON; only operations with a body call this. */
export function parseBody(bytes: Buffer): { body: unknown; readable: boolean } {
  if (bytes.length === 0) return { body: undefined, readable: false };
  const text = bytes.toString('utf8');
  try {
    return { body: parseJson(text), readable: true };
  } catch {
    return { body: text, readable: false };
  }
}
