import type { RunCommand } from '../redis-script/redis-script.ts';
import type { Sealer } from './sealer.ts';

/**
 * Texts in Redis that only the holders of the encryption keys can read. A value that cannot be opened counts as missing: it was sealed under
 * another key, copied from another place, or not written by the gateway. It stays, since a process with more keys may be able to read it.
 */
export class SealedStore {
  constructor(
    private readonly sealer: Sealer,
    private readonly run: RunCommand,
    /** Called for each value that cannot be opened. */
    private readonly unreadable: () => void,
  ) {}

  seal(text: string, key: string): string {
    return this.sealer.seal(text, key);
  }

  /** `value`: as Redis has it; null where it has none. */
  open(value: string | null, key: string): string | undefined {
    if (value === null) return undefined;
    const text = this.sealer.open(value, key);
    if (text === undefined) this.unreadable();
    return text;
  }

  async get(key: string): Promise<string | undefined> {
    return this.open(await this.run((client) => client.get(key).catch(emptyIfForeign)), key);
  }

  /** Each text has an end of its life: it is a copy, or a right. */
  async set(key: string, text: string, lifeMs: number): Promise<void> {
    const life = Math.max(1, Math.floor(lifeMs));
    await this.run((client) => client.set(key, this.seal(text, key), 'PX', life));
  }
}

/** For `catch` after a read. The gateway did not write a value of another type, so it counts as one that cannot be opened. */
export function emptyIfForeign(error: unknown): string {
  if (error instanceof Error && error.message.startsWith('WRONGTYPE ')) return '';
  throw error;
}
