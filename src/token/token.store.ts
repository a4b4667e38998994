import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { environmentName, sha256 } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { type AccessToken, type Principal, principalName } from './principal.ts';

/** A token with the clock readings (performance.now) at which it is to be renewed and no longer used. */
export interface HeldToken extends AccessToken {
  readonly renewAt: number;
  readonly endsAt: number;
}

/** Another replica's renewal or logout is seen after this time at the latest. */
const MAX_LOCAL_MS = 60_000;

/**
 * Where tokens are kept: in the process (L1), and sealed in Redis (L2) where there is one. Ends are kept as durations,
 * by this process's monotonic clock and by Redis' own expiry, so that no wall clock decides. A store that fails is a miss.
 */
@Injectable()
export class TokenStore {
  readonly #local = new Map<string, { token: HeldToken; until: number }>();
  readonly #keys = new WeakMap<Principal, string>();
  readonly #environment: string;
  readonly #credentials: string;

  constructor(
    config: UpstreamConfig,
    private readonly redis: SharedRedis,
    private readonly log: Log,
  ) {
    // Another platform or another secret is another key: neither can ever be served with the tokens of the first.
    this.#environment = environmentName(config.baseUrl);
    this.#credentials = [config.tokenUrl.href, config.appKey.reveal(), config.appSecret.reveal()]
      .map(digest)
      .join();
  }

  /** From the process only, without waiting. */
  peek(principal: Principal): HeldToken | undefined {
    const held = this.#local.get(this.keyOf(principal));
    return held && performance.now() < held.until ? this.#usable(principal) : undefined;
  }

  async load(principal: Principal): Promise<HeldToken | undefined> {
    const { sealer } = this.redis;
    if (!sealer) return this.peek(principal);
    const key = this.keyOf(principal);
    const values = await this.#tolerate('load', () =>
      this.redis.run((client) => Promise.all([client.get(key), client.pttl(key)])),
    );
    // With Redis away, the token in the process serves on to its own end.
    if (!values) return this.#usable(principal);
    const [value, endsInMs] = values;
    if (!value || !endsInMs || endsInMs <= 0) return undefined;
    const text = sealer.open(value, key);
    if (text === undefined) {
      this.log.warn({ event: 'token-unreadable' }, 'A stored token did not open; it counts as missing');
      await this.#tolerate('drop', () => this.redis.run((client) => client.del(key)));
      return undefined;
    }
    const token = JSON.parse(text) as AccessToken;
    return this.#keepLocal(principal, token, endsInMs);
  }

  async save(principal: Principal, token: AccessToken): Promise<HeldToken> {
    const held = this.#keepLocal(principal, token, token.usableMs);
    const { sealer } = this.redis;
    if (sealer && token.usableMs > 0) {
      const key = this.keyOf(principal);
      await this.#tolerate('save', () =>
        this.redis.run((client) =>
          client.set(key, sealer.seal(JSON.stringify(token), key), 'PX', token.usableMs),
        ),
      );
    }
    return held;
  }

  /** Drops the token of that version, here and in Redis; a newer one stays. */
  async drop(principal: Principal, version: string): Promise<void> {
    const name = this.keyOf(principal);
    if (this.#local.get(name)?.token.version === version) this.#local.delete(name);
    const stored = await this.load(principal);
    if (stored?.version !== version) return;
    this.#local.delete(name);
    if (this.redis.configured)
      await this.#tolerate('drop', () => this.redis.run((client) => client.del(this.keyOf(principal))));
  }

  #usable(principal: Principal): HeldToken | undefined {
    const held = this.#local.get(this.keyOf(principal));
    return held && performance.now() < held.token.endsAt ? held.token : undefined;
  }

  #keepLocal(principal: Principal, token: AccessToken, endsInMs: number): HeldToken {
    const now = performance.now();
    const endsAt = now + endsInMs;
    const held = { ...token, endsAt, renewAt: endsAt - (token.usableMs - token.renewAfterMs) };
    const until = this.redis.configured ? now + MAX_LOCAL_MS : Infinity;
    if (endsInMs > 0) this.#local.set(this.keyOf(principal), { token: held, until });
    return held;
  }

  /** Names the token in both stores: another platform, user or secret is another name. */
  keyOf(principal: Principal): string {
    const known = this.#keys.get(principal);
    if (known) return known;
    const name = principalName(principal);
    const login =
      principal.kind === 'user' ? [principal.username, principal.password.reveal()].map(digest) : [];
    const key = `${this.#environment}:tok:${name}:${digest([this.#credentials, name, ...login].join())}`;
    this.#keys.set(principal, key);
    return key;
  }

  async #tolerate<T>(action: string, command: () => Promise<T>): Promise<T | undefined> {
    try {
      return await command();
    } catch (error) {
      this.log.debug(
        { event: 'token-store', action, reason: (error as Error).name },
        'Redis did not serve a token command',
      );
      return undefined;
    }
  }
}

function digest(text: string): string {
  return sha256(text).slice(0, 32);
}
