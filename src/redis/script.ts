import { createHash } from 'node:crypto';
import type { Cluster, Redis, RedisCommander } from 'ioredis';

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
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      return (await client.eval(this.text, keys.length, ...all)) as T;
    }
  }

  /**
   * Several runs in one pipeline, and then WAIT: how many replicas have all of them. On one connection, so that WAIT speaks of these
   * writes; of a cluster, on the node that has their keys.
   */
  async runAndWait(
    client: Redis | Cluster,
    runs: readonly ScriptRun[],
    wait: { readonly replicas: number; readonly timeoutMs: number },
  ): Promise<{ readonly results: readonly unknown[]; readonly replicas: number }> {
    const first = await this.#pipelined(client, runs, wait, true);
    const unknown = runs.filter((_, index) => isUnknown(first.results[index]));
    if (unknown.length === 0) return first;
    const second = await this.#pipelined(client, unknown, wait, false);
    const again = second.results.values();
    const results = first.results.map((result) => (isUnknown(result) ? again.next().value : result));
    return {
      results,
      replicas: Math.min(second.replicas, unknown.length < runs.length ? first.replicas : Infinity),
    };
  }

  async #pipelined(
    client: Redis | Cluster,
    runs: readonly ScriptRun[],
    { replicas, timeoutMs }: { readonly replicas: number; readonly timeoutMs: number },
    byHash: boolean,
  ) {
    const pipeline = client.pipeline();
    for (const { keys, values } of runs)
      if (byHash) pipeline.evalsha(this.#hash, keys.length, ...keys, ...values);
      else pipeline.eval(this.text, keys.length, ...keys, ...values);
    pipeline.wait(replicas, timeoutMs);
    const answers = (await pipeline.exec()) ?? [];
    const results = answers.map(([error, result]) => error ?? result);
    const acknowledged = results.pop();
    return { results, replicas: typeof acknowledged === 'number' ? acknowledged : 0 };
  }
}

export interface ScriptRun {
  readonly keys: readonly string[];
  readonly values: readonly (string | number)[];
}

function isUnknown(result: unknown): boolean {
  return result instanceof Error && result.message.startsWith('NOSCRIPT');
}
