/** Named snapshots of all data and of the clock's offset. A reset keeps them. */
import type { Clock } from '../clock.ts';
import type { State, StateCopy } from '../state/state.ts';
import { ControlError, Unknown } from './checks.ts';

interface Snapshot {
  readonly state: StateCopy;
  readonly clockOffsetMs: number;
}

const MOST = 100;

export class Snapshots {
  readonly #state: State;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Snapshot>();

  constructor(state: State, clock: Clock) {
    this.#state = state;
    this.#clock = clock;
  }

  names(): string[] {
    return [...this.#kept.keys()];
  }

  /** Takes a snapshot. It replaces an earlier one with that name. */
  take(name: string): void {
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name))
      throw new ControlError('name', 'must be 1 to 64 of A-Z a-z 0-9 _ . -');
    if (!this.#kept.has(name) && this.#kept.size >= MOST)
      throw new ControlError('name', `must be one of the ${MOST} snapshots that there are: no more are kept`);
    this.#kept.set(name, { state: this.#state.copy(), clockOffsetMs: this.#clock.offset });
  }

  restore(name: string): void {
    const { state, clockOffsetMs } = this.#need(name);
    this.#clock.reset();
    this.#clock.advance(clockOffsetMs);
    this.#state.restore(state);
  }

  remove(name: string): void {
    this.#need(name);
    this.#kept.delete(name);
  }

  #need(name: string): Snapshot {
    const snapshot = this.#kept.get(name);
    if (snapshot === undefined)
      throw new Unknown(`no snapshot ${name}; known: ${this.names().join(', ') || 'none'}`);
    return snapshot;
  }
}
