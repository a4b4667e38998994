import { Injectable } from '@nestjs/common';
import { DatabaseUnavailable } from '../../database/database-unavailable.ts';
import { ProblemException } from '../../problem/problem.exception.ts';
import { enumeration, type WordOf } from '../../shared/enumeration.ts';

export const stopWords = enumeration(
  'MaintenanceStops',
  ['orders', 'writes', 'all'],
  '`orders`: no order is placed; `writes`: nothing is changed at the platform, and imports wait; `all`: the platform is not called',
);
/** The kinds of calls that are stopped. Each word includes the words before it. */
export type Stops = WordOf<typeof stopWords>;

/** The decision of an operator. Times are in ms since the epoch, by the clock of the database. */
export interface MaintenanceWindow {
  readonly stops: Stops;
  readonly from: number;
  readonly until: number;
  readonly reason: string;
  /** The caller who set the window. */
  readonly by: string;
}

function stopsAt({ stops, from, until }: MaintenanceWindow, kind: Stops, now: number): boolean {
  const { words } = stopWords;
  return words.indexOf(stops) >= words.indexOf(kind) && from <= now && now < until;
}

/** Returns the problem for a stopped request. It lasts until the window ends. */
export function stoppedProblem({ stops, until, reason }: MaintenanceWindow, now: number): ProblemException {
  return new ProblemException('maintenance', {
    detail: `The gateway's operator has stopped ${stops} until ${new Date(until).toISOString()}: ${reason}`,
    retryAfter: Math.max(1, Math.ceil((until - now) / 1_000)),
  });
}

/** Returns whether the error is the problem of {@link stoppedProblem}. */
export function isMaintenance(error: unknown): boolean {
  return error instanceof ProblemException && error.slug === 'maintenance';
}

const UNKNOWN =
  'The gateway has not read from its database yet whether its operator has stopped writes. Nothing was sent to the platform.';
const UNREADY = ' The database has no tables yet: its operator has to run `npm run database-init`.';

/** The maintenance of the platform as this process knows it. All code that calls the platform checks here whether that is stopped. */
@Injectable()
export class Maintenance {
  /** False until the window was read for the first time. Until then, writes may be stopped. */
  #isKnown = false;
  /** The end of the refusal, which says what the operator has to do before the window can be read. Empty if that is nothing. */
  #hint = '';
  #window: MaintenanceWindow | undefined;
  /** The lead of the database's clock over the monotonic one. */
  #aheadMs = Date.now() - performance.now();
  #pause = new AbortController();

  /** The present or next window. Undefined without one. */
  get window(): MaintenanceWindow | undefined {
    return this.#window && this.now < this.#window.until ? this.#window : undefined;
  }

  /** The time by the clock of the database, in ms since the epoch. */
  get now(): number {
    return this.timeOf(performance.now());
  }

  /** The time of a moment of the monotonic clock, by the clock of the database. */
  timeOf(moment: number): number {
    return Math.floor(moment + this.#aheadMs);
  }

  /** Notes this moment. The returned function tells whether it is later than a time of the database, by its clock and that of this process. */
  noteMoment(): (time: number) => boolean {
    const [at, moment] = [Date.now(), performance.now()];
    return (time) => time < Math.min(at, moment + this.#aheadMs);
  }

  get isActive(): boolean {
    return this.stops('orders');
  }

  stops(kind: Stops): boolean {
    return this.#window !== undefined && stopsAt(this.#window, kind, this.now);
  }

  /** Returns the problem for a call of a kind that is stopped now, or for a write that may be. Undefined if it is not stopped. */
  refusal(kind: Stops): ProblemException | undefined {
    if (kind === 'writes' && !this.#isKnown) return this.#unknown();
    return this.#window && this.stops(kind) ? stoppedProblem(this.#window, this.now) : undefined;
  }

  assertNot(kind: Stops): void {
    const refusal = this.refusal(kind);
    if (refusal) throw refusal;
  }

  /** False while it is not known whether there is a window. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Throws while it is not known whether there is a window. */
  assertKnown(): void {
    if (!this.#isKnown) throw this.#unknown();
  }

  /** A signal that is aborted while writes are stopped, for work in the background. After the stop there is a new one. */
  get pause(): AbortSignal {
    return this.#pause.signal;
  }

  /** Accepts the window in the database, and the time of its clock at the read. Runs twice a second. */
  learn(window: MaintenanceWindow | undefined, now: number): void {
    this.#isKnown = true;
    this.#window = window;
    this.#aheadMs = now - performance.now();
    if (this.stops('writes')) this.#pause.abort();
    else if (this.pause.aborted) this.#pause = new AbortController();
  }

  /** Accepts why the window could not be read. */
  missed(error: unknown): void {
    this.#hint = error instanceof DatabaseUnavailable && error.reason === 'unready' ? UNREADY : '';
  }

  #unknown(): ProblemException {
    return new ProblemException('dependency-unavailable', { detail: UNKNOWN + this.#hint, retryAfter: 1 });
  }
}
