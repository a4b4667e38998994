import { ApiSchema } from '@nestjs/swagger';
import { Count, Int64, Opaque, OpenWord, Time, UpstreamName } from '../../operation/response-fields.ts';
import { EnterprisePath } from '../../operation/enterprise-path.dto.ts';
import { PageQuery } from '../../operation/page.dto.ts';
import { type Outcome, outcomes, problemCodes } from '../../problem/catalogue.ts';
import { Names } from '../../tenancy/names.ts';
import { DifferentBy, Unrepeated } from '../../validation/list-rules.ts';
import { Digits, Long, WholeNumberParameter } from '../../validation/scalar-rules.ts';
import { Clearable, ListOf, NewPassword, Optional, PathId, Text, Word } from '../../validation/rules.ts';

const DEFAULT_PAGE_SIZE = 20;
const MAX_NAME = 30;
/** An account. The name with the enterprise code must stay under 63 characters (interface section 8). */
const ACCOUNT = /^[A-Za-z0-9]{1,62}$/;
const ACCOUNT_RULE = 'must be 1 to 62 letters and digits';

export class EnterpriseMemberPath extends EnterprisePath {
  @PathId({ example: 'mem-harbour-anna' })
  @Names('member')
  memberGlobalId!: string;
}

/** The path of an operation that itself looks for the member in the list of the enterprise. */
export class SoughtMemberPath extends EnterprisePath {
  @PathId({ example: 'mem-harbour-anna' })
  @Names('filter')
  memberGlobalId!: string;
}

export class LeavingMemberPath extends EnterprisePath {
  @PathId({ example: 'mem-harbour-dora' })
  @Names('member')
  memberGlobalId!: string;
}

abstract class OptionalTerms {
  @Optional()
  @Long({
    description: 'Id of the department: a whole number of 64 bits, as digits in a string or as an integer',
    example: '10',
  })
  @Names('label')
  departmentId?: string;

  /**
   * Remark on the member. An empty text is sent as it is: the platform's interface does not say whether that removes the current remark, so
   * read the member afterwards.
   */
  @Optional()
  @Text({ example: 'Second floor' }, { min: 0, max: 200 })
  remark?: string;

  /** The mobile number for the recovery of the password. A number with masked digits, such as `138****0001`, is refused. */
  @Optional()
  @Text({ example: '13800000001' })
  passwordMobile?: string;
}

abstract class MemberTerms extends OptionalTerms {
  /** The member's own name. */
  @Text({ example: 'Anna Berg' }, { max: MAX_NAME })
  name!: string;
}

/** Optional fields of a member. In an edit null clears them. */
export const CLEARABLE = ['departmentId', 'remark', 'passwordMobile'] as const;
export type ClearableField = (typeof CLEARABLE)[number];

@Clearable<UpdateMemberDto>(...CLEARABLE)
@ApiSchema({
  description:
    'New data of a member; optional fields that are left out stay as they are, or the edit is 409 `edit-would-lose`. `null` clears one, where the profile of the platform says that it ' +
    'can (`memberEdit`), else it is 400',
})
export class UpdateMemberDto extends MemberTerms {
  /** Account name without the enterprise code; a new name renames the account. */
  @Word(ACCOUNT, ACCOUNT_RULE, { example: 'anna', 'x-upstream': 'userName' })
  account!: string;
}

@ApiSchema({ description: 'An employee to add' })
export class NewMemberDto extends MemberTerms {
  /** Account name without the enterprise code, which the platform appends. */
  @Unrepeated()
  @Word(ACCOUNT, ACCOUNT_RULE, { example: 'evan', 'x-upstream': 'userName' })
  @Names('newAccount')
  account!: string;

  /** Initial password. */
  @NewPassword()
  password!: string;
}

@ApiSchema({
  description:
    'A row of a file of members. It needs `account` or `userName`, and for a new member also `name` and `password`. Null or an empty text is a field that is ' +
    'left out; only an empty `remark` says something. The other columns of `exportMembers` are passed over',
})
export class ImportedMemberDto extends OptionalTerms {
  /** Account name without the enterprise code. */
  @Optional()
  @Word(ACCOUNT, ACCOUNT_RULE, { example: 'evan' })
  account?: string;

