import { Injectable } from '@nestjs/common';
import { type AddedRows, AddMembersService } from '../../member/add-members.service.ts';
import type { MemberDto } from '../../member/dto/member.dto.ts';
import { MemberSearch } from '../../member/member-search.ts';
import { MemberService } from '../../member/member.service.ts';
import { ReadCache } from '../../read-cache/read-cache.ts';
import { AuthorisedIds, type CallContext } from '../../upstream/call-context.ts';
import { JobUsers } from '../job-user.ts';
import type { JobDefinition, WaitingMember } from '../store/job-record.ts';
import { callProblem } from './row-outcomes.ts';

/** Enough to halve the time, and few enough for the platform to serve other requests too. */
const PAGES_AT_A_TIME = 2;

type KnownField = 'memberGlobalId' | 'name' | 'departmentId' | 'remark' | 'passwordMobile';
export type KnownMember = Readonly<Pick<MemberDto, KnownField> & { account: string; userName: string }>;
export type MembersByAccount = ReadonlyMap<string, KnownMember>;

@Injectable()
export class ImportCallServices {
  constructor(
    readonly search: MemberSearch,
    readonly members: MemberService,
    readonly adding: AddMembersService,
    readonly users: JobUsers,
    readonly cache: ReadCache,
  ) {}
}

/** All members of an enterprise as the platform has them now (member #5). The read cache is not used. */
export async function membersByAccount(
  search: MemberSearch,
  call: CallContext,
  enterpriseGlobalId: string,
): Promise<MembersByAccount> {
  const found = new Map<string, KnownMember>();
  const parts = search.allMembers(call, enterpriseGlobalId, undefined, PAGES_AT_A_TIME);
  for await (const { items } of parts) for (const item of items) add(found, item);
  return found;
}

/** The calls of one import to the platform. Each has the user and the rights that the job has at that moment. */
export class ImportCalls {
  /** What the platform said when it refused whole calls, and no single row was the reason. */
  readonly refusedWhole = new Set<string>();
  readonly #authorisedIds = new AuthorisedIds();

  constructor(
    private readonly services: ImportCallServices,
    private readonly definition: JobDefinition,
  ) {}

  /** The ids are of the enterprise's list. No other ids are sent. */
  authorise(memberGlobalIds: readonly string[]): void {
    this.#authorisedIds.add('member', memberGlobalIds);
  }

  async all(): Promise<MembersByAccount> {
    const call = await this.#context();
    return this.#authorised(await membersByAccount(this.services.search, call, this.#enterprise));
  }

  /** The members of these accounts: by their accounts, or by the whole list if that takes fewer calls. */
  async find(accounts: readonly string[]): Promise<MembersByAccount> {
    const { search } = this.services;
    const call = await this.#context();
    const found = new Map<string, KnownMember>();
    const first = await search.allMembers(call, this.#enterprise).next();
    if (first.done) return found;
    const { items, total } = first.value;
    for (const item of items) add(found, item);
    if (items.length === total || accounts.every((account) => found.has(account)))
      return this.#authorised(found);
    if (total === null || total / Math.max(1, items.length) <= accounts.length)
      return this.#authorised(await membersByAccount(search, call, this.#enterprise));
    for (const account of accounts) {
      if (found.has(account)) continue;
      // A short account may be a part of many names.
      for await (const part of search.allMembers(call, this.#enterprise, { keyword: account })) {
        for (const item of part.items) add(found, item);
        if (found.has(account)) break;
      }
    }
    return this.#authorised(found);
  }

  async add(members: readonly WaitingMember[]): Promise<AddedRows> {
    return this.services.adding.addRows(await this.#context(), this.#enterprise, members);
  }

  /** The password stays as it is. */
  async update(memberGlobalId: string, { password: _, ...terms }: WaitingMember): Promise<void> {
    const ids = { enterpriseGlobalId: this.#enterprise, memberGlobalId };
    await this.services.members.updateMember(await this.#context(), ids, terms);
  }

  /** Has no effect if there is no such member any more. */
  async delete(memberGlobalId: string): Promise<void> {
    const ids = { enterpriseGlobalId: this.#enterprise, memberGlobalId };
    try {
      await this.services.members.deleteMember(await this.#context(), ids);
    } catch (error) {
      if (callProblem(error).body.code !== 'member-not-found') throw error;
    }
  }

  /** Called after calls that may have changed members: the read cache no longer shows what was before. */
  async written(): Promise<void> {
    await this.services.cache.written({ enterpriseGlobalId: this.#enterprise }).catch(() => undefined);
  }

  get #enterprise(): string {
    return this.definition.enterpriseGlobalId;
  }

  #context(): Promise<CallContext> {
    return this.services.users.contextOf(this.definition, this.#authorisedIds);
  }

  #authorised(found: MembersByAccount): MembersByAccount {
    this.authorise([...found.values()].map(({ memberGlobalId }) => memberGlobalId));
    return found;
  }
}

/**
 * A member whose account has more than letters and digits was not made by addMembers, and no row of a file can mean it. The interface does
 * not say what is between the account and the enterprise's code. If it is `@`, everything before it belongs to the account.
 */
const ACCOUNT = /^([A-Za-z0-9]+)(?:@|[^A-Za-z0-9@][^@]*$|$)/;

function add(found: Map<string, KnownMember>, member: MemberDto): void {
  const { memberGlobalId, userName, name, departmentId, remark, passwordMobile, deleted } = member;
  const account = ACCOUNT.exec(userName ?? '')?.[1];
  if (userName === null || account === undefined || deleted === true) return;
  found.set(account, { memberGlobalId, account, userName, name, departmentId, remark, passwordMobile });
}
