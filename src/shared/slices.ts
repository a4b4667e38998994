import { edge } from './edge.ts';

/** The time for which a piece of work may run before other requests have their turn. */
const SLICE_MS = 4;

const waiting: (() => void)[] = [];

/** Continues one piece of work in each turn of the event loop, so that many pieces delay other requests only as long as one does. */
function oneGoesOn(): void {
  const goOn = waiting.shift();
  if (waiting.length > 0) setImmediate(turn);
  goOn?.();
}

const turn = edge('turn of work', oneGoesOn);

/** Begins work that cannot be divided, in a turn of the event loop of its own. */
export function inOwnTurn(begin: () => void): void {
  waiting.push(begin);
  if (waiting.length === 1) setImmediate(turn);
}

/** Divides work that takes long. The work calls `await slices.rest()` at short intervals. */
export class Slices {
  #since = performance.now();

  /** Resolves when the work may go on. Returns undefined if it may go on at once. */
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
