import { Injectable } from '@nestjs/common';
import type { MemberDto } from '../member/dto/member.dto.ts';
import { MemberService } from '../member/member.service.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext } from '../upstream/call-context.ts';

/** As large as the platform's list has them. */
export const MEMBERS_PER_PAGE = 200;
/** A list of more pages is no list of an enterprise. */
export const MOST_MEMBER_PAGES = 2_500;
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
    const read = async (page: number): Promise<number> => {
      const { items, total } = await this.#page(call, enterpriseGlobalId, page);
      for (const item of items) add(found, item);
      return items.length === 0 ? 0 : Math.ceil(total / MEMBERS_PER_PAGE);
    };
    let pages = await read(1);
    if (pages > MOST_MEMBER_PAGES)
      throw new ProblemException('upstream-contract-violation', { outcome: 'not_processed' });
    for (let from = 2; from <= pages; from += PAGES_AT_A_TIME) {
      const numbers = Array.from(
        { length: Math.min(PAGES_AT_A_TIME, pages - from + 1) },
        (_, at) => from + at,
      );
      const counts = await Promise.all(numbers.map(read));
      // The enterprise has fewer members now.
      pages = Math.min(pages, ...counts.map((count) => count || pages));
    }
    return found;
  }

  /** The members of these accounts: by their accounts, or by the whole list where that takes fewer calls. */
  async of(
    call: CallContext,
    enterpriseGlobalId: string,
    accounts: readonly string[],
  ): Promise<MembersByAccount> {
    const { total, items } = await this.#page(call, enterpriseGlobalId, 1);
    const found = new Map<string, KnownMember>();
    for (const item of items) add(found, item);
    if (items.length >= total || accounts.every((account) => found.has(account))) return found;
    if (total / MEMBERS_PER_PAGE <= accounts.length) return this.all(call, enterpriseGlobalId);
    for (const account of accounts) {
      if (found.has(account)) continue;
      // A short account may be a part of many names.
      for (let page = 1, pages = 1; page <= pages && !found.has(account); page++) {
        const part = await this.#page(call, enterpriseGlobalId, page, account);
        for (const item of part.items) add(found, item);
        pages =
          part.items.length === 0 ? 0 : Math.min(MOST_MEMBER_PAGES, Math.ceil(part.total / MEMBERS_PER_PAGE));
      }
    }
    return found;
  }

  #page(
    call: CallContext,
    enterpriseGlobalId: string,
    page: number,
    keyword?: string,
  ): Promise<{ items: readonly MemberDto[]; total: number }> {
    return this.members.listMembersUncached(call, enterpriseGlobalId, {
      page,
      pageSize: MEMBERS_PER_PAGE,
      ...(keyword && { keyword }),
    });
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
