import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ConfigError, UsersConfig } from '../config/app-config.ts';
import { SettingsFileError } from '../config/settings-file.ts';
import { WatchedFile } from '../config/watched-file.ts';
import { Log } from '../observability/log.ts';
import type { UserPrincipal } from '../token/principal.ts';
import { TokenManager } from '../token/token.manager.ts';
import type { ActingUser } from '../upstream/call-context.ts';
import { readUsersFile } from './users-file.ts';

/** The configured users of the platform, by alias. The file is re-read when it changes: another password is another token. */
@Injectable()
export class AliasUsers implements OnModuleInit, OnApplicationShutdown {
  #users: ReadonlyMap<string, UserPrincipal> = new Map();
  readonly #file: WatchedFile<ReadonlyMap<string, UserPrincipal>> | undefined;

  constructor(
    config: UsersConfig,
    private readonly tokens: TokenManager,
    log: Log,
  ) {
    if (!config.file) return;
    log.addSecrets(() => [...this.#users.values()].map(({ password }) => password.reveal()));
    this.#file = new WatchedFile(config.file, readUsersFile, {
      changed: (users) => {
        this.#users = users;
        log.info({ event: 'users-reloaded', users: users.size }, 'Users file re-read');
      },
      broken: (error) => {
        const reason = error instanceof SettingsFileError ? error.message : 'could not be read';
        log.error(
          { event: 'users-rejected', reason },
          'The users file is invalid; the last valid content stays in use',
        );
      },
    });
  }

  onModuleInit(): void {
    try {
      if (this.#file) this.#users = this.#file.open();
    } catch (error) {
      if (error instanceof SettingsFileError) throw new ConfigError([`UPSTREAM_USERS_FILE ${error.message}`]);
      throw error;
    }
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
    this.#file?.close();
  }
}
