import { FairLine, PacedLine, type Step, type Waiting } from './waiting-lines.ts';
import { edge } from '../shared/edge.ts';

/** How long requests are begun in one turn of the event loop. Requests that arrive meanwhile are read after it. */
const TURN_MS = 10;
/** The most requests that begin in a turn out of those that wait. */
const MOST_AT_ONCE = 16;
/** Requests may wait for longer than this... */
const CROWD_WAIT_MS = 1_000;
/** ...but not continuously for this time: then requests arrive as fast as they are served, and the queue will not become empty. */
const CROWD_MS = 3_000;
/** The queue length during overload: enough to keep the process busy, and short enough for a fast response. */
const BUSY_WAIT_MS = 100;
/** The overload ends when no request waited for too long during this time. */
const CALM_MS = 2_000;

/**
 * The limit of turns in a row without a request begun, because clients connect: Node accepts one connection in each turn. While callers
 * wait, accepting takes no more time than the last of their requests did, so that many new connections do not delay them.
 */
const ACCEPTING_TURNS = 10;

/**
 * Requests without a known caller (public routes, tokens that are not verified yet, unknown paths) come last. This many may wait. One
 * begins in this time at most, so that a flood of them takes a small part of the process. After this wait they are refused, while known
 * callers wait too.
 */
const MAX_STRANGERS = 1_000;
const STRANGER_EVERY_MS = 2;
const STRANGER_WAIT_MS = 1_000;
/** The limit of waiting health requests: one begins in every turn, so that the last waits for about a second. */
const MAX_PROBES = 2_000;
/** Of health requests that are too frequent for probes one begins in this time, beside those of strangers. This many may wait. */
const REPEATED_EVERY_MS = 4;
const MAX_REPEATED = 1_000;
/** The same of requests that get a 401 while their body still arrives. */
const UNREAD_EVERY_MS = 4;
const MAX_UNREAD = 2_000;

/**
 * Who sends a request: a known caller, a health probe, a client that asks for the health again and again, an unknown client, or one whose
 * body the gateway does not read.
 */
export type Asker = { readonly name: string } | 'probe' | 'repeated-probe' | 'stranger' | 'unread';

export interface Arrival {
  readonly asker: Asker;
  readonly begin: Step;
  readonly refuse: Step;
}

/** Whether the requests of one caller wait for too long. */
class Patience {
  /** Since when the first has been waiting for too long. */
  #lateSince: number | undefined;
  /** When a request last waited for too long; undefined without overload. */
  #busyAt: number | undefined;

  isTooMuch(now: number, waitMs: number): boolean {
    if (this.#busyAt !== undefined) {
      if (waitMs >= BUSY_WAIT_MS) this.#busyAt = now;
      else if (now - this.#busyAt >= CALM_MS) this.#busyAt = undefined;
      return this.#busyAt === now;
    }
    if (waitMs < CROWD_WAIT_MS) this.#lateSince = undefined;
    else this.#lateSince ??= now;
    if (this.#lateSince === undefined || now - this.#lateSince < CROWD_MS) return false;
    this.#busyAt = now;
    return true;
  }
}

/**
 * Begins some requests in every turn of the event loop, in the order of their arrival. So the process reads further ones within
 * milliseconds also under load, and can refuse at once the requests that it could not serve in time.
 */
export class AdmissionQueue {
  readonly #callers = new FairLine();
  readonly #patience = new Map<string, Patience>();
  readonly #probes = new PacedLine(0, MAX_PROBES);
  readonly #repeated = new PacedLine(REPEATED_EVERY_MS, MAX_REPEATED);
  readonly #unread = new PacedLine(UNREAD_EVERY_MS, MAX_UNREAD);
  readonly #strangers = new PacedLine(STRANGER_EVERY_MS, MAX_STRANGERS);
  /** One of each begins also while callers wait or clients connect. */
  readonly #always = [this.#probes, this.#repeated, this.#unread];
  #isTurn = false;
  #turnBegan = 0;
  /** How many that wait begin in the next turn. */
  #atOnce = 1;
  #connected = false;
  #accepting = 0;
  /** When a request of a caller last began, and for how long that took. */
  #begunAt = 0;
  #beginningMs = 0;
  /** When a request was last refused because others of its caller waited for too long. */
  #busyAt = -Infinity;
  /** Whether a timer waits for the next of a paced line. */
  #isTimed = false;

  constructor(
    /** Monotonic time in ms. */
    private readonly now = (): number => performance.now(),
    private readonly inNextTurn: (go: () => void) => unknown = setImmediate,
    private readonly later: (go: () => void, ms: number) => unknown = setTimeout,
  ) {}

  get isOverloaded(): boolean {
    return this.now() - this.#busyAt < CALM_MS;
  }

  /** Calls `begin` now or at its turn, or `refuse` for a stranger later. Returns false where too many requests wait already. */
  admit({ asker, begin, refuse }: Arrival): boolean {
    const now = this.now();
    const isFirst = !this.#isTurn;
    if (isFirst) this.#nextTurn(now);
    const waiting = { begin, refuse, since: now };
    if (typeof asker === 'string') return this.#takeLater(waiting, asker, isFirst);
    if (this.#callers.length === 0 && now - this.#turnBegan < TURN_MS) this.#beginCaller(begin, now);
    else if (this.#isTooMuch(asker.name, now)) return false;
    else this.#callers.add(asker.name, waiting);
    return true;
  }

  /** Begins at once where no other request began in this turn. */
  #takeLater(waiting: Waiting, asker: Exclude<Asker, object>, isFirst: boolean): boolean {
    const line = this.#lineOf(asker);
    if (line.length >= line.most) return false;
    line.add(waiting);
    if (!isFirst) return true;
    if (asker === 'stranger') this.#takeStranger(waiting.since);
    else line.take(waiting.since);
    return true;
  }

  #lineOf(asker: Exclude<Asker, object>): PacedLine {
    switch (asker) {
      case 'probe':
        return this.#probes;
      case 'repeated-probe':
        return this.#repeated;
      case 'unread':
        return this.#unread;
      case 'stranger':
        return this.#strangers;
    }
  }

  #takeStranger(now: number): void {
    const { since } = this.#strangers;
    if (since === undefined) return;
    const step = this.#callers.length === 0 ? 'begin' : 'refuse';
    if (step === 'refuse' && now - since <= STRANGER_WAIT_MS) return;
    this.#strangers.take(now, step);
  }

  /** A connection was accepted. More may wait to be accepted, and their requests have not been read. */
  connected(): void {
    this.#connected = true;
  }

  #beginCaller(begin: Step, now: number): void {
    begin();
    this.#begunAt = this.now();
    this.#beginningMs = this.#begunAt - now;
  }

