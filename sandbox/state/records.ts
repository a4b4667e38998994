/**
 * The platform's records, as rows. Times are milliseconds since 1970, independent of the wire's unit. Ids are strings, also those that are
 * sent as numbers, because they exceed 2^53.
 */

/** Licence types of interface section 2.5. */
export const LICENSE_TYPES = [
  'normal_unrecover_usbkey',
  'normal_recover_usbkey',
  'normal_unrecover_lan_usbkey',
  'normal_recover_lan_usbkey',
  'identity_usbkey',
  'identity_lan_usbkey',
  'softkey',
  'lan_softkey',
  'product_entity',
  'cloud_account',
  'cloud_customer',
  'cloud_personal',
  'lk_product_usbkey',
  'lk_auth_usbkey',
] as const;
export type LicenseType = (typeof LICENSE_TYPES)[number];

/** The types whose deletion requires `srcLicenseOrderId` (section 4.1, rule 5). */
export const CLOUD_LICENSE_TYPES: ReadonlySet<LicenseType> = new Set([
  'cloud_account',
  'cloud_customer',
  'cloud_personal',
]);

/** Locks that can be disabled and enabled, besides large-customer locks (section 4.1, payload 6). */
export const REISSUABLE_LICENSE_TYPES: ReadonlySet<LicenseType> = new Set([
  'normal_recover_usbkey',
  'normal_recover_lan_usbkey',
]);

export const ORDER_TYPES = ['new_buy', 'delete_asset', 'delete_product'] as const;
export type OrderType = (typeof ORDER_TYPES)[number];

export const CUSTOMER_TYPES = ['personal', 'company'] as const;
export type CustomerType = (typeof CUSTOMER_TYPES)[number];

export interface Department {
  /** An id of digits. */
  readonly id: string;
  readonly name: string;
}

export interface Enterprise {
  readonly globalId: string;
  /** The `enterpriseId` of its employees, in digits. */
  readonly enterpriseId: string;
  readonly name: string;
  /** The suffix of every account name, including the `@`. It is empty for an enterprise that has none (member error 40006). */
  readonly suffix: string;
  readonly address: string | null;
  /** The departments by name. No operation makes one. */
  readonly departments: readonly Department[];
  /** The most employees of a trial account. Null if it is none (member error 60009). */
  readonly trialMemberLimit: number | null;
  readonly createTime: number;
  readonly updateTime: number;
}

export interface Customer {
  readonly customerId: string;
  readonly channelCode: string;
  readonly channelCustomerId: string | null;
  readonly crmCustomerId: string | null;
  readonly customerName: string | null;
  readonly customerType: CustomerType;
  readonly branchName: string | null;
  readonly address: string | null;
  readonly passwordMobile: string | null;
  /** The enterprise. Null for a personal customer. */
  readonly enterpriseGlobalId: string | null;
  readonly isDefault: boolean;
  readonly createTime: number;
  readonly updateTime: number;
}

/** A person's record in one enterprise. */
export interface Employee {
  /** An id of digits. */
  readonly id: string;
  /** The person's id. Two records share it if a person is employed by two enterprises (member error 60023). */
  readonly globalId: string;
  /** The user's id, in digits. */
  readonly userId: string;
  readonly enterpriseGlobalId: string;
  /** The account with the enterprise's suffix, which is the name for login. */
  readonly userName: string;
  readonly password: string;
  /** The number of password resets. Tokens from before the last one are invalid. */
  readonly passwordVersion: number;
  readonly name: string;
  readonly administrator: boolean;
  /** The department's id, in digits. */
  readonly departmentId: string | null;
  readonly departmentName: string | null;
  readonly remark: string | null;
  readonly passwordMobile: string | null;
  readonly online: boolean;
  readonly deleted: boolean;
  readonly createTime: number;
  readonly updateTime: number;
}

export interface Extension {
  readonly extendCode: string;
  readonly extendValue: string | null;
}

