/** Makes enterprises, customers, employees and assets. Their ids come from the state's counters. */
import type { World } from '../call.ts';
import type { Asset, Customer, Employee, Enterprise } from './records.ts';

/** The channel of the customers that `createEnterprise` makes from a CRM customer. */
export const CRM_CHANNEL = 'crm';
/** The channel of the industry-information customer that `createEnterprise` makes in addition. */
export const INDUSTRY_CHANNEL = 'industry';

type NewEnterprise = Pick<Enterprise, 'name'> & Partial<Enterprise>;

export function newEnterprise({ state, clock }: World, given: NewEnterprise): Enterprise {
  const now = clock.now();
  return state.enterprises.put({
    address: null,
    departments: [],
    trialMemberLimit: null,
    createTime: now,
    updateTime: now,
    ...given,
    globalId: given.globalId ?? state.nextId('enterprise'),
    enterpriseId: given.enterpriseId ?? state.nextId('enterpriseNumber'),
    suffix: given.suffix ?? state.nextSuffix(),
  });
}

type NewCustomer = Pick<Customer, 'channelCode' | 'customerName'> & Partial<Customer>;

export function newCustomer({ state, clock }: World, given: NewCustomer): Customer {
  const now = clock.now();
  return state.customers.put({
    channelCustomerId: null,
    crmCustomerId: null,
    customerType: 'company',
    branchName: null,
    address: null,
    passwordMobile: null,
    enterpriseGlobalId: null,
    isDefault: false,
    createTime: now,
    updateTime: now,
    ...given,
    customerId: given.customerId ?? state.nextId('customer'),
  });
}

type NewEmployee = Pick<Employee, 'name'> & Partial<Employee> & { account: string };

/** Makes an employee whose user name is the account with the enterprise's suffix. The password defaults to the seed's. */
export function newEmployee(
  { state, clock, settings }: World,
  enterprise: Enterprise,
  given: NewEmployee,
): Employee {
  const now = clock.now();
  const { account, ...fields } = given;
  const id = given.id ?? state.nextId('employee');
  return state.employees.put({
    password: settings.seedPassword,
    passwordVersion: 0,
    administrator: false,
    departmentId: null,
    departmentName: null,
    remark: null,
    passwordMobile: null,
    online: false,
    deleted: false,
    createTime: now,
    updateTime: now,
    globalId: `mem-${id}`,
    ...fields,
    id,
    userId: given.userId ?? state.nextId('user'),
    enterpriseGlobalId: enterprise.globalId,
    userName: account + enterprise.suffix,
  });
}

type NewAsset = Pick<Asset, 'assetNum' | 'licenseType' | 'customerId'> & Partial<Asset>;

export function newAsset({ state, clock }: World, given: NewAsset): Asset {
  const now = clock.now();
  const isLock = given.licenseType.endsWith('usbkey');
  return state.assets.put({
    grantable: given.licenseType.startsWith('cloud_'),
    keyChipType: isLock ? 2 : null,
    locked: false,
    freezing: false,
    largeCustomer: false,
    faulty: false,
    transferred: false,
    online: false,
    memberGlobalId: null,
    assignTime: null,
    lentLock: false,
    lentToMember: null,
    lentInto: null,
    extensions: [],
    limitStartTime: null,
    limitEndTime: null,
    revoked: false,
    createTime: now,
    updateTime: now,
    ...given,
    id: given.id ?? state.nextId('asset'),
  });
}
