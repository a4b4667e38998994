import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { TallyCounter, TallyHistogram } from './tally.ts';

/** The upper bounds of all histograms, in seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const BREAKER_STATES = { closed: 0, 'half-open': 1, open: 2 } as const;

const tokenEvents = [
  'renewed',
  'shared',
  'refused',
  'held_off',
  'rejected',
  'unavailable',
  'remembered',
] as const;
export type TokenEvent = (typeof tokenEvents)[number];

const requestRefusals = [
  'in-flight',
  'event-loop',
  'heap',
  'memory',
  'connections',
  'bodies',
  'caller-rate',
  'caller-in-flight',
] as const;
type RequestRefusal = (typeof requestRefusals)[number];
const resultLosses = ['conflict', 'missing', 'early', 'unavailable', 'shutdown'] as const;
const attemptOutcomes = [
  'settled',
  'not_found',
  'incomplete',
  'placed_twice',
  'not_needed',
  'failed',
] as const;
/** The result of one reconciliation attempt. */
export type AttemptOutcome = (typeof attemptOutcomes)[number];
const jobEnds = ['succeeded', 'completed', 'cancelled', 'failed'] as const;
const issuerFaults = ['unavailable', 'empty'] as const;
const tlsServers = ['platform', 'tokens', 'redis', 'order-store'] as const;
/** A server that the gateway connects to. */
export type TlsServer = (typeof tlsServers)[number];

