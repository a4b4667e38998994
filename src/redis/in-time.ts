import { edge } from '../shared/edge.ts';

const SLICE_MS = 25;
/** The longest time that a request waits for Redis. */
export const COMMAND_MS = 250;

interface Waiting {
  slices: number;
  readonly reject: (error: Error) => void;
}

const waiting = new Set<Waiting>();
let timer: NodeJS.Timeout | undefined;

/**
 * Returns the command's reply, or fails with the client's own timeout error. Only time in which this process was not blocked
 * counts. With a timer for each command, a process that was busy for 250 ms would time out before it reads the reply that has
 * already arrived, and a thousand callers at a cold start would make it believe that Redis is away.
 */
export function inTime<T>(command: Promise<T>, limitMs = COMMAND_MS): Promise<T> {
  return new Promise((resolve, reject) => {
    // The slice in which a command begins is not a whole one.
    const entry: Waiting = { slices: Math.ceil(limitMs / SLICE_MS) + 1, reject };
    waiting.add(entry);
    timer ??= setInterval(edge('redis timeouts', passSlice), SLICE_MS);
    command.then(
      (answer) => {
        waiting.delete(entry);
        resolve(answer);
      },
      (error: unknown) => {
        waiting.delete(entry);
        reject(error as Error);
      },
    );
  });
}

/** One timer for all commands. It stops when no command waits. */
function passSlice(): void {
  if (waiting.size === 0) {
    clearInterval(timer);
    timer = undefined;
  }
  for (const entry of waiting) {
    if (--entry.slices > 0) continue;
    waiting.delete(entry);
    entry.reject(new Error('Command timed out'));
  }
}
