import { Injectable } from '@nestjs/common';
import { CallerRegistry } from '../caller/caller.registry.ts';
import { newTrace } from '../observability/tracing.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { AliasUsers } from '../session/acting-user.guard.ts';
import { SessionService } from '../session/session.service.ts';
import {
  type ActingUser,
  type AuthorisedIds,
  type CallContext,
  isGranted,
  Progress,
} from '../upstream/call-context.ts';
import type { JobDefinition, JobUser } from './store/job-record.ts';

/** An import needs this scope for as long as it runs. */
const SCOPE = 'members:write';
const NOTHING: ReadonlySet<string> = new Set();

/** The user and the rights that a job acts with, long after its request. */
@Injectable()
export class JobUsers {
  constructor(
    private readonly callers: CallerRegistry,
    private readonly aliases: AliasUsers,
    private readonly sessions: SessionService,
  ) {}

  /** If so, a job ends when the entry of the caller loses the scope. The entry of a caller by JWT may have none: its tokens bring it. */
  hasScope(caller: string): boolean {
    return this.callers.byName(caller)?.scopes.has(SCOPE) === true;
  }

  async userOf({ caller, user }: CallContext, sessionId: string | undefined): Promise<JobUser> {
    if (!user) throw new Error('an import acts as a user');
    if (user.kind === 'session' && sessionId !== undefined) {
      const { record } = await this.sessions.find(sessionId, caller.name);
      return { sessionId, username: record.username };
    }
    const [alias = '', username = ''] = user.name.split(/=(.*)/s);
    return { alias, username };
  }

  /** Bound to the enterprise, of whose list all ids are. Throws if the caller or the user has lost its rights, or the session has ended. */
  async contextOf(
    { jobId, caller, enterpriseGlobalId, user, isScoped }: JobDefinition,
    authorisedIds: AuthorisedIds,
  ): Promise<CallContext> {
    const entry = this.callers.byName(caller);
    const isAllowed =
      entry !== undefined &&
      (!isScoped || entry.scopes.has(SCOPE)) &&
      isGranted(entry.grants.enterprises, enterpriseGlobalId) &&
      ('sessionId' in user || isGranted(entry.grants.users, user.alias));
    if (!isAllowed)
      throw new ProblemException('forbidden', { detail: 'The caller has lost the rights for this import.' });
    return {
      requestId: `job-${jobId}`,
      trace: newTrace(),
      caller: {
        name: caller,
        grants: { enterprises: new Set([enterpriseGlobalId]), channels: NOTHING, users: NOTHING },
      },
      user: await this.#actingUser(user, caller),
      authorisedIds,
      progress: new Progress(),
    };
  }

  async #actingUser(user: JobUser, caller: string): Promise<ActingUser> {
    if ('sessionId' in user) return this.sessions.actingUser(user.sessionId, caller);
    const found = this.aliases.find(user.alias);
    // The same alias with another account is another user.
    if (!found || found.name !== `${user.alias}=${user.username}`)
      throw new ProblemException('forbidden', {
        detail: 'The acting user of this import is not configured any more.',
      });
    return found;
  }
}
