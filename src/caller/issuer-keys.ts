import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { Agent, request } from 'undici';
import { SingleFlight } from '../kit/single-flight/single-flight.ts';
import { parseJson } from '../shared/json.ts';
import { openConnector } from '../transport/open-connector.ts';
import { retryAfterSeconds } from '../transport/retry-after.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { inBackground } from '../shared/edge.ts';

const TIMEOUT_MS = 3_000;
const MAX_BYTES = 256 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_DEPTH = 8;
/** The time after which the gateway requests the keys again, so that it stops accepting a withdrawn key. */
const REFRESH_MS = 5 * 60_000;
/** The time after which a failed renewal is tried again. */
const ASK_EVERY_MS = 60_000;
/**
 * The interval of requests for ids that are not in the set, which any client can make up. A few are allowed at once, then one in this time.
 * The time is short, because made-up ids delay a new key of the issuer by this much.
 */
const UNKNOWN_EVERY_MS = 5_000;
const UNKNOWN_BURST = 3;
/** The time for which the gateway does not ask again for an id that the issuer did not have, unless the set changes. */
const ABSENT_MS = 60_000;
const MAX_ABSENT = 1_000;
/** The time for which known keys stay valid after an empty set, which is usually a mistake. */
const EMPTY_MS = 15 * 60_000;
/** The time between requests while there are no keys at all. */
export const RETRY_MS = 5_000;
/** The upper limit for the issuer's `Retry-After`, so that known keys do not expire meanwhile. */
const MAX_RETRY_AFTER_S = 5 * 60;
/** The time for which known keys stay valid while the issuer does not answer. */
const MAX_AGE_MS = 60 * 60_000;
/** The age at which failed requests are forgotten: the issuer may answer again. */
const MAX_MISSED_AGE_MS = 60 * 60_000;
const REASONS = ['unavailable', 'empty'] as const;
type Reason = (typeof REASONS)[number];

/** A set of public keys from the issuer. Each change makes a new object. */
export interface KeySet {
  readonly text: string;
  readonly ids: ReadonlySet<string>;
  readonly find: JWTVerifyGetKey;
  /** Maps each id that a response lacked to the time of that response. */
  readonly absent: Map<string, number>;
}

export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/**
 * The public keys of the issuer of JWTs (RFC 7517), from the configured URL only: no redirects, no proxies, bounded in size and
 * time, one request at a time.
 */
