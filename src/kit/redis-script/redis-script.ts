import { createHash } from 'node:crypto';
import type { ChainableCommander, Cluster, Redis, RedisCommander } from 'ioredis';

export type RunCommand = <T>(command: (client: RedisCommander) => Promise<T>) => Promise<T>;

/** A Lua script, sent by its hash once Redis knows it, because the text is longer than everything else that is sent. */
export class Script {
  readonly #hash: string;

  constructor(private readonly text: string) {
    this.#hash = createHash('sha1').update(text).digest('hex');
  }

  /** Runs as one atomic step. A server that restarted or became the master gets the text again. */
  async run<T>(
    client: RedisCommander,
    keys: readonly string[],
    values: readonly (string | number | Buffer)[],
  ): Promise<T> {
    const all = [...keys, ...values];
    try {
      return (await client.evalsha(this.#hash, keys.length, ...all)) as T;
    } catch (error) {
      if (!isUnknown(error)) throw error;
      return (await client.eval(this.text, keys.length, ...all)) as T;
    }
  }

  addTo(pipeline: ChainableCommander, { keys, values }: ScriptRun, byHash: boolean): void {
    if (byHash) pipeline.evalsha(this.#hash, keys.length, ...keys, ...values);
    else pipeline.eval(this.text, keys.length, ...keys, ...values);
  }
}

/**
 * Sends several runs in one pipeline and then WAIT, which returns how many replicas have all of them. All use one connection, so
 * that WAIT covers these writes; in a cluster, the node of their keys. Where the server does not know the hash, the run is an
 * error ({@link isUnknown}).
 */
export async function runAndWait(
  client: Redis | Cluster,
  runs: readonly ScriptRun[],
  { replicas, timeoutMs, byHash }: Readonly<{ replicas: number; timeoutMs: number; byHash: boolean }>,
): Promise<{ readonly results: readonly unknown[]; readonly replicas: number }> {
  const pipeline = client.pipeline();
  for (const run of runs) run.script.addTo(pipeline, run, byHash);
  pipeline.wait(replicas, timeoutMs);
  const replies = (await pipeline.exec()) ?? [];
  const results = replies.map(([error, result]) => error ?? result);
  const acknowledged = results.pop();
  return { results, replicas: typeof acknowledged === 'number' ? acknowledged : 0 };
}

export interface ScriptRun {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly values: readonly (string | number)[];
}

/** Whether the server has not seen the script since it started. */
export function isUnknown(result: unknown): boolean {
  return result instanceof Error && result.message.startsWith('NOSCRIPT');
}
