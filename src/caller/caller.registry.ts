import { createHash, timingSafeEqual } from 'node:crypto';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { CallersConfig, ConfigError } from '../config/app-config.ts';
import { WatchedFile } from '../config/watched-file.ts';
import { Log } from '../observability/log.ts';
import { type Caller, CallersFileError, readCallersFile } from './callers-file.ts';

/** Who may call. The file is re-read when it changes; a file that got broken is reported and the last good one stands. */
@Injectable()
export class CallerRegistry implements OnModuleInit, OnApplicationShutdown {
  #callers: readonly Caller[] = [];
  readonly #file: WatchedFile<readonly Caller[]>;

  constructor(config: CallersConfig, log: Log) {
    this.#file = new WatchedFile(config.file, readCallersFile, {
      changed: (callers) => {
        this.#callers = callers;
        log.info({ event: 'callers-reloaded', callers: callers.length }, 'Callers file re-read');
      },
      broken: (error) => {
        const reason = error instanceof CallersFileError ? error.message : 'could not be read';
        log.error({ event: 'callers-rejected', reason }, 'Callers file is broken; the last good one stands');
      },
    });
  }

  onModuleInit(): void {
    try {
      this.#callers = this.#file.open();
    } catch (error) {
      if (error instanceof CallersFileError) throw new ConfigError([`CALLERS_FILE ${error.message}`]);
      throw error;
    }
  }

  /** The caller whose key this is. Every known hash is compared in constant time, whichever matches. */
  byKey(key: string): Caller | undefined {
    const hash = createHash('sha256').update(key).digest();
    let found: Caller | undefined;
    for (const caller of this.#callers) {
      for (const known of caller.keyHashes) if (timingSafeEqual(known, hash)) found = caller;
    }
    return found;
  }

  onApplicationShutdown(): void {
    this.#file.close();
  }
}
