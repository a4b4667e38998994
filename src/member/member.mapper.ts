import type { Readings } from '../config/readings.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { type Deciding, type Reader, readList, readWhole, type WholeList } from '../upstream/wire/reader.ts';
import {
  type AssetNumField,
  assetNumShape,
  type LentLockField,
  lentLockShape,
  type MemberField,
  type MemberPage,
  readMemberPage,
  type WireMemberTerms,
} from '../upstream/wire/member.ts';
import { type TimestampUnit, wireLong } from '../upstream/wire/scalars.ts';
import { CLEARABLE, type ClearableField, type MemberDto, type UpdateMemberDto } from './dto/member.dto.ts';
import type { AssetNumDto, LentLockDto } from './dto/member-assets.dto.ts';

/** Converts the responses of the member center to the gateway's DTOs. Throws `ContractViolation` where a response violates the interface. */

/** The terms of a member; what is null is left out. */
type Terms = Pick<UpdateMemberDto, 'account' | 'name'> & Partial<Pick<MemberDto, (typeof CLEARABLE)[number]>>;

export function toMemberTerms(member: Terms): WireMemberTerms {
  const { account, departmentId, name, remark, passwordMobile } = member;
  return {
    userName: account,
    departmentId: wireLong(departmentId ?? undefined),
    name,
    remark: remark ?? undefined,
    passwordMobile: passwordMobile ?? undefined,
  };
}

export function readMember(wire: Reader<MemberField>, unit: TimestampUnit): MemberDto {
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
    passwordMobile: wire.id('passwordMobile'),
    assetNums: wire.ids('assetNums'),
    lentLockNum: wire.id('borrowNum'),
    online: wire.boolean('onlineFlag'),
    deleted: wire.flag('deleted'),
    createdAt: wire.time('createTime', unit),
    updatedAt: wire.time('updateTime', unit),
    boundUserInfo: wire.opaque('boundUserInfo'),
  };
}

export function toMemberPage(
  data: unknown,
  unit: TimestampUnit,
  notes?: ContractNotes,
): MemberPage<MemberDto> {
  return readMemberPage(data, (member) => readMember(member, unit), notes);
}

/** A member of the list, for decisions of the gateway. */
export interface ListedMember extends MemberDto {
  /** The optional fields of which nothing is said, not even that there is none. */
  readonly hidden: readonly ClearableField[];
}

export function toListedPage(
  data: unknown,
  unit: TimestampUnit,
  notes: ContractNotes | undefined,
  mobiles: Readings['mobiles'] | undefined,
): MemberPage<ListedMember> {
  const read = (wire: Reader<MemberField>): ListedMember => ({
    ...readMember(wire, unit),
    hidden: CLEARABLE.filter((field) =>
      field === 'passwordMobile' && (mobiles === 'absent' || mobiles === 'shown')
        ? mobiles === 'absent'
        : !wire.isGiven(field),
    ),
  });
  return readMemberPage(data, read, notes);
}

/** A field that one member has is none that the list hides: where it is absent, there is nothing. */
export function stillHidden(
  hidden: readonly ClearableField[],
  members: readonly MemberDto[],
): readonly ClearableField[] {
  return hidden.filter((field) => members.every((member) => member[field] === null));
}

export function toAssetNums(data: unknown, notes?: ContractNotes): AssetNumDto[] {
  return readList(assetNumShape, data, notes, readAssetNum);
}

/** All asset numbers with their members. Throws where a number, or the member who has it, may be missing. */
export function toWholeAssetNums(
  data: unknown,
  deciding: Deciding<AssetNumField>,
  notes?: ContractNotes,
): WholeList<AssetNumDto> {
  return readWhole(assetNumShape, data, deciding, readAssetNum, notes);
}

function readAssetNum(wire: Reader<AssetNumField>): AssetNumDto {
  return {
    assetNum: wire.requiredId('assetNum'),
    assetId: wire.id('assetId'),
    memberGlobalId: wire.id('cloudAccountGlobalId'),
    lent: wire.boolean('borrowedFlag'),
    online: wire.boolean('onlineFlag'),
  };
}

export function toLentLocks(data: unknown, notes?: ContractNotes): LentLockDto[] {
  return readList(lentLockShape, data, notes, readLentLock);
}

/** All lent locks. Throws where one, or its number, may be missing. */
export function toWholeLentLocks(
  data: unknown,
  deciding: Deciding<LentLockField>,
  notes?: ContractNotes,
): WholeList<LentLockDto> {
  return readWhole(lentLockShape, data, deciding, readLentLock, notes);
}

function readLentLock(wire: Reader<LentLockField>): LentLockDto {
  return {
    assetId: wire.requiredId('assetId'),
    assetNum: wire.id('assetNum'),
    lent: wire.boolean('borrowedFlag'),
    memberGlobalId: wire.id('cloudAccountGlobalId'),
  };
}

export function isFree({ memberGlobalId, lent }: AssetNumDto): boolean {
  return memberGlobalId === null && lent !== true;
}
