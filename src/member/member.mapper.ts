import { Reader, readList, type TimestampUnit, WireMisfit } from '../upstream/wire/reader.ts';
import {
  type WireAssetNum,
  type WireLentLock,
  type WireMember,
  type WireMemberTerms,
  type WirePage,
  wireLong,
} from '../upstream/wire/member.ts';
import type { ListMembersQuery, MemberDto, MemberPageDto, UpdateMemberDto } from './dto/member.dto.ts';
import type { AssetNumDto, LentLockDto } from './dto/member-assets.dto.ts';

/** The member center's answers in the gateway's vocabulary. Pure; throws {@link WireMisfit} where an answer is not as the interface says. */

/** Upstream may round a page up to its own size, but no more: a list far beyond what was asked is not the page. */
const PAGE_TOLERANCE = 1.1;

export function toMemberTerms({
  userName,
  departmentId,
  name,
  remark,
  passwordMobile,
}: UpdateMemberDto): WireMemberTerms {
  return { userName, departmentId: wireLong(departmentId), name, remark, passwordMobile };
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
    createTime: wire.time('createTime', unit),
    updateTime: wire.time('updateTime', unit),
    boundUserInfo: wire.opaque('boundUserInfo'),
  };
}

/** `total` and `totalPages` are what upstream says; nothing here or later counts up to them. */
export function toMemberPage(
  data: unknown,
  { page, pageSize }: ListMembersQuery,
  unit: TimestampUnit,
): MemberPageDto {
  const wire = new Reader<WirePage>(data, 'data');
  const items = wire.list<WireMember, MemberDto>('list', (member) => readMember(member, unit));
  if (!items) throw new WireMisfit('data.list', 'a list');
  if (items.length > pageSize * PAGE_TOLERANCE) throw new WireMisfit('data.list', 'a page of the size asked');
  return { items, page, pageSize, total: readCount(wire, 'total'), totalPages: readCount(wire, 'pages') };
}

export function toMemberTotal(data: unknown): number {
  return readCount(new Reader<WirePage>(data, 'data'), 'total');
}

function readCount(wire: Reader<WirePage>, name: 'total' | 'pages'): number {
  const count = wire.requiredInteger(name);
  if (count < 0) throw new WireMisfit(`${wire.place}.${name}`, 'a count');
  return count;
}

export function toAssetNums(data: unknown): AssetNumDto[] {
  return readList<WireAssetNum, AssetNumDto>(data, 'data', (wire) => ({
    assetNum: wire.requiredId('assetNum'),
    assetId: wire.id('assetId'),
    memberGlobalId: wire.id('cloudAccountGlobalId'),
    lent: wire.boolean('borrowedFlag'),
    online: wire.boolean('onlineFlag'),
  }));
}

export function toLentLocks(data: unknown): LentLockDto[] {
  return readList<WireLentLock, LentLockDto>(data, 'data', (wire) => ({
    assetId: wire.requiredId('assetId'),
    assetNum: wire.id('assetNum'),
    lent: wire.boolean('borrowedFlag'),
    memberGlobalId: wire.id('cloudAccountGlobalId'),
  }));
}