export class IssuerKeys {
  readonly #agent = new Agent({
    connect: openConnector({ timeout: TIMEOUT_MS, rejectUnauthorized: true, allowH2: false }),
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    maxResponseSize: MAX_BYTES,
  });
  #held: KeySet | undefined;
  #heldSince = -Infinity;
  #askedAt = -Infinity;
  /** The time before which the issuer wants no request. */
  #waitUntil = -Infinity;
  readonly #asking = new SingleFlight<void>();
  /** The number of requests for unknown ids that are left, and the time of that count. */
  #budget = { left: UNKNOWN_BURST, at: -Infinity };
  #emptySince: number | undefined;
  /** The latest requests, if none of them has brought keys: their first and last time. */
  #missed: { readonly reason: Reason; readonly since: number; readonly last: number } | undefined;

  /** `now` returns ms of a monotonic clock. */
  constructor(
    private readonly url: URL,
    private readonly log: Log,
    private readonly metrics: Metrics,
    private readonly now = () => performance.now(),
  ) {
    metrics.follow('gateway_issuer_keys_missing_seconds', () => {
      const { since = 0, last = 0, reason: latest } = this.#recentlyMissed ?? {};
      return REASONS.map((reason) => [{ reason }, reason === latest ? (last - since) / 1_000 : 0]);
    });
  }

  /** Returns the keys in use, without waiting. Old keys are renewed in the background. */
  current(): KeySet | undefined {
    const age = this.now() - this.#heldSince;
    if (age >= MAX_AGE_MS) return undefined;
    if (age >= REFRESH_MS && this.#mayAsk(ASK_EVERY_MS)) inBackground('issuer keys', () => this.#ask());
    return this.#held;
  }

  /** Resolves to a set that has this id. Undefined if the issuer does not have it. Throws {@link KeysUnavailable}. */
  async having(id: string): Promise<KeySet | undefined> {
    const known = this.current();
    if (known?.ids.has(id)) return known;
    const asking = this.#asking.get('');
    if (asking) await asking;
    else if (known ? !this.#isAbsent(known, id) && this.#mayAskForUnknown() : this.#mayAsk(RETRY_MS)) {
      await this.#ask();
      if (this.#heldSince >= this.#askedAt) this.#held?.absent.set(id, this.now());
    }
    const held = this.current();
    if (!held) throw new KeysUnavailable();
    return held.ids.has(id) ? held : undefined;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #isAbsent({ absent }: KeySet, id: string): boolean {
    if (absent.size >= MAX_ABSENT) absent.clear();
    return this.now() - (absent.get(id) ?? -Infinity) < ABSENT_MS;
  }

  #mayAsk(everyMs: number): boolean {
    const now = this.now();
    return now >= this.#waitUntil && now - this.#askedAt >= everyMs;
  }

  /**
   * True if a token with an unknown id may cause a request. A token that may not still gets a new key as soon as another token causes a
   * request.
   */
  #mayAskForUnknown(): boolean {
    const now = this.now();
    if (now < this.#waitUntil) return false;
    const { left, at } = this.#budget;
    const refilled = Math.min(UNKNOWN_BURST, left + (now - at) / UNKNOWN_EVERY_MS);
    const may = refilled >= 1;
    this.#budget = { left: may ? refilled - 1 : refilled, at: now };
    return may;
  }

  /** Makes one request for all waiters. Never fails. */
  #ask(): Promise<void> {
    return this.#asking.run('', async () => {
      this.#askedAt = this.now();
      try {
        this.#take(await this.#fetch());
      } catch (error) {
        const reason = error instanceof Error ? ((error as { code?: string }).code ?? error.name) : 'unknown';
        this.#miss('unavailable');
        this.log.warn({ event: 'jwks-unavailable', reason }, "The issuer's keys could not be read");
      }
    });
  }

  async #fetch(): Promise<string> {
    const { statusCode, headers, body } = await request(this.url, {
      dispatcher: this.#agent,
      headers: { accept: 'application/json, application/jwk-set+json' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      // Each request has a connection of its own, so that the gateway follows a name that moves.
      reset: true,
    });
    const text = await body.text();
    const waitS =
      statusCode === 200 ? 0 : retryAfterSeconds(headers['retry-after'], Date.now(), MAX_RETRY_AFTER_S);
    this.#waitUntil = this.now() + (waitS ?? 0) * 1_000;
    if (statusCode !== 200) throw Object.assign(new Error('refused'), { code: `status ${statusCode}` });
    return text;
  }

  #take(text: string): void {
    if (text !== this.#held?.text) {
      const set = parseJson(Buffer.from(text), { maxDepth: MAX_DEPTH }) as JSONWebKeySet;
      const find = createLocalJWKSet(set);
      const ids = new Set(set.keys.map(({ kid }) => kid).filter((kid) => typeof kid === 'string'));
      if (ids.size === 0) return this.#takeNone();
      this.#held = { text, ids, find, absent: new Map() };
      this.log.info({ event: 'jwks-loaded', keys: ids.size }, "The issuer's keys were read");
    }
    this.#emptySince = undefined;
    this.#missed = undefined;
    this.#heldSince = this.now();
  }

  #takeNone(): void {
    const now = this.now();
    this.#emptySince ??= now;
    const isBelieved = now - this.#emptySince >= EMPTY_MS;
    if (isBelieved) this.#held = undefined;
    const kept = this.#held?.ids.size ?? 0;
    this.#miss('empty');
    this.log.warn(
      { event: 'jwks-empty', kept },
      'The issuer publishes no keys; known keys stay valid for 15 minutes',
    );
  }

  get #recentlyMissed() {
    return this.#missed && this.now() - this.#missed.last < MAX_MISSED_AGE_MS ? this.#missed : undefined;
  }

  #miss(reason: Reason): void {
    const last = this.now();
    this.#missed = { reason, since: this.#recentlyMissed?.since ?? last, last };
    this.metrics.count('gateway_issuer_keys_missed_total', { reason });
  }
}
