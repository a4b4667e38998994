import { Injectable } from '@nestjs/common';
import { Metrics } from '../observability/metrics.ts';
import { assertWanted } from '../order-ledger/order-ledger-store.ts';
import { ProblemException } from '../problem/problem.exception.ts';

/** Pages that are read at a time: one is decrypted while the other waits for Redis. */
const AT_ONCE = 2;
/** After this wait a page is refused. */
const WAIT_MS = 5_000;

interface Waiting {
  readonly begin: () => void;
  readonly leave: (problem?: ProblemException) => void;
}

/**
 * Callers take turns in reading pages of orders: one page of each caller at a time, and two in the process. A large page takes some
 * milliseconds of the processor, so a caller that asked for many at once would slow down the requests of all others.
 */
@Injectable()
export class PageTurns {
  readonly #reading = new Set<string>();
  /** By caller. The first caller has waited for longest since its last turn. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(private readonly metrics: Metrics) {}

  /** Calls `read` when it is this caller's turn, and resolves with its result. A caller that hangs up gives up its turn. */
  async take<T>(caller: string, abandon: AbortSignal | undefined, read: () => Promise<T>): Promise<T> {
    if (this.#mayRead(caller)) this.#reading.add(caller);
    else await this.#turnOf(caller, abandon);
    try {
      assertWanted(abandon);
      return await read();
    } finally {
      this.#reading.delete(caller);
      this.#toTheEnd(caller);
      this.#next();
    }
  }

  #mayRead(caller: string): boolean {
    return this.#reading.size < AT_ONCE && !this.#reading.has(caller);
  }

  #turnOf(caller: string, abandon: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const own = this.#waiting.get(caller) ?? [];
    const refuse = () => {
      this.metrics.requestRefused('pages');
      const detail = 'Too many pages of orders are being read. A smaller page takes less time.';
      waiting.leave(new ProblemException('overloaded', { detail, retryAfter: 1 }));
    };
    const hangUp = () => waiting.leave();
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
