import { expect, it } from '@jest/globals';
import { Counter, Histogram, Registry } from 'prom-client';
import { TallyCounter, TallyHistogram } from './tallies.ts';

const BOUNDS = [0.001, 0.5, 1, 30];
const seconds = [0, 0.0005, 0.001, 0.0011, 0.5, 0.7, 1, 29.9, 30, 31, 1e6];

it('prints what prom-client would, however often it is read', async () => {
  const [theirs, ours] = [new Registry(), new Registry()];
  const naming = { name: 'calls_total', help: 'Calls' };
  const timing = { name: 'call_seconds', help: 'Their time' };
  const counter = new Counter({ ...naming, labelNames: ['operation', 'status'], registers: [theirs] });
  const histogram = new Histogram({
    ...timing,
    labelNames: ['operation'],
    buckets: BOUNDS,
    registers: [theirs],
  });
  const tallyCounter = new TallyCounter({ ...naming, registry: ours }, ['operation', 'status']);
  const tallyHistogram = new TallyHistogram({ ...timing, registry: ours }, 'operation', BOUNDS);

  expect(await ours.metrics()).toBe(await theirs.metrics());
  for (let round = 1; round <= 3; round++) {
    for (const operation of ['listAssets', 'none', 'place"Order']) {
      for (const second of seconds.slice(round)) {
        histogram.observe({ operation }, second);
        tallyHistogram.observe(operation, second);
        counter.inc({ operation, status: 200 + round });
        tallyCounter.count(operation, 200 + round);
      }
    }
    expect(await ours.metrics()).toBe(await theirs.metrics());
  }
});
