import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Certificates } from '../config/certificate-files.ts';
import { firstEnd, type FollowedCertificates } from '../config/followed-certificates.ts';
import {
  type FileFields,
  type FileReports,
  followSettings,
  type SettingsFile,
} from '../config/watched-file.ts';
import { Log } from './log.ts';
import type { CertificateName } from './metric-tables.ts';
import { Metrics } from './metrics.ts';

/** A file whose content was refused when it changed. The earlier content is in use. */
export interface RefusedFile {
  /** The variable that names the file. */
  readonly file: string;
  readonly reason: string;
}

/** Follows files while the process runs, logs the result of reading them again, and remembers those whose content is refused. */
@Injectable()
export class FollowedFiles implements FileReports, OnApplicationShutdown {
  /** The reasons of refusals. Undefined for a file whose content was accepted again. */
  readonly #reasons = new Map<string, string | undefined>();
  readonly #unfollow: (() => void)[] = [];

  constructor(
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    metrics.follow('gateway_followed_file_refused', () =>
      [...this.#reasons].map(([file, reason]) => [{ file }, Number(reason !== undefined)]),
    );
  }

  /** Calls `take` now and with each valid content. Throws a ConfigError if the file is invalid now. */
  settings<T>(file: SettingsFile<T>, take: (content: T) => number | undefined): void {
    this.#unfollow.push(followSettings(file, take, this));
  }

  /** Calls `take` now and with each change, and measures under `names` when the certificates end. */
  certificates(
    certificates: FollowedCertificates,
    names: Readonly<Record<'cert' | 'ca', CertificateName>>,
    take?: (now: Certificates) => void,
  ): void {
    const measure = (certificate: CertificateName, pem: string) =>
      this.metrics.set('gateway_certificate_expiry_timestamp_seconds', { certificate }, firstEnd(pem));
    const takeAll = (now: Certificates) => {
      take?.(now);
      if (now.cert) measure(names.cert, now.cert);
      if (now.ca) measure(names.ca, now.ca);
    };
    this.#unfollow.push(certificates.follow(takeAll, this));
  }

  onApplicationShutdown(): void {
    for (const unfollow of this.#unfollow) unfollow();
  }

  get refusedNow(): RefusedFile[] {
    return [...this.#reasons].flatMap(([file, reason]) => (reason === undefined ? [] : [{ file, reason }]));
  }

  taken(file: string, fields: FileFields, message: string): void {
    this.#reasons.set(file, undefined);
    this.log.info(fields, message);
  }

  /** Handles unchanged content, which the log does not mention. */
  unchanged(file: string): void {
    this.#reasons.set(file, undefined);
  }

  refused(file: string, fields: FileFields & { readonly reason: string }, message: string): void {
    this.#reasons.set(file, fields.reason);
    this.log.error(fields, message);
  }
}
