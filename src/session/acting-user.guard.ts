import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../caller/callers-file.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { type ActingUser, isGranted } from '../upstream/call-context.ts';
import { ALIAS, AliasUsers } from './alias-users.ts';
import { SessionService } from './session.service.ts';

const ACTING_USER = 'x-acting-user';
const SESSION_ID = 'x-session-id';
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
    const { actsAsUser, looksUpAsUser } = stages.of('authorised').policy;
    if (!actsAsUser) {
      stages.pass('acting', { user: looksUpAsUser ? this.aliases.find(DEFAULT_ALIAS) : undefined });
      return true;
    }
    return this.#user(headers, stages.of('identified').caller).then((user) => {
      stages.pass('acting', { user });
      return true;
    });
  }

  async #user(headers: FastifyRequest['headers'], caller: Caller): Promise<ActingUser> {
    const alias = headers[ACTING_USER];
    const sessionId = headers[SESSION_ID];
    if (alias !== undefined && sessionId !== undefined) {
      const detail = 'must not be given together with X-Session-Id';
      throw new ProblemException('validation-failed', { errors: [{ parameter: 'X-Acting-User', detail }] });
    }
    return sessionId === undefined
      ? this.#byAlias(caller, alias as string | undefined)
      : this.sessions.actingUser(String(sessionId), caller.name);
  }

  #byAlias({ grants }: Caller, given: string | undefined): ActingUser {
    const alias = given ?? DEFAULT_ALIAS;
    if (!ALIAS.test(alias)) {
      const detail = 'must be 1 to 64 of A-Z a-z 0-9 _ . -';
      throw new ProblemException('validation-failed', { errors: [{ parameter: 'X-Acting-User', detail }] });
    }
    const user = this.aliases.find(alias);
    if (!user && given === undefined) throw new ProblemException('user-required');
    // The response is the same for an unknown alias and one that is not granted.
    if (!user || !isGranted(grants.users, alias)) {
      throw new ProblemException('forbidden', { detail: 'This acting user is not granted to the caller.' });
    }
    return user;
  }
}
