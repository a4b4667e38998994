import { createHash } from 'node:crypto';
import type { Secret } from '../config/secret.ts';

/** The application itself, with one token for each scope (interface section 5). Without a scope, its token is valid for everything. */
export interface ApplicationPrincipal {
  readonly kind: 'application';
  readonly scope: string | undefined;
}

/** A configured user of the platform, for the password grant. */
export interface UserPrincipal {
  readonly kind: 'user';
  readonly alias: string;
  readonly username: string;
  readonly password: Secret;
}

export type Principal = ApplicationPrincipal | UserPrincipal;

/** Returns a name without secrets, for keys and metrics. */
export function principalName(principal: Principal): string {
  if (principal.kind === 'user') return `user:${principal.alias}`;
  return principal.scope === undefined ? 'app' : `app:${principal.scope}`;
}

/** An access token in use. `usableMs` and `renewAfterMs` count from the moment when it was received. */
export interface AccessToken {
  readonly value: string;
  /** Identifies this token without revealing it, so that a refusal drops the refused token and not a newer one. */
  readonly version: string;
  readonly usableMs: number;
  readonly renewAfterMs: number;
  /** The token that gets another access token without the password (RFC 6749 6), if the platform issues one. */
  readonly refreshToken?: string;
}

const DEFAULT_LIFE_S = 300;
const MAX_LIFE_S = 24 * 3600;
/** The form of a token: visible ASCII, because it becomes a header. RFC 6749 appendix A.12 allows only that and the space. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;

/**
 * Makes a token of the endpoint's response. `expires_in` (seconds) may be missing, a string or nonsense. A token is used until max(60 s, 10
 * %) before its end, or for half of its life if that is under 120 s. It is renewed in the background from 80 % of that time on (± 10 %, so
 * that replicas do not renew at the same time). `usableMs` 0 means that the token serves this one call only. Returns undefined if the token
 * cannot be a header.
 */
export function accessToken(
  value: unknown,
  expiresIn: unknown,
  random = Math.random,
): AccessToken | undefined {
  if (typeof value !== 'string' || !TOKEN.test(value)) return undefined;
  const life = Math.min(lifeSeconds(expiresIn), MAX_LIFE_S);
  const usable = life < 120 ? life / 2 : life - Math.max(60, life / 10);
  const usableMs = Math.max(0, Math.floor(usable * 1000));
  return {
    value,
    version: createHash('sha256').update(value).digest('base64url').slice(0, 16),
    usableMs,
    renewAfterMs: Math.floor(usableMs * 0.8 * (0.9 + 0.2 * random())),
  };
}

function lifeSeconds(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'string' && expiresIn.trim() !== '' ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== 'number' || Number.isNaN(seconds)) return DEFAULT_LIFE_S;
  return Math.max(0, seconds);
}
