import { edge } from './edge.ts';

/** A piece of work may go on for this time before other requests have their turn. */
const SLICE_MS = 4;

const waiting: (() => void)[] = [];

/** A turn of the event loop does one piece of work, so that many pieces hold up other requests no longer than one does. */
function oneGoesOn(): void {
  const goOn = waiting.shift();
  if (waiting.length > 0) setImmediate(turn);
  goOn?.();
}

const turn = edge('turn of work', oneGoesOn);

/** Begins work that cannot be divided, in a turn of its own. */
export function inOwnTurn(begin: () => void): void {
  waiting.push(begin);
  if (waiting.length === 1) setImmediate(turn);
}

/** Divides work that takes long: `await slices.rest()` at short intervals. */
export class Slices {
  #since = performance.now();

  /** Resolves when the work may go on; undefined while it may go on at once. */
  rest(): Promise<void> | undefined {
    if (performance.now() - this.#since < SLICE_MS) return undefined;
    return new Promise((resolve) => {
      inOwnTurn(() => {
        this.#since = performance.now();
        resolve();
      });
    });
  }
}
