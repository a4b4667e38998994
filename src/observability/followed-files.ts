import { Injectable } from '@nestjs/common';
import type { FileFields, FileReports } from '../config/watched-file.ts';
import { Log } from './log.ts';
import { Metrics } from './metrics.ts';

/** A file whose content was refused when it changed. The earlier content is in use. */
export interface RefusedFile {
  /** The variable that names the file. */
  readonly file: string;
  readonly reason: string;
}

/** Logs the result of reading files again while the process runs, and remembers those whose content is refused. */
@Injectable()
export class FollowedFiles implements FileReports {
  /** The reasons of refusals. Undefined for a file whose content was accepted again. */
  readonly #reasons = new Map<string, string | undefined>();

  constructor(
    private readonly log: Log,
    metrics: Metrics,
  ) {
    metrics.follow('gateway_followed_file_refused', () =>
      [...this.#reasons].map(([file, reason]) => [{ file }, Number(reason !== undefined)]),
    );
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
