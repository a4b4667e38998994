import { Body, Controller, Delete, Get, Param, Patch, Post, Put, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Call } from '../request/request-stages.ts';
import { EnterprisePath } from '../operation/enterprise-path.dto.ts';
import { Operation } from '../operation/operation.decorator.ts';
import type { CallContext } from '../request/call-context.ts';
import { AddMembersService } from './add-members.service.ts';
import {
  AddMembersDto,
  AddMembersResultDto,
  EnterpriseMemberPath,
  LeavingMemberPath,
  ListMembersQuery,
  MemberDto,
  MemberPageDto,
  ResetPasswordDto,
  SoughtMemberPath,
  UpdateMemberDto,
} from './dto/member.dto.ts';
import { MemberSearch } from './member-search.ts';
import { MemberService } from './member.service.ts';

const MULTI_STATUS = 207;

function addedNothing({ succeeded, failed }: AddMembersResultDto): boolean {
  return succeeded.length === 0 && failed.every(({ outcome }) => outcome === 'not_processed');
}

@ApiTags('Members')
@Controller('v1/enterprises/:enterpriseGlobalId/members')
export class EnterpriseMembersController {
  constructor(
    private readonly search: MemberSearch,
    private readonly members: MemberService,
    private readonly adding: AddMembersService,
  ) {}

  @Operation({
    id: 'addMembers',
    summary: 'Add members to an enterprise, up to 1,000 at once',
    description:
      'The gateway sends the rows to the platform in calls of 100, two at a time, and repeats none of them. Every row is under `succeeded` or `failed` ' +
      '(under both where the platform says both). The failure of one call does not affect the others. Where all calls ' +
      'fail for the same reason, the response is that problem.',
    effect: 'write',
    scope: 'members:write',
    upstream: 'addMembers',
    idempotency: 'key',
    dryRun: true,
    changedNothing: (result) => addedNothing(result as AddMembersResultDto),
    keyExample: 'example-of-add-members-1',
    success: [
      {
        status: 201,
        description: 'All were added',
        type: AddMembersResultDto,
        links: {
          deleteMember: {
            operationId: 'deleteMember',
            parameters: { 'path.memberGlobalId': '$response.body#/succeeded/0/memberGlobalId' },
          },
        },
      },
      { status: MULTI_STATUS, description: 'Not all were added', type: AddMembersResultDto },
    ],
    body: AddMembersDto,
  })
  @Post()
  async addMembers(
    @Call() call: CallContext,
    @Param() { enterpriseGlobalId }: EnterprisePath,
    @Body() members: AddMembersDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AddMembersResultDto> {
    const result = await this.adding.addMembers(call, enterpriseGlobalId, members);
    if (result.failed.length > 0) void reply.status(MULTI_STATUS);
    return result;
  }

  @Operation({
    id: 'listMembers',
    summary: 'Page through the members of an enterprise',
    effect: 'read',
    scope: 'members:read',
    upstream: 'listMembers',
    paged: true,
    success: [{ status: 200, description: 'One page; empty after the last page', type: MemberPageDto }],
  })
  @Get()
  listMembers(
    @Call() call: CallContext,
    @Param() { enterpriseGlobalId }: EnterprisePath,
    @Query() query: ListMembersQuery,
  ): Promise<MemberPageDto> {
    return this.search.listMembers(call, enterpriseGlobalId, query);
  }

  @Operation({
    id: 'getMember',
    summary: 'One member of an enterprise',
    effect: 'read',
    scope: 'members:read',
    upstream: 'listMembers',
    problems: ['member-not-found'],
    success: [{ status: 200, description: 'The member', type: MemberDto }],
  })
  @Get(':memberGlobalId')
  getMember(@Call() call: CallContext, @Param() ids: SoughtMemberPath): Promise<MemberDto> {
    return this.search.getMember(call, ids);
  }

  @Operation({
    id: 'updateMember',
    summary: 'Change the account, name and other data of a member',
    description:
      'Fields that are left out keep their values. Where the platform may clear them, and does not show them in a form that can be sent again (a ' +
      'masked mobile number), the response is 409 `edit-would-lose`, and `fields` names them. A repeated request has the same effect.',
    problems: ['edit-would-lose'],
    effect: 'write',
    scope: 'members:write',
    upstream: 'editMember',
    dryRun: true,
    success: [{ status: 204, description: 'Changed' }],
    body: UpdateMemberDto,
  })
  @Patch(':memberGlobalId')
  updateMember(
    @Call() call: CallContext,
    @Param() ids: EnterpriseMemberPath,
    @Body() terms: UpdateMemberDto,
  ): Promise<void> {
    return this.members.updateMember(call, ids, terms);
  }

  @Operation({
    id: 'resetMemberPassword',
    summary: 'Set a new password of a member',
    description: "May end the member's own sessions on the platform. A repeated request has the same effect.",
    effect: 'write',
    scope: 'members:write',
    upstream: 'resetPassword',
    dryRun: true,
    success: [{ status: 204, description: 'Changed' }],
    body: ResetPasswordDto,
  })
  @Put(':memberGlobalId/password')
  resetMemberPassword(
    @Call() call: CallContext,
    @Param() ids: EnterpriseMemberPath,
    @Body() secret: ResetPasswordDto,
  ): Promise<void> {
    return this.members.resetPassword(call, ids, secret);
  }

  @Operation({
    id: 'deleteMember',
    answersRepeats: true,
    summary: 'Delete a member',
    description:
      'A caller may repeat it: after an earlier delete with an unknown outcome, the response for a missing member is also 204.',
    effect: 'write',
    scope: 'members:write',
    upstream: 'deleteMember',
    // A DELETE has no body.
    dryRun: { with: 'updateMember', own: 'delete', takes: (body) => body === undefined },
    success: [{ status: 204, description: 'Deleted' }],
  })
  @Delete(':memberGlobalId')
  deleteMember(@Call() call: CallContext, @Param() ids: LeavingMemberPath): Promise<void> {
    return this.members.deleteMember(call, ids);
  }
}
