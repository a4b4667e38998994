import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Certificates } from '../config/certificate-files.ts';
import { ConfigError } from '../config/config-error.ts';
import { firstEnd, type FollowedCertificates } from '../config/followed-certificates.ts';
import { SettingsFileError } from '../config/settings-file.ts';
import { followFiles } from '../config/watched-file.ts';
import { Log } from './log.ts';
import type { CertificateName } from './metric-tables.ts';
import { Metrics } from './metrics.ts';

interface SettingsFile<T> {
  /** The name of the content in the log: `callers` has the events `callers-reloaded` (with the field `callers`) and `callers-rejected`. */
  readonly name: string;
  readonly variable: string;
  readonly path: string;
  readonly read: (path: string) => T;
}

/** A file whose content was refused when it changed. The earlier content is in use. */
export interface RefusedFile {
  /** The variable that names the file. */
  readonly file: string;
  readonly reason: string;
}

/** Follows files while the process runs, logs the result of reading them again, and remembers those whose content is refused. */
@Injectable()
export class FollowedFiles implements OnApplicationShutdown {
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

  /**
   * Calls `take` now and with each valid content, so that an operator rotates keys and passwords without a restart. `take` returns how many
   * entries it took, or undefined if the file has none. Throws a ConfigError if the file is invalid now.
   */
  settings<T>(
    { name, variable, path, read }: SettingsFile<T>,
    take: (content: T) => number | undefined,
  ): void {
    const again = (told?: string) => {
      try {
        const title = name.replace(/^./, (letter) => letter.toUpperCase());
        const fields = { event: `${name}-reloaded`, [name]: take(read(path)) };
        this.#reasons.set(variable, undefined);
        this.log.info(fields, `${title} file re-read`);
        return undefined;
      } catch (error) {
        const reason = error instanceof SettingsFileError ? error.message : 'could not be read';
        this.#reasons.set(variable, reason);
        const message = `The ${name} file is invalid; the last valid content stays in use`;
        if (reason !== told) this.log.error({ event: `${name}-rejected`, reason }, message);
        return reason;
      }
    };
    const first = () => {
      take(read(path));
      return undefined;
    };
    try {
      this.#unfollow.push(followFiles([path], first, again));
    } catch (error) {
      if (error instanceof SettingsFileError) throw new ConfigError([`${variable} ${error.message}`]);
      throw error;
    }
  }

  /** Calls `take` now and with each change, and measures under `names` when the certificates end. */
  certificates(
    certificates: FollowedCertificates,
    names: Readonly<Record<'cert' | 'ca', CertificateName>>,
    take?: (now: Certificates) => void,
  ): void {
    const variables = certificates.named.map(({ variable }) => variable);
    const files = variables.join(', ');
    const measure = (certificate: CertificateName, pem: string) =>
      this.metrics.set('gateway_certificate_expiry_timestamp_seconds', { certificate }, firstEnd(pem));
    const takeAll = (now: Certificates) => {
      take?.(now);
      if (now.cert) measure(names.cert, now.cert);
      if (now.ca) measure(names.ca, now.ca);
    };
    const again = (told?: string) => {
      const before = certificates.current;
      const fault = certificates.reread();
      // The files are taken together, so at most one of them is at fault. A fault begins with the name of the variable.
      for (const variable of variables)
        this.#reasons.set(variable, fault?.startsWith(`${variable} `) ? fault : undefined);
      if (fault !== undefined && fault !== told)
        this.log.error(
          { event: 'certificates-rejected', files, reason: fault },
          'The files of certificates are invalid; the last valid ones stay in use',
        );
      if (certificates.current === before) return fault;
      takeAll(certificates.current);
      this.log.info({ event: 'certificates-reloaded', files }, 'Certificates re-read');
      return undefined;
    };
    takeAll(certificates.current);
    const paths = certificates.named.map(({ path }) => path);
    // The files may have changed since the start.
    this.#unfollow.push(followFiles(paths, again, again));
  }

  onApplicationShutdown(): void {
    for (const unfollow of this.#unfollow) unfollow();
  }

  get refusedNow(): RefusedFile[] {
    return [...this.#reasons].flatMap(([file, reason]) => (reason === undefined ? [] : [{ file, reason }]));
  }
}
