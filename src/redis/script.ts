import { createHash } from 'node:crypto';
import type { RedisCommander } from 'ioredis';

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
}
