import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import {
  ALERTING,
  type AlertingCounter,
  COUNTERS,
  type Counters,
  GAUGES,
  GAUGES_OF_REDIS,
  type Gauges,
  type Labels,
  type LabelsOf,
  type PrincipalKind,
  type Sample,
  type Table,
  TALLIED,
  TALLIED_SECONDS,
  type TlsServer,
  type TokenEvent,
} from './metric-tables.ts';
import { version } from '../shared/shipped-file.ts';
import { TallyCounter, TallyHistogram } from './tallies.ts';

/** The upper bounds of all histograms, in seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const alerting: ReadonlySet<string> = new Set(ALERTING);
const BREAKER_STATES = { closed: 0, 'half-open': 1, open: 2 } as const;
/** A circuit that is open changes with each call. Its state tells nothing once nobody has called for this time. */
const MAX_BREAKER_AGE_MS = 3_600_000;

/** Codes of OpenSSL and of Node for a certificate that one side refuses, and for a handshake that failed. */
const TLS_CODE =
  /^(CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|ERR_TLS_|ERR_SSL_|EPROTO$)/;

/** Prometheus metrics. Labels come from fixed sets (operation names, outcomes, statuses), never from a request's data. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  readonly #requests = this.#tally('gateway_requests_total');
  readonly #requestSeconds = this.#tallySeconds('gateway_request_duration_seconds');
  readonly #upstreamCalls = this.#tally('gateway_upstream_attempts_total');
  readonly #upstreamSeconds = this.#tallySeconds('gateway_upstream_attempt_duration_seconds');
  readonly #readCache = this.#tally('gateway_read_cache_total');
  readonly #tokenWaits = new Histogram({
    name: 'gateway_token_wait_seconds',
    help: 'Time that calls waited for an access token that the process did not hold',
    labelNames: ['principal'],
    buckets: SECONDS,
    registers: [this.registry],
  });
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #followed = new Map<string, () => void>();
  /** The states of circuits by group, and when each was set, in ms of `performance.now()`. */
  readonly #breakers = new Map<string, { state: number; at: number }>();
  /** The latest events by name and labels, in ms of `performance.now()`. */
  readonly #latest = new Map<string, { name: string; labels: Labels; at: number }>();

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    for (const [name, { help, labels }] of Object.entries<Table[string]>(COUNTERS)) {
      const labelNames = Object.keys(labels);
      const counter = new Counter({ name, help, labelNames, registers: [this.registry] });
      for (const each of combinations(labels)) counter.inc(each, 0);
      this.#counters.set(name, counter);
    }
    for (const name of Object.keys(GAUGES)) this.#gauge(name as keyof Gauges);
    this.set('gateway_build_info', { version, node: process.versions.node }, 1);
    this.follow('gateway_upstream_breaker_state', () => {
      const since = performance.now() - MAX_BREAKER_AGE_MS;
      return [...this.#breakers].map(([group, { state, at }]) => [{ group }, at > since ? state : 0]);
    });
  }

  count<Name extends keyof Counters>(name: Name, labels: LabelsOf<Counters[Name]>, by = 1): void {
    this.#counters.get(name)?.inc(labels as Labels, by);
    if (alerting.has(name))
      this.#latest.set(JSON.stringify([name, labels]), {
        name,
        labels: labels as Labels,
        at: performance.now(),
      });
  }

  /** Returns the labels with which such an event was counted within this time. */
  recent(wanted: AlertingCounter, withinMs: number): Labels[] {
    const since = performance.now() - withinMs;
    return [...this.#latest.values()].flatMap(({ name, labels, at }) =>
      name === wanted && at >= since ? [labels] : [],
    );
  }

  /** Returns the samples of a gauge, as the next reading of the metrics would return them. */
  async samples(name: keyof Gauges): Promise<readonly { labels: Labels; value: number }[]> {
    const { values } = await this.#gauge(name).get();
    return values as { labels: Labels; value: number }[];
  }

  set<Name extends keyof Gauges>(name: Name, ...[labels, value]: Sample<Name>): void {
    this.#gauge(name).set(labels as Labels, value);
  }

  /** Lets `read` set the gauge whenever the metrics are read. */
  follow<Name extends keyof Gauges>(name: Name, read: () => readonly Sample<Name>[]): void {
    const gauge = this.#gauge(name);
    this.#followed.set(name, () => {
      gauge.reset();
      for (const [labels, value] of read()) gauge.set(labels as Labels, value);
    });
  }

  /**
   * Counts a request. `operation` is an operation id, or `none` if no route matched. `seconds` is undefined if the caller decides the
   * duration.
   */
  request(operation: string, status: number, seconds: number | undefined): void {
    this.#requests.count(operation, status);
    if (seconds !== undefined) this.#requestSeconds.observe(operation, seconds);
  }

  upstreamAttempt(operation: string, outcome: string, seconds: number): void {
    this.#upstreamCalls.count(operation, outcome);
    this.#upstreamSeconds.observe(operation, seconds);
  }

  readCache(operation: string, result: 'hit' | 'miss' | 'shared' | 'bypass' | 'error'): void {
    this.#readCache.count(operation, result);
  }

  tokenWait(principal: string, seconds: number): void {
    this.#tokenWaits.observe({ principal }, seconds);
  }

  tokenEvent(principal: PrincipalKind, event: TokenEvent): void {
    this.count('gateway_token_events_total', { principal, event });
  }

  redisUp(up: boolean): void {
    this.set('gateway_redis_up', {}, up ? 1 : 0);
  }

  /** Counts the failure if TLS or a certificate was refused. Other failures come from the network. */
  connectionFailed(server: TlsServer, { code = '' }: NodeJS.ErrnoException): void {
    if (TLS_CODE.test(code)) this.count('gateway_tls_failures_total', { server });
  }

  /** `group` is a group of operations, or `tokens` for the token endpoint. */
  breakerState(group: string, state: keyof typeof BREAKER_STATES): void {
    this.#breakers.set(group, { state: BREAKER_STATES[state], at: performance.now() });
  }

  #tally(name: keyof typeof TALLIED): TallyCounter {
    const { help, labels } = TALLIED[name];
    return new TallyCounter({ name, help, registry: this.registry }, labels);
  }

  #tallySeconds(name: keyof typeof TALLIED_SECONDS): TallyHistogram {
    return new TallyHistogram(
      { name, help: TALLIED_SECONDS[name], registry: this.registry },
      'operation',
      SECONDS,
    );
  }

  #gauge(name: keyof Gauges): Gauge {
    const known = this.#gauges.get(name);
    if (known) return known;
    const { help, labels } = { ...GAUGES, ...GAUGES_OF_REDIS }[name];
    const gauge = new Gauge({
      name,
      help,
      labelNames: Object.keys(labels),
      registers: [this.registry],
      collect: () => this.#followed.get(name)?.(),
    });
    this.#gauges.set(name, gauge);
    return gauge;
  }
}

function combinations(labels: Table[string]['labels']): Labels[] {
  return Object.entries(labels).reduce<Labels[]>(
    (found, [label, values]) => found.flatMap((each) => values.map((value) => ({ ...each, [label]: value }))),
    [{}],
  );
}
