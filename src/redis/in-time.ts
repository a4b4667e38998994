const SLICE_MS = 50;
/** 250 ms: what a request may lose to Redis at most. */
const SLICES = 5;

/**
 * The command's answer, or the error that the client itself would time out with. Only time in which this process was awake counts: with a
 * single timer, a process that was busy for 250 ms would find its timer due before it has read the answer that lies there, and
 * a thousand callers at a cold start would make it believe that Redis is away.
 */
export function inTime<T>(command: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let left = SLICES;
    const passed = () => {
      if (--left > 0) timer = setTimeout(passed, SLICE_MS);
      else reject(new Error('Command timed out'));
    };
    let timer = setTimeout(passed, SLICE_MS);
    command.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
