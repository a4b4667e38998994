/**
 * Runs in the demo's gateway before the gateway itself. The gateway's clock then follows the sandbox's, so that a moved clock has an effect
 * on both sides. It is no part of the build or of an image, and no setting of the gateway leads to it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { moveClock } from '../sandbox-package/src/moved-clock.ts';

const EVERY_MS = 250;
const clock = process.env['DEMO_SANDBOX_CLOCK'];
if (clock === undefined || process.env['NODE_ENV'] === 'production')
  throw new Error('only the demo follows the clock of a sandbox');

void follow(clock);

async function follow(url: string): Promise<never> {
  for (;;) {
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) });
      moveClock(((await answer.json()) as { aheadMs: number }).aheadMs);
    } catch {
      // The sandbox is starting or ending, so the clock is not changed.
    }
    await sleep(EVERY_MS, undefined, { ref: false });
  }
}
