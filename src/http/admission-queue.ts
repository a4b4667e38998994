/** How long requests are begun in one turn of the event loop. Requests that arrive meanwhile are read after it. */
const TURN_MS = 10;
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
 * Requests without a known caller (public routes, tokens that are not verified yet, unknown paths) come last. This many may wait,
 * and no more are added when the first has waited for this time.
 */
const MAX_STRANGERS = 1_000;
const STRANGER_WAIT_MS = 1_000;
/** The limit of waiting health requests: one begins in every turn, so that the last waits for about a second. */
const MAX_PROBES = 2_000;

/** The kind of request: of a known caller, a health probe, or of an unknown client. */
export type Asker = 'caller' | 'probe' | 'stranger';

interface Waiting {
  readonly begin: () => void;
  readonly since: number;
}

/** Requests that wait, in the order of their arrival. */
class Line {
  readonly #waiting: Waiting[] = [];
  /** The index of the first that has not begun. */
  #first = 0;

  get length(): number {
    return this.#waiting.length - this.#first;
  }

  /** Since when the first has been waiting. */
  get since(): number | undefined {
    return this.#waiting[this.#first]?.since;
  }

  add(waiting: Waiting): void {
    this.#waiting.push(waiting);
  }

  beginFirst(): void {
    const next = this.#waiting[this.#first];
    if (!next) return;
    this.#first++;
    next.begin();
    // Requests that have begun are removed from time to time.
    if (this.#first < 1_000 && this.length > 0) return;
    this.#waiting.splice(0, this.#first);
    this.#first = 0;
  }
}

/**
 * Begins some requests in every turn of the event loop, in the order of their arrival. So the process reads further ones within
 * milliseconds also under load, and can refuse at once the requests that it could not serve in time.
 */
export class AdmissionQueue {
  readonly #callers = new Line();
  readonly #probes = new Line();
  readonly #strangers = new Line();
  #isTurn = false;
  #turnBegan = 0;
  #connected = false;
  #accepting = 0;
  /** When a request of a caller last began, and for how long that took. */
  #begunAt = 0;
  #beginningMs = 0;
  /** Since when the first has been waiting for too long. */
  #lateSince: number | undefined;
  /** When a request last waited for too long; undefined without overload. */
  #busyAt: number | undefined;

  constructor(
    /** Monotonic time in ms. */
    private readonly now = (): number => performance.now(),
    private readonly inNextTurn: (go: () => void) => unknown = setImmediate,
  ) {}

  get isOverloaded(): boolean {
    return this.#busyAt !== undefined && this.now() - this.#busyAt < CALM_MS;
  }

  /** Calls `begin` now or at its turn. Returns false where too many requests wait already. */
  admit(begin: () => void, asker: Asker = 'caller'): boolean {
    const now = this.now();
    const isFirst = !this.#isTurn;
    if (isFirst) this.#nextTurn(now);
    if (asker !== 'caller') return this.#takeLater(begin, asker, now, isFirst);
    if (this.#callers.length === 0 && now - this.#turnBegan < TURN_MS) this.#beginCaller(begin, now);
    else if (this.#isTooMuch(now)) return false;
    else this.#callers.add({ begin, since: now });
    return true;
  }

  /** Begins at once where no other request began in this turn. */
  #takeLater(begin: () => void, asker: 'probe' | 'stranger', now: number, isFirst: boolean): boolean {
    const line = asker === 'probe' ? this.#probes : this.#strangers;
    if (isFirst) begin();
    else if (line.length >= (asker === 'probe' ? MAX_PROBES : MAX_STRANGERS)) return false;
    else if (asker === 'stranger' && now - (line.since ?? now) > STRANGER_WAIT_MS) return false;
    else line.add({ begin, since: now });
    return true;
  }

  /** A connection was accepted. More may wait to be accepted, and their requests have not been read. */
  connected(): void {
    this.#connected = true;
  }

  #beginCaller(begin: () => void, now: number): void {
    begin();
    this.#begunAt = this.now();
    this.#beginningMs = this.#begunAt - now;
  }

  #isTooMuch(now: number): boolean {
    const waitMs = now - (this.#callers.since ?? now);
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

  #nextTurn(now: number): void {
    this.#isTurn = true;
    this.#turnBegan = now;
    this.inNextTurn(() => this.#go());
  }

  /** One in each turn, because the later work of a request, after its body, cannot be measured here. */
  #go(): void {
    const now = this.now();
    const isDue = this.#callers.length > 0 && now - this.#begunAt >= this.#beginningMs;
    const isAccepting = this.#connected && this.#accepting < ACCEPTING_TURNS && !isDue;
    this.#accepting = isAccepting ? this.#accepting + 1 : 0;
    this.#connected = false;
    if (!isAccepting) {
      this.#probes.beginFirst();
      if (this.#callers.length > 0) this.#beginCaller(() => this.#callers.beginFirst(), now);
      else this.#strangers.beginFirst();
    }
    if (this.#callers.length + this.#probes.length + this.#strangers.length > 0) this.#nextTurn(this.now());
    else this.#isTurn = false;
  }
}
