import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { OrderLedgerRedis } from '../order-ledger/order-ledger-redis.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { environmentName, sha256 } from '../redis/key-names.ts';

const KEPT_MS = 30 * 24 * 3_600_000;
/** The limit for one caller, about 8 MB in Redis; the oldest numbers are forgotten first. */
const MAX_KEPT = 100_000;

/**
 * Asset numbers that a caller reserved and may use in a purchase before an enterprise has them. They are in the Redis of the order
 * ledger, because an operator may empty the shared one, and then no caller could use the numbers that the platform has used up.
 * Without that Redis they stay in the process, as orders do.
 */
@Injectable()
export class Reservations {
  readonly #local = new Map<string, Map<string, number>>();
  readonly #prefix: string;

  constructor(
    config: UpstreamConfig,
    private readonly redis: OrderLedgerRedis,
    private readonly log: Log,
  ) {
    this.#prefix = `${environmentName(config.baseUrl)}:reserved:`;
  }

  /** Never fails: the platform has used up the numbers, so the caller must get them. */
  async add(caller: string, assetNums: readonly string[]): Promise<void> {
    if (assetNums.length === 0) return;
    const now = Date.now();
    const endsAt = now + KEPT_MS;
    if (this.redis.configured) {
      try {
        const key = this.#keyOf(caller);
        await this.redis.run((client) =>
          client.zadd(key, ...assetNums.flatMap((assetNum) => [endsAt, assetNum])),
        );
        await this.redis.run((client) => client.zremrangebyscore(key, '-inf', now));
        await this.redis.run((client) => client.zremrangebyrank(key, 0, -MAX_KEPT - 1));
        await this.redis.run((client) => client.pexpire(key, KEPT_MS));
        return;
      } catch (error) {
        this.log.warn(
          { event: 'reservation-not-shared', reason: (error as Error).name, numbers: assetNums.length },
          'Redis did not store reserved asset numbers: only this process knows their caller',
        );
      }
    }
    const own = this.#local.get(caller) ?? new Map<string, number>();
    for (const assetNum of assetNums) own.set(assetNum, endsAt);
    for (const oldest of own.keys()) {
      if (own.size <= MAX_KEPT) break;
      own.delete(oldest);
    }
    this.#local.set(caller, own);
  }

  /** Those of the numbers that this caller reserved. */
  async of(caller: string, assetNums: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const now = Date.now();
    const local = this.#local.get(caller);
    const own = new Set([...assetNums].filter((assetNum) => (local?.get(assetNum) ?? 0) > now));
    const asked = [...assetNums.difference(own)];
    if (asked.length === 0 || !this.redis.configured) return own;
    try {
      const ends = await this.redis.run((client) => client.zmscore(this.#keyOf(caller), ...asked));
      for (const [index, assetNum] of asked.entries()) if (Number(ends[index] ?? 0) > now) own.add(assetNum);
      return own;
    } catch (error) {
      throw new ProblemException('dependency-unavailable', { retryAfter: 1, cause: error });
    }
  }

  #keyOf(caller: string): string {
    return this.#prefix + sha256(caller);
  }
}
