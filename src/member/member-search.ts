import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { BoundedStore } from '../read-cache/bounded-store.ts';
import { SharedReads, type Source } from '../read-cache/shared-reads.ts';
import { type CallContext, Progress } from '../upstream/call-context.ts';
import { MemberList, type Part } from '../upstream/member-list.ts';
import type { AskPage } from '../upstream/member-pages.ts';
import { PageLimit } from '../upstream/page-limit.ts';
import type { MemberPage } from '../upstream/wire/member-page.ts';
import type { ListMembersQuery, MemberDto, MemberPageDto } from './dto/member.dto.ts';
import { toMemberPage } from './member.mapper.ts';

const REMEMBERED = 50_000;
const REMEMBERED_BYTES = 16 * 1024 * 1024;

export type MemberFilter = Pick<ListMembersQuery, 'departmentId' | 'keyword'>;
export type MembersPart = Part<MemberDto>;

/** The members of an enterprise, from the read cache or from the platform itself. Each page of the platform is an entry of the read cache. */
@Injectable()
export class MemberSearch {
  /** The positions at which the pages begin that showed members last. */
  readonly #placeOf = new BoundedStore<number>({
    entries: REMEMBERED,
    bytes: REMEMBERED_BYTES,
    sizeOf: () => 8,
  });

  constructor(
    private readonly shared: SharedReads,
    private readonly config: UpstreamConfig,
    private readonly list: MemberList,
    private readonly limit: PageLimit,
  ) {}

  /**
   * A member by its id. The platform finds members by name or account only, so the pages of its list are read until one of them shows the
   * member: first the page that showed it last. What no cached page shows is looked for once more past the cache.
   */
  async find(
    call: CallContext,
    enterpriseGlobalId: string,
    memberGlobalId: string,
  ): Promise<MemberDto | undefined> {
    const progress = new Progress();
    const found = await this.#search({ ...call, progress }, enterpriseGlobalId, memberGlobalId).finally(() =>
      call.progress.waited(progress),
    );
    if (found || progress.oldestPart === undefined) {
      call.progress.uses(progress.oldestPart);
      return found;
    }
    return this.#search(call, enterpriseGlobalId, memberGlobalId, true);
  }

  async #search(
    call: CallContext,
    enterpriseGlobalId: string,
    memberGlobalId: string,
    fresh?: boolean,
  ): Promise<MemberDto | undefined> {
    const key = `${enterpriseGlobalId}\n${memberGlobalId}`;
    const ask = this.#cached(call, enterpriseGlobalId, {}, fresh);
    const isWanted = (member: MemberDto) => member.memberGlobalId === memberGlobalId;
    const last = this.#placeOf.get(key);
    if (last !== undefined) {
      const pageSize = await this.limit.size();
      const { items } = await this.list.page(ask, { page: Math.floor(last / pageSize) + 1, pageSize });
      const member = items.find(isWanted);
      if (member) return member;
    }
    for await (const { items, at } of this.list.all(ask)) {
      const member = items.find(isWanted);
      if (!member) continue;
      this.#placeOf.set(key, at);
      return member;
    }
    return undefined;
  }

  async page(
    call: CallContext,
    enterpriseGlobalId: string,
    { page, pageSize, ...filter }: ListMembersQuery,
  ): Promise<MemberPageDto> {
    const ask = this.#cached(call, enterpriseGlobalId, filter);
    const { items, total } = await this.list.page(ask, { page, pageSize });
    return { items, page, pageSize, total, totalPages: total === null ? null : Math.ceil(total / pageSize) };
  }

  /** All members as the platform has them now, page by page, for readers who act on what is there. */
  uncached(
    call: CallContext,
    enterpriseGlobalId: string,
    filter: MemberFilter = {},
    pagesAtATime?: number,
  ): AsyncGenerator<MembersPart> {
    return this.list.all(this.#uncached(call, enterpriseGlobalId, filter), pagesAtATime);
  }

  /** How many members the enterprise has now. */
  count(call: CallContext, enterpriseGlobalId: string): Promise<number> {
    return this.list.count(this.#uncached(call, enterpriseGlobalId, {}));
  }

  #uncached(call: CallContext, enterpriseGlobalId: string, filter: MemberFilter): AskPage<MemberDto> {
    return (wanted) =>
      this.shared.readUncached(this.#source(enterpriseGlobalId, { ...filter, ...wanted }), call);
  }

  /** `fresh`: bypasses the cache. */
  #cached(
    call: CallContext,
    enterpriseGlobalId: string,
    filter: MemberFilter,
    fresh?: boolean,
  ): AskPage<MemberDto> {
    return (wanted, again) =>
      this.shared.read(
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
