import { edge } from '../../shared/edge.ts';

/**
 * Runs `work` every `everyMs`, one run at a time. A run is left out if the last one has not ended. The timer does not keep the process
 * alive. The first run comes after `everyMs`, or at once with `isAtOnce`. Returns the function that stops the poller, after which no run begins.
 */
export function poll(at: string, everyMs: number, work: () => unknown, isAtOnce = false): () => void {
  let isRunning = false;
  const run = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    try {
      await work();
    } finally {
      isRunning = false;
    }
  };
  const runOnce = edge(at, run);
  if (isAtOnce) runOnce();
  const timer = setInterval(runOnce, everyMs).unref();
  return () => clearInterval(timer);
}
