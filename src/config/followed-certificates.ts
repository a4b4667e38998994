import {
  type CertificateFiles,
  type Certificates,
  certificatesIn,
  type CertificateVariables,
  readCertificates,
} from './certificate-files.ts';
import { followFiles } from './watched-file.ts';

type FollowLog = Record<'info' | 'error', (fields: Record<string, string>, message: string) => void>;

/** Certificates whose files may be replaced while the process runs. */
export class FollowedCertificates {
  #current: Certificates;
  /** The private key, and the one before it: the log must show neither. */
  readonly keys: string[];

  constructor(
    private readonly variables: CertificateVariables,
    private readonly files: CertificateFiles,
    first: Certificates,
  ) {
    this.#current = first;
    this.keys = first.key ? [first.key] : [];
  }

  /** Another object after each change. */
  get current(): Certificates {
    return this.#current;
  }

  /**
   * Calls `take` now and with each change, until the returned function is called. Files that are half written, or do not fit each other,
   * change nothing: the log says so, and the next change of a file is another attempt.
   */
  follow(take: (now: Certificates) => void, log: FollowLog): () => void {
    const paths = Object.values(this.files).map(({ path }) => path);
    const names = Object.values(this.files)
      .map(({ variable }) => variable)
      .join(', ');
    const again = () => {
      const faults: string[] = [];
      const read = readCertificates(this.files, this.variables, faults);
      if (faults.length > 0) {
        const fields = { event: 'certificates-rejected', files: names, reason: faults.join('; ') };
        return log.error(fields, 'The files of certificates are invalid; the last valid ones stay in use');
      }
      if (isSame(read, this.#current)) return;
      take(read);
      this.#current = read;
      if (read.key && read.key !== this.keys[0]) this.keys.splice(0, 2, read.key, ...this.keys.slice(0, 1));
      log.info({ event: 'certificates-reloaded', files: names }, 'Certificates re-read');
    };
    take(this.#current);
    // They may have changed since the start.
    return followFiles(paths, again, again);
  }
}

function isSame(one: Certificates, other: Certificates): boolean {
  return one.ca === other.ca && one.cert === other.cert && one.key === other.key;
}

/** When the first of these certificates ends, in seconds since 1970. */
export function firstEnd(pem: string): number {
  return Math.min(...certificatesIn(pem).map(({ validToDate }) => validToDate.getTime())) / 1_000;
}
