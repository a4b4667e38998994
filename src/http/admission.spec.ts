import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Metrics } from '../observability/metrics.ts';
import { Admission } from './admission.ts';

let metrics: Metrics;
let intake: Admission;
beforeEach(() => {
  metrics = new Metrics();
  intake = new Admission(metrics);
});
afterEach(() => intake.beforeApplicationShutdown());

describe('the intake', () => {
  it('refuses work while the event loop is late every time, and takes it again after one that is not', () => {
    for (const lagMs of [1_500, 1_200]) intake.sample(lagMs, 0.1, 0.1);
    expect(intake.takes(() => undefined)).toBe(true);
    intake.sample(1_000, 0.1, 0.1);
    expect(intake.overload).toBe('event-loop');
    intake.sample(30, 0.1, 0.1);
    expect(intake.takes(() => undefined)).toBe(true);
  });

  it('is not impressed by one pause, however long', () => {
    intake.sample(60_000, 0.1, 0.1);
    expect(intake.overload).toBeUndefined();
    intake.sample(0, 0.1, 0.1);
    expect(intake.overload).toBeUndefined();
  });

  it('refuses work while the heap is nearly full', () => {
    for (const share of [0.9, 0.86, 0.85]) intake.sample(0, share, 0.1);
    expect(intake.overload).toBe('heap');
    intake.sample(0, 0.6, 0.1);
    expect(intake.overload).toBeUndefined();
  });

  it('P10 refuses work while the memory is nearly full, for each kind of memory', () => {
    for (const share of [0.9, 0.86, 0.85]) intake.sample(0, 0.1, share);
    expect(intake.overload).toBe('memory');
    expect(intake.takes(() => undefined, 'probe')).toBe(true);
    intake.sample(0, 0.1, 0.6);
    expect(intake.overload).toBeUndefined();
  });

  it('refuses work beyond 5,000 requests in flight, and takes it again when some have ended', async () => {
    for (let count = 0; count < 10_000; count++) intake.arrived()();
    const arrive = () => {
      const ends = [intake.arrived(), intake.arrivedFromCaller()];
      return () => ends.forEach((each) => each());
    };
    const ends = Array.from({ length: 5_000 }, arrive);
    expect(intake.takes(() => undefined)).toBe(true);
    const end = arrive();
    expect(intake.takes(() => undefined)).toBe(false);
    expect(intake.overload).toBe('in-flight');
    expect(await metrics.registry.metrics()).toContain('gateway_requests_in_flight 5001');
    expect(await metrics.registry.metrics()).toContain(
      'gateway_requests_refused_total{reason="in-flight"} 1',
    );
    end();
    expect(intake.takes(() => undefined)).toBe(true);
    for (const each of ends) each();
    expect(await metrics.registry.metrics()).toContain('gateway_requests_in_flight 0');
  });
});
