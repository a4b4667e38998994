import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { UpstreamConfig } from '../config/app-config.ts';
import { SingleFlight } from '../kit/single-flight/single-flight.ts';
import { ReadCache, type Source } from '../read-cache/read-cache.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { type CallContext, isFresh, Progress } from '../request/call-context.ts';
import { MemberList, type Part } from '../upstream/member-list.ts';
import { type AskPage, listViolation } from '../upstream/member-pages.ts';
import { PageLimit } from '../upstream/page-limit.ts';
import { problemFrom } from '../upstream/problems/as-problem.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import type { MemberPage } from '../upstream/wire/member.ts';
import {
  CLEARABLE,
  type ClearableField,
  type EnterpriseMemberPath,
  type ListMembersQuery,
  type MemberDto,
  type MemberPageDto,
} from './dto/member.dto.ts';
import { type ListedMember, stillHidden, toListedPage, toMemberPage } from './member.mapper.ts';

const MAX_REMEMBERED_BYTES = 16 * 1024 * 1024;

/** The member, or the number of listed members without an id, any of whom may be the one. */
type Found = { readonly member: MemberDto } | { readonly nameless: number };

interface Refreshed {
  /** The first position of each member's page. */
  readonly positions: ReadonlyMap<string, number>;
  readonly nameless: number;
}

type MemberFilter = Pick<ListMembersQuery, 'departmentId' | 'keyword'>;

/**
 * Reads the members of an enterprise, from the read cache or from the platform itself. Each page of the platform is an entry of the cache.
 */
