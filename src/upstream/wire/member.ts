/** The member center's requests, and the shapes of its answers (interface sections 2.9 to 2.12 and 4.2). Timestamps are longs in the configured unit. */

import type { WireLong } from './scalars.ts';
import { answerShape, type FieldOf } from './reader.ts';

export interface WireMemberTerms {
  userName: string;
  departmentId?: WireLong;
  name: string;
  remark?: string;
  passwordMobile?: string;
}

export interface WireNewMember extends WireMemberTerms {
  password: string;
}

export interface WireAddRequest {
  userList: WireNewMember[];
}

/** What every member has. `userName` is the account with the enterprise code appended. */
const GIVEN = [
  ...['id', 'userId', 'globalId', 'enterpriseId', 'userName', 'name', 'deleted', 'updateTime', 'createTime'],
] as const;
/** What may be null or absent by the interface, or because the employee has no department, lent lock or remark. */
const NULLABLE = [
  ...['departmentId', 'departmentName', 'remark', 'passwordMobile', 'borrowNum', 'boundUserInfo'],
] as const;

/** A member in the list (2.10). */
export const memberShape = answerShape([...GIVEN, 'assetNums', 'onlineFlag'], NULLABLE);
export type MemberField = FieldOf<typeof memberShape>;
/** A member in the answer to adding (2.9), which has no passwordMobile, assets, online state and bound user. */
export const newMemberShape = answerShape(GIVEN, [...NULLABLE, 'assetNums', 'onlineFlag']);

export const addResultShape = answerShape(['succeeded', 'failed']);
export const addFailureShape = answerShape(['userName', 'message']);

/** The page object (2.10). The gateway reads the first five; the others follow from them. */
export const pageShape = answerShape([
  ...['pageSize', 'total', 'isLastPage', 'hasNextPage', 'list'],
  ...['pageNum', 'size', 'orderBy', 'startRow', 'endRow', 'pages'],
  ...['firstPage', 'prePage', 'nextPage', 'lastPage', 'isFirstPage'],
  ...['hasPreviousPage', 'navigatePages', 'navigatepageNums'],
]);

export const assetNumShape = answerShape(
  ['assetNum', 'assetId', 'borrowedFlag', 'onlineFlag'],
  ['cloudAccountGlobalId'],
);
export const lentLockShape = answerShape(['assetId', 'assetNum', 'borrowedFlag'], ['cloudAccountGlobalId']);

export const assetProductsShape = answerShape(['productInstanceList', 'children']);

export const productShape = answerShape(
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

export const merchandiseShape = answerShape(
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

export interface WirePrivileges {
  deleteAssets: string[];
  addAssets: string[];
}

export interface WireLoan {
  borrowedUsbKey: string;
  assetIDs: string[];
}
