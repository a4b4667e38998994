import { expect, it } from '@jest/globals';
import type { FastifyReply } from 'fastify';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { CallerLimits, MAX_IN_FLIGHT_OF_ONE } from './caller-limits.ts';
import type { Caller } from '../request/caller.ts';

const grants = { enterprises: new Set<string>(), channels: new Set<string>(), users: new Set<string>() };
const callerNamed = (name: string): Caller => ({
  name,
  keyHashes: [],
  certificates: [],
  scopes: new Set(),
  grants,
});

it("requests in flight of one caller are at most half of the gateway's: beyond them 429, and others are served", async () => {
  const metrics = new Metrics();
  const { redis } = settings();
  const limits = new CallerLimits(new SharedRedis(redis, new RecordedLog().log, metrics), metrics);
  /** Admits a request. Returns the problem for its caller, if any, and the function that ends the request. */
  const admit = (name: string) => {
    const atEnd: (() => void)[] = [];
    const refusal = limits.admit(callerNamed(name), {} as FastifyReply, atEnd);
    return { refusal, end: () => atEnd.forEach((each) => each()) };
  };

  const first = admit('flooder');
  for (let count = 1; count < MAX_IN_FLIGHT_OF_ONE; count++) expect(admit('flooder').refusal).toBeUndefined();
  const { refusal } = admit('flooder');
  expect(refusal).toBeInstanceOf(ProblemException);
  expect(refusal).toMatchObject({
    body: { code: 'too-many-requests', outcome: 'not_processed', retryable: true },
    headers: { 'retry-after': '1' },
  });
  expect(admit('neighbour').refusal).toBeUndefined();
  expect(await metrics.registry.metrics()).toContain('refused_total{reason="caller-in-flight"} 1');
  expect(MAX_IN_FLIGHT_OF_ONE).toBe(2_500);

  first.end();
  expect(admit('flooder').refusal).toBeUndefined();
});
