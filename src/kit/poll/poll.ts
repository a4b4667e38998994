import { edge } from '../../shared/edge.ts';

/**
 * Runs `work` every `everyMs`, one run at a time. A run is left out if the last one has not ended. The timer does not keep the process
 * alive. Returns the function that stops the poller, after which no run begins.
 */
export function poll(at: string, everyMs: number, work: () => unknown): () => void {
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
  const timer = setInterval(edge(at, run), everyMs).unref();
  return () => clearInterval(timer);
}
