import { SlidingWindow } from '../sliding-window/sliding-window.ts';

const MIN_CALLS = 20;
const FAILED_SHARE = 0.5;
const FIRST_PAUSE_MS = 1_000;
/**
 * The longest pause between probes. It is short, so that calls go on soon after the server is back. A probe every two seconds is no load
 * for it.
 */
const MAX_PAUSE_MS = 2_000;

export type BreakerState = 'closed' | 'half-open' | 'open';

/** Permission for one attempt. Its holder returns it to {@link Breaker.leave}. */
export type Pass = number;

/**
 * A circuit breaker. It opens when at least half of at least 20 attempts of the last 10 s failed. While it is open, one attempt at a time
 * is sent as a probe, after 1 s and then every 2 s. A successful probe closes it. No call waits for a probe. A probe that hangs does not
 * block the next one, which may be sent after the pause.
 */
export class Breaker {
  readonly #failures: SlidingWindow;
  /** The number of openings and closings. The result of an attempt from before the last change does not count. */
  #era = 0;
  #open = false;
  #probes = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #nextProbeAt = 0;

  constructor(
    private readonly changed: (state: BreakerState) => void = () => undefined,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#failures = new SlidingWindow(now);
  }

  get state(): BreakerState {
    if (!this.#open) return 'closed';
    return this.#probes > 0 ? 'half-open' : 'open';
  }

  /** True if the circuit is closed and had calls in the last 10 s. */
  get isServing(): boolean {
    return !this.#open && this.#failures.sum().all > 0;
  }

  /** Milliseconds until the next attempt is allowed. 0 means now. */
  get waitMs(): number {
    return this.#open ? Math.max(0, this.#nextProbeAt - this.now()) : 0;
  }

  /** Returns undefined if no attempt may be sent now. */
  enter(): Pass | undefined {
    if (!this.#open) return this.#era;
    if (this.waitMs > 0) return undefined;
    this.#nextProbeAt = this.now() + this.#pauseMs;
    this.#probes++;
    this.changed('half-open');
    return this.#era;
  }

  /** Accepts every pass, with the result of its attempt. `failed` is undefined if the attempt showed nothing. */
  leave(pass: Pass, failed: boolean | undefined): void {
    if (pass !== this.#era) return;
    if (this.#open) this.#judgeProbe(failed);
    else if (failed !== undefined) this.#count(failed);
  }

  #judgeProbe(failed: boolean | undefined): void {
    this.#probes--;
    if (failed === false) return this.#turn(false);
    // If a probe did not reach the platform, the next attempt may be a probe at once.
    this.#nextProbeAt = this.now() + (failed ? this.#pauseMs : 0);
    if (failed) this.#pauseMs = MAX_PAUSE_MS;
    this.changed(this.state);
  }

  #count(failed: boolean): void {
    const slot = this.#failures.slot();
    slot.all++;
    if (!failed) return;
    slot.marked++;
    const { all, marked } = this.#failures.sum();
    if (all >= MIN_CALLS && marked >= all * FAILED_SHARE) this.#turn(true);
  }

  #turn(open: boolean): void {
    this.#era++;
    this.#open = open;
    this.#probes = 0;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#nextProbeAt = this.now() + FIRST_PAUSE_MS;
    this.#failures.clear();
    this.changed(this.state);
  }
}
