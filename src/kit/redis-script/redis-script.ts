import { createHash } from 'node:crypto';
import type { RedisCommander } from 'ioredis';

export type RunCommand = <T>(command: (client: RedisCommander) => Promise<T>) => Promise<T>;

/** A Lua script. Once Redis knows it, only its hash is sent, because the text is longer than everything else in the command. */
export class Script {
  readonly #hash: string;

  constructor(private readonly text: string) {
    this.#hash = createHash('sha1').update(text).digest('hex');
  }

  /** Runs the script as one atomic step. The text is sent again to a server that restarted or became the master. */
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

/** True if the server has not seen the script since it started. */
function isUnknown(result: unknown): boolean {
  return result instanceof Error && result.message.startsWith('NOSCRIPT');
}
