import { errorSummary } from './error-summary.ts';
import type { Log } from './log.ts';

/** At most one line of an edge in this time: a timer may fail forty times a second. */
const EVERY_MS = 1_000;

/** Writes the faults that edges catch into the log. */
export function faultLog(log: Log): (at: string, fault: unknown) => void {
  const edges = new Map<string, { toldAt: number; untold: number }>();
  return (at, fault) => {
    const now = performance.now();
    const known = edges.get(at);
    if (known && now - known.toldAt < EVERY_MS) {
      known.untold++;
      return;
    }
    edges.set(at, { toldAt: now, untold: 0 });
    log.error(
      { event: 'fault', at, ...errorSummary(fault), untold: known?.untold || undefined },
      'Something failed inside the gateway, which goes on',
    );
  };
}