@Injectable()
export class MemberSearch {
  /** The first position of the page that last showed each member. */
  readonly #positions = new LRUCache<string, number>({
    maxSize: MAX_REMEMBERED_BYTES,
    sizeCalculation: (_, key) => 64 + 2 * key.length,
  });

  readonly #refreshes = new SingleFlight<Refreshed>();

  constructor(
    private readonly cache: ReadCache,
    private readonly upstream: UpstreamClient,
    private readonly config: UpstreamConfig,
    private readonly list: MemberList,
    private readonly limit: PageLimit,
  ) {}

  /**
   * Finds a member, or throws `member-not-found`. The platform searches by name or account only, so the pages of its list are read until
   * one shows the member. The page that last showed the member comes first. If no cached page shows the member, the pages are read again
   * without the cache.
   */
  async getMember(call: CallContext, ids: EnterpriseMemberPath): Promise<MemberDto> {
    const progress = new Progress();
    let found = await this.#find({ ...call, progress }, ids).finally(() => call.progress.waited(progress));
    if ('member' in found || progress.parts.every(isFresh)) call.progress.uses(...progress.parts);
    else found = await this.#findAgain(call, ids);
    if (!('member' in found)) throw missing(found.nameless);
    return found.member;
  }

  /**
   * Finds a member in a list that is read past the cache. Requests for unknown ids with the same rights share one read, so that they cannot
   * cause many.
   */
  async #findAgain(call: CallContext, ids: EnterpriseMemberPath): Promise<Found> {
    const { enterpriseGlobalId, memberGlobalId } = ids;
    const progress = new Progress();
    const read = async () => {
      const positions = new Map<string, number>();
      let nameless = 0;
      const ask = this.#cached({ ...call, progress }, enterpriseGlobalId, {}, true);
      for await (const part of this.list.all(ask)) {
        nameless += part.nameless;
        for (const member of part.items) positions.set(member.memberGlobalId, part.at);
      }
      return { positions, nameless };
    };
    // The member is then taken from the cache, which has other entries for other rights.
    const key = this.cache.keyOf(this.#source(enterpriseGlobalId, {}), call);
    // A read that is in progress may have begun before this request arrived.
    const { positions, nameless } = await this.#refreshes
      .next(key, read)
      .finally(() => call.progress.waited(progress));
    const at = positions.get(memberGlobalId);
    if (at === undefined) return { nameless };
    this.#positions.set(keyOf(ids), at);
    // The cache has the page now.
    return this.#find(call, ids);
  }

  /**
   * Reads the present state of a member, by its account, or else from the whole list. Throws `member-not-found`. A keyword without a result
   * proves nothing: its way of matching is unknown, the edit may rename the account, and a platform may refuse the keyword. `fields` lists
   * the fields of which the result must tell whether the list hides them. It hides none but those of `mayBeHidden`.
   */
  async find(
    call: CallContext,
    { enterpriseGlobalId, memberGlobalId }: EnterpriseMemberPath,
    account: string,
    fields: readonly ClearableField[],
    mayBeHidden: readonly ClearableField[] = CLEARABLE,
  ): Promise<ListedMember> {
    const isWanted = (member: ListedMember) => member.memberGlobalId === memberGlobalId;
    let open = mayBeHidden;
    // One member without a field does not tell whether the list has the field.
    const isClear = ({ hidden }: ListedMember) =>
      fields.every((field) => {
        const isKnown = field === 'passwordMobile' && this.limit.mobiles === 'absent';
        return isKnown || !hidden.includes(field) || !open.includes(field);
      });
    let found: ListedMember | undefined;
    try {
      for await (const { items } of this.allMembers(call, enterpriseGlobalId, { keyword: account })) {
        open = stillHidden(open, items);
        if ((found = items.find(isWanted))) break;
      }
    } catch (error) {
      if (problemFrom(error).slug !== 'upstream-rejected') throw error;
    }
    let nameless = 0;
    // The list is read until it shows the member, and until other members show the fields that the member lacks.
    if (!found || !isClear(found))
      for await (const { items, nameless: some } of this.allMembers(call, enterpriseGlobalId)) {
        nameless += some;
        found = items.find(isWanted) ?? found;
        open = stillHidden(open, items);
        if (found && isClear(found)) break;
      }
    if (!found) throw missing(nameless);
    return { ...found, hidden: found.hidden.filter((field) => open.includes(field)) };
  }

  async #find(call: CallContext, ids: EnterpriseMemberPath): Promise<Found> {
    const { enterpriseGlobalId, memberGlobalId } = ids;
    const key = keyOf(ids);
    const ask = this.#cached(call, enterpriseGlobalId, {});
    const isWanted = (member: MemberDto) => member.memberGlobalId === memberGlobalId;
    const last = this.#positions.get(key);
    if (last !== undefined) {
      const pageSize = await this.limit.size();
      const { items } = await this.list.page(ask, { page: Math.floor(last / pageSize) + 1, pageSize });
      const member = items.find(isWanted);
      if (member) return { member };
    }
    let nameless = 0;
    for await (const part of this.list.all(ask)) {
      nameless += part.nameless;
      const member = part.items.find(isWanted);
      if (!member) continue;
      this.#positions.set(key, part.at);
      return { member };
    }
    return { nameless };
  }

  async listMembers(
    call: CallContext,
    enterpriseGlobalId: string,
    { page, pageSize, ...filter }: ListMembersQuery,
  ): Promise<MemberPageDto> {
    const ask = this.#cached(call, enterpriseGlobalId, filter);
    const { items, total } = await this.list.page(ask, { page, pageSize });
    this.#assertShown(items.length === 0 && (page === 1 || total === 0), filter);
    return { items, page, pageSize, total, totalPages: total === null ? null : Math.ceil(total / pageSize) };
  }

  /** Yields the present state of all members, page by page. */
  allMembers(
    call: CallContext,
    enterpriseGlobalId: string,
    filter: MemberFilter = {},
    pagesAtATime?: number,
  ): AsyncGenerator<Part<ListedMember>> {
    return this.list.all(this.#uncached(call, enterpriseGlobalId, filter), { pagesAtATime, isExact: true });
  }

  /**
   * Yields all members one by one. The next page is requested when the reader has used up the last one. Throws at the end if a member came
   * without an id, because a file without that member is incomplete.
   */
  async *export(
    call: CallContext,
    enterpriseGlobalId: string,
    filter: MemberFilter,
  ): AsyncGenerator<MemberDto> {
    let nameless = 0;
    let isEmpty = true;
    for await (const part of this.allMembers(call, enterpriseGlobalId, filter)) {
      nameless += part.nameless;
      isEmpty &&= part.items.length === 0;
      for (const { hidden: _, unreadable: __, isMobilePart: ___, ...member } of part.items) yield member;
    }
    this.#assertShown(isEmpty, filter);
    if (nameless > 0) throw listViolation('Members came without an id, so the file does not have them.');
  }

  /** Returns the present number of members of the enterprise. */
  async count(call: CallContext, enterpriseGlobalId: string): Promise<number> {
    const count = await this.list.count(this.#uncached(call, enterpriseGlobalId, {}));
    this.#assertShown(count === 0);
    return count;
  }

  /** Throws if a list of all members is empty because the acting user does not see the enterprise. */
  #assertShown(isEmpty: boolean, { departmentId, keyword }: MemberFilter = {}): void {
    if (isEmpty && departmentId === undefined && keyword === undefined && this.limit.showsOwnOnly)
      throw listViolation('The platform does not show the members of this enterprise to the acting user.');
  }

  #uncached(call: CallContext, enterpriseGlobalId: string, filter: MemberFilter): AskPage<ListedMember> {
    const unit = this.config.timestampUnit;
    return (wanted) => {
      const request = { ids: { enterpriseGlobalId }, query: { ...filter, ...wanted } };
      return this.upstream.call('listMembers', call, request, (data, notes) =>
        toListedPage(data, unit, notes, this.limit.mobiles),
      );
    };
  }

  #cached(
    call: CallContext,
    enterpriseGlobalId: string,
    filter: MemberFilter,
    fresh?: boolean,
  ): AskPage<MemberDto> {
    return (wanted, again) =>
      this.cache.read(
        this.#source(enterpriseGlobalId, { ...filter, ...wanted }),
        call,
        again || fresh || undefined,
      );
  }

  #source(enterpriseGlobalId: string, query: Source<unknown>['query']): Source<MemberPage<MemberDto>> {
    return {
      operation: 'listMembers',
      ids: { enterpriseGlobalId },
      query,
      decode: (data, notes) => toMemberPage(data, this.config.timestampUnit, notes),
    };
  }
}

/** Returns the problem for a member whom the list does not show. `nameless` is the number of listed members without an id. */
function missing(nameless: number): ProblemException {
  return nameless === 0
    ? new ProblemException('member-not-found')
    : listViolation('Members came without an id, so the gateway cannot tell whether this one exists.');
}

/** Ids in a path have no line breaks. */
function keyOf({ enterpriseGlobalId, memberGlobalId }: EnterpriseMemberPath): string {
  return `${enterpriseGlobalId}\n${memberGlobalId}`;
}
