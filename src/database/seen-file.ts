import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { edge } from '../shared/edge.ts';

/** What a gateway has seen of a database: its identity, and the highest numbers. */
export interface Seen {
  readonly identity: string;
  /** When an operator confirmed it, by the clock of the database; 0: a gateway made it. */
  readonly confirmedAt: number;
  readonly numbers: Readonly<Record<string, number>>;
}

export function highest(one: Seen['numbers'] = {}, other: Seen['numbers'] = {}): Seen['numbers'] {
  const names = Object.keys({ ...one, ...other });
  return Object.fromEntries(names.map((name) => [name, Math.max(one[name] ?? 0, other[name] ?? 0)]));
}

/** Outlives the process, and is not in the database. */
export interface SeenMemory {
  recall(): Promise<Seen | undefined>;
  /** Returns at once. Within one identity the numbers never fall. */
  keep(seen: Seen): void;
  /** Resolves when all that was given to `keep` is kept. */
  flush(): Promise<void>;
}

/** Changes within this time are written together. */
const COLLECT_MS = 50;

const schema = z.object({
  identity: z.string(),
  confirmedAt: z.number(),
  numbers: z.record(z.string(), z.number()),
});

/** The memory for the database of a file: a small file beside it. So a copy that was put back is noticed after a restart too. */
export class SeenFile implements SeenMemory {
  readonly #path: string;
  #seen: Seen | undefined;
  #written: Seen | undefined;
  #planned: NodeJS.Timeout | undefined;
  #writing = Promise.resolve();

  constructor(database: string, platform: string) {
    this.#path = `${database}.seen-${createHash('sha256').update(platform).digest('hex').slice(0, 8)}`;
  }

  async recall(): Promise<Seen | undefined> {
    try {
      return schema.parse(JSON.parse(readFileSync(this.#path, 'utf8')));
    } catch {
      return undefined;
    }
  }

  keep(seen: Seen): void {
    this.#seen = seen;
    this.#planned ??= setTimeout(
      edge('file beside the database', () => this.flush()),
      COLLECT_MS,
    );
  }

  flush(): Promise<void> {
    clearTimeout(this.#planned);
    this.#planned = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const seen = this.#seen;
    if (!seen || seen === this.#written) return;
    const before = await this.recall();
    // Another process may have seen more.
    const numbers = highest(before?.identity === seen.identity ? before.numbers : {}, seen.numbers);
    const part = `${this.#path}.${process.pid}`;
    try {
      await writeFile(part, JSON.stringify({ ...seen, numbers }));
      await rename(part, this.#path);
      this.#written = seen;
    } catch {
      // It is written with the next commit.
    }
  }
}
