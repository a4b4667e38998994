/** The member center's wire types (interface sections 2.9 to 2.12 and 4.2). Timestamps are longs in the configured unit. */

import type { WireLong } from './long.ts';

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

export interface WireAddResult {
  succeeded: WireMember[];
  failed: WireAddFailure[];
}

export interface WireAddFailure {
  userName: string;
  message: string;
}

/** A member in the answer to adding (2.9) and in the list (2.10). The first has no passwordMobile, assets, online state and bound user. */
export interface WireMember {
  id: number;
  userId: number;
  globalId: string;
  enterpriseId: number;
  departmentId: number;
  departmentName: string;
  /** With the enterprise code appended. */
  userName: string;
  passwordMobile: string;
  name: string;
  assetNums: string[];
  borrowNum: string;
  onlineFlag: boolean;
  remark: string;
  deleted: boolean;
  updateTime: number;
  createTime: number;
  boundUserInfo: unknown;
}

/** Fields that may be null or absent by the interface, or because the employee has no department, lent lock or remark. */
export const nullableOfMember: ReadonlySet<string> = new Set([
  ...['departmentId', 'departmentName', 'remark', 'passwordMobile', 'borrowNum', 'boundUserInfo'],
]);
/** Fields that the answer to adding does not have (2.9). */
export const nullableOfNewMember: ReadonlySet<string> = new Set([
  ...nullableOfMember,
  ...['assetNums', 'onlineFlag'],
]);

/** The fields of the page object that the gateway reads; the others follow from them. */
export interface WirePage {
  pageSize: number;
  total: number;
  isLastPage: boolean;
  hasNextPage: boolean;
  list: WireMember[];
}

export interface WireAssetNum {
  assetNum: string;
  assetId: string;
  cloudAccountGlobalId: string | null;
  borrowedFlag: boolean;
  onlineFlag: boolean;
}

export const nullableOfAssetNum: ReadonlySet<string> = new Set(['cloudAccountGlobalId']);

export interface WireLentLock {
  assetId: string;
  assetNum: string;
  borrowedFlag: boolean;
  cloudAccountGlobalId: string;
}

export interface WireAssetProducts {
  productInstanceList: WireProductInstance[];
  children: WireMerchandiseInstance[];
}

export interface WireProductInstance {
  id: string;
  licenseType: string;
  customerId: string;
  assetId: string | null;
  assetInsId: string | null;
  merchandiseInsId: string | null;
  assetNum: string | null;
  productUri: string;
  gmsPid: string;
  appKey: string;
  productName: string;
  channelCode: string;
  licenseOrderId: string;
  channelOrderId: string;
  limitStartTime: number;
  limitEndTime: number;
  limitAmount: number;
  limitConcurrent: number;
  limitTimeDuration: number;
  /** 1 trial, 0 not. */
  trial: number;
  trialEndDate: number | null;
  limitType: string;
  prodDefExtend: boolean;
  timeDurationExpression: string | null;
  srcLicenseOrderId: string | null;
  createTime: number;
  updateTime: number | null;
  activateFlag: boolean;
  crmProductId: string;
  productExtendInstanceList: unknown;
}

export const nullableOfProduct: ReadonlySet<string> = new Set([
  ...['assetId', 'assetInsId', 'merchandiseInsId', 'assetNum', 'trialEndDate', 'timeDurationExpression'],
  ...['srcLicenseOrderId', 'updateTime', 'limitStartTime', 'limitEndTime', 'limitAmount', 'limitConcurrent'],
  ...['limitTimeDuration', 'crmProductId', 'gmsPid', 'appKey', 'productExtendInstanceList'],
]);

export interface WireMerchandiseInstance {
  id: string;
  licenseType: string;
  merchandiseNum: string;
  merchandiseName: string;
  parentId: string | null;
  parentMerchandiseNum: string;
  customerId: string;
  licenseOrderId: string;
  channelOrderId: string;
  createTime: number;
  updateTime: number | null;
  channelCode: string;
  timeDurationExpression: string;
  srcLicenseOrderId: string;
  children: WireMerchandiseInstance[] | null;
  productInstanceList: WireProductInstance[] | null;
}

export const nullableOfMerchandise: ReadonlySet<string> = new Set([
  ...['parentId', 'parentMerchandiseNum', 'updateTime', 'timeDurationExpression', 'srcLicenseOrderId'],
  ...['children', 'productInstanceList'],
]);

export interface WirePrivileges {
  deleteAssets: string[];
  addAssets: string[];
}

export interface WireLoan {
  borrowedUsbKey: string;
  assetIDs: string[];
}
