import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../request/caller.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { ALIAS, ALIAS_RULE, AliasUsers, DEFAULT_ALIAS } from '../upstream/alias-users.ts';
import { type ActingUser, isGranted } from '../request/call-context.ts';
import { SessionService } from './session.service.ts';

/**
 * Determines the user on whose behalf the gateway calls the platform, on every request, before any cache. An order may name a user, and the
 * gateway reads for the order as this user. Without a name it reads as the user who serves the enterprise of the data.
 */
@Injectable()
export class ActingUserGuard implements CanActivate {
  constructor(
    private readonly aliases: AliasUsers,
    private readonly sessions: SessionService,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { headers, stages } = context.switchToHttp().getRequest<FastifyRequest>();
    const { actsAsUser, looksUpAsUser } = stages.get('authorised').policy;
    // Node joins the values of a repeated header.
    const given = headers as Readonly<Record<string, string | undefined>>;
    const alias = actsAsUser || looksUpAsUser ? given['x-acting-user'] : undefined;
    const sessionId = actsAsUser ? given['x-session-id'] : undefined;
    if (!actsAsUser && alias === undefined) {
      stages.pass('acting', { user: undefined });
      return true;
    }
    return this.#user(stages.get('identified').caller, alias, sessionId).then((user) => {
      stages.pass('acting', { user });
      return true;
    });
  }

  async #user(caller: Caller, alias: string | undefined, sessionId: string | undefined): Promise<ActingUser> {
    if (alias !== undefined && sessionId !== undefined)
      throw invalidAlias('must not be given together with X-Session-Id');
    return sessionId === undefined
      ? this.#byAlias(caller, alias)
      : this.sessions.actingUser(sessionId, caller.name);
  }

  #byAlias({ grants }: Caller, given: string | undefined): ActingUser {
    const alias = given ?? DEFAULT_ALIAS;
    if (!ALIAS.test(alias)) throw invalidAlias(`${ALIAS_RULE}, given once`);
    const user = this.aliases.find(alias);
    if (!user && given === undefined) throw new ProblemException('user-required');
    // The response is the same for an unknown alias and for one that is not granted.
    if (!user || !isGranted(grants.users, alias)) {
      throw new ProblemException('forbidden', { detail: 'This acting user is not granted to the caller.' });
    }
    return user;
  }
}

function invalidAlias(detail: string): ProblemException {
  return new ProblemException('validation-failed', { errors: [{ parameter: 'X-Acting-User', detail }] });
}
