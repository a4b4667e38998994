import { Injectable } from '@nestjs/common';
import type { MemberDto } from '../member/dto/member.dto.ts';
import { MemberService } from '../member/member.service.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext } from '../upstream/call-context.ts';
import type { ExportQuery } from './dto/job.dto.ts';
import { MEMBERS_PER_PAGE, MOST_MEMBER_PAGES } from './member-directory.ts';

/** In the file; the names of addMembers are among them. */
export const EXPORTED = [
  ...(['memberGlobalId', 'userName', 'name', 'departmentId', 'departmentName', 'remark'] as const),
  ...(['passwordMobile', 'assetNums', 'lentLockNum', 'online', 'createdAt', 'updatedAt'] as const),
] satisfies (keyof MemberDto)[];

/** All members of an enterprise, page by page as the client reads them. */
@Injectable()
export class MemberExportService {
  constructor(private readonly members: MemberService) {}

  async *all(
    call: CallContext,
    enterpriseGlobalId: string,
    filter: Omit<ExportQuery, 'cells'>,
  ): AsyncGenerator<MemberDto> {
    for (let page = 1; page <= MOST_MEMBER_PAGES; page++) {
      const query = { ...filter, page, pageSize: MEMBERS_PER_PAGE };
      const { items, total } = await this.members.listMembersUncached(call, enterpriseGlobalId, query);
      yield* items;
      if (items.length === 0 || page * MEMBERS_PER_PAGE >= total) return;
    }
    throw new ProblemException('upstream-contract-violation', { outcome: 'not_processed' });
  }
}
