import { Injectable } from '@nestjs/common';
import { Metrics } from '../../observability/metrics.ts';
import { Breaker, type BreakerState, type Pass } from './breaker.ts';
import type { Classified } from '../classify.ts';
import { type GroupName, groupNames } from '../../transport/connection-groups.ts';
import type { UpstreamOperation, OperationName } from '../operations.ts';
import { RetryBudget } from './retry-budget.ts';
import { connections } from '../../transport/upstream-pools.ts';
import { upstreamCodes } from '../problems/upstream-codes.ts';
import { UpstreamFailure } from '../upstream-failure.ts';

/**
 * Calls of a group that may wait for one of its connections. Enough for a burst of 1,000 callers whose operation makes three
 * calls, and far from the number of requests that the whole gateway takes on: one stalled group must not use that up.
 */
const MAX_WAITING = 3_000;

/**
 * Operations that stall and fail together. A group has connections, a breaker, retries and a bounded queue of its own, and each of
 * its operations a gate, so that trouble in one of them takes nothing from the others.
 */
export class OperationGroup {
  readonly #breaker: Breaker;
  readonly #budget = new RetryBudget();
  /** performance.now() until which upstream wants no calls of an operation. */
  readonly #gates = new Map<OperationName, number>();
  #calls = 0;

  constructor(
    private readonly name: GroupName,
    private readonly metrics: Metrics,
  ) {
    this.#breaker = new Breaker((state) => metrics.breakerState(name, state));
    metrics.breakerState(name, 'closed');
  }

  get state(): BreakerState {
    return this.#breaker.state;
  }

  get isServing(): boolean {
    return this.#breaker.isServing;
  }

  /** Before anything else is done for an attempt; throws where it must not be made. What it gives goes to {@link leave}. */
  enter(operation: UpstreamOperation): Pass {
    const refusal = this.refusal(operation);
    if (refusal) throw refusal;
    const pass = this.#breaker.enter();
    if (pass === undefined) throw this.#refusal(operation, 'breaker', this.#breaker.waitMs);
    this.#calls++;
    return pass;
  }

  /** Why an attempt would not be made now; undefined where it would. */
  refusal(operation: UpstreamOperation): UpstreamFailure | undefined {
    const gateMs = this.#gateMs(operation.name);
    if (gateMs > 0) return this.#refusal(operation, 'gate', gateMs);
    // Not `overloaded`: the gateway has room, and the platform is what does not keep up with these operations.
    if (this.#calls >= connections[this.name] + MAX_WAITING) return this.#refusal(operation, 'bulkhead', 0);
    const { waitMs } = this.#breaker;
    return waitMs > 0 ? this.#refusal(operation, 'breaker', waitMs) : undefined;
  }

  /** After an attempt; without a result where nothing was sent, for want of a token. */
  leave(pass: Pass, operation: UpstreamOperation, result: Classified | undefined): void {
    this.#calls--;
    this.#breaker.leave(pass, result && isFailureOfUpstream(result));
    const seconds = result && closesGate(result);
    if (seconds) this.#gates.set(operation.name, performance.now() + seconds * 1000);
  }

  /** Once for each call, however many attempts it takes. */
  called(): void {
    this.#budget.called();
  }

  mayRetry(): boolean {
    if (!this.#budget.take()) return false;
    this.metrics.upstreamRetry(this.name);
    return true;
  }

  #gateMs(name: OperationName): number {
    const until = this.#gates.get(name);
    if (until === undefined) return 0;
    const leftMs = until - performance.now();
    if (leftMs <= 0) this.#gates.delete(name);
    return leftMs;
  }

  #refusal(
    operation: UpstreamOperation,
    reason: 'gate' | 'bulkhead' | 'breaker',
    waitMs: number,
  ): UpstreamFailure {
    this.metrics.upstreamRefused(this.name, reason);
    const retryAfter = Math.max(1, Math.ceil(waitMs / 1000));
    return new UpstreamFailure(operation, 'circuit-open', false, { retryAfter });
  }
}

@Injectable()
export class OperationGroups {
  readonly #groups: ReadonlyMap<GroupName, OperationGroup>;

  constructor(metrics: Metrics) {
    this.#groups = new Map(groupNames.map((name) => [name, new OperationGroup(name, metrics)]));
  }

  of({ group }: UpstreamOperation): OperationGroup {
    return this.#groups.get(group) as OperationGroup;
  }

  /** `down` where every group that is in use is shut, `degraded` where one is. */
  get health(): 'up' | 'degraded' | 'down' {
    const groups = [...this.#groups.values()];
    if (groups.every(({ state }) => state === 'closed')) return 'up';
    return groups.some(({ isServing }) => isServing) ? 'degraded' : 'down';
  }
}

/** What speaks of an upstream that does not work, rather than of a request or of limits; undefined where it is silent. */
function isFailureOfUpstream({ kind, ...rest }: Classified): boolean | undefined {
  const { status = 0, code } = 'details' in rest ? rest.details : {};
  switch (kind) {
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

/** For how many seconds an operation is not to be called after this answer. */
function closesGate(result: Classified): number | undefined {
  if (result.kind !== 'unavailable') return undefined;
  const { status, retryAfter } = result.details;
  return status === 429 || status === 503 ? retryAfter : undefined;
}
