import { hash } from 'node:crypto';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { JwtConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { CallerRegistry } from './caller.registry.ts';
import type { CallContext } from '../request/call-context.ts';
import type { Caller } from '../request/caller.ts';
import { IssuerKeys, KeysUnavailable, type KeySet, RETRY_MS } from './issuer-keys.ts';
import { nameInToken, scopesInToken, type TokenScopes } from './token-claims.ts';

/** The algorithms (RFC 7518, 8037 and 9864). All are asymmetric, so that a public key is never used as a shared secret. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'];
/** The accepted `typ` values, without `application/` (RFC 7515 4.1.9, RFC 9068 2.1). */
const TYPES = new Set(['jwt', 'at+jwt']);
/** The refused headers. With them a token would choose its own key, or require an extension that the gateway does not know. */
const FORBIDDEN_HEADERS = ['jku', 'jwk', 'x5u', 'x5c', 'crit'];
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const MAX_KEY_ID = 256;
const CLOCK_TOLERANCE_S = 10;
const MAX_VERIFIED = 10_000;

/** Why a token has no caller: its form, its header, its signature, a claim, or the name in it. */
export type TokenFault =
  | 'form'
  | 'header'
  | 'signature'
  | 'expired'
  | 'early'
  | 'issuer'
  | 'audience'
  | 'claims'
  | 'caller';

const OF_CLAIM: Readonly<Record<string, TokenFault>> = { iss: 'issuer', aud: 'audience', nbf: 'early' };

interface Verified {
  readonly name: string;
  readonly given: TokenScopes;
  /** The end of the token in ms since 1970. */
  readonly endsAt: number;
  readonly keys: KeySet;
  /** The entry with the token's name, and the caller made of token and entry. The caller is made again when the entry changes. */
  entry: Caller;
  caller: Caller;
}

/**
 * Finds callers by JWTs that the configured issuer has signed for this audience. The token grants the scopes, and the entry that it names
 * grants the rest. A verified token is remembered by its SHA-256 while it and the keys are valid, so that a caller's next request costs one
 * hash.
 */
@Injectable()
export class JwtCallers implements OnApplicationShutdown {
  readonly #trust: JwtConfig['trust'];
  readonly #keys: IssuerKeys | undefined;
  readonly #given = new WeakMap<object, TokenScopes>();
  readonly #verified = new LRUCache<string, Verified>({ max: MAX_VERIFIED });

  constructor(
    { trust }: JwtConfig,
    private readonly registry: CallerRegistry,
    log: Log,
    metrics: Metrics,
  ) {
    this.#trust = trust;
    this.#keys = trust && new IssuerKeys(trust.jwksUrl, log, metrics);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#keys?.close();
  }

  get accepted(): boolean {
    return this.#keys !== undefined;
  }

  /** Returns the caller of a token that was verified before and is still valid. */
  recognised(token: string): Caller | undefined {
    const verified = this.#keys && this.#verified.get(digestOf(token));
    return verified && Date.now() < verified.endsAt && verified.keys === this.#keys?.current()
      ? this.#callerOf(verified)
      : undefined;
  }

  /** Resolves to the caller of the token, or to the reason why it has none. Rejects if the keys are not available. */
  async verified(token: string): Promise<Caller | TokenFault> {
    return this.#keys && COMPACT.test(token) ? this.#verify(token, digestOf(token), this.#keys) : 'form';
  }

  async #verify(token: string, digest: string, issuer: IssuerKeys): Promise<Caller | TokenFault> {
    this.#verified.delete(digest);
    const id = keyIdOf(token);
    if (id === undefined) return 'header';
    const keys = await issuer.having(id).catch((error: unknown) => {
      if (!(error instanceof KeysUnavailable)) throw error;
      const detail = 'The public keys of the JWT issuer cannot be read, so the token cannot be checked.';
      throw new ProblemException('dependency-unavailable', { detail, retryAfter: RETRY_MS / 1_000 });
    });
    if (!keys) return 'signature';
    const claims = await this.#claimsOf(token, keys);
    if (typeof claims === 'string') return claims;
    const name = nameInToken(claims);
    const entry = name === undefined ? undefined : this.registry.byName(name);
    if (!name || !entry) return 'caller';
    const given = scopesInToken(claims, this.#trust?.audience ?? '');
    const endsAt = ((claims.exp ?? 0) + CLOCK_TOLERANCE_S) * 1_000;
    const verified = { name, given, endsAt, keys, entry, caller: this.#made(entry, given) };
    this.#verified.set(digest, verified);
    return verified.caller;
  }

  /** Returns the present caller for one that a token gave before, whether or not the token is still valid. */
  present(caller: CallContext['caller']): Caller | undefined {
    const given = this.#given.get(caller);
    const entry = given && this.registry.byName(caller.name);
    return entry && { ...entry, ...given };
  }

  #made(entry: Caller, given: TokenScopes): Caller {
    const caller = { ...entry, ...given };
    this.#given.set(caller, given);
    return caller;
  }

  #callerOf(verified: Verified): Caller | undefined {
    const entry = this.registry.byName(verified.name);
    if (!entry) return undefined;
    if (entry !== verified.entry) {
      verified.entry = entry;
      verified.caller = this.#made(entry, verified.given);
    }
    return verified.caller;
  }

  async #claimsOf(token: string, { find }: KeySet): Promise<JWTPayload | TokenFault> {
    try {
      const { payload } = await jwtVerify(token, find, {
        algorithms: ALGORITHMS,
        issuer: this.#trust?.issuer ?? '',
        audience: this.#trust?.audience ?? '',
        requiredClaims: ['exp'],
        clockTolerance: CLOCK_TOLERANCE_S,
        currentDate: new Date(Date.now()),
      });
      return payload;
    } catch (error) {
      return faultOf(error);
    }
  }
}

/** Returns the fault of a token. jose checks the claims after the signature. */
function faultOf(error: unknown): TokenFault {
  if (error instanceof errors.JWTExpired) return 'expired';
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'signature';
  return OF_CLAIM[error.claim] ?? 'claims';
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64');
}

/** Returns the key id in the token's header. Undefined if the header is not acceptable. Nothing in it is verified yet. */
function keyIdOf(token: string): string | undefined {
  let header: Record<string, unknown>;
  try {
    header = decodeProtectedHeader(token) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { alg, kid, typ = 'JWT' } = header;
  const fits =
    typeof alg === 'string' &&
    ALGORITHMS.includes(alg) &&
    typeof typ === 'string' &&
    TYPES.has(typ.toLowerCase().replace(/^application\//, '')) &&
    !FORBIDDEN_HEADERS.some((name) => Object.hasOwn(header, name));
  return fits && typeof kid === 'string' && kid.length <= MAX_KEY_ID ? kid : undefined;
}
