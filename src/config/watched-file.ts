import { statSync } from 'node:fs';
import { poll } from '../kit/poll/poll.ts';

/** Polling notices a file that was replaced by renaming or through a mounted volume; notifications miss these. */
const POLL_MS = 250;

/** Takes the content of files. Returns why it was refused, if it was. `told` is the reason of the last attempt at the same files. */
type Attempt = (told?: string) => string | undefined;

/**
 * Calls `first`, and `again` after each change of a file, until the returned function is called. Throws what `first` throws. A refused
 * content is tried again also without a change, because a read may fail for a reason that passes.
 */
export function followFiles(paths: readonly string[], first: Attempt, again: Attempt): () => void {
  const look = () => paths.map(fingerprint).join('\n');
  // The text is taken before the files are read, so that a change in between is noticed. `watchFile` looks later and would miss it.
  let seen = look();
  let refusal = first();
  const lookAgain = () => {
    const now = look();
    if (now === seen && refusal === undefined) return;
    const told = now === seen ? refusal : undefined;
    seen = now;
    refusal = again(told);
  };
  return poll('watched file', POLL_MS, lookAgain);
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
