import { setTimeout as sleep } from 'node:timers/promises';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Admission } from './admission.ts';
import { errorSummary } from '../observability/error-summary.ts';
import { Log } from '../observability/log.ts';
import { WriteRecorder } from '../order-ledger/write-recorder.ts';
import { UpstreamPools } from '../transport/upstream-pools.ts';

interface Ending {
  /** The time for which the process still accepts connections, until load balancers have noticed that it is not ready. */
  readonly lingerMs: number;
  /**
   * The time after which running calls to the platform end, and their callers get a timeout. The process then waits no longer for a database
   * that does not respond.
   */
  readonly giveUpMs: number;
  /** The time after which the process ends all remaining work. */
  readonly exitMs: number;
  readonly code: 0 | 1;
}

const TERM: Ending = { lingerMs: 5_000, giveUpMs: 33_000, exitMs: 35_000, code: 0 };
/** The steps after SIGINT. There is no load balancer, and a developer waits. */
const INTERRUPT: Ending = { ...TERM, lingerMs: 0 };
/** The steps after an uncaught failure. The state of the process may be wrong, so it accepts nothing new and ends soon. */
const FATAL: Ending = { lingerMs: 0, giveUpMs: 9_000, exitMs: 10_000, code: 1 };

/**
 * Ends the process without losing running requests: on SIGTERM, on SIGINT, and on an uncaught failure. A second signal has no effect.
 * `atLast` runs when all requests are done.
 */
export function endInOrder(app: NestFastifyApplication, atLast: () => Promise<void>): void {
  const admission = app.get(Admission);
  const log = app.get(Log);
  let code: 0 | 1 = 0;

  const giveUp = (): void => {
    app.get(UpstreamPools).endExchanges();
    app.get(WriteRecorder).giveUp();
  };

  const end = async (ending: Ending): Promise<void> => {
    code = code || ending.code;
    setTimeout(() => process.exit(1), ending.exitMs).unref();
    setTimeout(giveUp, ending.giveUpMs).unref();
    if (admission.draining) return;
    admission.draining = true;
    await sleep(ending.lingerMs);
    // Nest would close the listener only after it has waited for all workers.
    await Promise.all([app.getHttpAdapter().close(), app.close()]);
    await atLast();
    process.exit(code);
  };

  const fatal = (kind: string, error: unknown): void => {
    log.error({ event: kind, ...errorSummary(error) }, 'Uncaught failure: the process ends');
    void end(FATAL);
  };

  process.on('SIGTERM', () => void end(TERM));
  process.on('SIGINT', () => void end(INTERRUPT));
  process.on('uncaughtException', (error) => fatal('uncaught-exception', error));
  process.on('unhandledRejection', (reason) => fatal('unhandled-rejection', reason));
}
