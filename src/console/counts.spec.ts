import { expect, it } from '@jest/globals';
import { Metrics, SECONDS } from '../observability/metrics.ts';
import { added, addedBuckets, quantile, readCounts } from './counts.ts';

it('what was added between two moments, and its quantiles', async () => {
  const metrics = new Metrics();
  metrics.request('listAssets', 200, 0.004);
  const before = await readCounts(metrics.registry);
  for (let count = 0; count < 98; count++) metrics.request('listAssets', 200, 0.004);
  for (let count = 0; count < 2; count++) metrics.request('listAssets', 504, 20);
  metrics.count('gateway_requests_refused_total', { reason: 'caller-rate' });
  const now = await readCounts(metrics.registry);
  expect(added(now.requests, before.requests)).toEqual(
    new Map([
      ['listAssets 200', 98],
      ['listAssets 504', 2],
    ]),
  );
  expect(added(now.refused, before.refused)).toEqual(new Map([['caller-rate', 1]]));
  const latency = addedBuckets(now.latency, before.latency).get('listAssets') ?? [];
  expect(latency.reduce((sum, count) => sum + count, 0)).toBe(100);
  expect(quantile(latency, 0.5, SECONDS)).toBeGreaterThan(0.0025);
  expect(quantile(latency, 0.5, SECONDS)).toBeLessThanOrEqual(0.005);
  expect(quantile(latency, 0.99, SECONDS)).toBeGreaterThan(10);
  expect(quantile([], 0.5, SECONDS)).toBeNull();
  // Beyond the last bound nothing more is known.
  metrics.request('getAsset', 200, 100);
  expect(quantile((await readCounts(metrics.registry)).latency.get('getAsset') ?? [], 0.5, SECONDS)).toBe(30);
});
