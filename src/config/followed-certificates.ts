import {
  type CertificateFiles,
  type Certificates,
  certificatesIn,
  type CertificateVariables,
  readCertificates,
} from './certificate-files.ts';
import { type FileReports, followFiles } from './watched-file.ts';

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

  /** The certificates in use: a new object after each change. */
  get current(): Certificates {
    return this.#current;
  }

  /**
   * Calls `take` now and with each change, until the returned function is called. Files that are half written, or do not fit each other,
   * change nothing: that is reported, and they are read again until they are whole.
   */
  follow(take: (now: Certificates) => void, reports: FileReports): () => void {
    const paths = Object.values(this.files).map(({ path }) => path);
    const variables = Object.values(this.files).map(({ variable }) => variable);
    const names = variables.join(', ');
    // The files are taken together, so at most one of them is at fault.
    const unchanged = (but?: string) => {
      for (const variable of variables) if (variable !== but) reports.unchanged(variable);
    };
    const again = (told?: string) => {
      const faults: string[] = [];
      const read = readCertificates(this.files, this.variables, faults);
      if (faults.length > 0) {
        const reason = faults.join('; ');
        const fields = { event: 'certificates-rejected', files: names, reason };
        const message = 'The files of certificates are invalid; the last valid ones stay in use';
        // A fault begins with the name of the variable.
        const [atFault = ''] = reason.split(' ');
        unchanged(atFault);
        if (reason !== told) reports.refused(atFault, fields, message);
        return reason;
      }
      if (isSame(read, this.#current)) {
        unchanged();
        return undefined;
      }
      take(read);
      this.#current = read;
      if (read.key && read.key !== this.keys[0]) this.keys.splice(0, 2, read.key, ...this.keys.slice(0, 1));
      const fields = { event: 'certificates-reloaded', files: names };
      unchanged();
      reports.taken(this.variables.cert, fields, 'Certificates re-read');
      return undefined;
    };
    take(this.#current);
    // The files may have changed since the start.
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