  /** Account name with the enterprise code; used where there is no `account`. If both are given, they must be of one member. */
  @Optional()
  @Text({ example: 'anna@harbour' })
  userName?: string;

  /** The member's own name. */
  @Optional()
  @Text({ example: 'Evan Moss' }, { max: MAX_NAME })
  name?: string;

  /** Initial password of a new member. */
  @Optional()
  @NewPassword()
  password?: string;
}

@ApiSchema({ description: 'Employees to add' })
export class AddMembersDto {
  /** The rows, with no account twice. */
  @DifferentBy('account')
  @ListOf(() => NewMemberDto, { min: 1, max: 1_000 }, { 'x-upstream': 'userList' })
  members!: NewMemberDto[];
}

@ApiSchema({ description: "A member's new password" })
export class ResetPasswordDto {
  /** The new password. */
  @NewPassword()
  password!: string;
}

export class ListMembersQuery extends PageQuery {
  @Optional()
  @WholeNumberParameter(1, 200, { example: DEFAULT_PAGE_SIZE })
  override pageSize: number = DEFAULT_PAGE_SIZE;

  @Optional()
  @Digits({ description: 'Only members of this department', example: '10' })
  @Names('filter')
  departmentId?: string;

  /** A part of the name or account. */
  @Optional()
  @Text({ example: 'anna' })
  @Names('filter')
  keyword?: string;
}

@ApiSchema({
  description:
    'An employee of an enterprise. Fields that the platform does not return for a new member are null',
})
export class MemberDto {
  @UpstreamName('id')
  memberId!: string | null;

  userId!: string | null;

  @UpstreamName('globalId')
  memberGlobalId!: string;

  enterpriseId!: string | null;

  @Int64()
  departmentId!: string | null;

  departmentName!: string | null;
  userName!: string | null;
  /** The member's own name. */
  name!: string | null;
  remark!: string | null;
  passwordMobile!: string | null;
  /** Asset numbers assigned to the member. */
  assetNums!: string[];

  /** The lent lock that is lent to the member. */
  @UpstreamName('borrowNum')
  lentLockNum!: string | null;

  /** Whether the member is online now. */
  @UpstreamName('onlineFlag')
  online!: boolean | null;

  deleted!: boolean | null;

  @Time('createTime')
  createdAt!: string | null;

  @Time('updateTime')
  updatedAt!: string | null;

  @Opaque()
  boundUserInfo!: unknown;
}

@ApiSchema({ description: 'One page of members' })
export class MemberPageDto {
  items!: MemberDto[];

  @Count()
  page!: number;

  @Count()
  pageSize!: number;

  @Count(
    'Number of members that match, on all pages; null where the platform does not count them, and the end of the list was not seen',
  )
  total!: number | null;

  @Count('Number of pages; null where `total` is')
  totalPages!: number | null;
}

@ApiSchema({ description: 'A row of the request that was not added' })
export class FailedMemberDto {
  @Count('Position of the row in the request, from 0')
  index!: number;

  /** The account as the caller sent it. */
  @UpstreamName('userName')
  account!: string;

  @OpenWord(
    problemCodes,
    "A problem's code: `upstream-rejected` where the platform refused this row, `upstream-contract-violation` where its answer " +
      'contradicts itself or leaves the row out, otherwise the code of the call that had the row',
  )
  code!: string;

  /** The reason, in the platform's words where it gave one. */
  message!: string;

  @OpenWord(outcomes, '`unknown`: check whether the member exists before you send the row again')
  outcome!: Outcome;

  /** Whether the same row may be sent again unchanged. */
  retryable!: boolean;
}

@ApiSchema({ description: 'What became of each row of the request' })
export class AddMembersResultDto {
  /** The members that were added. */
  succeeded!: MemberDto[];

  /** The rows that were not added, in the order of the request. */
  failed!: FailedMemberDto[];
}
