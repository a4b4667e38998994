/** The settings of a gateway in front of a sandbox: one caller with a new API key, the users of the platform, and its address. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scopes } from '../../src/request/scopes.ts';
import { newApiKey } from '../../src/caller/api-key.ts';
import { Refusal } from './refusal.ts';

/** The address and credentials of the platform. */
export interface Platform {
  readonly url: string;
  readonly appKey: string;
  readonly appSecret: string;
  /** The password of every user. */
  readonly password: string;
}

export interface Setting {
  readonly apiKey: string;
  /** The variables of the gateway. */
  readonly environment: Readonly<Record<string, string>>;
  /** Writes a further file for the gateway, and returns its path. */
  write(name: string, content: object): string;
  /** Removes the files. */
  remove(): void;
}

/** `caller` is an entry of the callers file without its keys. `users` are login names by their alias. */
export function newSetting(
  platform: Platform,
  caller: object,
  users: Readonly<Record<string, string>>,
): Setting {
  const { key, hash } = newApiKey();
  const folder = newFolder();
  const write = (name: string, content: object) => {
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify(content), { mode: 0o600 });
    return path;
  };
  const logins = Object.entries(users).map(([alias, username]) => [
    alias,
    { username, password: platform.password },
  ]);
  const own = { keys: [hash], scopes, enterprises: ['*'], channels: ['*'], users: Object.keys(users) };
  return {
    apiKey: key,
    environment: {
      CALLERS_FILE: write('callers.json', { callers: [{ ...own, ...caller }] }),
      UPSTREAM_USERS_FILE: write('users.json', Object.fromEntries(logins) as object),
      UPSTREAM_BASE_URL: platform.url,
      UPSTREAM_TOKEN_URL: `${platform.url}/oauth/token`,
      UPSTREAM_APP_KEY: platform.appKey,
      UPSTREAM_APP_SECRET: platform.appSecret,
      WEBHOOK_HOSTS: '127.0.0.1,localhost',
    },
    write,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Makes a folder for the files of callers, users and the platform's profile, which the gateway reads. */
function newFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'licensing-gateway-'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Refusal(
      `The gateway needs three small files in ${tmpdir()}, which cannot be written to (${code}): name another folder by TMPDIR.`,
    );
  }
}
