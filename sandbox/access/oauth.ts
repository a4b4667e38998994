/**
 * The user center's token endpoint by RFC 6749; the platform's interface leaves it out (section 5.5). Grants: client credentials (4.4),
 * password (4.3), refresh token (6). Client authentication: Basic or body (2.3.1).
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Profile } from '../profile.ts';
import type { Accounts } from './accounts.ts';
import type { Grant, TokenStore, TokenUser } from './tokens.ts';

export interface TokenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** True if the body has a token. */
  readonly success: boolean;
  /** True if that token is valid. */
  readonly issued: boolean;
}

export interface TokenSettings {
  readonly scopes: readonly string[];
  readonly lifetimeSeconds: number;
  /** The fields of the profile change while the sandbox runs. */
  readonly profile: Profile;
}

const NOT_STORED = { 'cache-control': 'no-store', pragma: 'no-cache' };
const CHALLENGED = { ...NOT_STORED, 'www-authenticate': 'Basic realm="user center", charset="UTF-8"' };

/** The platform's own codes that replace the errors of RFC 6749 (interface section 5.4). */
const PLATFORM_CODES: Readonly<Record<string, string>> = {
  invalid_client: '60000',
  invalid_scope: '60000',
  invalid_grant: '60005',
};

/** An error response of RFC 6749 section 5.2. */
class TokenError extends Error {
  readonly code: string;

  constructor(code: string, description: string) {
    super(description);
    this.code = code;
  }
}

export class TokenEndpoint {
  readonly #accounts: Accounts;
  readonly #tokens: TokenStore;
  readonly #settings: TokenSettings;

  constructor(accounts: Accounts, tokens: TokenStore, settings: TokenSettings) {
    this.#accounts = accounts;
    this.#tokens = tokens;
    this.#settings = settings;
  }

  /** Answers one request. With `keep` false it issues and uses up nothing, whether the response means success or not. */
  answer(headers: IncomingHttpHeaders, form: URLSearchParams, keep: boolean): TokenAnswer {
    const { tokenEnvelope, tokenStatus } = this.#settings.profile;
    try {
      const token = this.#grant(headers, form, keep);
      const body = tokenEnvelope === 'data' ? { code: 0, message: 'success', data: token } : token;
      return { status: Number(tokenStatus), headers: NOT_STORED, body, success: true, issued: keep };
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      return { ...this.#refusal(error, headers.authorization), success: false, issued: false };
    }
  }

  #refusal(
    { code, message }: TokenError,
    authorization: string | undefined,
  ): Pick<TokenAnswer, 'status' | 'headers' | 'body'> {
    const { tokenRefusals } = this.#settings.profile;
    if (tokenRefusals !== 'oauth') {
      const body = { code: PLATFORM_CODES[code] ?? '40000', message: 'no token', cause: message };
      return { status: Number(tokenRefusals), headers: NOT_STORED, body };
    }
    const body = { error: code, error_description: message };
    if (code !== 'invalid_client') return { status: 400, headers: NOT_STORED, body };
    return { status: 401, headers: authorization === undefined ? NOT_STORED : CHALLENGED, body };
  }

