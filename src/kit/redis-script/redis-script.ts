import { createHash } from 'node:crypto';
import type { RedisCommander } from 'ioredis';

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
}

/** Whether the server has not seen the script since it started. */
function isUnknown(result: unknown): boolean {
  return result instanceof Error && result.message.startsWith('NOSCRIPT');
}
