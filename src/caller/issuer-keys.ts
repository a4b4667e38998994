import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { Agent, request } from 'undici';
import { parseJson } from '../shared/json.ts';
import type { Log } from '../observability/log.ts';

const TIMEOUT_MS = 3_000;
const MAX_BYTES = 256 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_DEPTH = 8;
/** Used keys are asked for again after this time, so that one that was withdrawn counts no longer. */
const REFRESH_MS = 5 * 60_000;
/** At most once in this time, whatever tokens name: anybody can make up key ids. */
const ASK_EVERY_MS = 60_000;
/** While there are none at all. */
export const RETRY_MS = 5_000;
/** For so long known keys go on while the issuer does not answer. */
const MAX_AGE_MS = 60 * 60_000;

/** A set of public keys as the issuer gave it; another object as soon as it gives another. */
export interface KeySet {
  readonly text: string;
  readonly ids: ReadonlySet<string>;
  readonly find: JWTVerifyGetKey;
}

/** No keys are to be had, so nothing can be said of any token. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/**
 * The public keys of the issuer of JWTs (RFC 7517), from the configured URL and nowhere else: no redirects, no proxies, bounded
 * in size and time, one request at a time.
 */
export class IssuerKeys {
  readonly #agent = new Agent({
    connect: { timeout: TIMEOUT_MS, rejectUnauthorized: true },
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    maxResponseSize: MAX_BYTES,
    keepAliveTimeout: 1_000,
  });
  #held: KeySet | undefined;
  #heldSince = -Infinity;
  #askedAt = -Infinity;
  #asking: Promise<void> | undefined;

  /** `now` in ms, monotonic. */
  constructor(
    private readonly url: URL,
    private readonly log: Log,
    private readonly now = () => performance.now(),
  ) {}

  /** The keys in use, without waiting; renewed in the background once they are old. */
  current(): KeySet | undefined {
    const age = this.now() - this.#heldSince;
    if (age >= MAX_AGE_MS) return undefined;
    if (age >= REFRESH_MS && this.#mayAsk(ASK_EVERY_MS)) void this.#ask();
    return this.#held;
  }

  /** Keys with one of that id; undefined: the issuer has none. Throws {@link KeysUnavailable}. */
  async having(id: string): Promise<KeySet | undefined> {
    const known = this.current();
    if (known?.ids.has(id)) return known;
    if (this.#asking || this.#mayAsk(known ? ASK_EVERY_MS : RETRY_MS)) await this.#ask();
    const held = this.current();
    if (!held) throw new KeysUnavailable();
    return held.ids.has(id) ? held : undefined;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #mayAsk(everyMs: number): boolean {
    return this.now() - this.#askedAt >= everyMs;
  }

  /** One request, whoever waits for it. Never fails. */
  #ask(): Promise<void> {
    this.#askedAt = this.#asking ? this.#askedAt : this.now();
    this.#asking ??= this.#fetch()
      .then((text) => this.#take(text))
      .catch((error: unknown) => {
        const reason = error instanceof Error ? ((error as { code?: string }).code ?? error.name) : 'unknown';
        this.log.warn({ event: 'jwks-unavailable', reason }, "The issuer's keys could not be had");
      })
      .finally(() => {
        this.#asking = undefined;
      });
    return this.#asking;
  }

  async #fetch(): Promise<string> {
    const { statusCode, body } = await request(this.url, {
      dispatcher: this.#agent,
      headers: { accept: 'application/json, application/jwk-set+json' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await body.text();
    if (statusCode !== 200) throw Object.assign(new Error('refused'), { code: `status ${statusCode}` });
    return text;
  }

  #take(text: string): void {
    if (text !== this.#held?.text) {
      const set = parseJson(Buffer.from(text), { maxDepth: MAX_DEPTH }) as JSONWebKeySet;
      const find = createLocalJWKSet(set);
      const ids = new Set(set.keys.map(({ kid }) => kid).filter((kid) => typeof kid === 'string'));
      this.#held = { text, ids, find };
      this.log.info({ event: 'jwks-loaded', keys: ids.size }, "The issuer's keys were read");
    }
    this.#heldSince = this.now();
  }
}
