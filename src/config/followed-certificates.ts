import {
  type CertificateFile,
  type CertificateFiles,
  type Certificates,
  certificatesIn,
  type CertificateVariables,
  readCertificates,
} from './certificate-files.ts';

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

  /** The variables that name the files, and the paths. */
  get named(): readonly CertificateFile[] {
    return Object.values(this.files);
  }

  /** Reads the files again. Files that are half written, or do not fit each other, change nothing. Returns the fault if there is one. */
  reread(): string | undefined {
    const faults: string[] = [];
    const read = readCertificates(this.files, this.variables, faults);
    if (faults.length > 0) return faults.join('; ');
    if (isSame(read, this.#current)) return undefined;
    this.#current = read;
    if (read.key && read.key !== this.keys[0]) this.keys.splice(0, 2, read.key, ...this.keys.slice(0, 1));
    return undefined;
  }
}

function isSame(one: Certificates, other: Certificates): boolean {
  return one.ca === other.ca && one.cert === other.cert && one.key === other.key;
}

/** When the first of these certificates ends, in seconds since 1970. */
export function firstEnd(pem: string): number {
  return Math.min(...certificatesIn(pem).map(({ validToDate }) => validToDate.getTime())) / 1_000;
}
