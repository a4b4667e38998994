import { Injectable } from '@nestjs/common';
import { ProblemException } from '../../problem/problem.exception.ts';
import { enumeration, type WordOf } from '../../shared/enumeration.ts';

export const stopWords = enumeration(
  'MaintenanceStops',
  ['orders', 'writes', 'all'],
  '`orders`: no order is placed; `writes`: nothing is changed at the platform, and imports wait; `all`: the platform is not called',
);
/** What is stopped; each word stops what the words before it stop, too. */
export type Stops = WordOf<typeof stopWords>;

/** What an operator has said. Times are in ms since the epoch, by the clock of the database. */
export interface MaintenanceWindow {
  readonly stops: Stops;
  readonly from: number;
  readonly until: number;
  readonly reason: string;
  /** The caller who set it. */
  readonly by: string;
}

function stopsAt({ stops, from, until }: MaintenanceWindow, kind: Stops, now: number): boolean {
  const { words } = stopWords;
  return words.indexOf(stops) >= words.indexOf(kind) && from <= now && now < until;
}

/** For a caller whose request is stopped, until the window ends. */
export function stoppedProblem({ stops, until, reason }: MaintenanceWindow, now: number): ProblemException {
  return new ProblemException('maintenance', {
    detail: `The gateway's operator has stopped ${stops} until ${new Date(until).toISOString()}: ${reason}`,
    retryAfter: Math.max(1, Math.ceil((until - now) / 1_000)),
  });
}

/** The maintenance of the platform as this process knows it. Whoever would call the platform asks here whether that is stopped. */
@Injectable()
export class Maintenance {
  #window: MaintenanceWindow | undefined;
  /** How far the clock of the database is ahead of the monotonic one. */
  #aheadMs = Date.now() - performance.now();
  #pause = new AbortController();

  /** The window that is there or is to come; undefined without one. */
  get window(): MaintenanceWindow | undefined {
    return this.#window && this.now < this.#window.until ? this.#window : undefined;
  }

  /** By the clock of the database, in ms since the epoch. */
  get now(): number {
    return performance.now() + this.#aheadMs;
  }

  get isActive(): boolean {
    return this.stops('orders');
  }

  stops(kind: Stops): boolean {
    return this.#window !== undefined && stopsAt(this.#window, kind, this.now);
  }

  /** The problem for what is stopped now; undefined where it is not. */
  refusal(kind: Stops): ProblemException | undefined {
    return this.#window && this.stops(kind) ? stoppedProblem(this.#window, this.now) : undefined;
  }

  assertNot(kind: Stops): void {
    const refusal = this.refusal(kind);
    if (refusal) throw refusal;
  }

  /** Aborted while writes are stopped, for work in the background; then there is another one. */
  get pause(): AbortSignal {
    return this.#pause.signal;
  }

  /** Learns the window that the database has, and the time of its clock at the read. Called twice a second. */
  learn(window: MaintenanceWindow | undefined, now: number): void {
    this.#window = window;
    this.#aheadMs = now - performance.now();
    if (this.stops('writes')) this.#pause.abort();
    else if (this.pause.aborted) this.#pause = new AbortController();
  }
}
