import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { edge } from '../shared/edge.ts';

/** The observations of a gateway about a database: its identity, and the highest numbers. */
export interface Seen {
  readonly identity: string;
  /** When an operator confirmed the identity, by the clock of the database. 0 if a gateway made the identity. */
  readonly confirmedAt: number;
  readonly numbers: Readonly<Record<string, number>>;
}

export function highest(one: Seen['numbers'] = {}, other: Seen['numbers'] = {}): Seen['numbers'] {
  const names = Object.keys({ ...one, ...other });
  return Object.fromEntries(names.map((name) => [name, Math.max(one[name] ?? 0, other[name] ?? 0)]));
}

/** A place outside of the database where a text outlives the process. Both calls may reject. */
export interface SeenPlace {
  read(): Promise<string | null>;
  write(text: string): Promise<unknown>;
}

/** Changes within this time are written together. */
const COLLECT_MS = 50;

const schema = z.object({
  identity: z.string(),
  confirmedAt: z.number(),
  numbers: z.record(z.string(), z.number()),
});

/** Remembers what gateways have seen of the database, so that a gateway that starts after a loss notices the loss too. */
export class SeenMemory {
  #seen: Seen | undefined;
  #written: Seen | undefined;
  #planned: NodeJS.Timeout | undefined;
  #writing = Promise.resolve();

  constructor(private readonly place: SeenPlace) {}

  async recall(): Promise<Seen | undefined> {
    try {
      return schema.parse(JSON.parse((await this.place.read()) ?? ''));
    } catch {
      return undefined;
    }
  }

  /** Returns at once. Within one identity the numbers never decrease. */
  keep(seen: Seen): void {
    this.#seen = seen;
    this.#planned ??= setTimeout(
      edge('memory of the database', () => this.flush()),
      COLLECT_MS,
    );
  }

  /** Resolves when everything that was passed to `keep` is stored. */
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
    try {
      await this.place.write(JSON.stringify({ ...seen, numbers }));
      this.#written = seen;
    } catch {
      // The next commit writes the file again.
    }
  }
}

/** A small file next to the file of the database. */
export function besideFile(database: string, platform: string): SeenPlace {
  const path = `${database}.seen-${createHash('sha256').update(platform).digest('hex').slice(0, 8)}`;
  const part = `${path}.${process.pid}`;
  return {
    read: () => readFile(path, 'utf8'),
    write: (text) => writeFile(part, text).then(() => rename(part, path)),
  };
}
