import { Injectable } from '@nestjs/common';
import type { MemberDto } from '../member/dto/member.dto.ts';
import { MemberService } from '../member/member.service.ts';
import type { CallContext } from '../upstream/call-context.ts';

/** Enough to halve the time, and few enough for the platform to serve other requests too. */
const PAGES_AT_A_TIME = 2;

/** What an import compares with its rows. */
export interface KnownMember {
  readonly memberGlobalId: string;
  readonly account: string;
  readonly userName: string;
  readonly name: string | null;
  readonly departmentId: string | null;
  readonly remark: string | null;
  readonly passwordMobile: string | null;
}
export type MembersByAccount = ReadonlyMap<string, KnownMember>;

/** The members of an enterprise by account (member #5), always from the platform and never from the read cache. */
@Injectable()
export class MemberDirectory {
  constructor(private readonly members: MemberService) {}

  async all(call: CallContext, enterpriseGlobalId: string): Promise<MembersByAccount> {
    const found = new Map<string, KnownMember>();
    const parts = this.members.allMembers(call, enterpriseGlobalId, undefined, PAGES_AT_A_TIME);
    for await (const { items } of parts) for (const item of items) add(found, item);
    return found;
  }

  /** The members of these accounts: by their accounts, or by the whole list where that takes fewer calls. */
  async of(
    call: CallContext,
    enterpriseGlobalId: string,
    accounts: readonly string[],
  ): Promise<MembersByAccount> {
    const found = new Map<string, KnownMember>();
    const first = await this.members.allMembers(call, enterpriseGlobalId).next();
    if (first.done) return found;
    const { items, total } = first.value;
    for (const item of items) add(found, item);
    if (items.length === total || accounts.every((account) => found.has(account))) return found;
    if (total === null || total / Math.max(1, items.length) <= accounts.length)
      return this.all(call, enterpriseGlobalId);
    for (const account of accounts) {
      if (found.has(account)) continue;
      // A short account may be a part of many names.
      for await (const part of this.members.allMembers(call, enterpriseGlobalId, { keyword: account })) {
        for (const item of part.items) add(found, item);
        if (found.has(account)) break;
      }
    }
    return found;
  }
}

/**
 * A member whose account has more than letters and digits was not made by addMembers, and no row of a file can mean it. The interface does not say
 * what is between the account and the enterprise's code; where it is `@`, everything before belongs to the account.
 */
const ACCOUNT = /^([A-Za-z0-9]+)(?:@|[^A-Za-z0-9@][^@]*$|$)/;

function add(found: Map<string, KnownMember>, member: MemberDto): void {
  const { memberGlobalId, userName, name, departmentId, remark, passwordMobile, deleted } = member;
  const account = ACCOUNT.exec(userName ?? '')?.[1];
  if (userName === null || account === undefined || deleted === true) return;
  found.set(account, { memberGlobalId, account, userName, name, departmentId, remark, passwordMobile });
}
