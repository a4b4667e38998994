import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { environmentName, sha256 } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { MemoryLedgerStore, RedisLedgerStore, type TokenKeys, tokenKeys } from './ledger-store.ts';
import { type AccessToken, type Principal, principalName } from './principal.ts';
import { afterFailure, SECRET_REFUSED, type TokenFailure } from './token-failure.ts';
import { type Claim, type KeptToken, type Permit, TokenLedger } from './token-ledger.ts';

/** A token with the times (performance.now) of its renewal and of its end. */
export interface HeldToken extends AccessToken {
  readonly renewAt: number;
  readonly endsAt: number;
}

type WithoutToken = Exclude<Claim, { kind: 'token' }>;
export type StoreClaim = { readonly kind: 'token'; readonly token: HeldToken } | WithoutToken;

/** The most outdated versions of a principal. Redis has one at a time, and the older ones have expired by then. */
const MAX_OUTDATED = 100;
/** The longest time until a process sees the renewal of another replica. */
const MAX_LOCAL_MS = 60_000;

/**
 * Keeps tokens in the process (first level) and in the ledger of the fleet (second level: Redis). While Redis is away, the process uses its
 * own tokens and its own ledger. A failure of a store is no error for a caller.
 */
@Injectable()
export class TokenStore {
  readonly #local = new Map<string, { token: HeldToken; until: number; kind: Principal['kind'] }>();
  readonly #keys = new WeakMap<Principal, { secret: string; keys: TokenKeys }>();
  readonly #memory = new TokenLedger(new MemoryLedgerStore());
  readonly #shared: TokenLedger | undefined;
  /** The versions that this process has dropped or replaced while Redis did not store that, by key. Redis may still return them. */
  readonly #outdated = new Map<string, ReadonlySet<string>>();
  /**
   * The time (performance.now) until which this process obeys every refusal of the application's secret, by key, because its former secret
   * was refused as well.
   */
  readonly #refused = new Map<string, number>();
  readonly #prefix: string;

