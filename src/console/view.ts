import { SECONDS } from '../observability/metrics.ts';
import { type Buckets, quantile, sumOfBuckets } from './counts.ts';
import type { CallerTraffic, ReplicaState } from './replica-state.ts';
import { isFailed, SAMPLE_MS, SAMPLES, sum } from './traffic.ts';

/** The numbers of one replica, or of several together. */
export function viewOf(states: readonly ReplicaState[], now: number): object {
  const requests = joined(states, ({ requests: each }) => each);
  const latency = joinedBuckets(states, ({ latency: each }) => each);
  const attempts = joined(states, ({ attempts: each }) => each);
  const attemptLatency = joinedBuckets(states, (each) => each.attemptLatency);
  const total = sum(requests.values());
  const failed = sum([...requests].filter(([key]) => isFailed(key)).map(([, count]) => count));
  return {
    minute: {
      requests: total,
      failed,
      perSecond: sum(states.map((each) => sum(each.requests.map(([, count]) => count)) / each.seconds)),
      ...quantiles(sumOfBuckets(latency.values())),
    },
    series: seriesOf(states, now),
    inFlight: sum(states.map(({ inFlight }) => inFlight)),
    operations: rowsOf(requests, latency),
    platform: rowsOf(attempts, attemptLatency),
    cache: Object.fromEntries(joined(states, ({ cache }) => cache)),
    refused: Object.fromEntries(joined(states, ({ refused }) => refused)),
    tokenEvents: Object.fromEntries(joined(states, ({ tokenEvents }) => tokenEvents)),
    circuits: circuitsOf(states),
    tokens: tokensOf(states),
    callers: callersOf(states),
    events: eventsOf(states),
  };
}

/** One row for each operation: how often, with which results, how long. */
function rowsOf(counts: ReadonlyMap<string, number>, latency: ReadonlyMap<string, Buckets>): object[] {
  const rows = new Map<string, Record<string, number>>();
  for (const [key, count] of counts) {
    const [operation = '', result = ''] = key.split(' ');
    rows.set(operation, { ...rows.get(operation), [result]: count });
  }
  return [...rows]
    .map(([operation, results]) => ({
      operation,
      count: sum(Object.values(results)),
      results,
      ...quantiles(latency.get(operation) ?? []),
    }))
    .toSorted((one, other) => other.count - one.count);
}

function quantiles(buckets: Buckets): { p50: number | null; p99: number | null } {
  return { p50: quantile(buckets, 0.5, SECONDS), p99: quantile(buckets, 0.99, SECONDS) };
}

/** The last five minutes: requests and failures a second, and latency. */
function seriesOf(states: readonly ReplicaState[], now: number): object[] {
  // The last sample of another replica may still be on its way.
  const late = states.length > 1 ? SAMPLE_MS : 0;
  const last = Math.floor((now - late) / SAMPLE_MS) * SAMPLE_MS;
  return Array.from({ length: SAMPLES }, (_, index) => {
    const at = last - (SAMPLES - 1 - index) * SAMPLE_MS;
    const beats = states.flatMap((each) => each.beats.filter((beat) => beat.at === at));
    const perSecond = (count: number) => count / (SAMPLE_MS / 1_000);
    return {
      at,
      perSecond: perSecond(sum(beats.map(({ requests }) => requests))),
      failed: perSecond(sum(beats.map(({ failed }) => failed))),
      ...quantiles(sumOfBuckets(beats.map(({ latency }) => latency))),
    };
  });
}

const WORST = ['open', 'half-open', 'closed'];

/** The worst state of each circuit, and how many replicas have it. */
function circuitsOf(states: readonly ReplicaState[]): object[] {
  const groups = new Map<string, string[]>();
  for (const { circuits } of states)
    for (const [group, state] of circuits) groups.set(group, [...(groups.get(group) ?? []), state]);
  return [...groups].map(([group, all]) => {
    const state = WORST.find((each) => all.includes(each)) ?? 'closed';
    return { group, state, replicas: all.filter((each) => each === state).length };
  });
}

/** Of each token the replica that renews it first. */
function tokensOf(states: readonly ReplicaState[]): object[] {
  const held = states.flatMap(({ tokens }) => tokens.held);
  const names = [...new Set(held.map(({ name }) => name))].toSorted();
  return names.map((name) => {
    const same = held.filter((each) => each.name === name);
    const first = same.toSorted((one, other) => one.renewsInS - other.renewsInS)[0];
    return { ...first, replicas: same.length };
  });
}

/** Replicas share a caller's window, so the one that counted last knows best what is left. */
function callersOf(states: readonly ReplicaState[]): object[] {
  const callers = new Map<string, CallerTraffic>();
  for (const each of states.flatMap((state) => state.callers)) {
    const known = callers.get(each.name);
    const left = [known?.left, each.left].filter((value) => typeof value === 'number');
    callers.set(each.name, {
      ...each,
      requests: each.requests + (known?.requests ?? 0),
      refused: each.refused + (known?.refused ?? 0),
      inFlight: each.inFlight + (known?.inFlight ?? 0),
      left: left.length === 0 ? null : Math.min(...left),
    });
  }
  return [...callers.values()].toSorted((one, other) => other.requests - one.requests);
}

const MOST_EVENTS = 40;

function eventsOf(states: readonly ReplicaState[]): object[] {
  return states
    .flatMap(({ id, events }) => events.map((event) => ({ ...event, replica: id })))
    .toSorted((one, other) => (String(one.line['time']) < String(other.line['time']) ? 1 : -1))
    .slice(0, MOST_EVENTS);
}

function joined(
  states: readonly ReplicaState[],
  of: (state: ReplicaState) => readonly (readonly [string, number])[],
): Map<string, number> {
  const all = new Map<string, number>();
  for (const [key, value] of states.flatMap(of)) all.set(key, (all.get(key) ?? 0) + value);
  return all;
}

function joinedBuckets(
  states: readonly ReplicaState[],
  of: (state: ReplicaState) => readonly (readonly [string, Buckets])[],
): Map<string, Buckets> {
  const all = new Map<string, Buckets>();
  for (const [key, buckets] of states.flatMap(of)) all.set(key, sumOfBuckets([all.get(key) ?? [], buckets]));
  return all;
}
