/** The fields of a row of each collection, in the form of the control side and the state file. */
import {
  listOf,
  objectOf,
  oneOf,
  orNull,
  type Read,
  readDigits,
  readFlag,
  readId,
  readInteger,
  readLong,
  readText,
  readTime,
} from '../control/readers.ts';
import {
  type Asset,
  type Customer,
  CUSTOMER_TYPES,
  type Employee,
  type Enterprise,
  LICENSE_TYPES,
  type LicenseOrder,
  type MerchandiseInstance,
  ORDER_TYPES,
  type ProductInstance,
} from './records.ts';

/** The value of a field that the row leaves out. */
export interface Unsaid {
  readonly now: number;
  readonly seedPassword: string;
}

export interface Field<Value> {
  readonly read: Read<Value>;
  /** Returns the value of an absent field. Without this function the field is required. */
  readonly unsaid?: (unsaid: Unsaid) => Value;
}

export type RowFields<Row> = { readonly [Name in keyof Row]-?: Field<Row[Name]> };

export interface Rows {
  readonly enterprises: Enterprise;
  readonly customers: Customer;
  readonly employees: Employee;
  readonly assets: Asset;
  readonly orders: LicenseOrder;
  readonly products: ProductInstance;
  readonly merchandises: MerchandiseInstance;
}
export type CollectionName = keyof Rows;

const required = <Value>(read: Read<Value>): Field<Value> => ({ read });
/** Makes a field that is null if it is left out. */
const optional = <Value>(read: Read<Value>): Field<Value | null> => ({
  read: orNull(read),
  unsaid: () => null,
});
const optionally = <Value>(read: Read<Value>, value: Value): Field<Value> => ({ read, unsaid: () => value });

const id = required(readId);
const digits = required(readDigits);
const text = optional(readText);
const reference = optional(readId);
const time = optional(readTime);
const integer = optional(readInteger);
const off = optionally(readFlag, false);
const made: Field<number> = { read: readTime, unsaid: ({ now }) => now };
const licenseType = required(oneOf(LICENSE_TYPES));

const origin = {
  customerId: id,
  assetId: id,
  licenseType,
  licenseOrderId: id,
  channelCode: id,
  channelOrderId: id,
};

export const ROW_FIELDS: { readonly [Name in CollectionName]: RowFields<Rows[Name]> } = {
  enterprises: {
    globalId: id,
    enterpriseId: digits,
    name: id,
    suffix: optionally(readText, ''),
    address: text,
    departments: optionally(listOf(objectOf({ id: readDigits, name: readText })), []),
    trialMemberLimit: integer,
    createTime: made,
    updateTime: made,
  },
  customers: {
    customerId: id,
    channelCode: id,
    channelCustomerId: reference,
    crmCustomerId: reference,
    customerName: required(orNull(readId)),
    customerType: optionally(oneOf(CUSTOMER_TYPES), 'company'),
    branchName: text,
    address: text,
    passwordMobile: text,
    enterpriseGlobalId: reference,
    isDefault: off,
    createTime: made,
    updateTime: made,
  },
  employees: {
    id: digits,
    globalId: id,
    userId: digits,
    enterpriseGlobalId: id,
    userName: id,
    password: { read: readId, unsaid: ({ seedPassword }) => seedPassword },
    passwordVersion: optionally(readInteger, 0),
    name: id,
    administrator: off,
    departmentId: optional(readDigits),
    departmentName: text,
    remark: text,
    passwordMobile: text,
    online: off,
    deleted: off,
    createTime: made,
    updateTime: made,
  },
  assets: {
    id,
    assetNum: id,
    licenseType,
    customerId: id,
    grantable: off,
    keyChipType: optional(oneOf([1, 2])),
    locked: off,
    freezing: off,
    largeCustomer: off,
    faulty: off,
    transferred: off,
    online: off,
    memberGlobalId: reference,
    assignTime: time,
    lentLock: off,
    lentToMember: reference,
    lentInto: reference,
    extensions: optionally(listOf(objectOf({ extendCode: readId, extendValue: orNull(readText) })), []),
    limitStartTime: time,
    limitEndTime: time,
    revoked: off,
    createTime: made,
    updateTime: made,
  },
  orders: {
    licenseOrderId: id,
    channelCode: id,
    channelOrderId: id,
    sequence: optionally(readInteger, 1),
    customerId: id,
    licenseType,
    orderType: optionally(oneOf(ORDER_TYPES), 'new_buy'),
    srcLicenseOrderId: reference,
    syncMode: optionally(oneOf(['sync', 'async']), 'sync'),
    appKey: optionally(readText, 'seed'),
    // An order from outside cannot wait, because it would have no items that could take effect.
    state: optionally(oneOf(['done', 'failed']), 'done'),
    failure: text,
    createTime: made,
  },
  products: {
    ...origin,
    id,
    removed: off,
    createTime: made,
    updateTime: time,
    merchandiseInsId: reference,
    active: optionally(readFlag, true),
    crmProductId: text,
    parentCrmProductId: text,
    productUri: id,
    productName: text,
    gmsPid: text,
    appKey: text,
    productType: text,
    limitStartTime: time,
    limitEndTime: time,
    limitConcurrent: integer,
    limitTimeDuration: optional(readLong),
    trial: optionally(oneOf([0, 1]), 0),
    trialEndTime: time,
    passwords: optionally(listOf(readText), []),
    timeUnit: text,
    timeUnitQuantity: integer,
    timeDurationExpression: text,
    srcLicenseOrderId: reference,
    features: optionally(
      listOf(
        objectOf({
          featureCode: readId,
          featureName: orNull(readText),
          featureValue: orNull(readText),
          featureValueType: orNull(readText),
          trial: orNull(oneOf([0, 1])),
          trialEndDate: (value) => value,
        }),
      ),
      [],
    ),
  },
  merchandises: {
    ...origin,
    id,
    removed: off,
    createTime: made,
    updateTime: time,
    parentId: reference,
    crmProductId: text,
    parentCrmProductId: text,
    merchandiseNum: id,
    merchandiseName: text,
    parentMerchandiseNum: text,
    timeDurationExpression: text,
    srcLicenseOrderId: reference,
  },
};
