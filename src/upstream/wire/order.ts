/** The order module's wire types (interface sections 2.2 to 2.8 and 4.1). Longs are timestamps in the configured unit. */

import type { WireLong } from './long.ts';

export interface WireCustomer {
  customerId: string;
  channelCode: string;
  channelCustomerId: string;
  enterpriseGlobalId: string;
  enterpriseName: string;
  isDefault: boolean;
}

export interface WireBindRequest {
  channelCode: string;
  channelCustomerId: string;
  customerName: string;
  branchName?: string;
  enterpriseName: string;
  passwordMobile?: string;
}

export interface WireEnterpriseRequest {
  crmCustomerId: string;
  customerName?: string;
  branchName?: string;
  address?: string;
}

export interface WireEnterprise {
  enterpriseGlobalId: string;
  defaultType: boolean;
  members: WireEnterpriseMember[];
}

export interface WireEnterpriseMember {
  memberGlobalId: string;
  memberIdentity: string;
}

export interface WireBatchOrder {
  channelCode: string;
  channelOrderId: string;
  syncMode: 'sync' | 'async';
  orderList: WireOrderItem[];
}

export interface WireOrderItem {
  sequence: number;
  customerId?: string;
  crmCustomerId?: string;
  customerName?: string;
  channelCustomerId?: string;
  adminName?: string;
  adminAccount?: string;
  adminEmail?: string;
  adminCellNumber?: string;
  passwordMobile?: string;
  address?: string;
  customerType?: string;
  branchCode?: string;
  branchName?: string;
  enterpriseGlobalId?: string;
  srcLicenseOrderId?: string;
  licenseType: string;
  orderType: string;
  assets: WireOrderAsset[];
}

export interface WireOrderAsset {
  assetNos?: string[];
  assetExtendList?: { extendCode: string; extendValue: string }[];
  limitStartDate?: number;
  limitEndDate?: number;
  borrowedUsbKey?: boolean;
  transferedAssetNum?: boolean;
  products?: WireOrderProduct[];
  merchandises?: WireOrderMerchandise[];
}

export interface WireOrderProduct {
  crmProductId?: string;
  parentCrmProductId?: string;
  productUri?: string;
  productName?: string;
  gmsPid?: string;
  appKey?: string;
  productType?: string;
  limitStartDate?: number;
  limitEndDate?: number;
  limitConcurrent?: number;
  limitTimeDuration?: WireLong;
  strictMatchWhenDelete?: boolean;
  trial?: 0 | 1;
  trialEndDate?: number;
  passwords?: string[];
  timeUnit?: string;
  timeUnitQuantity?: number;
  timeDurationExpression?: string;
  srcLicenseOrderId?: string;
  productFeatures?: WireProductFeature[];
}

export interface WireProductFeature {
  featureCode?: string;
  featureName?: string;
  featureValue?: string;
  featureValueType?: string;
  trial?: 0 | 1;
  trialEndDate?: number;
}

export interface WireOrderMerchandise {
  crmProductId?: string;
  parentCrmProductId?: string;
  merchandiseNum?: string;
  merchandiseName?: string;
  parentMerchandiseNum?: string;
  timeDurationExpression?: string;
  /** null at the leaf. */
  children: WireOrderMerchandise[] | null;
  licenseOrderProductList?: WireOrderProduct[];
}

export interface WireOrderResult {
  sequence: number;
  licenseOrderId: string;
  customerId: string;
}

export interface WireLockRequest {
  assetNums: string[];
  operatorIdentity: string;
}

export interface WireLockResult {
  assetNum: string;
  status: number;
}

export interface WireAsset {
  id: string;
  licenseType: string;
  assetNum: string;
  grantable: boolean;
  customerId: string;
  keyShellNumber: string;
  keyChipType: number;
  locked: boolean;
  freezing: boolean;
  createTime: number;
  updateTime: number;
  limitStartTime: number;
  limitEndTime: number;
  assignStatus: WireAssignment;
  assetLimits: unknown;
  assetExtends: WireExtension[];
  borrowedUsbKey: boolean;
}

export const nullableOfAsset: ReadonlySet<string> = new Set([
  ...['limitStartTime', 'limitEndTime', 'assignStatus', 'assetLimits', 'keyChipType', 'updateTime'],
]);

export interface WireAssignment {
  id: string;
  assignStatus: string;
  assignMemberId: string;
  createTime: string;
  updateTime: null;
}

export const nullableOfAssignment: ReadonlySet<string> = new Set([
  ...['assignMemberId', 'createTime', 'updateTime'],
]);

export interface WireExtension {
  extendCode: string;
  extendValue: string;
}
