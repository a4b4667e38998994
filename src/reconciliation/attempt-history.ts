import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import type { AttemptOutcome } from '../observability/metric-tables.ts';
import type { LedgerRecord } from '../order-ledger/ledger-record.ts';
import { environmentName, sha256 } from '../redis/key-names.ts';
import type { SealedStore } from '../kit/sealed-store/sealed-store.ts';
import { SharedRedis } from '../redis/shared-redis.ts';

export interface PastAttempt {
  /** In ms since the epoch. */
  readonly at: number;
  readonly result: AttemptOutcome;
  readonly licenseOrders: readonly string[];
  readonly failure?: string;
}

type Submission = Pick<LedgerRecord, 'name' | 'submittedAt'>;

/** An operator has this time to settle the order. */
const KEPT_MS = 30 * 24 * 3_600_000;
/** Without Redis, the process keeps the attempts for this many orders. */
const MAX_ORDERS = 1_000;

/** What attempts found, for the operator who has to settle the order. It may be lost: the order ledger does not depend on it. */
@Injectable()
export class AttemptHistory {
  readonly #prefix: string;
  /** Undefined without Redis. */
  readonly #sealed: SealedStore | undefined;
  readonly #here = new Map<string, PastAttempt[]>();

  constructor(
    config: UpstreamConfig,
    private readonly redis: SharedRedis,
  ) {
    this.#sealed = redis.sealed('attempts');
    this.#prefix = `${environmentName(config.baseUrl)}:attempts:`;
  }

  /** Never fails. */
  async add(order: Submission, attempt: PastAttempt): Promise<void> {
    const key = this.#keyOf(order);
    if (!this.#sealed) {
      this.#here.set(key, [...(this.#here.get(key) ?? []), attempt]);
      const [oldest] = this.#here.keys();
      if (this.#here.size > MAX_ORDERS && oldest !== undefined) this.#here.delete(oldest);
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

  /** The oldest first. Undefined while Redis is away. */
  async attemptsFor(order: Submission): Promise<readonly PastAttempt[] | undefined> {
    const key = this.#keyOf(order);
    const sealed = this.#sealed;
    if (!sealed) return this.#here.get(key) ?? [];
    try {
      const attempts = await this.redis.run((client) => client.hgetall(key));
      return Object.values(attempts)
        .flatMap((each) => sealed.open(each, key) ?? [])
        .map((text) => JSON.parse(text) as PastAttempt)
        .toSorted((one, other) => one.at - other.at);
    } catch {
      return undefined;
    }
  }

  /** The key has the time of submission: after a settlement the same number may be sent again. */
  #keyOf({ name, submittedAt }: Submission): string {
    return `${this.#prefix}${sha256(name).slice(0, 32)}:${submittedAt}`;
  }
}
