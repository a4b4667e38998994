import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Metrics } from '../observability/metrics.ts';
import { Admission } from './admission.ts';

let metrics: Metrics;
let admission: Admission;
beforeEach(() => {
  metrics = new Metrics();
  admission = new Admission(metrics);
});
afterEach(() => admission.onModuleDestroy());

const isAdmitted = () => admission.refusal() === undefined;

describe('the admission', () => {
  it('refuses work while the event loop is late every time, and takes it again after one that is not', () => {
    for (const lagMs of [1_500, 1_200]) admission.sample(lagMs, 0.1, 0.1);
    expect(isAdmitted()).toBe(true);
    admission.sample(1_000, 0.1, 0.1);
    expect(admission.overload).toBe('event-loop');
    admission.sample(30, 0.1, 0.1);
    expect(isAdmitted()).toBe(true);
  });

  it('is not impressed by one pause, however long', () => {
    admission.sample(60_000, 0.1, 0.1);
    expect(admission.overload).toBeUndefined();
    admission.sample(0, 0.1, 0.1);
    expect(admission.overload).toBeUndefined();
  });

  it('refuses work while the heap is nearly full', () => {
    for (const share of [0.9, 0.86, 0.85]) admission.sample(0, share, 0.1);
    expect(admission.overload).toBe('heap');
    admission.sample(0, 0.6, 0.1);
    expect(admission.overload).toBeUndefined();
  });

  it('P10 refuses work while the memory is nearly full, for each kind of memory', () => {
    for (const share of [0.9, 0.86, 0.85]) admission.sample(0, 0.1, share);
    expect(admission.overload).toBe('memory');
    expect(admission.refusal()).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    admission.sample(0, 0.1, 0.6);
    expect(admission.overload).toBeUndefined();
  });

  it('refuses work beyond 5,000 requests in flight, and takes it again when some have ended', async () => {
    for (let count = 0; count < 10_000; count++) admission.enter()();
    const arrive = () => {
      const ends = [admission.enter(), admission.enterFromCaller()];
      return () => ends.forEach((each) => each());
    };
    const ends = Array.from({ length: 5_000 }, arrive);
    expect(isAdmitted()).toBe(true);
    const end = arrive();
    expect(isAdmitted()).toBe(false);
    expect(admission.overload).toBe('in-flight');
    expect(await metrics.registry.metrics()).toContain('gateway_requests_in_flight 5001');
    expect(await metrics.registry.metrics()).toContain(
      'gateway_requests_refused_total{reason="in-flight"} 1',
    );
    end();
    expect(isAdmitted()).toBe(true);
    for (const each of ends) each();
    expect(await metrics.registry.metrics()).toContain('gateway_requests_in_flight 0');
  });
});