export interface Asset {
  readonly id: string;
  readonly assetNum: string;
  readonly licenseType: LicenseType;
  readonly customerId: string;
  readonly grantable: boolean;
  /** The chip: 1 = 4th-generation lock, 2 = 5th. Null for an asset that is no lock. */
  readonly keyChipType: number | null;
  readonly locked: boolean;
  readonly freezing: boolean;
  readonly largeCustomer: boolean;
  /** True for a lock whose disabling and enabling always fails with status 3. */
  readonly faulty: boolean;
  readonly transferred: boolean;
  readonly online: boolean;
  /** The employee to whom it is assigned, or null. */
  readonly memberGlobalId: string | null;
  readonly assignTime: number | null;
  /** True for a lent lock (`borrowedUsbKey`). */
  readonly lentLock: boolean;
  /** The employee to whom a lent lock is lent, or null. */
  readonly lentToMember: string | null;
  /** The id of the lent lock that has this asset's product rights, or null. */
  readonly lentInto: string | null;
  readonly extensions: readonly Extension[];
  readonly limitStartTime: number | null;
  readonly limitEndTime: number | null;
  readonly revoked: boolean;
  readonly createTime: number;
  readonly updateTime: number;
}

export interface ProductFeature {
  readonly featureCode: string;
  readonly featureName: string | null;
  readonly featureValue: string | null;
  readonly featureValueType: string | null;
  readonly trial: number | null;
  readonly trialEndDate: unknown;
}

/** An order's data of a product. An instance keeps all of it. */
export interface ProductTerms {
  readonly crmProductId: string | null;
  readonly parentCrmProductId: string | null;
  readonly productUri: string;
  readonly productName: string | null;
  readonly gmsPid: string | null;
  readonly appKey: string | null;
  readonly productType: string | null;
  readonly limitStartTime: number | null;
  readonly limitEndTime: number | null;
  readonly limitConcurrent: number | null;
  readonly limitTimeDuration: number | bigint | null;
  readonly trial: number;
  readonly trialEndTime: number | null;
  readonly passwords: readonly string[];
  readonly timeUnit: string | null;
  readonly timeUnitQuantity: number | null;
  readonly timeDurationExpression: string | null;
  readonly srcLicenseOrderId: string | null;
  readonly features: readonly ProductFeature[];
}

/** The origin of a product or merchandise instance. */
export interface Origin {
  readonly customerId: string;
  readonly assetId: string;
  readonly licenseType: LicenseType;
  readonly licenseOrderId: string;
  readonly channelCode: string;
  readonly channelOrderId: string;
}

interface InstanceLife {
  readonly id: string;
  readonly removed: boolean;
  readonly createTime: number;
  readonly updateTime: number | null;
}

export interface ProductInstance extends ProductTerms, Origin, InstanceLife {
  /** The merchandise that holds it, or null if it is directly on the asset. */
  readonly merchandiseInsId: string | null;
  readonly active: boolean;
}

export interface MerchandiseInstance extends Origin, InstanceLife {
  readonly parentId: string | null;
  readonly crmProductId: string | null;
  readonly parentCrmProductId: string | null;
  readonly merchandiseNum: string;
  readonly merchandiseName: string | null;
  readonly parentMerchandiseNum: string | null;
  readonly timeDurationExpression: string | null;
  readonly srcLicenseOrderId: string | null;
}

/** The states of an order. `waiting`: accepted for later, without effect so far. `failed`: it could not take effect when its time came. */
export const ORDER_STATES = ['done', 'waiting', 'failed'] as const;
export type OrderState = (typeof ORDER_STATES)[number];

/** One licence order, for one item of an accepted batch. */
export interface LicenseOrder {
  readonly licenseOrderId: string;
  readonly channelCode: string;
  readonly channelOrderId: string;
  readonly sequence: number;
  readonly customerId: string;
  readonly licenseType: LicenseType;
  readonly orderType: OrderType;
  readonly srcLicenseOrderId: string | null;
  readonly syncMode: string;
  readonly appKey: string;
  readonly state: OrderState;
  /** The reason of the failure. */
  readonly failure: string | null;
  readonly createTime: number;
}

/** The body of an async batch that has no effect yet. */
export interface WaitingBatch {
  /** The licence orders in the order of the items. */
  readonly licenseOrderIds: readonly string[];
  /** The items as they were read when the batch was accepted, because a later profile may refuse the body or read it in another way. */
  readonly items: readonly object[];
  readonly dueTime: number;
  readonly waiting: boolean;
}

/** One accepted batch. The same order number placed twice makes two of these. */
export interface Commit {
  readonly channelCode: string;
  readonly channelOrderId: string;
  readonly at: number;
  readonly licenseOrderIds: readonly string[];
}
