/** The tokens that the user center has issued: opaque random strings. Their scopes and users are stored here only. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';

export type Grant = 'client_credentials' | 'password';

export interface Token {
  /** The text that the journal shows instead of the token: `app:auth_order#2`, `user:admin@harbour#1`. */
  readonly label: string;
  readonly grant: Grant;
  readonly scopes: readonly string[];
  /** The user of a password grant; null for an application token. */
  readonly user: TokenUser | null;
  readonly expiresAt: number;
}

/** The user at login. */
export interface TokenUser {
  readonly username: string;
  /** Null for a user who is no employee. */
  readonly employeeId: string | null;
  /** How often the password was reset by operation. */
  readonly passwordVersion: number;
}

export interface Issued {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly token: Token;
}

/** The tokens to revoke. An absent field matches all. */
export interface RevokeFilter {
  readonly scope?: string;
  readonly grant?: Grant;
  readonly username?: string;
  readonly tokens: 'access' | 'refresh' | 'all';
}

/** The most tokens. Beyond this number the oldest are forgotten, so that a long run does not fill the memory. */
const KEPT = 100_000;

export class TokenStore {
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #access = new Map<string, Token>();
  readonly #refresh = new Map<string, Token>();
  readonly #issuedPerLabel = new Map<string, number>();

  /** `prefix` begins every token. */
  constructor(clock: Clock, prefix: string) {
    this.#clock = clock;
    this.#prefix = prefix;
  }

  /** Makes a token. With `keep` false the strings are made but never valid, for a response that a fault rule only simulates. */
  issue(
    grant: Grant,
    scopes: readonly string[],
    user: TokenUser | null,
    lifetimeSeconds: number,
    options: { refreshToken: boolean; keep: boolean },
  ): Issued {
    const owner = user === null ? `app:${scopes.join('+')}` : `user:${user.username}`;
    const place = (this.#issuedPerLabel.get(owner) ?? 0) + 1;
    const token: Token = {
      label: `${owner}#${place}`,
      grant,
      scopes,
      user,
      expiresAt: this.#clock.now() + lifetimeSeconds * 1000,
    };
    const newToken = () => this.#prefix + randomBytes(24).toString('base64url');
    const accessToken = newToken();
    const refreshToken = options.refreshToken ? newToken() : null;
    if (options.keep) {
      this.#issuedPerLabel.set(owner, place);
      remember(this.#access, accessToken, token);
      if (refreshToken !== null) remember(this.#refresh, refreshToken, token);
    }
    return { accessToken, refreshToken, token };
  }

  /** Returns the token of an access token string, unless it has expired or was revoked. */
  valid(accessToken: string): Token | null {
    const token = this.#access.get(accessToken);
    return token !== undefined && token.expiresAt > this.#clock.now() ? token : null;
  }

  /** Returns the token with this refresh token, or null. Refresh tokens do not expire by time. */
  refreshable(refreshToken: string): Token | null {
    return this.#refresh.get(refreshToken) ?? null;
  }

  /** Uses up a refresh token. Refresh tokens rotate: each works once. */
  spendRefreshToken(refreshToken: string): void {
    this.#refresh.delete(refreshToken);
  }

  /** Returns the label for the journal. It is `unknown` for a string that was never issued, was revoked or was forgotten. */
  label(accessToken: string): string {
    return this.#access.get(accessToken)?.label ?? 'unknown';
  }

  /** @returns how many access and refresh tokens were revoked. */
  revoke(filter: RevokeFilter): number {
    let revoked = 0;
    for (const [kind, held] of [['access', this.#access] as const, ['refresh', this.#refresh] as const]) {
      if (filter.tokens !== 'all' && filter.tokens !== kind) continue;
      for (const [text, token] of held) {
        if (matches(token, filter) && held.delete(text)) revoked++;
      }
    }
    return revoked;
  }

  clear(): void {
    this.#access.clear();
    this.#refresh.clear();
    this.#issuedPerLabel.clear();
  }
}

function matches(token: Token, filter: RevokeFilter): boolean {
  return (
    (filter.scope === undefined || token.scopes.includes(filter.scope)) &&
    (filter.grant === undefined || token.grant === filter.grant) &&
    (filter.username === undefined || token.user?.username === filter.username)
  );
}

function remember(held: Map<string, Token>, text: string, token: Token): void {
  held.set(text, token);
  if (held.size > KEPT) {
    const oldest = held.keys().next();
    if (oldest.done !== true) held.delete(oldest.value);
  }
}
