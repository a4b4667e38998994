import { Injectable } from '@nestjs/common';
import { Metrics } from '../../observability/metrics.ts';
import { Breaker, type BreakerState, type Pass } from '../../kit/breaker/breaker.ts';
import type { Classified } from '../classify.ts';
import type { OperationName, UpstreamOperation } from '../operations.ts';
import { connections, type GroupName } from '../../transport/upstream-pools.ts';
import { upstreamCodes } from '../problems/upstream-codes.ts';
import { UpstreamFailure } from '../upstream-failure.ts';
import { RetryBudget } from '../../kit/retry-budget/retry-budget.ts';

/**
 * The most waiting calls of one caller in a group, so that the calls of others have room: all callers together may have twice as many. It is
 * enough for a burst of 1,000 requests with three calls each.
 */
const MAX_WAITING = 3_000;
/** The number of failures in a row after which an operator is told. A circuit needs 20 calls to open, which takes hours at night. */
const MIN_FAILURES = 3;
/**
 * A read that its caller abandoned after this time counts as a failure in a row. The circuit does not count it, because the platform may
 * have gone on.
 */
const MIN_WAIT_MS = 2_000;
/** The age at which failures in a row are forgotten: an operation that was not called for so long may work again. */
const MAX_FAILURE_AGE_MS = 3_600_000;

const REFUSALS = ['gate', 'bulkhead', 'breaker'] as const;
const TIMEOUTS: ReadonlySet<Classified['kind']> = new Set(['timeout', 'connect-timeout', 'abandoned']);

/** The latest calls of a group, which have all failed. Times are in ms since 1970. */
export interface FailuresInARow {
  readonly group: GroupName;
  readonly calls: number;
  /** The number of these calls that got no response in time. */
  readonly timeouts: number;
  readonly since: number;
  readonly last: number;
}

/** The result of an attempt. `sent` is false if no byte of it left the process. */
type Attempted = Classified & { readonly sent?: boolean };

/** A group of operations that stall and fail together, with its own connections, breaker, retries and queue. Each operation has a gate. */
export class OperationGroup {
  readonly #breaker: Breaker;
  readonly #budget = new RetryBudget();
  /** The performance.now() until which the platform wants no calls of an operation. */
  readonly #gates = new Map<OperationName, number>();
  #calls = 0;
  readonly #callsOf = new Map<string, number>();
  #failures: FailuresInARow | undefined;

  constructor(
    private readonly name: GroupName,
    private readonly metrics: Metrics,
  ) {
    this.#breaker = new Breaker((state) => metrics.breakerState(name, state));
    metrics.breakerState(name, 'closed');
    metrics.count('gateway_upstream_retries_total', { group: name }, 0);
    for (const reason of REFUSALS)
      metrics.count('gateway_upstream_refused_total', { group: name, reason }, 0);
  }

  get state(): BreakerState {
    return this.#breaker.state;
  }

  get isServing(): boolean {
    return this.#breaker.isServing;
  }

  /** Undefined if the latest call succeeded, or was long ago. */
  get failures(): FailuresInARow | undefined {
    const isRecent = this.#failures && Date.now() - this.#failures.last < MAX_FAILURE_AGE_MS;
    return isRecent ? this.#failures : undefined;
  }

  /** Begins an attempt. Throws if the attempt must not be made. Pass the result to {@link leave}. */
  enter(operation: UpstreamOperation, caller = ''): Pass {
    const refusal = this.refusal(operation, caller);
    if (refusal) throw refusal;
    const pass = this.#breaker.enter();
    if (pass === undefined) throw this.#refusal(operation, 'breaker', this.#breaker.waitMs);
    this.#calls++;
    this.#callsOf.set(caller, (this.#callsOf.get(caller) ?? 0) + 1);
    return pass;
  }