  constructor(
    private readonly config: UpstreamConfig,
    redis: SharedRedis,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    const sealed = redis.sealed('tokens');
    if (sealed) this.#shared = new TokenLedger(new RedisLedgerStore(redis), sealed);
    // The part in braces decides the slot in a cluster: one script needs all keys of a principal and those of the endpoint.
    this.#prefix = `{${environmentName(config.baseUrl)}}:tok:`;
    metrics.follow('gateway_token_age_seconds', () =>
      [...this.#ages()].map(([principal, seconds]) => [{ principal }, seconds]),
    );
    log.addSecrets({ [Symbol.iterator]: () => this.#secrets() });
  }

  /** Reads the first level, without waiting. */
  getLocal(principal: Principal): HeldToken | undefined {
    const now = performance.now();
    const held = this.#local.get(this.keysOf(principal).token);
    return held && now < held.until && now < held.token.endsAt ? held.token : undefined;
  }

  /** Takes one step towards a token that is not the `stale` one. `owner` names the attempt that would call the endpoint. */
  async claim(principal: Principal, owner: string, stale = ''): Promise<StoreClaim> {
    const keys = this.keysOf(principal);
    const claim = await this.#claim(keys, owner, stale);
    return claim.kind === 'token' ? { kind: 'token', token: this.#hold(keys, principal, claim) } : claim;
  }

  /**
   * Takes a step towards the token of a session, which this store does not keep. Only failures of the endpoint count, and no owner waits
   * for another.
   */
  claimForSession(owner: string): Promise<WithoutToken> {
    return this.#claim(this.#keysNamed(`once:${owner}`), owner, '') as Promise<WithoutToken>;
  }

  async save(principal: Principal, permit: Permit, token: AccessToken): Promise<HeldToken> {
    const { ledger, keys, stale } = permit;
    this.#refused.delete(keys.token);
    if (ledger !== this.#memory) await this.#memory.forget(keys);
    const saved = await ledger.save(permit, token).catch((error: unknown) => this.#missed('save', error));
    if (saved && ledger === this.#shared) this.#outdated.delete(keys.token);
    else this.#outdate(keys, stale);
    return this.#hold(keys, principal, saved ?? { token, endsInMs: token.usableMs });
  }

  /** Records the failure. Returns the ms for which no owner calls the endpoint again. */
  async fail(permit: Permit, failure: TokenFailure): Promise<number> {
    const before = failure.ofEndpoint ? permit.failures.endpoint : permit.failures.principal;
    const { record, holdMs } = afterFailure(before, failure, permit.stamp);
    if (failure.reason === SECRET_REFUSED) this.#refused.set(permit.keys.token, performance.now() + holdMs);
    await permit.ledger.fail(permit, record, holdMs).catch(async (error: unknown) => {
      this.#missed('fail', error);
      const stamp = performance.now();
      const alone = afterFailure(undefined, failure, stamp);
      await this.#memory.fail({ ...permit, stamp }, alone.record, alone.holdMs);
    });
    return holdMs;
  }

  /** Records that the endpoint has responded. This store keeps nothing of the response. */
  async release(permit: Permit): Promise<void> {
    await permit.ledger.release(permit).catch((error: unknown) => this.#missed('release', error));
  }

  /** Handles a refused token as {@link TokenLedger.refuse} does. */
  async refuse(principal: Principal, version: string, again: boolean): Promise<boolean> {
    const keys = this.keysOf(principal);
    const shared = await this.#shared
      ?.refuse(keys, version, again)
      .catch((error: unknown) => this.#missed('refuse', error));
    // The process may have obtained the token itself because Redis refuses writes, even if Redis has replied now.
    const own = await this.#memory.refuse(keys, version, again);
    const dropped = own && shared !== false;
    if (dropped && shared === undefined) this.#outdate(keys, [version]);
    if (dropped && this.#local.get(keys.token)?.token.version === version) this.#local.delete(keys.token);
    return dropped;
  }

  /** Delays the renewal of a token that is still valid. */
  postpone(principal: Principal, ms: number): void {
    const key = this.keysOf(principal).token;
    const held = this.#local.get(key);
    if (held) this.#local.set(key, { ...held, token: { ...held.token, renewAt: performance.now() + ms } });
  }

  /** Returns the keys of a token. Another platform, user, password, scope or secret results in other keys, without earlier failures. */
  keysOf(principal: Principal): TokenKeys {
    const secret = this.config.appSecret.reveal();
    const known = this.#keys.get(principal);
    if (known?.secret === secret) return known.keys;
    const name = principalName(principal);
    const login =
      principal.kind === 'user'
        ? [principal.username, principal.password.reveal(), this.config.scopes.user ?? '']
        : [];
    const keys = this.#keysNamed(`${name}:${this.#digest(name, secret, ...login)}`);
    this.#keys.set(principal, { secret, keys });
    return keys;
  }

  async #claim(keys: TokenKeys, owner: string, stale: string): Promise<Claim> {
    try {
      if (!this.#shared) return await this.#memory.claim(keys, owner, [stale]);
      const outdated = this.#outdated.get(keys.token) ?? [];
      const claim = await this.#shared.claim(keys, owner, [stale, ...outdated], this.#passed(keys));
      if (claim.kind === 'token') {
        this.#outdated.delete(keys.token);
        await this.#memory.forget(keys);
      }
      return claim;
    } catch (error) {
      this.#missed('claim', error);
      const held = this.#local.get(keys.token)?.token;
      const endsInMs = (held?.endsAt ?? 0) - performance.now();
      if (held && endsInMs > 0 && held.version !== stale) return { kind: 'token', token: held, endsInMs };
      return this.#memory.claim(keys, owner, [stale]);
    }
  }

  /**
   * The refusal that says nothing to this process: while the application's secret is being changed, a process that has started since knows
   * only the next one.
   */
  #passed(keys: TokenKeys): string | undefined {
    const isObeyed = performance.now() < (this.#refused.get(keys.token) ?? -Infinity);
    return isObeyed || this.config.appSecret.candidates.length === 1 ? undefined : SECRET_REFUSED;
  }

  /** Remembers versions that Redis may still have. Without Redis there are none. */
  #outdate({ token }: TokenKeys, versions: readonly string[]): void {
    const known = this.#outdated.get(token) ?? [];
    const all = [...known, ...versions].filter((version) => version !== '');
    if (this.#shared) this.#outdated.set(token, new Set(all.slice(-MAX_OUTDATED)));
  }

  #hold(keys: TokenKeys, { kind }: Principal, { token, endsInMs }: KeptToken): HeldToken {
    const now = performance.now();
    const endsAt = now + endsInMs;
    const held = { ...token, endsAt, renewAt: endsAt - (token.usableMs - token.renewAfterMs) };
    const until = this.#shared ? now + MAX_LOCAL_MS : Infinity;
    if (endsInMs > 0) this.#local.set(keys.token, { token: held, until, kind });
    return held;
  }

  *#secrets(): Generator<string> {
    for (const { token } of this.#local.values()) {
      yield token.value;
      if (token.refreshToken !== undefined) yield token.refreshToken;
    }
  }

  /** Returns the age of the oldest token of each kind of principal, in seconds. */
  #ages(): Map<string, number> {
    const ages = new Map<string, number>();
    const now = performance.now();
    for (const { token, kind } of this.#local.values()) {
      const { usableMs, endsAt } = token;
      if (endsAt > now) ages.set(kind, Math.max(ages.get(kind) ?? 0, (usableMs - (endsAt - now)) / 1_000));
    }
    return ages;
  }

  #keysNamed(name: string): TokenKeys {
    return tokenKeys(this.#prefix + name, `${this.#prefix}endpoint:${this.#digest()}`);
  }

  #digest(...parts: string[]): string {
    const all = [this.config.tokenUrl.href, this.config.appKey.reveal(), ...parts];
    return sha256(all.map(sha256).join()).slice(0, 32);
  }

  #missed(action: string, error: unknown): undefined {
    const reason = (error as Error).name;
    this.log.debug({ event: 'token-store', action, reason }, 'Redis did not serve a token command');
  }
}

export function newOwner(): string {
  return randomBytes(12).toString('base64url');
}
