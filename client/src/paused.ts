/** The longest time of a timer. A longer one would end at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Resolves after this time. Rejects with the reason of the signal if it is aborted first. */
export function paused(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', end);
        resolve();
      },
      Math.min(ms, MAX_TIMER_MS),
    );
    signal?.addEventListener('abort', end, { once: true });
  });
}
