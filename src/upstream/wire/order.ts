/** The order module's orders, and the shapes of its responses (interface sections 2.2 to 2.8 and 4.1). Longs are timestamps in the configured unit. */

import type { WireLong } from './scalars.ts';
import { responseShape, type FieldOf } from './shape.ts';

export const customerShape = responseShape([
  ...['customerId', 'channelCode', 'channelCustomerId', 'enterpriseGlobalId', 'enterpriseName', 'isDefault'],
]);
export type CustomerField = FieldOf<typeof customerShape>;

export const enterpriseShape = responseShape(['enterpriseGlobalId', 'defaultType', 'members']);
export const enterpriseMemberShape = responseShape(['memberGlobalId', 'memberIdentity']);

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
  trialEndDate?: number | string;
}

export interface WireOrderMerchandise {
  crmProductId?: string;
  parentCrmProductId?: string;
  merchandiseNum?: string;
  merchandiseName?: string;
  parentMerchandiseNum?: string;
  timeDurationExpression?: string;
  /** Null for a leaf. */
  children: WireOrderMerchandise[] | null;
  licenseOrderProductList?: WireOrderProduct[];
}

export const orderResultShape = responseShape(['sequence', 'licenseOrderId', 'customerId']);

export const lockResultShape = responseShape(['assetNum', 'status']);

export const assetShape = responseShape(
  [
    ...['id', 'licenseType', 'assetNum', 'grantable', 'customerId', 'keyShellNumber', 'locked', 'freezing'],
    ...['createTime', 'updateTime', 'assetExtends', 'borrowedUsbKey'],
  ],
  // An asset that is no lock has no generation, and one without limits no times.
  ['limitStartTime', 'limitEndTime', 'assignStatus', 'assetLimits', 'keyChipType'],
);
export type AssetField = FieldOf<typeof assetShape>;
export const assignmentShape = responseShape(
  ['id', 'assignStatus'],
  ['assignMemberId', 'createTime', 'updateTime'],
);
export const extensionShape = responseShape(['extendCode', 'extendValue']);
