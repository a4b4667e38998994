import { hash, timingSafeEqual } from 'node:crypto';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { CallersConfig, ConfigError } from '../config/app-config.ts';
import { SettingsFileError } from '../config/settings-file.ts';
import { WatchedFile } from '../config/watched-file.ts';
import { Log } from '../observability/log.ts';
import { type Caller, readCallersFile } from './callers-file.ts';

interface KnownKey {
  readonly hash: Buffer;
  readonly caller: Caller | undefined;
}

const NOBODY: KnownKey = { hash: Buffer.alloc(32), caller: undefined };

/** The callers. The file is re-read when it changes. Where the new content is invalid, the gateway reports it and keeps the last valid one. */
@Injectable()
export class CallerRegistry implements OnModuleInit, OnApplicationShutdown {
  #byHash: ReadonlyMap<string, KnownKey> = new Map();
  #byName: ReadonlyMap<string, Caller> = new Map();
  readonly #file: WatchedFile<readonly Caller[]>;

  constructor(config: CallersConfig, log: Log) {
    this.#file = new WatchedFile(config.file, readCallersFile, {
      changed: (callers) => {
        this.#take(callers);
        log.info({ event: 'callers-reloaded', callers: callers.length }, 'Callers file re-read');
      },
      broken: (error) => {
        const reason = error instanceof SettingsFileError ? error.message : 'could not be read';
        log.error(
          { event: 'callers-rejected', reason },
          'The callers file is invalid; the last valid content stays in use',
        );
      },
    });
  }

  onModuleInit(): void {
    try {
      this.#take(this.#file.open());
    } catch (error) {
      if (error instanceof SettingsFileError) throw new ConfigError([`CALLERS_FILE ${error.message}`]);
      throw error;
    }
  }

  /**
   * The caller of this key. The lookup uses the key's SHA-256, which an attacker cannot bring close to a known one, so its time
   * reveals nothing about a key. It takes the same time for known and unknown keys, independent of their number.
   */
  byKey(key: string): Caller | undefined {
    const given = hash('sha256', key, 'buffer');
    const known = this.#byHash.get(given.toString('hex')) ?? NOBODY;
    return timingSafeEqual(known.hash, given) ? known.caller : undefined;
  }

  byName(name: string): Caller | undefined {
    return this.#byName.get(name);
  }

  #take(callers: readonly Caller[]): void {
    const keys = callers.flatMap((caller) => caller.keyHashes.map((each) => ({ hash: each, caller })));
    this.#byHash = new Map(keys.map((each) => [each.hash.toString('hex'), each]));
    this.#byName = new Map(callers.map((caller) => [caller.name, caller]));
  }

  onApplicationShutdown(): void {
    this.#file.close();
  }
}
