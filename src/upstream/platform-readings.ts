import { Injectable, type OnModuleInit } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { type KnownReadings, type KnownPlatform, readPlatformProfile } from '../config/platform-profile.ts';
import type { ReadingName } from '../config/readings.ts';
import type { CodeModule, CodeWord, TaughtCodes } from '../config/taught-codes.ts';
import { SettingsFileError } from '../config/settings-file.ts';
import { FollowedFiles } from '../observability/followed-files.ts';
import { ProblemException } from '../problem/problem.exception.ts';

/** The conditions under which a decision may depend on what is missing from a list. */
export interface Deciding<Name extends string> {
  /** The fields of an item on which the decision depends. */
  readonly fields: readonly Name[];
  /** True if the platform sends an empty list as null (reading `emptyLists` of its profile). */
  readonly nullIsEmpty: boolean;
}

/** The knowledge about the platform where its interface is silent (src/config/readings.ts). The profile is read again when it changes. */
@Injectable()
export class PlatformReadings implements OnModuleInit {
  constructor(
    private readonly config: UpstreamConfig,
    private readonly files: FollowedFiles,
  ) {}

  onModuleInit(): void {
    const { profileFile: path } = this.config;
    if (!path) return;
    const read = (file: string) => this.#readIn(file);
    this.files.settings({ name: 'profile', variable: 'PLATFORM_PROFILE_FILE', path, read }, (known) => {
      this.config.profile.replace(known);
      return Object.keys(known.readings).length;
    });
  }

  /** Returns undefined while the reading is not known. */
  of<Name extends ReadingName>(name: Name): KnownReadings[Name] {
    return this.config.profile.of(name);
  }

  get timestampUnit(): UpstreamConfig['timestampUnit'] {
    return this.config.timestampUnit;
  }

  /** The codes that the profile teaches. The object is a new one after each reading of the file. */
  get codes(): TaughtCodes {
    return this.config.profile.codes;
  }

  /** Returns the meaning of a code that is missing from the interface. Undefined if the profile does not teach it. */
  taught(module: CodeModule, code: string): CodeWord | undefined {
    return this.config.profile.taught(module, code);
  }

  deciding<Name extends string>(...fields: readonly Name[]): Deciding<Name> {
    return { fields, nullIsEmpty: this.nullIsEmpty };
  }

  get nullIsEmpty(): boolean {
    return this.of('emptyLists') === 'null';
  }

  /** Throws `validation-failed` if an edit clears a field by null, and the platform is not known to clear absent fields. */
  assertClears(name: 'memberEdit' | 'customerEdit', edit: object): void {
    const nulls = Object.entries(edit).filter(([, value]) => value === null);
    if (nulls.length === 0 || this.of(name) === 'clears') return;
    const detail = `must not be null: the platform is not known to clear a field (reading ${name} of its profile)`;
    throw new ProblemException('validation-failed', {
      errors: nulls.map(([field]) => ({ pointer: `/${field}`, detail })),
    });
  }

  /** Reads a changed profile. It must keep the unit of times, because all cached data has times in the unit of the start. */
  #readIn(path: string): KnownPlatform {
    const known = readPlatformProfile(path);
    if ((known.readings.timestampUnit ?? this.config.timestampUnit) !== this.config.timestampUnit)
      throw new SettingsFileError('readings.timestampUnit: a change needs a restart');
    return known;
  }
}
