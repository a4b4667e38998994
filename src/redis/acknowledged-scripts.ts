import { isUnknown, runAndWait, type ScriptRun } from './script.ts';
import type { SharedRedis } from './shared-redis.ts';
import { inBackground } from '../shared/edge.ts';

/** Shorter than the time that a request waits for Redis, because WAIT blocks the connection. */
const TIMEOUT_MS = 150;

interface Waiting extends ScriptRun {
  readonly resolve: (result: Acknowledged) => void;
  readonly reject: (error: unknown) => void;
}

interface Acknowledged {
  readonly answer: unknown[];
  /** As many replicas as have to have what the script wrote. */
  readonly acknowledged: boolean;
}

/**
 * Scripts whose writes must survive a failover. WAIT blocks its whole connection, so one WAIT at a time covers all runs that came
 * meanwhile. With one WAIT for each run, a stalled replica would block a hundred callers for 150 ms each, one after the other.
 */
export class AcknowledgedScripts {
  #waiting: Waiting[] = [];
  #busy = false;

  constructor(
    private readonly redis: SharedRedis,
    /** How many replicas have to have a write. */
    private readonly replicas: () => number,
  ) {}

  run(run: ScriptRun): Promise<Acknowledged> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...run, resolve, reject });
      if (!this.#busy) inBackground('order store', () => this.#runAll());
    });
  }

  /** Never fails. */
  async #runAll(): Promise<void> {
    this.#busy = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#runBatch(batch, true);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#busy = false;
  }

  async #runBatch(batch: readonly Waiting[], byHash: boolean): Promise<void> {
    const how = { replicas: this.replicas(), timeoutMs: TIMEOUT_MS, byHash };
    const { results, replicas } = await this.redis.run((client) => runAndWait(client, batch, how));
    const unknown: Waiting[] = [];
    for (const [index, waiting] of batch.entries()) {
      const answer = results[index];
      if (isUnknown(answer)) unknown.push(waiting);
      else if (answer instanceof Error) waiting.reject(answer);
      else waiting.resolve({ answer: answer as unknown[], acknowledged: replicas >= how.replicas });
    }
    if (unknown.length > 0) await this.#runBatch(unknown, false);
  }
}
