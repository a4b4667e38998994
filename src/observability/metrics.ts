import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { TallyCounter, TallyHistogram } from './tally.ts';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const BREAKER_STATES = { closed: 0, 'half-open': 1, open: 2 } as const;

export type TokenEvent =
  'renewed' | 'shared' | 'refused' | 'held_off' | 'rejected' | 'unavailable' | 'remembered';

/** Prometheus metrics. Labels come from fixed sets (operation names, outcomes, statuses), never from a request's data. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  readonly #requests = new TallyCounter(
    {
      name: 'gateway_requests_total',
      help: 'Requests answered, by operation and HTTP status',
      registry: this.registry,
    },
    ['operation', 'status'],
  );
  readonly #requestSeconds = new TallyHistogram(
    { name: 'gateway_request_duration_seconds', help: 'Time to answer a request', registry: this.registry },
    'operation',
    SECONDS,
  );
  readonly #upstreamCalls = new TallyCounter(
    {
      name: 'gateway_upstream_attempts_total',
      help: 'Attempts upstream, by operation and outcome (success or the kind of failure)',
      registry: this.registry,
    },
    ['operation', 'outcome'],
  );
  readonly #upstreamSeconds = new TallyHistogram(
    {
      name: 'gateway_upstream_attempt_duration_seconds',
      help: 'Time of one attempt upstream',
      registry: this.registry,
    },
    'operation',
    SECONDS,
  );
  readonly #tokenEvents = new Counter({
    name: 'gateway_token_events_total',
    help: 'What happened to access tokens, by kind of principal; remembered: not asked for, since it failed a moment ago; held_off: not renewed, since the last renewal was refused too; shared: taken from another replica',
    labelNames: ['principal', 'event'],
    registers: [this.registry],
  });
  readonly #tokenWaits = new Histogram({
    name: 'gateway_token_wait_seconds',
    help: 'Time that calls waited for an access token that was not at hand',
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
    help: 'Values in Redis that did not open (corrupted, foreign, sealed under an unknown key) and count as missing',
    labelNames: ['store'],
    registers: [this.registry],
  });
  readonly #contractWarnings = new Counter({
    name: 'gateway_upstream_contract_warnings_total',
    help: 'Answers that contradict the interface or themselves, by operation and what is wrong',
    labelNames: ['operation', 'what'],
    registers: [this.registry],
  });

  readonly #upstreamGaps = new Counter({
    name: 'gateway_upstream_gaps_total',
    help: 'Departures of answers from the interface that the gateway can live with, by operation and kind (listGaps names the fields)',
    labelNames: ['operation', 'kind'],
    registers: [this.registry],
  });
  readonly #readCache = new TallyCounter(
    {
      name: 'gateway_read_cache_total',
      help: 'Cacheable reads, by operation and what the cache did; `error`: it could not be asked',
      registry: this.registry,
    },
    ['operation', 'result'],
  );
  readonly #breakerStates = new Gauge({
    name: 'gateway_upstream_breaker_state',
    help: 'Breaker of a group of operations: 0 closed, 1 half-open, 2 open',
    labelNames: ['group'],
    registers: [this.registry],
  });
  readonly #upstreamRefused = new Counter({
    name: 'gateway_upstream_refused_total',
    help: 'Calls refused before anything was sent, by group of operations and what refused them',
    labelNames: ['group', 'reason'],
    registers: [this.registry],
  });
  readonly #upstreamRetries = new Counter({
    name: 'gateway_upstream_retries_total',
    help: 'Attempts made again after a passing failure, by group of operations',
    labelNames: ['group'],
    registers: [this.registry],
  });
  readonly #refused = new Counter({
    name: 'gateway_requests_refused_total',
    help: 'Requests refused because there are too many, by what there is too much of; caller-rate, caller-in-flight: of one caller',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly #connectionsClosed = new Counter({
    name: 'gateway_connections_closed_total',
    help: 'Connections that were idle, or of strangers, and were closed to make room for others',
    registers: [this.registry],
  });
  #readBodyBytes = () => 0;
  readonly #bodyBytes: Gauge = new Gauge({
    name: 'gateway_request_body_bytes',
    help: 'Bytes of request bodies under way, from the headers of a request until it is done',
    registers: [this.registry],
    collect: () => this.#bodyBytes.set(this.#readBodyBytes()),
  });
  #readInFlight = () => 0;
  readonly #inFlight: Gauge = new Gauge({
    name: 'gateway_requests_in_flight',
    help: 'Requests that have no answer yet',
    registers: [this.registry],
    collect: () => this.#inFlight.set(this.#readInFlight()),
  });

  readonly #redisErrors = new Counter({
    name: 'gateway_redis_errors_total',
    help: 'Redis commands and connections that failed, by reason',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly #writeStates = new Counter({
    name: 'gateway_recorded_writes_total',
    help: 'Recorded writes by the state that they came to in this process',
    labelNames: ['state'],
    registers: [this.registry],
  });
  /** Not there where no Redis is configured. */
  #storeStopped: Gauge | undefined;
  #recordsUnreadable: Gauge | undefined;
  readonly #notRecorded = new Counter({
    name: 'gateway_order_results_not_recorded_total',
    help: 'Results of writes that are known and could not be recorded: conflict: settled otherwise before; missing: the record is gone; unavailable: the order store did not answer for a minute; shutdown: the process ended first',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly #reconciliationAttempts = new Counter({
    name: 'gateway_order_reconciliation_attempts_total',
    help: 'Attempts to find orders in doubt at the platform, by result; placed_twice: an order stands there more than once',
    labelNames: ['result'],
    registers: [this.registry],
  });
  readonly #doubts = new Gauge({
    name: 'gateway_orders_in_doubt',
    help: 'Orders that were sent and of which nobody knows what became',
    registers: [this.registry],
  });
  readonly #oldestDoubt = new Gauge({
    name: 'gateway_orders_in_doubt_oldest_seconds',
    help: 'Age of the oldest order in doubt',
    registers: [this.registry],
  });
  /** Not there where no Redis is configured: a 0 would raise an alarm. */
  #redisUp: Gauge | undefined;

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /** `operation` is an operation id or `none` where no route matched. */
  request(operation: string, status: number, seconds: number): void {
    this.#requests.count(operation, status);
    this.#requestSeconds.observe(operation, seconds);
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

  /** `ages`: of the oldest token in use, by kind of principal, in seconds. Asked for when the metrics are read. */
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

  redisUp(store: 'shared' | 'guard', up: boolean): void {
    this.#redisUp ??= new Gauge({
      name: 'gateway_redis_up',
      help: 'Whether Redis can be used: 1 or 0',
      labelNames: ['store'],
      registers: [this.registry],
    });
    this.#redisUp.set({ store }, up ? 1 : 0);
  }

  /** Orders of which nobody knows what became. */
  doubts({ count, oldestMs }: { readonly count: number; readonly oldestMs: number }): void {
    this.#doubts.set(count);
    this.#oldestDoubt.set(oldestMs / 1_000);
  }

  /** A recorded write came to a state. */
  writeCameTo(state: string): void {
    this.#writeStates.inc({ state });
  }

  /** Whether the order store can be believed, by `reasons` of which `stopped` is the present one, and how many of its records did not open. */
  orderStore(reasons: readonly string[], stopped: string, unreadable: number): void {
    this.#storeStopped ??= new Gauge({
      name: 'gateway_order_store_stopped',
      help: 'Why orders are refused: 1 for the present reason; none: they are taken; away: it does not answer; epoch: emptied or another one; count: it has lost writes; settings; keys',
      labelNames: ['reason'],
      registers: [this.registry],
    });
    for (const reason of reasons) this.#storeStopped.set({ reason }, reason === stopped ? 1 : 0);
    this.#recordsUnreadable ??= new Gauge({
      name: 'gateway_order_records_unreadable',
      help: 'Records of writes that were asked for and did not open: sealed under a missing key, or damaged',
      registers: [this.registry],
    });
    this.#recordsUnreadable.set(unreadable);
  }

  /** What became of a write is known, and its record does not say so. */
  resultNotRecorded(reason: 'conflict' | 'missing' | 'early' | 'unavailable' | 'shutdown'): void {
    this.#notRecorded.inc({ reason });
  }

  /** An attempt to find an order in doubt is over. */
  reconciliationAttempt(result: string): void {
    this.#reconciliationAttempts.inc({ result });
  }

  /** A departure of an answer from the interface, see {@link gapKinds}. */
  upstreamGap(operation: string, kind: string): void {
    this.#upstreamGaps.inc({ operation, kind });
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

  requestRefused(reason: string): void {
    this.#refused.inc({ reason });
  }

  /** A connection had to make room for another. */
  connectionClosed(): void {
    this.#connectionsClosed.inc();
  }

  /** `read` is asked when the metrics are fetched. */
  bodyBytes(read: () => number): void {
    this.#readBodyBytes = read;
  }

  /** `read` is asked when the metrics are fetched. */
  inFlight(read: () => number): void {
    this.#readInFlight = read;
  }
}
