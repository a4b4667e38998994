import { Injectable } from '@nestjs/common';
import type { MemberDto } from '../member/dto/member.dto.ts';
import { MemberService } from '../member/member.service.ts';
import type { CallContext } from '../upstream/call-context.ts';
import type { ExportQuery } from './dto/job.dto.ts';

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
    for await (const { items } of this.members.allMembers(call, enterpriseGlobalId, filter)) yield* items;
  }
}
