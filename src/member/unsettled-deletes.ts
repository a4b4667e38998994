import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { environmentName, sha256 } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';

/** About 2 MB at most. A day has only a few deletes with an unknown outcome. */
const MAX_REMEMBERED = 10_000;
const KEPT_MS = 24 * 60 * 60 * 1000;

/**
 * Deletes with an unknown outcome, so that a caller who repeats one gets 204 (the member is gone) and not 404. Kept for a day in
 * Redis for all replicas, and in this process (bounded, the oldest forgotten first) where there is no Redis or it is away. For a
 * forgotten delete the response is 404, which also says that the member does not exist.
 */
@Injectable()
export class UnsettledDeletes {
  readonly #local = new Set<string>();
  readonly #prefix: string;

  constructor(
    config: UpstreamConfig,
    private readonly redis: SharedRedis,
  ) {
    this.#prefix = `${environmentName(config.baseUrl)}:del:`;
  }

  async add(enterpriseGlobalId: string, memberGlobalId: string): Promise<void> {
    const key = this.#keyOf(enterpriseGlobalId, memberGlobalId);
    const shared = await this.redis
      .run((client) => client.set(key, '1', 'PX', KEPT_MS))
      .catch(() => undefined);
    if (shared) return;
    this.#local.delete(key);
    this.#local.add(key);
    const [oldest] = this.#local;
    if (this.#local.size > MAX_REMEMBERED && oldest !== undefined) this.#local.delete(oldest);
  }

  /** Forgets the delete. Returns true where it was remembered. */
  async settle(enterpriseGlobalId: string, memberGlobalId: string): Promise<boolean> {
    const key = this.#keyOf(enterpriseGlobalId, memberGlobalId);
    const removed = await this.redis.run((client) => client.del(key)).catch(() => 0);
    return this.#local.delete(key) || removed === 1;
  }

  #keyOf(enterpriseGlobalId: string, memberGlobalId: string): string {
    // Path ids have no slash.
    return this.#prefix + sha256(`${enterpriseGlobalId}/${memberGlobalId}`);
  }
}
