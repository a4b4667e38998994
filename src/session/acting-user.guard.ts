import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../caller/callers-file.ts';
import { UsersConfig } from '../config/app-config.ts';
import { Secret } from '../config/secret.ts';
import { readSettingsFile } from '../config/settings-file.ts';
import { followSettings } from '../config/watched-file.ts';
import { Log } from '../observability/log.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { UserPrincipal } from '../token/principal.ts';
import { TokenManager } from '../token/token.manager.ts';
import { type ActingUser, isGranted } from '../upstream/call-context.ts';
import { SessionService } from './session.service.ts';

const ALIAS = /^[A-Za-z0-9_.-]{1,64}$/;
const ALIAS_RULE = 'must be 1 to 64 of A-Z a-z 0-9 _ . -';

const schema = z.record(
  z.string().regex(ALIAS, { error: `an alias ${ALIAS_RULE}` }),
  z.strictObject({ username: z.string().min(1), password: z.string().min(1) }),
);

/** The configured users of the platform, by alias. The file is read again when it changes: a new password gets a new token. */
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
    this.log.addSecrets({
      [Symbol.iterator]: () => this.#users.values().map(({ password }) => password.reveal()),
    });
    const file = { name: 'users', variable: 'UPSTREAM_USERS_FILE', path, read: readUsersFile };
    this.#unfollow = followSettings(file, (users) => (this.#users = users).size, this.log);
  }

  find(alias: string): ActingUser | undefined {
    const principal = this.#users.get(alias);
    if (!principal) return undefined;
    return {
      kind: 'alias',
      // The account is in the name, so that the cache distinguishes the users when an alias gets another account.
      name: `${alias}=${principal.username}`,
      token: (waitMs) => this.tokens.get(principal, waitMs),
      refused: (version, again) => this.tokens.refused(principal, version, again),
    };
  }

  onApplicationShutdown(): void {
    this.#unfollow?.();
  }
}

/** Reads the aliases and their users of the platform. Throws SettingsFileError. */
export function readUsersFile(path: string): ReadonlyMap<string, UserPrincipal> {
  const users = readSettingsFile(path, schema);
  return new Map(
    Object.entries(users).map(([alias, { username, password }]) => [
      alias,
      { kind: 'user', alias, username, password: new Secret(password) },
    ]),
  );
}

const DEFAULT_ALIAS = 'default';

/** Determines the user on whose behalf the gateway calls the platform: on every request, before any cache. */
@Injectable()
export class ActingUserGuard implements CanActivate {
  constructor(
    private readonly aliases: AliasUsers,
    private readonly sessions: SessionService,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { headers, stages } = context.switchToHttp().getRequest<FastifyRequest>();
    const { actsAsUser, looksUpAsUser } = stages.get('authorised').policy;
    if (!actsAsUser) {
      stages.pass('acting', { user: looksUpAsUser ? this.aliases.find(DEFAULT_ALIAS) : undefined });
      return true;
    }
    return this.#user(headers, stages.get('identified').caller).then((user) => {
      stages.pass('acting', { user });
      return true;
    });
  }

  async #user(headers: FastifyRequest['headers'], caller: Caller): Promise<ActingUser> {
    const alias = headers['x-acting-user'];
    const sessionId = headers['x-session-id'];
    if (alias !== undefined && sessionId !== undefined)
      throw invalidAlias('must not be given together with X-Session-Id');
    return sessionId === undefined
      ? this.#byAlias(caller, alias as string | undefined)
      : this.sessions.actingUser(String(sessionId), caller.name);
  }

  #byAlias({ grants }: Caller, given: string | undefined): ActingUser {
    const alias = given ?? DEFAULT_ALIAS;
    if (!ALIAS.test(alias)) throw invalidAlias(ALIAS_RULE);
    const user = this.aliases.find(alias);
    if (!user && given === undefined) throw new ProblemException('user-required');
    // The response is the same for an unknown alias and one that is not granted.
    if (!user || !isGranted(grants.users, alias)) {
      throw new ProblemException('forbidden', { detail: 'This acting user is not granted to the caller.' });
    }
    return user;
  }
}

function invalidAlias(detail: string): ProblemException {
  return new ProblemException('validation-failed', { errors: [{ parameter: 'X-Acting-User', detail }] });
}
