/**
 * Ends the process at a signal during its start, when nothing is under way yet. The first process of a container ignores a signal without a
 * listener, and would be killed only after the grace period. `main.ts` imports this file first, because its other imports take a while.
 */
const signals = ['SIGTERM', 'SIGINT'] as const;
const end = (): void => process.exit(0);

for (const signal of signals) process.on(signal, end);

/** Leaves the signals to the listeners that end a running process. */
export function leaveSignals(): void {
  for (const signal of signals) process.off(signal, end);
}