  #isTooMuch(caller: string, now: number): boolean {
    const patience = this.#patience.get(caller) ?? new Patience();
    this.#patience.set(caller, patience);
    const isTooMuch = patience.isTooMuch(now, now - (this.#callers.since(caller) ?? now));
    if (isTooMuch) this.#busyAt = now;
    return isTooMuch;
  }

  #nextTurn(now: number): void {
    this.#isTurn = true;
    this.#turnBegan = now;
    this.inNextTurn(
      edge(
        'admission',
        () => this.#go(),
        // What failed has left its line; the others go on.
        () => this.#nextTurn(this.now()),
      ),
    );
  }

  /**
   * As many as the event loop carries through in time: they share what the processor has in its caches. The work of a request after its
   * body is part of a later turn, so the length of whole turns says how many: one more after a short turn, half as many after a long one.
   */
  #go(): void {
    const now = this.now();
    const isShort = now - this.#turnBegan < TURN_MS;
    this.#atOnce = isShort ? Math.min(this.#atOnce + 1, MOST_AT_ONCE) : Math.ceil(this.#atOnce / 2);
    const isDue = this.#callers.length > 0 && now - this.#begunAt >= this.#beginningMs;
    const isAccepting = this.#connected && this.#accepting < ACCEPTING_TURNS && !isDue;
    this.#accepting = isAccepting ? this.#accepting + 1 : 0;
    if (this.#connected || this.#callers.length === 0) this.#atOnce = 1;
    this.#connected = false;
    // Also while clients connect: a storm of connections must not keep a probe waiting.
    for (const line of this.#always) line.take(now);
    if (!isAccepting) {
      const step = () => this.#callers.takeFirst();
      this.#takeStranger(now);
      let at = now;
      for (let left = this.#atOnce; left > 0 && this.#callers.length > 0 && at - now < TURN_MS; left--) {
        this.#beginCaller(step, at);
        at = this.now();
      }
    }
    const after = this.now();
    const leftMs = Math.min(
      ...[this.#repeated, this.#unread, this.#strangers].map((line) => line.leftMs(after)),
    );
    if (this.#callers.length + this.#probes.length > 0 || leftMs <= 0) return this.#nextTurn(after);
    this.#isTurn = false;
    if (leftMs < Infinity) this.#nextTurnIn(leftMs);
  }

  /** The event loop may rest until the next of a paced line may begin. */
  #nextTurnIn(ms: number): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    const next = edge('admission', () => {
      this.#isTimed = false;
      if (!this.#isTurn) this.#nextTurn(this.now());
    });
    this.later(next, ms);
  }
}
