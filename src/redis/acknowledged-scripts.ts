import { Batcher } from '../kit/batcher/batcher.ts';
import { isUnknown, runAndWait, type ScriptRun } from '../kit/redis-script/redis-script.ts';
import type { SharedRedis } from './shared-redis.ts';

/** Shorter than the time that a request waits for Redis, because WAIT blocks the connection. */
const TIMEOUT_MS = 150;

type Run = ScriptRun & { readonly byHash: boolean };

export interface Acknowledged {
  readonly reply: unknown[];
  /** As many replicas as have to have what the script wrote. */
  readonly acknowledged: boolean;
}

/** For writes that must survive a failover. WAIT blocks its whole connection, so one at a time covers all runs that came meanwhile. */
export class AcknowledgedScripts {
  readonly #runs = new Batcher<Run, Acknowledged | Error>('order store', (runs) => this.#runAll(runs));

  constructor(
    private readonly redis: SharedRedis,
    /** How many replicas have to have a write. */
    private readonly replicas: () => number,
  ) {}

  async run(run: ScriptRun): Promise<Acknowledged> {
    let result = await this.#runs.add({ ...run, byHash: true });
    if (isUnknown(result)) result = await this.#runs.add({ ...run, byHash: false });
    if (result instanceof Error) throw result;
    return result;
  }

  async #runAll(runs: readonly Run[]): Promise<(Acknowledged | Error)[]> {
    const how = { replicas: this.replicas(), timeoutMs: TIMEOUT_MS, byHash: runs.every((run) => run.byHash) };
    const { results, replicas } = await this.redis.run((client) => runAndWait(client, runs, how));
    const acknowledged = replicas >= how.replicas;
    return results.map((reply) =>
      reply instanceof Error ? reply : { reply: reply as unknown[], acknowledged },
    );
  }
}
