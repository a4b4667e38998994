import { statSync } from 'node:fs';

/** Polling sees a file that was replaced by renaming or through a mounted volume, which notifications miss. */
const POLL_MS = 1_000;

interface Reactions<T> {
  changed(content: T): void;
  /** The file got broken: the last good content stands. */
  broken(error: unknown): void;
}

/** A file of settings that is re-read when it changes, so that keys and passwords rotate without a restart. */
export class WatchedFile<T> {
  #timer: NodeJS.Timeout | undefined;
  #seen = '';

  constructor(
    private readonly path: string,
    private readonly read: (path: string) => T,
    private readonly reactions: Reactions<T>,
  ) {}

  /** Reads it and watches it from now on. Throws what `read` throws. */
  open(): T {
    // Before it is read: a change in between is then seen as one (`watchFile` looks later, and would miss it).
    this.#seen = fingerprint(this.path);
    const content = this.read(this.path);
    this.#timer = setInterval(() => this.#look(), POLL_MS).unref();
    return content;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = fingerprint(this.path);
    if (now === this.#seen) return;
    this.#seen = now;
    try {
      this.reactions.changed(this.read(this.path));
    } catch (error) {
      this.reactions.broken(error);
    }
  }
}

/** Changes with the file; empty where there is none. */
function fingerprint(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join() : '';
}
