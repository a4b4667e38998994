import { type ContractNotes, ContractViolation } from '../upstream/wire/contract-notes.ts';
import { Reader, readList, readObject } from '../upstream/wire/reader.ts';
import type { TimestampUnit } from '../upstream/wire/time.ts';
import {
  nullableOfAssetNum,
  nullableOfMember,
  type WireAssetNum,
  type WireLentLock,
  type WireMember,
  type WireMemberTerms,
  type WirePage,
} from '../upstream/wire/member.ts';
import { wireLong } from '../upstream/wire/long.ts';
import type { ListMembersQuery, MemberDto, MemberPageDto, UpdateMemberDto } from './dto/member.dto.ts';
import type { AssetNumDto, LentLockDto } from './dto/member-assets.dto.ts';

/** Converts the member center's answers to the gateway's DTOs. Pure; throws {@link ContractViolation} where an answer violates the interface. */

/** The platform may round a page up to its own size. A list far longer than the requested size is not the page. */
const PAGE_TOLERANCE = 1.1;

export function toMemberTerms({
  account,
  departmentId,
  name,
  remark,
  passwordMobile,
}: UpdateMemberDto): WireMemberTerms {
  return { userName: account, departmentId: wireLong(departmentId), name, remark, passwordMobile };
}

export function readMember(wire: Reader<WireMember>, unit: TimestampUnit): MemberDto {
  return {
    memberId: wire.id('id'),
    userId: wire.id('userId'),
    memberGlobalId: wire.requiredId('globalId'),
    enterpriseId: wire.id('enterpriseId'),
    departmentId: wire.id('departmentId'),
    departmentName: wire.text('departmentName'),
    userName: wire.text('userName'),
    name: wire.text('name'),
    remark: wire.text('remark'),
    passwordMobile: wire.text('passwordMobile'),
    assetNums: wire.ids('assetNums'),
    lentLockNum: wire.id('borrowNum'),
    online: wire.boolean('onlineFlag'),
    deleted: wire.boolean('deleted'),
    createdAt: wire.time('createTime', unit),
    updatedAt: wire.time('updateTime', unit),
    boundUserInfo: wire.opaque('boundUserInfo'),
  };
}

/** `total` and `totalPages` come from the platform, or from the page itself. No loop counts up to them. */
export function toMemberPage(
  data: unknown,
  { page, pageSize }: ListMembersQuery,
  unit: TimestampUnit,
  notes?: ContractNotes,
): MemberPageDto {
  const read = (wire: Reader<WirePage>): MemberPageDto => {
    const items = wire.requiredList<WireMember, MemberDto>(
      'list',
      (member) => readMember(member, unit),
      nullableOfMember,
    );
    if (items.length > pageSize * PAGE_TOLERANCE)
      throw new ContractViolation('data.list', 'a page of the size asked');
    wire.skip(PAGE_BOOKKEEPING);
    const total = wire.count('total') ?? (page - 1) * pageSize + items.length;
    return { items, page, pageSize, total, totalPages: wire.count('pages') ?? Math.ceil(total / pageSize) };
  };
  return readObject(data, read, notes);
}

/** Fields of the page object (interface section 2.10) that follow from the others. */
const PAGE_BOOKKEEPING = [
  ...['pageNum', 'pageSize', 'size', 'orderBy', 'startRow', 'endRow'],
  ...['firstPage', 'prePage', 'nextPage', 'lastPage', 'isFirstPage', 'isLastPage'],
  ...['hasPreviousPage', 'hasNextPage', 'navigatePages', 'navigatepageNums'],
];

export function toMemberTotal(data: unknown): number {
  const total = new Reader<WirePage>(data).count('total');
  if (total === null) throw new ContractViolation('data.total', 'a count');
  return total;
}

export function toAssetNums(data: unknown, notes?: ContractNotes): AssetNumDto[] {
  const read = (wire: Reader<WireAssetNum>): AssetNumDto => ({
    assetNum: wire.requiredId('assetNum'),
    assetId: wire.id('assetId'),
    memberGlobalId: wire.id('cloudAccountGlobalId'),
    lent: wire.boolean('borrowedFlag'),
    online: wire.boolean('onlineFlag'),
  });
  return readList(data, read, notes, { nullable: nullableOfAssetNum });
}

export function toLentLocks(data: unknown, notes?: ContractNotes): LentLockDto[] {
  const read = (wire: Reader<WireLentLock>): LentLockDto => ({
    assetId: wire.requiredId('assetId'),
    assetNum: wire.id('assetNum'),
    lent: wire.boolean('borrowedFlag'),
    memberGlobalId: wire.id('cloudAccountGlobalId'),
  });
  return readList(data, read, notes, { nullable: nullableOfAssetNum });
}

/** A number is free where no member has it and it is not lent, here and in the overview. */
export function isFree({ memberGlobalId, lent }: AssetNumDto): boolean {
  return memberGlobalId === null && lent !== true;
}
