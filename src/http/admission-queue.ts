/** How long requests are begun in one turn of the event loop: what arrives meanwhile is looked at when it is over. */
const TURN_MS = 10;
/** A crowd may have to wait for longer than this... */
const CROWD_WAIT_MS = 1_000;
/** ...but not for so long: by then as much arrives as is done, and the crowd will never be gone. */
const CROWD_MS = 3_000;
/** What is taken on while there is too much: enough to be never idle, and little to be late with. */
const BUSY_WAIT_MS = 100;
/** It is over when nobody had to wait longer than that for so long. */
const CALM_MS = 2_000;

/** So many turns in a row may pass in which nothing begins, since callers connect: Node accepts one connection in a turn. */
const ACCEPTING_TURNS = 10;

/**
 * Requests of strangers (public routes, tokens that are not verified yet, paths that are none) come last. So many may wait, and no more
 * are added when the first has waited for so long.
 */
const MAX_STRANGERS = 1_000;
const STRANGER_WAIT_MS = 1_000;
/** So many requests for health may wait: one begins in every turn, so that the last waits for about a second. */
const MAX_PROBES = 2_000;

/** Who asks: a known caller, a probe of the process's health, or someone unknown. */
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
    // What has begun is let go of now and then.
    if (this.#first < 1_000 && this.length > 0) return;
    this.#waiting.splice(0, this.#first);
    this.#first = 0;
  }
}

/**
 * Requests begin here, some in every turn of the event loop, in the order of their arrival. So the process hears of further ones within
 * milliseconds, however many it has, and can refuse at once what it would only be late with.
 */
export class AdmissionQueue {
  readonly #callers = new Line();
  readonly #probes = new Line();
  readonly #strangers = new Line();
  #isTurn = false;
  #turnBegan = 0;
  #connected = false;
  #accepting = 0;
  /** Since when the first has been waiting for too long. */
  #lateSince: number | undefined;
  /** When somebody last had to wait for too long; undefined where there is not too much. */
  #busyAt: number | undefined;

  constructor(
    /** Monotonic time in ms. */
    private readonly now = (): number => performance.now(),
    private readonly inNextTurn: (go: () => void) => unknown = setImmediate,
  ) {}

  get isOverloaded(): boolean {
    return this.#busyAt !== undefined && this.now() - this.#busyAt < CALM_MS;
  }

  /** Calls `begin`, now or when it is its turn; false where there are too many already. */
  admit(begin: () => void, asker: Asker = 'caller'): boolean {
    const now = this.now();
    const isFirst = !this.#isTurn;
    if (isFirst) this.#nextTurn(now);
    if (asker !== 'caller') return this.#takeLater(begin, asker, now, isFirst);
    if (this.#callers.length === 0 && now - this.#turnBegan < TURN_MS) begin();
    else if (this.#isTooMuch(now)) return false;
    else this.#callers.add({ begin, since: now });
    return true;
  }

  /** At once where nothing else has happened in this turn. */
  #takeLater(begin: () => void, asker: 'probe' | 'stranger', now: number, isFirst: boolean): boolean {
    const line = asker === 'probe' ? this.#probes : this.#strangers;
    if (isFirst) begin();
    else if (line.length >= (asker === 'probe' ? MAX_PROBES : MAX_STRANGERS)) return false;
    else if (asker === 'stranger' && now - (line.since ?? now) > STRANGER_WAIT_MS) return false;
    else line.add({ begin, since: now });
    return true;
  }

  /** A connection was accepted. More may be at the door, and what they ask has not been heard. */
  connected(): void {
    this.#connected = true;
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

  /** One in each turn: what a request does later, when its body is read, cannot be measured here. */
  #go(): void {
    const isAccepting = this.#connected && this.#accepting < ACCEPTING_TURNS;
    this.#accepting = isAccepting ? this.#accepting + 1 : 0;
    this.#connected = false;
    if (!isAccepting) {
      this.#probes.beginFirst();
      if (this.#callers.length > 0) this.#callers.beginFirst();
      else this.#strangers.beginFirst();
    }
    if (this.#callers.length + this.#probes.length + this.#strangers.length > 0) this.#nextTurn(this.now());
    else this.#isTurn = false;
  }
}
