import { Injectable } from '@nestjs/common';
import { AccountSuffixes } from '../../member/account-suffix.ts';
import type { ListedMember } from '../../member/member.mapper.ts';
import { MemberSearch } from '../../member/member-search.ts';
import type { CallContext } from '../../request/call-context.ts';
import { PlatformReadings } from '../../upstream/platform-readings.ts';
import { KnownMembers } from './known-members.ts';
import { callProblem, refusesRows } from './row-outcomes.ts';

/** Enough to halve the time, and few enough for the platform to serve other requests too. */
const PAGES_AT_A_TIME = 2;

/** The members of an enterprise as the platform has them now (member #5). The read cache is not used. */
@Injectable()
export class MemberDirectory {
  constructor(
    private readonly search: MemberSearch,
    private readonly suffixes: AccountSuffixes,
    private readonly readings: PlatformReadings,
  ) {}

  /** All of them. `accounts`: those that a file names. */
  async all(
    call: CallContext,
    enterpriseGlobalId: string,
    accounts: Iterable<string>,
  ): Promise<KnownMembers> {
    const members: ListedMember[] = [];
    const parts = this.search.allMembers(call, enterpriseGlobalId, undefined, PAGES_AT_A_TIME);
    for await (const { items } of parts) members.push(...items);
    return new KnownMembers(members, accounts, await this.suffixes.of(enterpriseGlobalId));
  }

  /**
   * At least the members of these accounts and ids: by their accounts, if that takes fewer calls than the whole list, and the platform is seen
   * to find members so.
   */
  async find(
    call: CallContext,
    enterpriseGlobalId: string,
    accounts: readonly string[],
    ids: readonly string[],
  ): Promise<KnownMembers> {
    const suffix = await this.suffixes.of(enterpriseGlobalId);
    const first = await this.search.allMembers(call, enterpriseGlobalId).next();
    if (first.done) return new KnownMembers([], accounts, suffix);
    const { items, total } = first.value;
    const onPage = new KnownMembers(items, accounts, suffix);
    if (items.length === total) return onPage;
    const isWanted = (account: string) => onPage.of(account).length === 0;
    const isFewer = total !== null && total / Math.max(1, items.length) > accounts.length;
    const byKeyword =
      isFewer && suffix !== undefined && (await this.#findsAccounts(call, enterpriseGlobalId, onPage));
    if (!byKeyword) return this.all(call, enterpriseGlobalId, accounts);
    const found = [...items];
    for (const account of accounts.filter(isWanted))
      for await (const { items: more } of this.search.allMembers(call, enterpriseGlobalId, {
        keyword: account,
      })) {
        found.push(...more);
        // A short account may be a part of many names.
        if (new KnownMembers(more, accounts, suffix).of(account).length > 0) break;
      }
    const all = new KnownMembers(found, accounts, suffix);
    // A member whose account another row has changed is not found by its own.
    return ids.every((id) => all.has(id)) ? all : this.all(call, enterpriseGlobalId, accounts);
  }

  /**
   * Whether a keyword finds a member by the account alone: a member of the first page is looked for, whose name does not have the keyword. A
   * platform may look for whole names or user names only, or refuse the keyword.
   */
  async #findsAccounts(call: CallContext, enterpriseGlobalId: string, known: KnownMembers): Promise<boolean> {
    if (this.readings.of('keyword') === 'whole') return false;
    const wanted = known
      .all()
      .find(({ account, name }) => name?.toLowerCase().includes(account.toLowerCase()) === false);
    if (!wanted) return false;
    try {
      const parts = this.search.allMembers(call, enterpriseGlobalId, { keyword: wanted.account });
      for await (const { items } of parts)
        if (items.some(({ memberGlobalId }) => memberGlobalId === wanted.memberGlobalId)) return true;
      return false;
    } catch (error) {
      if (refusesRows(callProblem(error))) return false;
      throw error;
    }
  }
}
