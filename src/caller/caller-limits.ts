import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import type { Caller, RateLimit } from '../request/caller.ts';
import { type RateStatus, RateWindow } from './rate-window.ts';

/**
 * The most requests without a response that one caller may have in this process. It is half of all requests, so that a flood of one caller
 * leaves the other half to other callers.
 */
export const MAX_IN_FLIGHT_OF_ONE = 2_500;

interface Usage {
  inFlight: number;
  window?: RateWindow;
}

/**
 * The limits of one caller: requests in flight in this process, and requests in a time window on all replicas. They count by the caller's
 * name, so that all credentials of an entry share them. They replace `@nestjs/throttler` (decision 14).
 */
@Injectable()
export class CallerLimits {
  readonly #usage = new Map<string, Usage>();
  readonly #prefix: string;

  constructor(
    private readonly redis: SharedRedis,
    private readonly metrics: Metrics,
  ) {
    this.#prefix = `${redis.environment}:rate:`;
  }

  /**
   * Counts a request, until the functions of `atEnd` are called, and sets the limit's headers on its response. Returns the problem if the
   * request exceeds a limit.
   */
  admit(
    caller: Caller,
    reply: FastifyReply,
    atEnd: (() => void)[],
  ): ProblemException | undefined | Promise<ProblemException | undefined> {
    const usage = this.#usageOf(caller.name);
    const { rateLimit } = caller;
    if (rateLimit) void reply.header('ratelimit-policy', policyField(rateLimit));
    if (usage.inFlight >= MAX_IN_FLIGHT_OF_ONE) {
      this.metrics.count('gateway_requests_refused_total', { reason: 'caller-in-flight' });
      const detail = `The caller has ${MAX_IN_FLIGHT_OF_ONE} requests without an answer.`;
      return new ProblemException('too-many-requests', { detail, retryAfter: 1 });
    }
    usage.inFlight++;
    atEnd.push(() => usage.inFlight--);
    if (!rateLimit) return undefined;
    usage.window ??= new RateWindow(rateLimit, this.#prefix + caller.name, this.redis);
    const status = usage.window.take(rateLimit);
    return status instanceof Promise
      ? status.then((settled) => this.#verdict(rateLimit, settled, reply))
      : this.#verdict(rateLimit, status, reply);
  }

  #usageOf(name: string): Usage {
    const known = this.#usage.get(name);
    if (known) return known;
    const usage = { inFlight: 0 };
    this.#usage.set(name, usage);
    return usage;
  }

  #verdict(
    { requests, perSeconds }: RateLimit,
    { admitted, left, endsInS }: RateStatus,
    reply: FastifyReply,
  ): ProblemException | undefined {
    void reply.header('ratelimit', `"default";r=${left};t=${endsInS}`);
    if (admitted) return undefined;
    this.metrics.count('gateway_requests_refused_total', { reason: 'caller-rate' });
    const detail = `The rate limit of the caller is reached: ${requests} request${requests === 1 ? '' : 's'} in ${perSeconds} s.`;
    return new ProblemException('too-many-requests', { detail, retryAfter: Math.max(endsInS, 1) });
  }
}

/** Returns the field of draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4. */
function policyField({ requests, perSeconds }: RateLimit): string {
  return `"default";q=${requests};w=${perSeconds}`;
}
