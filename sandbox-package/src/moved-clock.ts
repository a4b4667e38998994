const machine = Date.now;
const uptime = performance.now.bind(performance);
let ahead = 0;
/** The uptime of the process. It never decreases, and grows with each move ahead. */
let passed = 0;

/** Moves the clock of this process, so that it is this far ahead of the machine's. */
export function moveClock(aheadMs: number): void {
  passed += Math.max(0, aheadMs - ahead);
  ahead = aheadMs;
  Date.now = () => machine() + ahead;
  performance.now = () => uptime() + passed;
}