/** Prometheus metrics. Labels come from fixed sets (operation names, outcomes, statuses), never from a request's data. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  readonly #requests = new TallyCounter(
    {
      name: 'gateway_requests_total',
      help: 'Requests that got a response, by operation and HTTP status',
      registry: this.registry,
    },
    ['operation', 'status'],
  );
  readonly #requestSeconds = new TallyHistogram(
    {
      name: 'gateway_request_duration_seconds',
      help: 'Time from the arrival of a request to its response; without operations that take a file or return a stream, which last as long as their caller sends or reads',
      registry: this.registry,
    },
    'operation',
    SECONDS,
  );
  readonly #upstreamCalls = new TallyCounter(
    {
      name: 'gateway_upstream_attempts_total',
      help: 'Attempts to call the platform, by operation and outcome (success or the kind of failure)',
      registry: this.registry,
    },
    ['operation', 'outcome'],
  );
  readonly #upstreamSeconds = new TallyHistogram(
    {
      name: 'gateway_upstream_attempt_duration_seconds',
      help: 'Duration of one attempt to call the platform',
      registry: this.registry,
    },
    'operation',
    SECONDS,
  );
  readonly #tokenEvents = new Counter({
    name: 'gateway_token_events_total',
    help: 'Events of access tokens, by kind of principal; remembered: not requested, since the last request failed a moment ago; held_off: not renewed, since the platform refused the last renewed token too; shared: taken from another replica',
    labelNames: ['principal', 'event'],
    registers: [this.registry],
  });
  readonly #tokenWaits = new Histogram({
    name: 'gateway_token_wait_seconds',
    help: 'Time that calls waited for an access token that the process did not hold',
    labelNames: ['principal'],
    buckets: SECONDS,
    registers: [this.registry],
  });
  #ages: () => ReadonlyMap<string, number> = () => new Map();
  readonly #tokenAge: Gauge<'principal'> = new Gauge({
    name: 'gateway_token_age_seconds',
    help: 'Age of the oldest access token in use, by kind of principal',
    labelNames: ['principal'],
    registers: [this.registry],
    collect: () => {
      this.#tokenAge.reset();
      for (const [principal, seconds] of this.#ages()) this.#tokenAge.set({ principal }, seconds);
    },
  });
  readonly #unreadable = new Counter({
    name: 'gateway_redis_unreadable_total',
    help: 'Values in Redis that could not be decrypted (corrupted, foreign, or sealed under an unknown key) and count as missing',
    labelNames: ['store'],
    registers: [this.registry],
  });
  readonly #contractWarnings = new Counter({
    name: 'gateway_upstream_contract_warnings_total',
    help: 'Answers of the platform that contradict its interface or themselves, by operation and fault',
    labelNames: ['operation', 'what'],
    registers: [this.registry],
  });

  readonly #upstreamGaps = new Counter({
    name: 'gateway_upstream_gaps_total',
    help: "Departures of the platform's answers from its interface that the gateway tolerates, by operation and kind (listGaps names the fields)",
    labelNames: ['operation', 'kind'],
    registers: [this.registry],
  });
  readonly #unmappedCodes = new Counter({
    name: 'gateway_upstream_unmapped_codes_total',
    help: 'Refusals of the platform with a business code that the gateway does not know, by operation; the log lines of the requests have the code',
    labelNames: ['operation'],
    registers: [this.registry],
  });
  readonly #certificateEnds = new Gauge({
    name: 'gateway_certificate_expiry_timestamp_seconds',
    help: 'When a certificate ends, in seconds since 1970; platform, tokens: as the server showed it last; redis, order-store: the one that the gateway shows',
    labelNames: ['certificate'],
    registers: [this.registry],
  });
  readonly #issuerFaults = new Counter({
    name: 'gateway_issuer_keys_missed_total',
    help: "Requests for the JWT issuer's public keys that brought none; empty: the issuer publishes none",
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly #tlsFailures = new Counter({
    name: 'gateway_tls_failures_total',
    help: 'Connections that failed because TLS or a certificate was refused, by server',
    labelNames: ['server'],
    registers: [this.registry],
  });
  readonly #readCache = new TallyCounter(
    {
      name: 'gateway_read_cache_total',
      help: 'Cacheable reads, by operation and result of the cache; `hit` includes responses made of cached lists; `error`: the cache was not available',
      registry: this.registry,
    },
    ['operation', 'result'],
  );
  readonly #breakerStates = new Gauge({
    name: 'gateway_upstream_breaker_state',
    help: 'State of the circuit breaker of a group of operations: 0 closed, 1 half-open, 2 open',
    labelNames: ['group'],
    registers: [this.registry],
  });
  readonly #upstreamRefused = new Counter({
    name: 'gateway_upstream_refused_total',
    help: 'Calls refused before anything was sent, by group of operations and reason',
    labelNames: ['group', 'reason'],
    registers: [this.registry],
  });
  readonly #upstreamRetries = new Counter({
    name: 'gateway_upstream_retries_total',
    help: 'Retries after a transient failure, by group of operations',
    labelNames: ['group'],
    registers: [this.registry],
  });
  readonly #refused = new Counter({
    name: 'gateway_requests_refused_total',
    help: 'Requests refused because of load, by the limit that was reached; caller-rate, caller-in-flight: limits of one caller',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly #connectionsClosed = new Counter({
    name: 'gateway_connections_closed_total',
    help: 'Connections that were idle or without valid credentials and were closed to make room for others',
    registers: [this.registry],
  });
  #readBodyBytes = () => 0;
  readonly #bodyBytes: Gauge = new Gauge({
    name: 'gateway_request_body_bytes',
    help: 'Bytes of request bodies in progress, from the headers of a request until its end',
    registers: [this.registry],
    collect: () => this.#bodyBytes.set(this.#readBodyBytes()),
  });
  #readInFlight = () => 0;
  readonly #inFlight: Gauge = new Gauge({
    name: 'gateway_requests_in_flight',
    help: 'Requests that have no response yet',
    registers: [this.registry],
    collect: () => this.#inFlight.set(this.#readInFlight()),
  });

  readonly #redisErrors = new Counter({
    name: 'gateway_redis_errors_total',
    help: 'Failed Redis commands and connections, by reason',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly #writeStates = new Counter({
    name: 'gateway_recorded_writes_total',
    help: 'Writes of the order ledger, by the state that they reached in this process',
    labelNames: ['state'],
    registers: [this.registry],
  });
  /** Undefined where no Redis is configured. */
  #storeStopped: Gauge | undefined;
  #recordsUnreadable: Gauge | undefined;
  readonly #notRecorded = new Counter({
    name: 'gateway_order_results_not_recorded_total',
    help: 'Known results of writes that could not be recorded; conflict: the record already has another result; missing: the record is gone; unavailable: the order ledger did not respond for a minute; shutdown: the process ended first',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly #reconciliationAttempts = new Counter({
    name: 'gateway_order_reconciliation_attempts_total',
    help: 'Reconciliation attempts for orders in doubt, by result; placed_twice: the platform has the order more than once',
    labelNames: ['result'],
    registers: [this.registry],
  });
  readonly #doubts = new Gauge({
    name: 'gateway_orders_in_doubt',
    help: 'Orders that were sent and whose outcome is unknown',
    registers: [this.registry],
  });
  readonly #oldestDoubt = new Gauge({
    name: 'gateway_orders_in_doubt_oldest_seconds',
    help: 'Age of the oldest order in doubt',
    registers: [this.registry],
  });
  readonly #accepted = new Gauge({
    name: 'gateway_orders_accepted',
    help: 'Orders that the platform accepted for later (`syncMode` async) and that nothing has shown as placed',
    registers: [this.registry],
  });
  readonly #oldestAccepted = new Gauge({
    name: 'gateway_orders_accepted_oldest_seconds',
    help: 'Age of the oldest order that the platform accepted for later and that nothing has shown as placed',
    registers: [this.registry],
  });
  readonly #jobs = new Gauge({
    name: 'gateway_jobs',
    help: 'Imports that have not ended, of all replicas, by state: queued or running',
    labelNames: ['state'],
    registers: [this.registry],
  });
  readonly #jobsIdle = new Gauge({
    name: 'gateway_jobs_idle_seconds',
    help: 'Time since the last change of the unfinished import that has not changed for the longest time; 0 where there is none',
    registers: [this.registry],
  });
  readonly #jobsEnded = new Counter({
    name: 'gateway_jobs_ended_total',
    help: 'Imports that this process has ended, by their last state',
    labelNames: ['state'],
    registers: [this.registry],
  });
  /** Undefined where no Redis is configured: a 0 would raise an alarm. */
  #redisUp: Gauge | undefined;

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    // A counter that begins with 1 has no increase in Prometheus, so what alerts and the dashboard watch begins with 0.
    for (const principal of ['application', 'user', 'session'])
      for (const event of tokenEvents) this.#tokenEvents.inc({ principal, event }, 0);
    for (const reason of requestRefusals) this.#refused.inc({ reason }, 0);
    for (const reason of resultLosses) this.#notRecorded.inc({ reason }, 0);
    for (const result of attemptOutcomes) this.#reconciliationAttempts.inc({ result }, 0);
    for (const state of jobEnds) this.#jobsEnded.inc({ state }, 0);
    for (const reason of issuerFaults) this.#issuerFaults.inc({ reason }, 0);
    for (const server of tlsServers) this.#tlsFailures.inc({ server }, 0);
  }

  /** `operation` is an operation id or `none` where no route matched; `seconds` is undefined where the caller decides how long it lasts. */
  request(operation: string, status: number, seconds: number | undefined): void {
    this.#requests.count(operation, status);
    if (seconds !== undefined) this.#requestSeconds.observe(operation, seconds);
  }

  upstreamAttempt(operation: string, outcome: string, seconds: number): void {
    this.#upstreamCalls.count(operation, outcome);
    this.#upstreamSeconds.observe(operation, seconds);
  }

  tokenEvent(principal: string, event: TokenEvent): void {
    this.#tokenEvents.inc({ principal, event });
  }

  tokenWait(principal: string, seconds: number): void {
    this.#tokenWaits.observe({ principal }, seconds);
  }

  /** `ages` returns the age of the oldest token in use by kind of principal, in seconds. It is called when the metrics are read. */
  tokenAges(ages: () => ReadonlyMap<string, number>): void {
    this.#ages = ages;
  }

  unreadable(store: 'tokens' | 'cache' | 'sessions'): void {
    this.#unreadable.inc({ store });
  }

  readCache(operation: string, result: 'hit' | 'miss' | 'shared' | 'bypass' | 'error'): void {
    this.#readCache.count(operation, result);
  }

  redisError(reason: string): void {
    this.#redisErrors.inc({ reason });
  }

  redisUp(store: 'shared' | 'orders', up: boolean): void {
    this.#redisUp ??= new Gauge({
      name: 'gateway_redis_up',
      help: 'Whether Redis can be used: 1 or 0',
      labelNames: ['store'],
      registers: [this.registry],
    });
    this.#redisUp.set({ store }, up ? 1 : 0);
  }

  /** Orders whose end is not known: those in doubt, and those that the platform accepted for later. */
  waiting({ inDoubt, accepted }: Record<'inDoubt' | 'accepted', { count: number; oldestMs: number }>): void {
    this.#doubts.set(inDoubt.count);
    this.#oldestDoubt.set(inDoubt.oldestMs / 1_000);
    this.#accepted.set(accepted.count);
    this.#oldestAccepted.set(accepted.oldestMs / 1_000);
  }

  /** A write of the order ledger reached a state. */
  writeCameTo(state: string): void {
    this.#writeStates.inc({ state });
  }

  /** Why the order ledger refuses orders: `stopped`, which is one of `reasons`; and how many of its records could not be decrypted. */
  orderStore(reasons: readonly string[], stopped: string, unreadable: number): void {
    this.#storeStopped ??= new Gauge({
      name: 'gateway_order_store_stopped',
      help: 'Why orders are refused: 1 for the current reason; none: orders are admitted; away: the order ledger does not respond; epoch: it was emptied or exchanged; count: it has lost writes; settings: Redis is configured unsafely; keys: encryption keys are missing; rights: Redis denies the gateway a right; replicas: too few acknowledge; writes: Redis refuses them',
      labelNames: ['reason'],
      registers: [this.registry],
    });
    for (const reason of reasons) this.#storeStopped.set({ reason }, reason === stopped ? 1 : 0);
    this.#recordsUnreadable ??= new Gauge({
      name: 'gateway_order_records_unreadable',
      help: 'Records of writes that could not be decrypted when they were read: sealed under a missing key, or damaged',
      registers: [this.registry],
    });
    this.#recordsUnreadable.set(unreadable);
  }

  /** The outcome of a write is known, but the ledger could not record it. */
  resultNotRecorded(reason: (typeof resultLosses)[number]): void {
    this.#notRecorded.inc({ reason });
  }

  /** One reconciliation attempt for an order in doubt ended. */
  reconciliationAttempt(result: AttemptOutcome): void {
    this.#reconciliationAttempts.inc({ result });
  }

  /** Imports that have not ended, and for how long one of them has not changed. */
  jobs({ queued, running, idleMs }: { queued: number; running: number; idleMs: number }): void {
    this.#jobs.set({ state: 'queued' }, queued);
    this.#jobs.set({ state: 'running' }, running);
    this.#jobsIdle.set(idleMs / 1_000);
  }

  jobEnded(state: string): void {
    this.#jobsEnded.inc({ state });
  }

  /** An answer of the platform departed from its interface, see {@link gapKinds}. */
  upstreamGap(operation: string, kind: string): void {
    this.#upstreamGaps.inc({ operation, kind });
  }

  /** The platform refused `count` calls with a business code that is not in the table. */
  unmappedCodes(operation: string, count: number): void {
    this.#unmappedCodes.inc({ operation }, count);
  }

  /** `endsAt` in ms since 1970. */
  certificate(name: TlsServer, endsAt: number): void {
    this.#certificateEnds.set({ certificate: name }, endsAt / 1_000);
  }

  tlsFailure(server: TlsServer): void {
    this.#tlsFailures.inc({ server });
  }

  issuerKeysMissed(reason: (typeof issuerFaults)[number]): void {
    this.#issuerFaults.inc({ reason });
  }

  contractWarning(operation: string, what: string): void {
    this.#contractWarnings.inc({ operation, what });
  }

  /** `group` is a group of operations, or `tokens` for the token endpoint. */
  breakerState(group: string, state: keyof typeof BREAKER_STATES): void {
    this.#breakerStates.set({ group }, BREAKER_STATES[state]);
  }

  upstreamRefused(group: string, reason: 'gate' | 'bulkhead' | 'breaker'): void {
    this.#upstreamRefused.inc({ group, reason });
  }

  upstreamRetry(group: string): void {
    this.#upstreamRetries.inc({ group });
  }

  requestRefused(reason: RequestRefusal): void {
    this.#refused.inc({ reason });
  }

  /** A connection was closed to make room for another. */
  connectionClosed(): void {
    this.#connectionsClosed.inc();
  }

  /** `read` is called when the metrics are read. */
  bodyBytes(read: () => number): void {
    this.#readBodyBytes = read;
  }

  /** `read` is called when the metrics are read. */
  inFlight(read: () => number): void {
    this.#readInFlight = read;
  }
}
