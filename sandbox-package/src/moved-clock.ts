const machine = Date.now;
const uptime = performance.now.bind(performance);
let ahead = 0;
/** How long a process has been running never falls, and grows by each move ahead. */
let passed = 0;

/** Moves the clock of this process, so that it is this far ahead of the machine's. */
export function moveClock(aheadMs: number): void {
  passed += Math.max(0, aheadMs - ahead);
  ahead = aheadMs;
  Date.now = () => machine() + ahead;
  performance.now = () => uptime() + passed;
}
