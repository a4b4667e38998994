import { edge } from '../../shared/edge.ts';

/**
 * Runs `work` every so many ms, one run at a time: a time at which the last run has not ended is left out. It does not keep the process
 * alive. Returns the function that ends it, after which no run begins.
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
