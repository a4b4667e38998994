import { integerText, isJsonText, numberText } from '../shared/json.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { ContractViolation } from '../upstream/upstream-failure.ts';
import type { NumberedAsset } from '../upstream/wire/member.ts';
import { kindOf, type Reader, readList, readObject } from '../upstream/wire/reader.ts';
import { type CameList, readDeciding } from '../upstream/wire/whole-list.ts';
import type { TimestampUnit } from '../upstream/wire/scalars.ts';
import {
  type AssetField,
  assetShape,
  assignmentShape,
  type CustomerField,
  customerShape,
  enterpriseMemberShape,
  enterpriseShape,
  extensionShape,
  lockResultShape,
} from '../upstream/wire/order.ts';
import { licenseTypes } from '../upstream/wire/words.ts';
import type { AssetDto } from './dto/asset.dto.ts';
import type { CustomerDto } from './dto/customer.dto.ts';
import type { EnterpriseDto } from './dto/enterprise.dto.ts';
import type { LockResultsDto, LockStatus, ReservedAssetNumDto } from './dto/lock.dto.ts';

/** Converts the responses of the order module to the gateway's DTOs. Throws {@link ContractViolation} where a response violates the interface. */

export function toCustomer(data: unknown, notes?: ContractNotes): CustomerDto {
  return readObject(customerShape, data, notes, readCustomer);
}

/** The customers as they came. Their enterprises decide which callers may see them. */
export type CameCustomers = CameList<CustomerDto, 'enterpriseGlobalId'>;

export function toCustomers(data: unknown, notes?: ContractNotes): CameCustomers {
  const deciding = { fields: ['enterpriseGlobalId'], nullIsEmpty: true } as const;
  return readDeciding(customerShape, data, deciding, readCustomer, notes);
}

function readCustomer(wire: Reader<CustomerField>): CustomerDto {
  return {
    customerId: wire.requiredId('customerId'),
    channelCode: wire.id('channelCode'),
    channelCustomerId: wire.id('channelCustomerId'),
    enterpriseGlobalId: wire.id('enterpriseGlobalId'),
    enterpriseName: wire.text('enterpriseName'),
    isDefault: wire.boolean('isDefault'),
  };
}

export function toEnterprise(data: unknown, notes?: ContractNotes): EnterpriseDto {
  return readObject(enterpriseShape, data, notes, (wire) => ({
    enterpriseGlobalId: wire.requiredId('enterpriseGlobalId'),
    isDefault: wire.boolean('defaultType'),
    members: wire.list('members', enterpriseMemberShape, (member) => ({
      memberGlobalId: member.requiredId('memberGlobalId'),
      memberIdentity: member.id('memberIdentity'),
    })),
  }));
}

export function toAssets(data: unknown, unit: TimestampUnit, notes?: ContractNotes): AssetDto[] {
  return readList(assetShape, data, notes, (wire) => readAsset(wire, unit));
}

/** The fields by which code decides from the list of assets, in addition to their ids. */
const DECIDING = [
  ...(['assetNum', 'customerId', 'licenseType', 'locked'] as const),
  ...(['assignStatus', 'limitEndTime', 'borrowedUsbKey', 'assetExtends'] as const),
] as const;
export type DecidingField = (typeof DECIDING)[number];
export type CameAssets = CameList<AssetDto, DecidingField>;

/** All assets of an enterprise as they came. */
export function toCameAssets(
  data: unknown,
  unit: TimestampUnit,
  nullIsEmpty: boolean,
  notes?: ContractNotes,
): CameAssets {
  const deciding = { fields: DECIDING, nullIsEmpty };
  return readDeciding(assetShape, data, deciding, (wire) => readAsset(wire, unit), notes);
}

function readAsset(wire: Reader<AssetField>, unit: TimestampUnit): AssetDto {
  return {
    assetId: wire.requiredId('id'),
    licenseType: wire.word('licenseType', licenseTypes),
    assetNum: wire.id('assetNum'),
    grantable: wire.flag('grantable'),
    customerId: wire.id('customerId'),
    keyShellNumber: wire.id('keyShellNumber'),
    keyGeneration: wire.code('keyChipType', GENERATIONS),
    locked: wire.flag('locked'),
    frozen: wire.flag('freezing'),
    createdAt: wire.time('createTime', unit),
    updatedAt: wire.time('updateTime', unit),
    startsAt: wire.time('limitStartTime', unit),
    endsAt: wire.time('limitEndTime', unit),
    assignment: wire.object('assignStatus', assignmentShape, (assignment) => {
      const memberGlobalId = assignment.id('assignMemberId');
      if (!assignment.came('assignMemberId')) wire.lacksPartOf('assignStatus');
      return {
        status: assignment.text('assignStatus'),
        memberGlobalId,
        createdAt: assignment.timeText('createTime', unit),
        updatedAt: assignment.timeText('updateTime', unit),
      };
    }),
    assetLimits: wire.opaque('assetLimits'),
    extensions: wire.list('assetExtends', extensionShape, (extension) => ({
      code: extension.text('extendCode'),
      value: extension.text('extendValue'),
    })),
    lentLock: wire.flag('borrowedUsbKey'),
  };
}

