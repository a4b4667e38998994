import { beforeEach, describe, expect, it } from '@jest/globals';
import { PresentCallers } from '../caller/present-callers.ts';
import { Metrics } from '../observability/metrics.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { RefusalPace } from './refusal-pace.ts';

describe('K49 a caller that sends wrong requests one after another', () => {
  let metrics: Metrics;
  let pace: RefusalPace;

  beforeEach(() => {
    metrics = new Metrics();
    pace = new RefusalPace(metrics, new PresentCallers());
  });

  /** Asks again as soon as it has its response, at first at this time: the times of its responses. */
  function refusals(count: number, from: number, beside: boolean): number[] {
    const times: number[] = [];
    let now = from;
    for (let each = 0; each < count; each++) {
      if (beside) pace.arrived('neighbour', now);
      now += Number(pace.arrived('wrong', now));
      pace.answered('wrong', 400, now);
      times.push(now);
    }
    return times;
  }

  it('is refused a hundred times at once, and then once in 10 ms', () => {
    const times = refusals(1_100, 0, true);
    expect(times[99]).toBe(0);
    expect(times.at(-1)).toBeGreaterThanOrEqual(9_800);
    expect(times.at(-1)).toBeLessThanOrEqual(10_200);
    // The other caller never waits.
    expect(pace.arrived('neighbour', times.at(-1))).toBe(0);
  });

  it('does not wait where no other caller is there', () => {
    expect(refusals(1_000, 0, false).at(-1)).toBe(0);
  });

  it('does not wait after few refusals, or for responses of the platform', () => {
    expect(refusals(100, 0, true).at(-1)).toBe(0);
    for (let each = 0; each < 1_000; each++) {
      for (const status of [200, 201, 404, 409, 422, 503]) pace.answered('crm', status, 0);
      pace.arrived('neighbour', 0);
      expect(pace.arrived('crm', 0)).toBe(0);
    }
  });

  it('gets 429 where it would wait for more than a second', async () => {
    refusals(101, 0, true);
    const waits = Array.from({ length: 1_000 }, () => pace.arrived('wrong', 0));
    const refused = waits.filter((wait) => wait instanceof ProblemException);
    expect(waits.length - refused.length).toBeGreaterThanOrEqual(99);
    expect(waits.length - refused.length).toBeLessThanOrEqual(101);
    expect(refused[0]?.body).toMatchObject({ code: 'too-many-requests', outcome: 'not_processed' });
    expect(refused[0]?.headers).toMatchObject({ 'retry-after': '1' });
    expect(await metrics.registry.metrics()).toContain(
      `gateway_requests_refused_total{reason="caller-refusals"} ${refused.length}`,
    );
    // All of them have been refused a while later.
    expect(pace.arrived('wrong', 2_000)).toBe(0);
  });
});
