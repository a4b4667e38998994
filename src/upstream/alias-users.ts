import { Injectable, type OnModuleInit } from '@nestjs/common';
import * as z from 'zod';
import { UsersConfig } from '../config/app-config.ts';
import { Secret } from '../config/secret.ts';
import { readSettingsFile } from '../config/settings-file.ts';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import { FollowedFiles } from '../observability/followed-files.ts';
import { Log } from '../observability/log.ts';
import type { UserPrincipal } from '../token/principal.ts';
import { TokenManager } from '../token/token.manager.ts';
import type { ActingUser } from '../request/call-context.ts';

export const ALIAS = /^[A-Za-z0-9_.-]{1,64}$/;
export const ALIAS_RULE = 'must be 1 to 64 of A-Z a-z 0-9 _ . -';
export const DEFAULT_ALIAS = 'default';

const text = z.string().min(1, { error: 'must not be empty' });

const schema = z.record(
  z.string().regex(ALIAS, { error: `an alias ${ALIAS_RULE}` }),
  z.strictObject({
    username: text,
    password: text,
    enterprises: z.array(text).optional(),
  }),
);

interface ConfiguredUser extends UserPrincipal {
  /** The enterprises for which the gateway uses this user when it reads on its own. Undefined means all. */
  readonly enterprises: ReadonlySet<string> | undefined;
}

/** The configured users of the platform, by alias. The file is read again when it changes: a new password gets a new token. */
@Injectable()
export class AliasUsers implements OnModuleInit {
  #users: ReadonlyMap<string, ConfiguredUser> = new Map();
  /** Whether the users were read, or found not to be configured, after a time of the database. */
  #isReadAfter: (time: number) => boolean = () => false;

  constructor(
    private readonly config: UsersConfig,
    private readonly tokens: TokenManager,
    private readonly log: Log,
    private readonly files: FollowedFiles,
    private readonly maintenance: Maintenance,
  ) {}

  onModuleInit(): void {
    this.#isReadAfter = this.maintenance.noteMoment();
    const { file: path } = this.config;
    if (!path) return;
    this.log.addSecrets({
      [Symbol.iterator]: () => this.#users.values().map(({ password }) => password.reveal()),
    });
    const file = { name: 'users', variable: 'UPSTREAM_USERS_FILE', path, read: readUsersFile };
    this.files.settings(file, (users) => this.#take(users));
  }

  get size(): number {
    return this.#users.size;
  }

  find(alias: string): ActingUser | undefined {
    const principal = this.#users.get(alias);
    if (!principal) return undefined;
    return {
      kind: 'alias',
      alias,
      username: principal.username,
      // The name contains the account, so that the cache distinguishes the users when an alias gets another account.
      name: `${alias}=${principal.username}`,
      token: (waitMs) => this.tokens.get(principal, waitMs),
      refused: (version, again) => this.tokens.refused(principal, version, again),
    };
  }

  /** True if this replica has read the users file after this time of the database, in ms since the epoch, by both clocks. */
  hasReadSince(time: number): boolean {
    return this.#isReadAfter(time);
  }

  /** Returns the user for the gateway's own reads of this enterprise: see {@link userFor}. */
  forEnterprise(enterpriseGlobalId: string, preferred?: string): ActingUser | undefined {
    const user = userFor(this.#users, enterpriseGlobalId, preferred);
    return user && this.find(user.alias);
  }

  #take(users: ReadonlyMap<string, ConfiguredUser>): number {
    this.#users = users;
    this.#isReadAfter = this.maintenance.noteMoment();
    this.tokens.usersChanged();
    const served = new Map<string, string>();
    for (const { alias, enterprises = [] } of users.values())
      for (const enterprise of enterprises) {
        const first = served.get(enterprise);
        if (first === undefined) served.set(enterprise, alias);
        else
          this.log.warn(
            { event: 'users-share-enterprise', enterprise, used: first, passedOver: alias },
            'Two users of the users file name the same enterprise; the gateway reads as the first',
          );
      }
    return users.size;
  }
}

/**
 * Returns the user for reads of an enterprise. `preferred` is chosen if it exists and serves the enterprise. Otherwise it is the first user
 * who names the enterprise. Otherwise it is one who serves all enterprises, with `default` first.
 */
export function userFor(
  users: ReadonlyMap<string, ConfiguredUser>,
  enterpriseGlobalId: string,
  preferred?: string,
): ConfiguredUser | undefined {
  const serves = (alias: string | undefined) => {
    const user = alias === undefined ? undefined : users.get(alias);
    return user !== undefined && (user.enterprises?.has(enterpriseGlobalId) ?? true);
  };
  const aliases = [...users.keys()];
  const alias =
    [preferred].find(serves) ??
    aliases.find((each) => users.get(each)?.enterprises?.has(enterpriseGlobalId)) ??
    [DEFAULT_ALIAS, ...aliases].find(serves);
  return alias === undefined ? undefined : users.get(alias);
}

/** Reads the aliases and their users of the platform. Throws SettingsFileError. */
export function readUsersFile(path: string): ReadonlyMap<string, ConfiguredUser> {
  const users = readSettingsFile(path, schema);
  return new Map(
    Object.entries(users).map(([alias, { username, password, enterprises }]) => [
      alias,
      {
        kind: 'user',
        alias,
        username,
        password: new Secret(password),
        enterprises: enterprises && new Set(enterprises),
      },
    ]),
  );
}
