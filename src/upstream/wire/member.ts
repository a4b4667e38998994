/** The shapes of the member center's responses (interface sections 2.9 to 2.12 and 4.2). Timestamps are longs in the configured unit. */

import type { ContractNotes } from '../gaps.ts';
import { ContractViolation } from '../upstream-failure.ts';
import { type Reader, readObject } from './reader.ts';
import { type FieldOf, responseShape } from './shape.ts';
import { type CameList, readDeciding } from './whole-list.ts';

/** The fields of every member. `userName` is the account with the enterprise code appended. */
const GIVEN = [
  ...['id', 'userId', 'globalId', 'enterpriseId', 'userName', 'name', 'deleted', 'updateTime', 'createTime'],
] as const;
/** The fields that may be null or absent by the interface, or because the employee has no department, lent lock or remark. */
const NULLABLE = [
  ...['departmentId', 'departmentName', 'remark', 'passwordMobile', 'borrowNum', 'boundUserInfo'],
] as const;

/** A member in the list (2.10). */
export const memberShape = responseShape([...GIVEN, 'assetNums', 'onlineFlag'], NULLABLE);
export type MemberField = FieldOf<typeof memberShape>;
/** A member in the response to adding (2.9), which has no passwordMobile, assets, online state and bound user. */
export const newMemberShape = responseShape(GIVEN, [...NULLABLE, 'assetNums', 'onlineFlag']);

export const addResultShape = responseShape(['succeeded', 'failed']);
export const addFailureShape = responseShape(['userName', 'message']);

/** The page object (2.10). The gateway reads the fields of the first two rows, from which the other fields follow. */
const pageShape = responseShape([
  ...['pageSize', 'total', 'isLastPage', 'hasNextPage', 'list'],
  ...['pageNum', 'isFirstPage', 'hasPreviousPage', 'startRow'],
  ...['size', 'orderBy', 'endRow', 'pages', 'firstPage', 'prePage', 'nextPage', 'lastPage'],
  ...['navigatePages', 'navigatepageNums'],
]);

/** A page of members as the platform returned it. It may be a different page than the requested one. */
export interface MemberPage<T> {
  /** The members in the platform's order; null stands for an item that is no object, or has no id. */
  readonly items: readonly (T | null)[];
  /** The number of items that arrived. */
  readonly came: number;
  /** The page's number by the platform. Null if the platform does not state it. */
  readonly pageNum: number | null;
  readonly pageSize: number | null;
  readonly total: number | null;
  /** The position of its first member, from 1. Null on an empty page too. */
  readonly startRow: number | null;
  readonly isFirst: boolean | null;
  /** Null if the page does not state it, or contradicts itself. */
  readonly isLast: boolean | null;
}

/**
 * Reads a page. `read` reads one member, and throws `ContractViolation` if the member has no id. A page without a list is not an empty
 * page: the function throws, unless the page counts no members at all, or none on itself (`size`).
 */
export function readMemberPage<T>(
  data: unknown,
  read: (member: Reader<MemberField>) => T,
  notes?: ContractNotes,
): MemberPage<T> {
  return readObject(pageShape, data, notes, (wire) => {
    const items = wire.requiredList('list', memberShape, read);
    const total = wire.count('total');
    // Null is an empty list if the page itself says that it is empty.
    const isEmpty = total === 0 || wire.count('size') === 0;
    if (!isEmpty && !wire.has('list')) throw new ContractViolation('data.list', 'a list');
    const last = wire.flag('isLastPage');
    const next = wire.flag('hasNextPage');
    const isContradicted = last !== null && last === next;
    return {
      items,
      came: wire.lengthOf('list'),
      pageNum: wire.count('pageNum'),
      pageSize: wire.count('pageSize'),
      total,
      ...positionOf(wire),
      isLast: isContradicted ? null : (last ?? (next === null ? null : !next)),
    };
  });
}

/** Returns the position of the page. `isFirst` is null if the page does not state it, or contradicts itself. */
function positionOf(
  page: Reader<FieldOf<typeof pageShape>>,
): Pick<MemberPage<unknown>, 'startRow' | 'isFirst'> {
  const startRow = page.count('startRow') || null;
  const hasPrevious = page.flag('hasPreviousPage');
  const said = [
    page.flag('isFirstPage'),
    hasPrevious === null ? null : !hasPrevious,
    startRow === null ? null : startRow === 1,
  ].filter((each) => each !== null);
  return { startRow, isFirst: said.every((each) => each === said[0]) ? (said[0] ?? null) : null };
}

export const assetNumShape = responseShape(
  ['assetNum', 'assetId', 'borrowedFlag', 'onlineFlag'],
  ['cloudAccountGlobalId'],
);
export type AssetNumField = FieldOf<typeof assetNumShape>;

/** An asset in the list of asset numbers (member #6), which has assets that the order module may not list (reading `assetList`). */
export interface NumberedAsset {
  readonly assetId: string;
  readonly assetNum: string | null;
  readonly memberGlobalId: string | null;
}
const NUMBERED = ['assetId', 'assetNum'] as const;
export type NumberedAssets = CameList<NumberedAsset, (typeof NUMBERED)[number]>;

/** `nullIsEmpty` means that the platform sends an empty list as null. */
export function toNumberedAssets(data: unknown, nullIsEmpty: boolean, notes?: ContractNotes): NumberedAssets {
  const read = (wire: Reader<AssetNumField>): NumberedAsset => ({
    assetId: wire.requiredId('assetId'),
    assetNum: wire.id('assetNum'),
    memberGlobalId: wire.id('cloudAccountGlobalId'),
  });
  return readDeciding(assetNumShape, data, { fields: NUMBERED, nullIsEmpty }, read, notes);
}

export const lentLockShape = responseShape(['assetId', 'assetNum', 'borrowedFlag'], ['cloudAccountGlobalId']);
export type LentLockField = FieldOf<typeof lentLockShape>;

export const assetProductsShape = responseShape(['productInstanceList', 'children']);

export const productShape = responseShape(
  [
    ...['id', 'licenseType', 'customerId', 'productUri', 'productName', 'channelCode', 'licenseOrderId'],
    ...['channelOrderId', 'trial', 'limitType', 'prodDefExtend', 'createTime', 'activateFlag'],
  ],
  [
    ...['assetId', 'assetInsId', 'merchandiseInsId', 'assetNum', 'trialEndDate', 'timeDurationExpression'],
    ...['srcLicenseOrderId', 'updateTime', 'limitStartTime', 'limitEndTime', 'limitAmount', 'gmsPid'],
    ...['limitConcurrent', 'limitTimeDuration', 'crmProductId', 'appKey', 'productExtendInstanceList'],
  ],
);
export type ProductField = FieldOf<typeof productShape>;

export const merchandiseShape = responseShape(
  [
    ...['id', 'licenseType', 'merchandiseNum', 'merchandiseName', 'customerId', 'licenseOrderId'],
    ...['channelOrderId', 'createTime', 'channelCode'],
  ],
  [
    ...['parentId', 'parentMerchandiseNum', 'updateTime', 'timeDurationExpression', 'srcLicenseOrderId'],
    ...['children', 'productInstanceList'],
  ],
);
export type MerchandiseField = FieldOf<typeof merchandiseShape>;
