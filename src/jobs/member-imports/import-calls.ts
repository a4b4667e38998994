import { Injectable } from '@nestjs/common';
import { CallerRegistry } from '../../caller/caller.registry.ts';
import { missingRight } from '../../caller/standing.ts';
import { type AddedRows, AddMembersService } from '../../member/add-members.service.ts';
import { CLEARABLE, type ClearableField } from '../../member/dto/member.dto.ts';
import { MemberService } from '../../member/member.service.ts';
import { newTrace } from '../../observability/tracing.ts';
import { Generations } from '../../read-cache/read-keys.ts';
import { AliasUsers } from '../../upstream/alias-users.ts';
import { SessionService } from '../../session/session.service.ts';
import {
  type ActingUser,
  AuthorisedIds,
  type CallContext,
  isGranted,
  Progress,
} from '../../request/call-context.ts';
import { problemFrom } from '../../upstream/problems/as-problem.ts';
import type { JobRecord, JobUser, WaitingMember } from '../store/job-record.ts';
import type { KnownMembers } from './known-members.ts';
import { MemberDirectory } from './member-directory.ts';

/** The scope that an import needs for as long as it runs. */
const SCOPE = 'members:write';
const NOTHING: ReadonlySet<string> = new Set();
/** A job, and when it was accepted. */
type AcceptedJob = Pick<JobRecord, 'definition' | 'createdAt'>;

/** Finds the user and the rights with which a job acts, long after its request. */
@Injectable()
export class JobUsers {
  constructor(
    private readonly callers: CallerRegistry,
    private readonly aliases: AliasUsers,
    private readonly sessions: SessionService,
  ) {}

  /**
   * True if the entry of the caller has the scope. A job of such a caller ends when the entry loses the scope. The entry of a caller with
   * JWTs may lack the scope, because its tokens grant it.
   */
  hasScope(caller: string): boolean {
    return this.callers.standingOf({ caller, scope: SCOPE, byToken: false }) !== undefined;
  }

  /**
   * Returns the context of a job. It is bound to the enterprise, whose list contains all ids. Throws if the caller or the user has lost its
   * rights, or if the session has ended.
   */
  async contextOf(
    { definition, createdAt }: AcceptedJob,
    authorisedIds: AuthorisedIds,
  ): Promise<CallContext> {
    const { jobId, caller, enterpriseGlobalId, user, isScoped } = definition;
    const { grants } = this.callers.standingOf({ caller, scope: SCOPE, byToken: !isScoped }) ?? {};
    const isAllowed =
      grants !== undefined &&
      isGranted(grants.enterprises, enterpriseGlobalId) &&
      ('sessionId' in user || isGranted(grants.users, user.alias));
    if (!isAllowed)
      throw missingRight(
        'The caller has lost the rights for this import.',
        this.callers.hasReadSince(createdAt),
      );
    return {
      requestId: `job-${jobId}`,
      trace: newTrace(),
      caller: {
        name: caller,
        grants: { enterprises: new Set([enterpriseGlobalId]), channels: NOTHING, users: NOTHING },
      },
      user: await this.#actingUser(user, caller, createdAt),
      authorisedIds,
      progress: new Progress(),
    };
  }

  async #actingUser(user: JobUser, caller: string, createdAt: number): Promise<ActingUser> {
    if ('sessionId' in user) return this.sessions.actingUser(user.sessionId, caller);
    const found = this.aliases.find(user.alias);
    // An alias that now has another account is a different user.
    if (!found || found.username !== user.username)
      throw missingRight(
        'The acting user of this import is not configured any more.',
        this.aliases.hasReadSince(createdAt),
      );
    return found;
  }
}

/** Returns the user of a request in the form that a job keeps. */
export function jobUserOf({ user }: CallContext): JobUser {
  if (!user) throw new Error('an import acts as a user');
  const { alias = '', sessionId, username } = user;
  return sessionId === undefined ? { alias, username } : { sessionId, username };
}

@Injectable()
export class ImportCallServices {
  constructor(
    readonly members: MemberService,
    readonly adding: AddMembersService,
    readonly users: JobUsers,
    readonly directory: MemberDirectory,
    readonly generations: Generations,
  ) {}
}

/** The calls of one import to the platform. Each call has the user and the rights that the job has at that moment. */
export class ImportCalls {
  /** The platform's reasons for refusing whole calls when no single row was at fault. */
  readonly refusedWhole = new Set<string>();
  readonly #authorisedIds = new AuthorisedIds();
  /** The optional fields that no list so far has shown. */
  #hidden: readonly ClearableField[] = CLEARABLE;

  constructor(
    private readonly services: ImportCallServices,
    private readonly job: AcceptedJob,
    /** Ends the reads. A call that changes members goes on, because its response says what it did. */
    private readonly over: AbortSignal,
  ) {}

  /** Authorises ids that come from the enterprise's list. No other ids are sent. */
  authorise(memberGlobalIds: readonly string[]): void {
    this.#authorisedIds.add('member', memberGlobalIds);
  }

  /** Reads all members. `accounts` are the ones that the file names. */
  async all(accounts: Iterable<string>): Promise<KnownMembers> {
    const { directory } = this.services;
    return this.#authorised(await directory.all(await this.#reading(), this.#enterprise, accounts));
  }

  /** Finds the members with these accounts, and with these ids. */
  async find(accounts: readonly string[], ids: readonly string[] = []): Promise<KnownMembers> {
    const { directory } = this.services;
    return this.#authorised(await directory.find(await this.#reading(), this.#enterprise, accounts, ids));
  }

  async add(members: readonly WaitingMember[]): Promise<AddedRows> {
    const rows = members.map((member) => ({ password: '', name: '', ...member }));
    return this.services.adding.addRows(await this.#context(), this.#enterprise, rows);
  }

  /** Changes the member, but not the password. */
  async update(memberGlobalId: string, member: WaitingMember): Promise<void> {
    const { password: _, userName: __, besideAccount: ___, name = '', ...row } = member;
    const ids = { enterpriseGlobalId: this.#enterprise, memberGlobalId };
    const terms = { ...row, name };
    await this.services.members.updateMember(await this.#context(), ids, terms, this.#hidden);
  }

  /** Deletes the member. It has no effect if the member is gone already. */
  async delete(memberGlobalId: string): Promise<void> {
    const ids = { enterpriseGlobalId: this.#enterprise, memberGlobalId };
    try {
      await this.services.members.deleteMember(await this.#context(), ids);
    } catch (error) {
      if (problemFrom(error).body.code !== 'member-not-found') throw error;
    }
  }

  /** Drops the old members from the read cache. Call it after calls that may have changed members. */
  async written(): Promise<void> {
    await this.services.generations.written({ enterpriseGlobalId: this.#enterprise }).catch(() => undefined);
  }

  get #enterprise(): string {
    return this.job.definition.enterpriseGlobalId;
  }

  #context(): Promise<CallContext> {
    return this.services.users.contextOf(this.job, this.#authorisedIds);
  }

  async #reading(): Promise<CallContext> {
    return { ...(await this.#context()), abandon: this.over };
  }

  #authorised(found: KnownMembers): KnownMembers {
    this.#hidden = this.#hidden.filter((field) => found.hidden.includes(field));
    this.authorise(found.all().map(({ memberGlobalId }) => memberGlobalId));
    return found;
  }
}
