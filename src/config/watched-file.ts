import { statSync } from 'node:fs';
import { edge } from '../shared/edge.ts';

/** Polling notices a file that was replaced by renaming or through a mounted volume; notifications miss these. */
const POLL_MS = 1_000;

interface Reactions<T> {
  changed(content: T): void;
  /** The file is invalid now; the last valid content stays in use. */
  broken(error: unknown): void;
}

/** A settings file that is re-read when it changes, so that an operator rotates keys and passwords without a restart. */
export class WatchedFile<T> {
  #timer: NodeJS.Timeout | undefined;
  #seen = '';

  constructor(
    private readonly path: string,
    private readonly read: (path: string) => T,
    private readonly reactions: Reactions<T>,
  ) {}

  /** Reads the file and watches it from now on. Throws what `read` throws. */
  open(): T {
    // Taken before the file is read, so that a change in between is noticed. `watchFile` looks later and would miss it.
    this.#seen = fingerprint(this.path);
    const content = this.read(this.path);
    this.#timer = setInterval(
      edge('watched file', () => this.#look()),
      POLL_MS,
    ).unref();
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

/** A text that changes with the file, or with the reason why it cannot be looked at. */
function fingerprint(path: string): string {
  try {
    const stats = statSync(path, { bigint: true });
    return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join();
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
