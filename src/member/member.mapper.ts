import type { Readings } from '../config/readings.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { type Reader } from '../upstream/wire/reader.ts';
import { type CameList, readDeciding } from '../upstream/wire/whole-list.ts';
import {
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

/** Converts the responses of the member center to the gateway's DTOs. Throws `ContractViolation` if a response violates the interface. */

/** The terms of a member. A term that is null is left out. */
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
  /** The optional fields that are absent from the response, so that it is unknown whether the member has a value. */
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

/**
 * Returns the fields that the list still hides. If one member shows a field, the list does not hide it: its absence then means "no value".
 */
export function stillHidden(
  hidden: readonly ClearableField[],
  members: readonly MemberDto[],
): readonly ClearableField[] {
  return hidden.filter((field) => members.every((member) => member[field] === null));
}

export interface CameAssetNums extends CameList<AssetNumDto> {
  /** True if each number says whether it is lent. */
  readonly saysLent: boolean;
}

/** `nullIsEmpty` means that the platform sends an empty list as null. */
export function toAssetNums(data: unknown, notes?: ContractNotes, nullIsEmpty = false): CameAssetNums {
  const deciding = { fields: ['assetNum', 'cloudAccountGlobalId'], nullIsEmpty } as const;
  let saysLent = true;
  const came = readDeciding(
    assetNumShape,
    data,
    deciding,
    (wire) => {
      saysLent &&= wire.came('borrowedFlag');
      return {
        assetNum: wire.requiredId('assetNum'),
        assetId: wire.id('assetId'),
        memberGlobalId: wire.id('cloudAccountGlobalId'),
        lent: wire.boolean('borrowedFlag'),
        online: wire.boolean('onlineFlag'),
      };
    },
    notes,
  );
  return { ...came, saysLent };
}

/** `nullIsEmpty`: as for {@link toAssetNums}. */
export function toLentLocks(
  data: unknown,
  notes?: ContractNotes,
  nullIsEmpty = false,
): CameList<LentLockDto> {
  const deciding = { fields: ['assetNum'], nullIsEmpty } as const;
  const read = (wire: Reader<LentLockField>): LentLockDto => ({
    assetId: wire.requiredId('assetId'),
    assetNum: wire.id('assetNum'),
    lent: wire.boolean('borrowedFlag'),
    memberGlobalId: wire.id('cloudAccountGlobalId'),
  });
  return readDeciding(lentLockShape, data, deciding, read, notes);
}

export function isFree({ memberGlobalId, lent }: AssetNumDto): boolean {
  return memberGlobalId === null && lent !== true;
}
