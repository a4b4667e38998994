import { z } from 'zod';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { UsersConfig } from '../config/app-config.ts';
import { readSettingsFile } from '../config/settings-file.ts';
import { followSettings } from '../config/watched-file.ts';
import { Log } from '../observability/log.ts';
import type { UserPrincipal } from '../token/principal.ts';
import { TokenManager } from '../token/token.manager.ts';
import type { ActingUser } from '../upstream/call-context.ts';
import { Secret } from '../config/secret.ts';

export const ALIAS = /^[A-Za-z0-9_.-]{1,64}$/;

const schema = z.record(
  z.string().regex(ALIAS, { error: 'an alias must be 1 to 64 of A-Z a-z 0-9 _ . -' }),
  z.strictObject({ username: z.string().min(1), password: z.string().min(1) }),
);

/** The configured users of the platform, by alias. The file is re-read when it changes: another password is another token. */
@Injectable()
export class AliasUsers implements OnModuleInit, OnApplicationShutdown {
  #users: ReadonlyMap<string, UserPrincipal> = new Map();
  #unfollow: (() => void) | undefined;

  constructor(
    private readonly config: UsersConfig,
    private readonly tokens: TokenManager,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    const { file: path } = this.config;
    if (!path) return;
    this.log.addSecrets(() => [...this.#users.values()].map(({ password }) => password.reveal()));
    const file = { name: 'users', variable: 'UPSTREAM_USERS_FILE', path, read: readUsersFile };
    this.#unfollow = followSettings(file, (users) => (this.#users = users).size, this.log);
  }

  find(alias: string): ActingUser | undefined {
    const principal = this.#users.get(alias);
    return (
      principal && {
        kind: 'alias',
        // Includes the account, so that the cache distinguishes the users when an alias gets another account.
        name: `${alias}=${principal.username}`,
        token: (waitMs) => this.tokens.get(principal, waitMs),
        refused: (version, again) => this.tokens.refused(principal, version, again),
      }
    );
  }

  onApplicationShutdown(): void {
    this.#unfollow?.();
  }
}

/** Reads the aliases and their users of the platform. Throws SettingsFileError. */
function readUsersFile(path: string): ReadonlyMap<string, UserPrincipal> {
  const users = readSettingsFile(path, schema);
  return new Map(
    Object.entries(users).map(([alias, { username, password }]) => [
      alias,
      { kind: 'user', alias, username, password: new Secret(password) },
    ]),
  );
}
