import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Cluster, Redis } from 'ioredis';
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

/** Returns what two gateways have seen together. Of two identities it is the one that was confirmed last. */
export function joined(own: Seen | undefined, other: Seen | undefined): Seen | undefined {
  if (!own || !other) return own ?? other;
  if (own.identity === other.identity) return { ...own, numbers: highest(own.numbers, other.numbers) };
  return own.confirmedAt > other.confirmedAt ? own : other;
}

/** A place outside of the database where a text outlives the process. Both calls may reject. */
export interface SeenPlace {
  /** Resolves to null if there is no text. */
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
  #planned: NodeJS.Timeout | undefined;
  #sharing: Promise<unknown> = Promise.resolve();

  constructor(private readonly place: SeenPlace) {}

  /** Returns at once. */
  keep(seen: Seen): void {
    this.#seen = joined(seen, this.#seen);
    this.#planned ??= setTimeout(
      edge('memory of the database', () => this.flush()),
      COLLECT_MS,
    );
  }

  /** Resolves when everything that was passed to `keep` is stored, or the place does not answer. */
  async flush(): Promise<void> {
    clearTimeout(this.#planned);
    this.#planned = undefined;
    // The next check writes it.
    await this.share().catch(() => undefined);
  }

  /**
   * Resolves to what all gateways have seen, once the place has what was passed to `keep`. Undefined if nobody has seen anything. Rejects if
   * the place does not answer.
   */
  share(): Promise<Seen | undefined> {
    const sharing = this.#sharing.then(() => this.#share());
    this.#sharing = sharing.catch(() => undefined);
    return sharing;
  }

  async #share(): Promise<Seen | undefined> {
    const before = seenIn(await this.place.read());
    // The place may have been emptied, or another process may have seen more.
    const all = joined(this.#seen, before);
    if (all && !isDeepStrictEqual(all, before)) await this.place.write(JSON.stringify(all));
    this.#seen = joined(this.#seen, all);
    return all;
  }
}

/** Returns undefined for a text that is none of ours. */
function seenIn(text: string | null): Seen | undefined {
  try {
    return schema.parse(JSON.parse(text ?? ''));
  } catch {
    return undefined;
  }
}

/** A small file next to the file of the database. */
export function besideFile(database: string, platform: string): SeenPlace {
  const path = `${database}.seen-${createHash('sha256').update(platform).digest('hex').slice(0, 8)}`;
  const part = `${path}.${process.pid}`;
  return {
    read: () =>
      readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null;
        throw error;
      }),
    write: (text) => writeFile(part, text).then(() => rename(part, path)),
  };
}

/** A key in Redis. `environment` is the first part of the names of all keys. */
export function inRedis(
  environment: string,
  run: <T>(command: (client: Redis | Cluster) => Promise<T>) => Promise<T>,
): SeenPlace {
  const key = `${environment}:database`;
  return {
    read: () => run((client) => client.get(key)),
    write: (text) => run((client) => client.set(key, text)),
  };
}