  #grant(headers: IncomingHttpHeaders, form: URLSearchParams, keep: boolean): Record<string, unknown> {
    if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(headers['content-type'] ?? '')) {
      throw new TokenError('invalid_request', 'content type must be application/x-www-form-urlencoded');
    }
    for (const name of new Set(form.keys())) {
      if (form.getAll(name).length > 1) throw new TokenError('invalid_request', `repeated parameter ${name}`);
    }
    this.#authenticate(headers.authorization, form);
    switch (parameter(form, 'grant_type')) {
      case null:
        throw new TokenError('invalid_request', 'grant_type is missing');
      case 'client_credentials':
        return this.#issue('client_credentials', this.#scopes(form, null), null, keep);
      case 'password':
        return this.#logIn(form, keep);
      case 'refresh_token':
        return this.#refresh(form, keep);
      default:
        throw new TokenError('unsupported_grant_type', 'the grant type is not supported');
    }
  }

  #authenticate(authorization: string | undefined, form: URLSearchParams): void {
    const bodyKey = parameter(form, 'client_id');
    const bodySecret = parameter(form, 'client_secret');
    if (authorization === undefined) {
      if (bodyKey !== null && bodySecret !== null && this.#accounts.isApp(bodyKey, bodySecret)) return;
      throw new TokenError('invalid_client', 'client authentication failed');
    }
    if (bodySecret !== null) throw new TokenError('invalid_request', 'two ways of client authentication');
    const basic = readBasic(authorization);
    if (basic === null || !this.#accounts.isApp(basic.key, basic.secret)) {
      throw new TokenError('invalid_client', 'client authentication failed');
    }
    if (bodyKey !== null && bodyKey !== basic.key) {
      throw new TokenError('invalid_request', 'client_id differs from the authenticated client');
    }
  }

  #logIn(form: URLSearchParams, keep: boolean): Record<string, unknown> {
    const username = parameter(form, 'username');
    const password = parameter(form, 'password');
    if (username === null || password === null) {
      throw new TokenError('invalid_request', 'username and password are required');
    }
    const scopes = this.#scopes(form, this.#settings.scopes);
    const user = this.#accounts.tokenUser(username);
    if (user === undefined || !this.#accounts.isUser(username, password)) {
      throw new TokenError('invalid_grant', 'wrong user name or password');
    }
    return this.#issue('password', scopes, user, keep);
  }

  #refresh(form: URLSearchParams, keep: boolean): Record<string, unknown> {
    const refreshToken = parameter(form, 'refresh_token');
    if (refreshToken === null) throw new TokenError('invalid_request', 'refresh_token is missing');
    const token = this.#tokens.refreshable(refreshToken);
    if (token === null || !this.#accounts.stillHolds(token))
      throw new TokenError('invalid_grant', 'the refresh token is invalid, expired or used');
    const scopes = this.#scopes(form, token.scopes);
    if (!scopes.every((scope) => token.scopes.includes(scope))) {
      throw new TokenError('invalid_scope', 'the scope exceeds what was granted');
    }
    if (keep) this.#tokens.spendRefreshToken(refreshToken);
    return this.#issue(token.grant, scopes, token.user, keep);
  }

  /**
   * Returns the requested scopes, or `fallback` if the request names none. Without a fallback the scope is required (RFC 6749 section 3.3),
   * unless the profile refuses scopes: then the token has all scopes of the application.
   */
  #scopes(form: URLSearchParams, fallback: readonly string[] | null): readonly string[] {
    const asked = (parameter(form, 'scope') ?? '').split(' ').filter((scope) => scope !== '');
    const takesScopes = this.#settings.profile.tokenScope === 'taken';
    if (!takesScopes && asked.length > 0) throw new TokenError('invalid_scope', 'a scope must not be given');
    const withoutAny = takesScopes ? fallback : (fallback ?? this.#settings.scopes);
    const scopes = asked.length > 0 ? [...new Set(asked)] : withoutAny;
    if (scopes === null) throw new TokenError('invalid_scope', 'a scope is required');
    if (!scopes.every((scope) => this.#settings.scopes.includes(scope))) {
      throw new TokenError('invalid_scope', 'the application does not have this scope');
    }
    return scopes;
  }

  #issue(
    grant: Grant,
    scopes: readonly string[],
    user: TokenUser | null,
    keep: boolean,
  ): Record<string, unknown> {
    const { lifetimeSeconds, profile } = this.#settings;
    // Client credentials get no refresh token (RFC 6749 section 4.4.3).
    const refreshToken = grant === 'password' && profile.refreshTokens === 'given';
    const issued = this.#tokens.issue(grant, scopes, user, lifetimeSeconds, { refreshToken, keep });
    return {
      access_token: issued.accessToken,
      ...(profile.tokenType === 'absent' ? {} : { token_type: profile.tokenType }),
      expires_in: lifetimeSeconds,
      scope: scopes.join(' '),
      ...(issued.refreshToken === null ? {} : { refresh_token: issued.refreshToken }),
    };
  }
}

/** Returns a parameter. Without a value it counts as absent (RFC 6749 section 3.1). */
function parameter(form: URLSearchParams, name: string): string | null {
  const value = form.get(name);
  return value === null || value === '' ? null : value;
}

/** Reads key and secret, which are form-encoded before they are joined and encoded in base64 (RFC 6749 section 2.3.1). */
function readBasic(authorization: string): { key: string; secret: string } | null {
  const encoded = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization.trim())?.[1];
  if (encoded === undefined) return null;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return null;
  try {
    return { key: formDecode(pair.slice(0, colon)), secret: formDecode(pair.slice(colon + 1)) };
  } catch {
    return null;
  }
}

function formDecode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
