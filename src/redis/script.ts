import { createHash } from 'node:crypto';
import type { ChainableCommander, Cluster, Redis, RedisCommander } from 'ioredis';

/** A Lua script, which Redis knows by its hash once it has seen it: the text is longer than everything else that is sent. */
export class Script {
  readonly #hash: string;

  constructor(private readonly text: string) {
    this.#hash = createHash('sha1').update(text).digest('hex');
  }

  /** One atomic step. A server that restarted or took over is sent the text again. */
  async run<T>(
    client: RedisCommander,
    keys: readonly string[],
    values: readonly (string | number)[],
  ): Promise<T> {
    const all = [...keys, ...values];
    try {
      return (await client.evalsha(this.#hash, keys.length, ...all)) as T;
    } catch (error) {
      if (!isUnknown(error)) throw error;
      return (await client.eval(this.text, keys.length, ...all)) as T;
    }
  }

  /** As one step of a pipeline. */
  addTo(pipeline: ChainableCommander, { keys, values }: ScriptRun, byHash: boolean): void {
    if (byHash) pipeline.evalsha(this.#hash, keys.length, ...keys, ...values);
    else pipeline.eval(this.text, keys.length, ...keys, ...values);
  }
}

/**
 * Several runs in one pipeline, and then WAIT: how many replicas have all of them. On one connection, so that WAIT speaks of these
 * writes; of a cluster, on the node that has their keys. A run that the server does not know by its hash is an error ({@link isUnknown}).
 */
export async function runAndWait(
  client: Redis | Cluster,
  runs: readonly ScriptRun[],
  { replicas, timeoutMs, byHash }: AcknowledgedRuns,
): Promise<{ readonly results: readonly unknown[]; readonly replicas: number }> {
  const pipeline = client.pipeline();
  for (const run of runs) run.script.addTo(pipeline, run, byHash);
  pipeline.wait(replicas, timeoutMs);
  const answers = (await pipeline.exec()) ?? [];
  const results = answers.map(([error, result]) => error ?? result);
  const acknowledged = results.pop();
  return { results, replicas: typeof acknowledged === 'number' ? acknowledged : 0 };
}

interface AcknowledgedRuns {
  readonly replicas: number;
  readonly timeoutMs: number;
  readonly byHash: boolean;
}

export interface ScriptRun {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly values: readonly (string | number)[];
}

/** The server has not seen the script since it started. */
export function isUnknown(result: unknown): boolean {
  return result instanceof Error && result.message.startsWith('NOSCRIPT');
}
