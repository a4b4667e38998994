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

/** Who may call. The file is re-read when it changes; a file that got broken is reported and the last good one stands. */
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
        log.error({ event: 'callers-rejected', reason }, 'Callers file is broken; the last good one stands');
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
   * The caller whose key this is. What is looked up is the key's SHA-256, which nobody can steer towards a known one, so the
   * time tells nothing of a key; and it is the same for a known and an unknown one, however many there are.
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
