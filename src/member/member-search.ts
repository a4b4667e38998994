import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { BoundedStore } from '../read-cache/bounded-store.ts';
import { SharedReads, type Source } from '../read-cache/shared-reads.ts';
import type { CallContext } from '../upstream/call-context.ts';
import type { ListMembersQuery, MemberDto, MemberPageDto } from './dto/member.dto.ts';
import { toMemberPage } from './member.mapper.ts';

/** As large as listMembers lets a caller have. */
const PAGE_SIZE = 200;
/** A list of more pages is no list of an enterprise. */
const MAX_PAGES = 500;
const REMEMBERED = 50_000;
const REMEMBERED_BYTES = 16 * 1024 * 1024;

/**
 * A member by its id. The platform finds members by name or account only, so the pages of its list are read until one of them shows the
 * member: first the page that showed it last. Each page is an entry of the read cache.
 */
@Injectable()
export class MemberSearch {
  readonly #pageOf = new BoundedStore<number>({
    entries: REMEMBERED,
    bytes: REMEMBERED_BYTES,
    sizeOf: () => 8,
  });

  constructor(
    private readonly shared: SharedReads,
    private readonly config: UpstreamConfig,
  ) {}

  /** What no cached page shows is looked for once more past the cache. */
  async find(
    call: CallContext,
    enterpriseGlobalId: string,
    memberGlobalId: string,
  ): Promise<MemberDto | undefined> {
    const found = await this.#search(call, enterpriseGlobalId, memberGlobalId);
    if (found || call.cachedAt === undefined) return found;
    call.cachedAt = undefined;
    return this.#search(call, enterpriseGlobalId, memberGlobalId, true);
  }

  async #search(
    call: CallContext,
    enterpriseGlobalId: string,
    memberGlobalId: string,
    fresh?: boolean,
  ): Promise<MemberDto | undefined> {
    const key = `${enterpriseGlobalId}\n${memberGlobalId}`;
    const look = async (number: number) => {
      const wanted = { page: number, pageSize: PAGE_SIZE };
      const page = await this.page(call, enterpriseGlobalId, wanted, fresh);
      const member = page.items.find((each) => each.memberGlobalId === memberGlobalId);
      if (member) this.#pageOf.set(key, number);
      return { ...page, member };
    };
    const last = this.#pageOf.get(key);
    const seen = last === undefined ? undefined : await look(last);
    if (seen?.member) return seen.member;
    let count = 0;
    for (let number = 1; number <= MAX_PAGES; number++) {
      const page = number === last && seen ? seen : await look(number);
      if (page.member) return page.member;
      count += page.items.length;
      // A page that is not full ends the list, unless the platform gives smaller pages than it is asked for.
      if (page.items.length === 0 || (page.items.length < PAGE_SIZE && count >= page.total)) return undefined;
    }
    throw new ProblemException('upstream-contract-violation', { outcome: 'not_processed' });
  }

  /** A page of the platform's list. `fresh`: bypasses the cache. */
  page(
    call: CallContext,
    enterpriseGlobalId: string,
    wanted: ListMembersQuery,
    fresh?: boolean,
  ): Promise<MemberPageDto> {
    return this.shared.read(this.#pageSource(enterpriseGlobalId, wanted), call, fresh);
  }

  /** A page as the platform has it now. */
  uncachedPage(
    call: CallContext,
    enterpriseGlobalId: string,
    wanted: ListMembersQuery,
  ): Promise<MemberPageDto> {
    return this.shared.readUncached(this.#pageSource(enterpriseGlobalId, wanted), call);
  }

  #pageSource(enterpriseGlobalId: string, wanted: ListMembersQuery): Source<MemberPageDto> {
    const { page, pageSize, departmentId, keyword } = wanted;
    return {
      operation: 'listMembers',
      ids: { enterpriseGlobalId },
      query: { departmentId, keyword, pageNum: String(page), pageSize: String(pageSize) },
      decode: (data, notes) => toMemberPage(data, wanted, this.config.timestampUnit, notes),
    };
  }
}
