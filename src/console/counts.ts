import type { Registry } from 'prom-client';

/** Upper bounds of the latency buckets, in seconds: those of the metrics. The last bucket of {@link Buckets} has none. */
export type Buckets = readonly number[];

/** Numbers by the joined values of the labels. */
export interface TrafficAmounts {
  /** By operation and status. */
  readonly requests: ReadonlyMap<string, number>;
  readonly latency: ReadonlyMap<string, Buckets>;
  /** By operation and outcome. */
  readonly attempts: ReadonlyMap<string, number>;
  readonly attemptLatency: ReadonlyMap<string, Buckets>;
  readonly cache: ReadonlyMap<string, number>;
  readonly refused: ReadonlyMap<string, number>;
  readonly tokens: ReadonlyMap<string, number>;
}

/** What this process has counted up to one moment. */
export interface TrafficCounts extends TrafficAmounts {
  /** performance.now() */
  readonly at: number;
}

interface Sample {
  readonly metricName?: string;
  readonly labels: Partial<Record<string, string | number>>;
  readonly value: number;
}

export async function readCounts(registry: Registry): Promise<TrafficCounts> {
  const samplesOf = async (name: string): Promise<readonly Sample[]> => {
    const metric = await registry.getSingleMetric(name)?.get();
    return (metric?.values ?? []) as readonly Sample[];
  };
  const counter = async (name: string, ...labels: string[]) => {
    const counts = new Map<string, number>();
    for (const { labels: of, value } of await samplesOf(name)) {
      const key = labels.map((label) => String(of[label])).join(' ');
      counts.set(key, (counts.get(key) ?? 0) + value);
    }
    return counts;
  };
  const histogram = async (name: string) => {
    const cells = new Map<string, number[]>();
    let before = 0;
    for (const { metricName = '', labels, value } of await samplesOf(name)) {
      if (!metricName.endsWith('_bucket')) continue;
      const operation = String(labels['operation']);
      const cell = cells.get(operation) ?? [];
      // The buckets of the metric include the smaller ones.
      cell.push(value - (cell.length === 0 ? 0 : before));
      before = value;
      cells.set(operation, cell);
    }
    return cells;
  };
  return {
    at: performance.now(),
    requests: await counter('gateway_requests_total', 'operation', 'status'),
    latency: await histogram('gateway_request_duration_seconds'),
    attempts: await counter('gateway_upstream_attempts_total', 'operation', 'outcome'),
    attemptLatency: await histogram('gateway_upstream_attempt_duration_seconds'),
    cache: await counter('gateway_read_cache_total', 'result'),
    refused: await counter('gateway_requests_refused_total', 'reason'),
    tokens: await counter('gateway_token_events_total', 'principal', 'event'),
  };
}

/** What was added since `before`, without what stayed as it was. */
export function added(now: ReadonlyMap<string, number>, before?: ReadonlyMap<string, number>) {
  const more = new Map<string, number>();
  for (const [key, value] of now) {
    const difference = value - (before?.get(key) ?? 0);
    if (difference > 0) more.set(key, difference);
  }
  return more;
}

export function addedBuckets(now: ReadonlyMap<string, Buckets>, before?: ReadonlyMap<string, Buckets>) {
  const more = new Map<string, Buckets>();
  for (const [key, buckets] of now) {
    const known = before?.get(key);
    const difference = buckets.map((value, index) => value - (known?.[index] ?? 0));
    if (difference.some((value) => value > 0)) more.set(key, difference);
  }
  return more;
}

export function sumOfBuckets(all: Iterable<Buckets>): number[] {
  const sum: number[] = [];
  for (const buckets of all)
    for (const [index, value] of buckets.entries()) sum[index] = (sum[index] ?? 0) + value;
  return sum;
}

/** Between two bounds the values are taken for evenly spread; null where there are none. In seconds. */
export function quantile(buckets: Buckets, share: number, bounds: readonly number[]): number | null {
  const total = buckets.reduce((sum, value) => sum + value, 0);
  if (total === 0) return null;
  const rank = share * total;
  let below = 0;
  for (const [index, value] of buckets.entries()) {
    if (value > 0 && below + value >= rank) {
      const lower = index === 0 ? 0 : (bounds[index - 1] ?? 0);
      const upper = bounds[index] ?? lower;
      return lower + (upper - lower) * ((rank - below) / value);
    }
    below += value;
  }
  return bounds.at(-1) ?? null;
}
