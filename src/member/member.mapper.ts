import type { Readings } from '../config/readings.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { type Reader } from '../upstream/wire/reader.ts';
import { type CameList, readDeciding } from '../upstream/wire/whole-list.ts';
import {
  type AssetNumField,
  assetNumShape,
  type LentLockField,
  lentLockShape,
  type MemberField,
  type MemberPage,
  readMemberPage,
} from '../upstream/wire/member.ts';
import { type TimestampUnit, wireLong } from '../upstream/wire/scalars.ts';
import { CLEARABLE, type ClearableField, type MemberDto, type UpdateMemberDto } from './dto/member.dto.ts';
import type { AssetNumDto, LentLockDto } from './dto/member-assets.dto.ts';
import { isWhole } from './mobile-number.ts';

/** Converts the responses of the member center to the gateway's DTOs. Throws `ContractViolation` if a response violates the interface. */

/** The terms of a member. A term that is null is left out. */
type Terms = Pick<UpdateMemberDto, 'account' | 'name'> & Partial<Pick<MemberDto, (typeof CLEARABLE)[number]>>;

export function toMemberTerms(member: Terms) {
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
    departmentId: wire.long('departmentId'),
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
  /** The optional fields that are absent from the response, so that it is unknown whether the member has a value. */
  readonly hidden: readonly ClearableField[];
  /** The optional fields with a value that the gateway cannot read, and that is null here. */
  readonly unreadable: readonly ClearableField[];
  /** True if the list may show only a part of the mobile number. */
  readonly isMobilePart: boolean;
}

export function toListedPage(
  data: unknown,
  unit: TimestampUnit,
  notes: ContractNotes | undefined,
  mobiles: Readings['mobiles'] | undefined,
): MemberPage<ListedMember> {
  const read = (wire: Reader<MemberField>): ListedMember => {
    const member = readMember(wire, unit);
    const { passwordMobile } = member;
    return {
      ...member,
      hidden: CLEARABLE.filter((field) =>
        field === 'passwordMobile' && (mobiles === 'absent' || mobiles === 'shown')
          ? mobiles === 'absent'
          : !wire.isGiven(field),
      ),
      unreadable: CLEARABLE.filter((field) => wire.isUnreadable(field)),
      isMobilePart: passwordMobile !== null && (mobiles === 'masked' || !isWhole(passwordMobile)),
    };
  };
  return readMemberPage(data, read, notes);
}

/**
 * Returns the fields that the list still hides. If one member shows a field, the list does not hide it: its absence then means "no value".
 */
export function stillHidden(
  hidden: readonly ClearableField[],
  members: readonly MemberDto[],
): readonly ClearableField[] {
  return hidden.filter((field) => members.every((member) => member[field] === null));
}

/** The fields that tell whether a number is free, which {@link isFree} decides. The gateway may decide by them in both lists. */
export const FREE_FIELDS = ['assetNum', 'cloudAccountGlobalId', 'borrowedFlag'] as const;
const NUMBER_FIELDS = [...FREE_FIELDS, 'onlineFlag'] as const;
export type NumberField = (typeof NUMBER_FIELDS)[number];
export type LockField = (typeof FREE_FIELDS)[number];
export type CameAssetNums = CameList<AssetNumDto, NumberField>;
export type CameLentLocks = CameList<LentLockDto, LockField>;

/** `nullIsEmpty` means that the platform sends an empty list as null. */
export function toAssetNums(data: unknown, notes?: ContractNotes, nullIsEmpty = false): CameAssetNums {
  const deciding = { fields: NUMBER_FIELDS, nullIsEmpty };
  const read = (wire: Reader<AssetNumField>): AssetNumDto => ({
    assetNum: wire.requiredId('assetNum'),
    assetId: wire.id('assetId'),
    memberGlobalId: wire.id('cloudAccountGlobalId'),
    lent: wire.flag('borrowedFlag'),
    online: wire.flag('onlineFlag'),
  });
  return readDeciding(assetNumShape, data, deciding, read, notes);
}

/** `nullIsEmpty`: as for {@link toAssetNums}. */
export function toLentLocks(data: unknown, notes?: ContractNotes, nullIsEmpty = false): CameLentLocks {
  const deciding = { fields: FREE_FIELDS, nullIsEmpty };
  const read = (wire: Reader<LentLockField>): LentLockDto => ({
    assetId: wire.requiredId('assetId'),
    assetNum: wire.id('assetNum'),
    lent: wire.flag('borrowedFlag'),
    memberGlobalId: wire.id('cloudAccountGlobalId'),
  });
  return readDeciding(lentLockShape, data, deciding, read, notes);
}

export function isFree({ memberGlobalId, lent }: AssetNumDto): boolean {
  return memberGlobalId === null && lent !== true;
}
