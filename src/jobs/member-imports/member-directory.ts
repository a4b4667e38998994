import { Injectable } from '@nestjs/common';
import { AccountSuffixes } from '../../member/account-suffix.ts';
import type { ListedMember } from '../../member/member.mapper.ts';
import { MemberSearch } from '../../member/member-search.ts';
import type { CallContext } from '../../request/call-context.ts';
import { PlatformReadings } from '../../upstream/platform-readings.ts';
import { problemFrom } from '../../upstream/problems/as-problem.ts';
import { KnownMembers } from './known-members.ts';
import { refusesRows } from './row-outcomes.ts';

/** Two pages at a time halve the time of a list, and leave the platform able to serve other requests. */
const PAGES_AT_A_TIME = 2;

/** Reads the current members of an enterprise from the platform (member #5), without the read cache. */
@Injectable()
export class MemberDirectory {
  constructor(
    private readonly search: MemberSearch,
    private readonly suffixes: AccountSuffixes,
    private readonly readings: PlatformReadings,
  ) {}

  /** Reads all members. `accounts` are the ones that a file names. */
  async all(
    call: CallContext,
    enterpriseGlobalId: string,
    accounts: Iterable<string>,
  ): Promise<KnownMembers> {
    const members: ListedMember[] = [];
    let nameless = 0;
    const parts = this.search.allMembers(call, enterpriseGlobalId, undefined, PAGES_AT_A_TIME);
    for await (const part of parts) {
      members.push(...part.items);
      nameless += part.nameless;
    }
    return new KnownMembers(members, accounts, await this.suffixes.of(enterpriseGlobalId), nameless);
  }

  /**
   * Finds at least the members with these accounts and ids. It searches by account if that takes fewer calls than the whole list, and if
   * the platform was seen to find members that way.
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
    let { nameless } = first.value;
    const onPage = new KnownMembers(items, accounts, suffix, nameless);
    if (items.length === total) return onPage;
    const isWanted = (account: string) => onPage.of(account).length === 0;
    const isFewer = total !== null && total / Math.max(1, items.length) > accounts.length;
    const byKeyword =
      isFewer && suffix !== undefined && (await this.#findsAccounts(call, enterpriseGlobalId, onPage));
    if (!byKeyword) return this.all(call, enterpriseGlobalId, accounts);
    const found = [...items];
    for (const account of accounts.filter(isWanted))
      for await (const { items: more, nameless: some } of this.search.allMembers(call, enterpriseGlobalId, {
        keyword: account,
      })) {
        found.push(...more);
        nameless += some;
        // A short account may be a part of many names.
        if (new KnownMembers(more, accounts, suffix).of(account).length > 0) break;
      }
    const all = new KnownMembers(found, accounts, suffix, nameless);
    // If another row has changed the account of a member, a search by the old account does not find the member.
    return ids.every((id) => all.has(id)) ? all : this.all(call, enterpriseGlobalId, accounts);
  }

  /**
   * True if a keyword finds a member by the account alone. It searches for a member of the first page whose name does not contain the
   * keyword. A platform may search only whole names or user names, or refuse the keyword.
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
      if (refusesRows(problemFrom(error))) return false;
      throw error;
    }
  }
}
