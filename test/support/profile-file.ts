import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import type { TestGateway } from './gateway.ts';

/** What a profile has besides its version. */
interface Profile {
  readonly readings?: object;
  readonly codes?: object;
}

/** A profile of the platform for all tests of a file, which a running gateway follows. At first it says nothing. */
export class ProfileFile {
  readonly #folder = mkdtempSync(join(tmpdir(), 'profile-'));
  readonly path = join(this.#folder, 'platform-profile.json');
  /** What the gateway has read. */
  #told: string;

  constructor() {
    this.#told = this.#put({});
    afterAll(() => rmSync(this.#folder, { recursive: true }));
  }

  /** The running gateway reads it a moment later, or refuses it. */
  write(profile: Profile): void {
    this.#put(profile);
    this.#told = '';
  }

  /** Resolves once the gateways have read the profile. What they have read already is not written again. */
  async tell(gateway: TestGateway, profile: Profile, ...others: TestGateway[]): Promise<void> {
    if (textOf(profile) === this.#told) return;
    const reloaded = Promise.all([gateway, ...others].map((each) => each.logged('profile-reloaded')));
    const told = this.#put(profile);
    await reloaded;
    this.#told = told;
  }

  /** Renames the file into its place, as an operator's tools do it, so the gateway never reads half of it. */
  #put(profile: Profile): string {
    const text = textOf(profile);
    writeFileSync(`${this.path}.new`, text);
    renameSync(`${this.path}.new`, this.path);
    return text;
  }
}

function textOf(profile: Profile): string {
  return JSON.stringify({ version: 1, readings: {}, ...profile });
}
