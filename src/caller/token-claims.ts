import { isScope, type Scope } from '../request/scopes.ts';

/**
 * Reads the claims of a verified token. Issuers use different names: `azp` and `scope` (Keycloak, Auth0), `client_id` and `scope` (RFC 9068,
 * Cognito, Ping), `appid` or `azp` and `scp` or `roles` (Entra ID), `cid` and `scp` (Okta), `azp` alone (Google).
 */

type Claims = Readonly<Record<string, unknown>>;

/** The claims with the application to which the token was issued, or else with its subject. */
const CALLER_CLAIMS = ['azp', 'client_id', 'appid', 'cid', 'sub'];
/** The claims with the scopes of a token, the most specific first. `roles` counts only if no other claim is there. */
const SCOPE_CLAIMS = ['scope', 'scp', 'permissions', 'roles'];

export const CALLER_CLAIMS_TEXT = listOf(CALLER_CLAIMS);

export function nameInToken(claims: Claims): string | undefined {
  // The first claim that is present counts, even if it is not text. The token is then refused, and the next claim is not used.
  const claim = CALLER_CLAIMS.find((each) => Object.hasOwn(claims, each));
  const name = claim && claims[claim];
  return typeof name === 'string' ? name : undefined;
}

export interface TokenScopes {
  readonly scopes: ReadonlySet<Scope>;
  /** Why there are no scopes. */
  readonly whyNone?: string;
}

/**
 * Reads the scopes of a token. Only the first claim that is present counts, so that the roles of a user add nothing to a token that was
 * issued for less. The claim is a text of words between blanks, or a list. Some issuers write the audience before a scope
 * (`gateway/orders:read`). Other words belong to other services.
 */
export function scopesInToken(claims: Claims, audience: string): TokenScopes {
  const claim = SCOPE_CLAIMS.find((each) => Object.hasOwn(claims, each));
  if (claim === undefined)
    return { scopes: new Set(), whyNone: `The token has none of the claims ${listOf(SCOPE_CLAIMS)}.` };
  const value = claims[claim];
  const words: readonly unknown[] = typeof value === 'string' ? value.split(' ') : [value].flat();
  const prefix = `${audience}/`;
  const scopes = new Set(
    words
      .filter((word) => typeof word === 'string')
      .map((word) => (word.startsWith(prefix) ? word.slice(prefix.length) : word))
      .filter(isScope),
  );
  return scopes.size > 0
    ? { scopes }
    : { scopes, whyNone: `The claim \`${claim}\` of the token has no scope of this gateway.` };
}

function listOf(claims: readonly string[]): string {
  return claims.map((claim) => `\`${claim}\``).join(', ');
}