/** Returns an asset of which the platform shows only its row in the member center. */
export function toAsset({ assetId, assetNum, memberGlobalId }: NumberedAsset): AssetDto {
  const unknown = { status: null, createdAt: null, updatedAt: null };
  return {
    ...{ assetId, licenseType: null, assetNum, grantable: null, customerId: null, keyShellNumber: null },
    ...{ keyGeneration: null, locked: null, frozen: null, createdAt: null, updatedAt: null, startsAt: null },
    ...{ endsAt: null, assignment: memberGlobalId === null ? null : { ...unknown, memberGlobalId } },
    ...{ assetLimits: null, extensions: [], lentLock: null },
  };
}

const GENERATIONS: ReadonlyMap<number, 4 | 5> = new Map([
  [1, 4],
  [2, 5],
]);

/** The results of locks, by their codes on the wire (interface section 2.7). */
const LOCK_STATUSES = new Map<number, LockStatus>([
  [1, 'succeeded'],
  [2, 'not_found'],
  [3, 'failed'],
  [4, 'wrong_type'],
]);

export interface LockResult {
  readonly assetNum: string;
  readonly status: LockStatus;
}

export function toLockResults(data: unknown, notes?: ContractNotes): LockResult[] {
  return readList(lockResultShape, requiredList(data), notes, (wire) => ({
    assetNum: wire.requiredId('assetNum'),
    status: wire.code('status', LOCK_STATUSES) ?? ('unknown' as const),
  }));
}

/**
 * Returns one result for each requested number, in that order. The numbers in `notFound`, which were not sent, are `not_found`. A number that the
 * platform leaves out, contradicts itself about, or sends with an unknown status is `unknown`.
 */
export function lockResultsOf(
  requested: readonly string[],
  results: readonly LockResult[],
  notFound: ReadonlySet<string> = new Set(),
): LockResultsDto {
  const statuses = new Map<string, LockStatus>();
  for (const { assetNum, status } of results) {
    statuses.set(assetNum, (statuses.get(assetNum) ?? status) === status ? status : 'unknown');
  }
  const items = requested.map((assetNum) => ({
    assetNum,
    status: notFound.has(assetNum) ? ('not_found' as const) : (statuses.get(assetNum) ?? 'unknown'),
  }));
  const succeeded = items.filter(({ status }) => status === 'succeeded').length;
  return { items, succeeded, failed: items.length - succeeded };
}

const REGIONS = new Map<string, ReservedAssetNumDto['region']>([
  ['8', 'domestic'],
  ['6', 'singapore'],
]);

/**
 * Returns every number of the list. The platform has used the numbers up already, so a number of an unknown form is delivered too, with an
 * unknown region, and an item that is no number does not hide the others.
 */
export function toReservedAssetNums(data: unknown, notes?: ContractNotes): ReservedAssetNumDto[] {
  const values = requiredList(data);
  const numbers = values.flatMap((value): ReservedAssetNumDto[] => {
    const keyShellNumber = (isJsonText(value) ? value : (integerText(value) ?? numberText(value))) ?? '';
    if (keyShellNumber === '') {
      notes?.add('data[]', kindOf(value));
      return [];
    }
    const region = (/^\d{10}$/.test(keyShellNumber) && REGIONS.get(keyShellNumber.charAt(0))) || 'unknown';
    if (region === 'unknown') notes?.add('data[]', 'unknown-word');
    return [{ keyShellNumber, region }];
  });
  if (numbers.length === 0 && values.length > 0) throw new ContractViolation('data', 'a list of numbers');
  return numbers;
}

/** Throws where the response to a write has no list, because the outcome of the write is not known then. */
function requiredList(data: unknown): unknown[] {
  if (!Array.isArray(data)) throw new ContractViolation('data', 'a list');
  return data;
}
