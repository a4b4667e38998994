import { Injectable } from '@nestjs/common';
import { PresentCallers } from '../caller/present-callers.ts';
import { Metrics } from '../observability/metrics.ts';
import { assertWanted } from '../order-ledger/order-ledger-store.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { edge } from '../shared/edge.ts';

/** Pages that are read at a time: one is decrypted while the other waits for Redis. */
const AT_ONCE = 2;
/** Beside other callers the next page of a caller waits for so many times as long as its last one took... */
const REST_TIMES = 2;
/** ...but no longer than this: Redis may have been away meanwhile. */
const MAX_REST_MS = 200;
/** After this wait a page is refused. */
const WAIT_MS = 5_000;

interface Waiting {
  readonly begin: () => void;
  readonly leave: (problem?: ProblemException) => void;
}

/**
 * Callers take turns in reading pages of orders: one page of each caller at a time, and two in the process. A large page takes some
 * milliseconds of the processor, so a caller that asked for many at once would slow down the requests of all others. A caller that reads
 * one page after another rests between them while others are there: it took three quarters of a process.
 */
@Injectable()
export class PageTurns {
  readonly #reading = new Set<string>();
  /** By caller. The first caller has waited for longest since its last turn. */
  readonly #waiting = new Map<string, Waiting[]>();

  /** Callers that have just read a page beside others. */
  readonly #resting = new Set<string>();

  constructor(
    private readonly metrics: Metrics,
    private readonly present: PresentCallers,
  ) {}

  /** Calls `read` when it is this caller's turn, and resolves with its result. A caller that hangs up gives up its turn. */
  async take<T>(caller: string, abandon: AbortSignal | undefined, read: () => Promise<T>): Promise<T> {
    if (this.#mayRead(caller)) this.#reading.add(caller);
    else await this.#turnOf(caller, abandon);
    const begunAt = performance.now();
    try {
      assertWanted(abandon);
      return await read();
    } finally {
      this.#reading.delete(caller);
      this.#rest(caller, begunAt, performance.now());
      this.#toTheEnd(caller);
      this.#next();
    }
  }

  #rest(caller: string, begunAt: number, now: number): void {
    if (!this.present.areBeside(caller, now)) return;
    this.#resting.add(caller);
    const end = edge('pages', () => {
      this.#resting.delete(caller);
      this.#next();
    });
    setTimeout(end, Math.min(MAX_REST_MS, REST_TIMES * (now - begunAt))).unref();
  }

  #mayRead(caller: string): boolean {
    return this.#reading.size < AT_ONCE && !this.#reading.has(caller) && !this.#resting.has(caller);
  }

  #turnOf(caller: string, abandon: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const own = this.#waiting.get(caller) ?? [];
    const refuse = edge('pages', () => {
      this.metrics.requestRefused('pages');
      const detail = 'Too many pages of orders are being read. A smaller page takes less time.';
      waiting.leave(new ProblemException('overloaded', { detail, retryAfter: 1 }));
    });
    const hangUp = edge('pages', () => waiting.leave());
    const timer = setTimeout(refuse, WAIT_MS);
    const end = () => {
      clearTimeout(timer);
      abandon?.removeEventListener('abort', hangUp);
    };
    const waiting: Waiting = {
      begin: () => {
        end();
        resolve();
      },
      leave: (problem) => {
        end();
        own.splice(own.indexOf(waiting), 1);
        if (own.length === 0) this.#waiting.delete(caller);
        reject(problem ?? new ProblemException('overloaded'));
      },
    };
    abandon?.addEventListener('abort', hangUp);
    own.push(waiting);
    this.#waiting.set(caller, own);
    return promise;
  }

  /** Its next turn comes after those of the others. */
  #toTheEnd(caller: string): void {
    const own = this.#waiting.get(caller);
    if (this.#waiting.delete(caller) && own) this.#waiting.set(caller, own);
  }

  #next(): void {
    for (const [caller, own] of this.#waiting) {
      if (!this.#mayRead(caller)) continue;
      const next = own.shift();
      if (own.length === 0) this.#waiting.delete(caller);
      this.#reading.add(caller);
      next?.begin();
      return;
    }
  }
}
