import { Batcher } from '../kit/batcher/batcher.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import type { RateLimit } from '../request/caller.ts';

/**
 * Takes requests from a window, at most as many as are left. The key's life is the window, by Redis' own clock, so that replicas agree. The
 * window begins with the first request, and refused requests do not count. A foreign value counts as no window. ARGV: requested number,
 * limit, window in ms. Returns: granted number, used in all, ms to the window's end. The count is replicated to replicas but not written to
 * the append-only file, so no request waits for a disk.
 */
const TAKE = new Script(`
redis.set_repl(redis.REPL_REPLICA)
local asked, limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local stored = redis.pcall('GET', KEYS[1])
local used = type(stored) == 'string' and string.match(stored, '^%d+$') and tonumber(stored)
local left = redis.call('PTTL', KEYS[1])
if not used or left <= 0 then used, left = 0, window end
if left > window then left = window end
local granted = math.min(asked, math.max(limit - used, 0))
redis.call('SET', KEYS[1], string.format('%d', used + granted), 'PX', left)
return {granted, used + granted, left}
`);

export interface RateStatus {
  readonly admitted: boolean;
  readonly left: number;
  /** The whole seconds until the end of the window. */
  readonly endsInS: number;
}

/**
 * One caller's window of requests: for all replicas in Redis, or for this process without Redis. Both are exact: requests that arrive while
 * a command runs are counted together by the next command, none in advance. While Redis is away, each replica continues alone from the last
 * known count.
 */
export class RateWindow {
  #limit: RateLimit;
  #used = 0;
  #endsAt = 0;
  /**
   * Counts requests in Redis at the end of a turn of the event loop, together with the requests that the turn still reads from other
   * connections.
   */
  readonly #shared = new Batcher<void, RateStatus>(
    'rates',
    (asked) => this.#takeShared(asked),
    (send) => this.redis.atEndOfTurn(send),
    () => this.#takeHere(),
  );

  constructor(
    limit: RateLimit,
    private readonly key: string,
    private readonly redis: SharedRedis,
    private readonly now = () => performance.now(),
  ) {
    this.#limit = limit;
  }

  /** Counts one more request against the caller's current limit. */
  take(limit: RateLimit): RateStatus | Promise<RateStatus> {
    this.#limit = limit;
    const now = this.now();
    // The count cannot fall before the window ends, so a flood over the limit needs no command to Redis. Only if the limit has a shorter
    // window now, one more command ends the present window earlier.
    const isShorter = this.#endsAt > now + limit.perSeconds * 1_000;
    if (this.#used >= limit.requests && now < this.#endsAt && !isShorter) return this.#status(false, 0);
    if (!this.redis.configured) return this.#takeHere();
    return this.#shared.add();
  }

  async #takeShared(asked: readonly void[]): Promise<RateStatus[]> {
    const { requests, perSeconds } = this.#limit;
    const [granted, used, leftMs] = await this.redis.run((client) =>
      TAKE.run<[number, number, number]>(client, [this.key], [asked.length, requests, perSeconds * 1_000]),
    );
    this.#used = used;
    // The reply takes time to arrive, so this is later than in Redis, and no caller returns before the end.
    this.#endsAt = this.now() + leftMs;
    return asked.map((_, index) => {
      const admitted = index < granted;
      return this.#status(admitted, admitted ? requests - (used - granted) - index - 1 : 0);
    });
  }

  #takeHere(): RateStatus {
    const { requests, perSeconds } = this.#limit;
    const now = this.now();
    if (now >= this.#endsAt) {
      this.#used = 0;
      this.#endsAt = now + perSeconds * 1_000;
    }
    this.#endsAt = Math.min(this.#endsAt, now + perSeconds * 1_000);
    const admitted = this.#used < requests;
    if (admitted) this.#used++;
    return this.#status(admitted, Math.max(requests - this.#used, 0));
  }

  #status(admitted: boolean, left: number): RateStatus {
    return { admitted, left, endsInS: Math.max(Math.ceil((this.#endsAt - this.now()) / 1_000), 0) };
  }
}