  /** Returns the reason why an attempt is refused now. Undefined if it is allowed. */
  refusal(operation: UpstreamOperation, caller = ''): UpstreamFailure | undefined {
    const gateMs = this.#gateMs(operation.name);
    if (gateMs > 0) return this.#refusal(operation, 'gate', gateMs);
    // This is not `overloaded`: the gateway has capacity, but the platform is too slow for these operations.
    const most = connections[this.name] + MAX_WAITING;
    if (this.#calls >= 2 * most || (this.#callsOf.get(caller) ?? 0) >= most)
      return this.#refusal(operation, 'bulkhead', 0);
    const { waitMs } = this.#breaker;
    return waitMs > 0 ? this.#refusal(operation, 'breaker', waitMs) : undefined;
  }

  /** Ends an attempt, which took `ms`. There is no result if nothing was sent because there was no token. */
  leave(pass: Pass, operation: UpstreamOperation, result: Attempted | undefined, ms = 0, caller = ''): void {
    this.#calls--;
    const left = (this.#callsOf.get(caller) ?? 1) - 1;
    if (left > 0) this.#callsOf.set(caller, left);
    else this.#callsOf.delete(caller);
    const failed = result && isFailureOfUpstream(result);
    this.#breaker.leave(pass, failed);
    if (failed === false) this.#failures = undefined;
    else if (result && (failed || (result.kind === 'abandoned' && ms >= MIN_WAIT_MS)))
      this.#failures = this.#oneMore(result);
    const seconds = result && closesGate(result);
    if (seconds) this.#gates.set(operation.name, performance.now() + seconds * 1000);
  }

  /** Counts a call that may be retried. Call it once for each call, independent of the number of its attempts. */
  called(): void {
    this.#budget.called();
  }

  mayRetry(): boolean {
    if (!this.#budget.take()) return false;
    this.metrics.count('gateway_upstream_retries_total', { group: this.name });
    return true;
  }

  #oneMore({ kind }: Classified): FailuresInARow {
    const last = Date.now();
    const { calls = 0, timeouts = 0, since = last } = this.failures ?? {};
    const isTimeout = TIMEOUTS.has(kind);
    return { group: this.name, calls: calls + 1, timeouts: timeouts + Number(isTimeout), since, last };
  }

  #gateMs(name: OperationName): number {
    const until = this.#gates.get(name);
    if (until === undefined) return 0;
    const leftMs = until - performance.now();
    if (leftMs <= 0) this.#gates.delete(name);
    return leftMs;
  }

  #refusal(operation: UpstreamOperation, reason: (typeof REFUSALS)[number], waitMs: number): UpstreamFailure {
    this.metrics.count('gateway_upstream_refused_total', { group: this.name, reason });
    const retryAfter = Math.max(1, Math.ceil(waitMs / 1000));
    return new UpstreamFailure(operation, 'circuit-open', false, { retryAfter, isPaused: reason === 'gate' });
  }
}

@Injectable()
export class OperationGroups {
  readonly #groups: ReadonlyMap<GroupName, OperationGroup>;

  constructor(metrics: Metrics) {
    const names = Object.keys(connections) as GroupName[];
    this.#groups = new Map(names.map((name) => [name, new OperationGroup(name, metrics)]));
    metrics.follow('gateway_upstream_failures_in_a_row', () =>
      [...this.#groups].map(([group, { failures }]) => [{ group }, failures?.calls ?? 0]),
    );
  }

  get({ group }: UpstreamOperation): OperationGroup {
    return this.#groups.get(group) as OperationGroup;
  }

  /** The groups whose circuit is not closed. */
  get open(): GroupName[] {
    return [...this.#groups].flatMap(([name, { state }]) => (state === 'closed' ? [] : [name]));
  }

  /** The failures of each group whose latest calls have all failed. */
  get failing(): FailuresInARow[] {
    return [...this.#groups.values()].flatMap(({ failures }) =>
      failures && failures.calls >= MIN_FAILURES ? [failures] : [],
    );
  }

  /**
   * `down` if the circuits of all groups in use are open. `degraded` if some circuit is open, or if the latest calls of a group failed.
   * `slow` if all of these calls ran out of time.
   */
  get health(): 'up' | 'slow' | 'degraded' | 'down' {
    const groups = [...this.#groups.values()];
    if (groups.every(({ state }) => state === 'closed')) {
      const { failing } = this;
      if (failing.length === 0) return 'up';
      return failing.every(({ calls, timeouts }) => calls === timeouts) ? 'slow' : 'degraded';
    }
    return groups.some(({ isServing }) => isServing) ? 'degraded' : 'down';
  }
}

/** False if a result shows a fault of the request or a limit. Undefined if it shows nothing about the platform. */
function isFailureOfUpstream(result: Attempted): boolean | undefined {
  if (result.kind === 'success') return false;
  // The call has waited for a connection in vain. The calls that had the connections show whether the platform fails.
  if (result.kind === 'timeout' && result.sent === false) return undefined;
  const { status = 0, code } = result.details;
  switch (result.kind) {
    case 'abandoned':
    case 'delayed':
      return undefined;
    case 'unreachable':
    case 'connect-timeout':
    case 'timeout':
    case 'lost':
      return true;
    case 'unavailable':
      return status >= 500;
    default:
      return upstreamCodes.get(code ?? '')?.transient === true;
  }
}

/** Returns the seconds for which the gateway must not call the operation after this response. */
function closesGate(result: Classified): number | undefined {
  if (result.kind !== 'unavailable') return undefined;
  const { status, retryAfter } = result.details;
  return status === 429 || status === 503 ? retryAfter : undefined;
}
