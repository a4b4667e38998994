import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import type { AttemptOutcome } from '../observability/metrics.ts';
import type { LedgerRecord } from '../order-ledger/ledger-record.ts';
import { environmentName, sha256 } from '../redis/key-names.ts';
import type { SealedStore } from '../kit/sealed-store/sealed-store.ts';
import { SharedRedis } from '../redis/shared-redis.ts';

/** An attempt that was made for an order. */
export interface PastAttempt {
  /** In ms since the epoch. */
  readonly at: number;
  readonly result: AttemptOutcome;
  /** What it found at the platform. */
  readonly licenseOrders: readonly string[];
  /** The kind of failure, where it failed. */
  readonly failure?: string;
}

type Submission = Pick<LedgerRecord, 'name' | 'submittedAt'>;

/** Long enough for an operator to settle the order. */
const KEPT_MS = 30 * 24 * 3_600_000;
/** Orders whose attempts the process keeps where there is no Redis. */
const MOST = 1_000;

/**
 * What each attempt for an order found, for the operator who has to settle it. It is in the shared Redis, sealed, and may be lost: the
 * order ledger does not depend on it.
 */
@Injectable()
export class AttemptHistory {
  readonly #prefix: string;
  /** Undefined without Redis. */
  readonly #sealed: SealedStore | undefined;
  /** Without Redis. */
  readonly #here = new Map<string, PastAttempt[]>();

  constructor(
    config: UpstreamConfig,
    private readonly redis: SharedRedis,
  ) {
    this.#sealed = redis.sealed('attempts');
    this.#prefix = `${environmentName(config.baseUrl)}:attempts:`;
  }

  /** Never fails. */
  async add(of: Submission, attempt: PastAttempt): Promise<void> {
    const key = this.#keyOf(of);
    if (!this.#sealed) {
      this.#here.set(key, [...(this.#here.get(key) ?? []), attempt]);
      const [oldest] = this.#here.keys();
      if (this.#here.size > MOST && oldest !== undefined) this.#here.delete(oldest);
      return;
    }
    const sealed = this.#sealed.seal(JSON.stringify(attempt), key);
    await this.redis
      .run(async (client) => {
        await client.hset(key, String(attempt.at), sealed);
        await client.pexpire(key, KEPT_MS);
      })
      .catch(() => undefined);
  }

  /** The oldest first; undefined where Redis is away. */
  async of(submission: Submission): Promise<readonly PastAttempt[] | undefined> {
    const key = this.#keyOf(submission);
    const sealed = this.#sealed;
    if (!sealed) return this.#here.get(key) ?? [];
    try {
      const attempts = await this.redis.run((client) => client.hgetall(key));
      return Object.values(attempts)
        .flatMap((each) => {
          const text = sealed.open(each, key);
          return text === undefined ? [] : [JSON.parse(text) as PastAttempt];
        })
        .toSorted((one, other) => one.at - other.at);
    } catch {
      return undefined;
    }
  }

  /** The time of submission belongs to it: after a settlement the same number may be sent again. */
  #keyOf({ name, submittedAt }: Submission): string {
    return `${this.#prefix}${sha256(name).slice(0, 32)}:${submittedAt}`;
  }
}
