import { statSync } from 'node:fs';
import { poll } from '../kit/poll/poll.ts';
import { ConfigError } from './config-error.ts';
import { SettingsFileError } from './settings-file.ts';

/** Polling notices a file that was replaced by renaming or through a mounted volume; notifications miss these. */
const POLL_MS = 1_000;

export interface SettingsFile<T> {
  /** What the log calls the content: `callers` has the events `callers-reloaded` (with the field `callers`) and `callers-rejected`. */
  readonly name: string;
  readonly variable: string;
  readonly path: string;
  readonly read: (path: string) => T;
}

export type FileFields = Readonly<Record<string, string | number | undefined>>;

/** Is told what the gateway did with each change of a followed file. `file` is the variable that names the file. */
export interface FileReports {
  taken(file: string, fields: FileFields, message: string): void;
  unchanged(file: string): void;
  /** `reason` contains no value from the file. */
  refused(file: string, fields: FileFields & { readonly reason: string }, message: string): void;
}

/**
 * Follows a settings file until the returned function is called, so that an operator rotates keys and passwords without a restart.
 * `take` returns how many entries it took, or undefined if the file has none. A file that is invalid at the start is a {@link ConfigError};
 * later the last valid content stays in use.
 */
export function followSettings<T>(
  { name, variable, path, read }: SettingsFile<T>,
  take: (content: T) => number | undefined,
  reports: FileReports,
): () => void {
  const again = (told?: string) => {
    try {
      const title = name.replace(/^./, (letter) => letter.toUpperCase());
      const fields = { event: `${name}-reloaded`, [name]: take(read(path)) };
      reports.taken(variable, fields, `${title} file re-read`);
      return undefined;
    } catch (error) {
      const reason = error instanceof SettingsFileError ? error.message : 'could not be read';
      const message = `The ${name} file is invalid; the last valid content stays in use`;
      if (reason !== told) reports.refused(variable, { event: `${name}-rejected`, reason }, message);
      return reason;
    }
  };
  const first = () => {
    take(read(path));
    return undefined;
  };
  try {
    return followFiles([path], first, again);
  } catch (error) {
    if (error instanceof SettingsFileError) throw new ConfigError([`${variable} ${error.message}`]);
    throw error;
  }
}

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
