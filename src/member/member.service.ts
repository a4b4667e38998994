import { Injectable } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { nothing } from '../upstream/wire/reader.ts';
import type {
  ListMembersQuery,
  MemberDto,
  MemberPageDto,
  ResetPasswordDto,
  UpdateMemberDto,
} from './dto/member.dto.ts';
import { toMemberTerms } from './member.mapper.ts';
import { type MemberFilter, MemberSearch, type MembersPart } from './member-search.ts';
import { UnsettledDeletes } from './unsettled-deletes.ts';

interface MemberIds {
  readonly enterpriseGlobalId: string;
  readonly memberGlobalId: string;
}

/** The members of an enterprise one by one: map in, call, map out. */
@Injectable()
export class MemberService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly unsettled: UnsettledDeletes,
    private readonly search: MemberSearch,
  ) {}

  listMembers(
    call: CallContext,
    enterpriseGlobalId: string,
    wanted: ListMembersQuery,
  ): Promise<MemberPageDto> {
    return this.search.page(call, enterpriseGlobalId, wanted);
  }

  /** All members from the platform itself, page by page. */
  allMembers(
    call: CallContext,
    enterpriseGlobalId: string,
    filter?: MemberFilter,
    pagesAtATime?: number,
  ): AsyncGenerator<MembersPart> {
    return this.search.uncached(call, enterpriseGlobalId, filter, pagesAtATime);
  }

  /** The same, one by one as the client reads them. */
  async *export(
    call: CallContext,
    enterpriseGlobalId: string,
    filter: MemberFilter,
  ): AsyncGenerator<MemberDto> {
    for await (const { items } of this.allMembers(call, enterpriseGlobalId, filter)) yield* items;
  }

  async getMember(call: CallContext, { enterpriseGlobalId, memberGlobalId }: MemberIds): Promise<MemberDto> {
    const member = await this.search.find(call, enterpriseGlobalId, memberGlobalId);
    if (!member) throw new ProblemException('member-not-found');
    return member;
  }

  updateMember(call: CallContext, ids: MemberIds, member: UpdateMemberDto): Promise<void> {
    return this.upstream.call('editMember', call, { ids: { ...ids }, body: toMemberTerms(member) }, nothing);
  }

  resetPassword(call: CallContext, ids: MemberIds, { password }: ResetPasswordDto): Promise<void> {
    return this.upstream.call('resetPassword', call, { ids: { ...ids }, body: { password } }, nothing);
  }

  /**
   * A missing member is no failure where an earlier delete may have removed it, because a caller may repeat a DELETE (docs/api.md,
   * section 4).
   */
  async deleteMember(call: CallContext, ids: MemberIds): Promise<void> {
    const { enterpriseGlobalId, memberGlobalId } = ids;
    try {
      await this.upstream.call('deleteMember', call, { ids: { ...ids } }, nothing);
      await this.unsettled.settle(enterpriseGlobalId, memberGlobalId);
    } catch (error) {
      const problem = asProblem(error);
      if (problem instanceof ProblemException) {
        const { code, outcome } = problem.body;
        if (outcome === 'unknown') await this.unsettled.add(enterpriseGlobalId, memberGlobalId);
        if (code === 'member-not-found' && (await this.unsettled.settle(enterpriseGlobalId, memberGlobalId)))
          return;
      }
      throw error;
    }
  }
}
