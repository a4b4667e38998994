/** The initial data of every sandbox. README.md has it as a table. */
import type { World } from '../call.ts';
import { newAsset, newCustomer, newEmployee, newEnterprise } from './creation.ts';
import type { Asset, LicenseType } from './records.ts';
import { seedOrder } from './seed-orders.ts';
import { HARBOUR_DEPARTMENTS, seedPetra, seedTidewater } from './seed-people.ts';

/** The creation time of all seed records. */
const SEED_TIME = Date.UTC(2026, 0, 5, 8);
const EXPIRED = Date.UTC(2026, 0, 31);
const FAR = Date.UTC(2099, 11, 31);

const MADE = { createTime: SEED_TIME, updateTime: SEED_TIME };

type SeedAsset = [suffix: string, licenseType: LicenseType, customerId: string, more?: Partial<Asset>];

/** Puts the seed into an empty state. */
export function seed(world: World): void {
  seedHarbour(world);
  seedMeridian(world);
  seedLongIds(world);
  seedTidewater(world, MADE);
  seedPetra(world, MADE);
}

/** Adds the first company, on channel `crm`, with one further customer on `partner`. */
function seedHarbour(world: World): void {
  const harbour = newEnterprise(world, {
    ...MADE,
    globalId: 'ent-harbour',
    enterpriseId: '1001',
    name: 'Harbour Engineering',
    suffix: '@harbour',
    address: '1 Quay Street',
    departments: HARBOUR_DEPARTMENTS,
  });
  const bound = { ...MADE, enterpriseGlobalId: harbour.globalId, customerType: 'company' as const };
  for (const [name, channelCode, channelCustomerId, crmCustomerId, isDefault] of [
    ['default', 'crm', 'CH-1001', 'CRM-1001', true],
    ['yard', 'crm', 'CH-1002', 'CRM-1002', false],
    ['reseller', 'partner', 'PT-1003', null, false],
  ] as const) {
    newCustomer(world, {
      ...bound,
      customerId: `cus-harbour-${name}`,
      channelCode,
      channelCustomerId,
      crmCustomerId,
      customerName: `Harbour Engineering ${name}`,
      branchName: 'East branch',
      address: harbour.address,
      isDefault,
    });
  }
  const [design, surveying] = HARBOUR_DEPARTMENTS;
  for (const [account, id, userId, name, department] of [
    ['admin', '3001', '4001', 'Ada Harbour', null],
    ['anna', '3002', '4002', 'Anna Lindqvist', design],
    ['bo', '9007199254740997', '9007199254740999', 'Bo Petersen', surveying],
    ['chen', '3004', '4004', 'Chen Wei', design],
    ['dora', '3005', '4005', 'Dora Novak', null],
  ] as const) {
    newEmployee(world, harbour, {
      ...MADE,
      account,
      globalId: `mem-harbour-${account}`,
      id,
      userId,
      name,
      departmentId: department?.id ?? null,
      departmentName: department?.name ?? null,
      remark: account === 'anna' ? 'on site' : null,
      passwordMobile: account === 'anna' ? '13800000002' : null,
      administrator: account === 'admin',
      online: account === 'anna',
    });
  }
  const own = 'cus-harbour-default';
  putAssets(world, [
    [
      '1001',
      'softkey',
      own,
      {
        grantable: true,
        extensions: [{ extendCode: 'site', extendValue: 'pier-1' }],
        limitEndTime: FAR,
      },
    ],
    [
      '1002',
      'cloud_account',
      own,
      { memberGlobalId: 'mem-harbour-anna', assignTime: SEED_TIME, online: true },
    ],
    ['1003', 'normal_recover_usbkey', own],
    ['1004', 'normal_unrecover_usbkey', own, { keyChipType: 1, grantable: true }],
    [
      '1005',
      'normal_unrecover_lan_usbkey',
      own,
      {
        largeCustomer: true,
        grantable: true,
        memberGlobalId: 'mem-harbour-bo',
        assignTime: SEED_TIME,
        limitStartTime: SEED_TIME,
        limitEndTime: FAR,
      },
    ],
    ['1006', 'normal_recover_usbkey', own, { lentLock: true }],
    ['1007', 'normal_recover_usbkey', own, { lentLock: true, lentToMember: 'mem-harbour-chen' }],
    ['1008', 'normal_recover_lan_usbkey', own, { faulty: true }],
    ['1009', 'cloud_account', own, { extensions: [{ extendCode: 'site', extendValue: 'pier-2' }] }],
    [
      '1010',
      'lan_softkey',
      'cus-harbour-yard',
      { freezing: true, limitStartTime: SEED_TIME, limitEndTime: EXPIRED },
    ],
    ['1011', 'normal_recover_lan_usbkey', 'cus-harbour-yard', { locked: true }],
    [
      '1012',
      'cloud_account',
      own,
      { memberGlobalId: 'mem-harbour-chen', assignTime: SEED_TIME, lentInto: 'ast-1007' },
    ],
  ]);
  seedOrder(world, 'lic-5001', 'SO-0001', 'ast-1001', [
    { uri: 'draft.pro' },
    { uri: 'draft.view', trial: 1 },
  ]);
  seedOrder(world, 'lic-5002', 'SO-0002', 'ast-1002', [{ uri: 'cloud.model' }], { withSuite: true });
  // The product is there a second time, from another order. Deleting it without srcLicenseOrderId reaches both.
  seedOrder(world, 'lic-5003', 'SO-0003', 'ast-1002', [{ uri: 'cloud.model', nodes: 5 }]);
  for (const number of ['1003', '1004', '1005', '1006', '1007', '1008', '1009', '1010', '1011', '1012']) {
    seedOrder(world, `lic-${number}`, `SO-${number}`, `ast-${number}`, [{ uri: 'draft.pro', nodes: 3 }]);
  }
}

/** Adds the second company, on channel `partner`. */
function seedMeridian(world: World): void {
  const meridian = newEnterprise(world, {
    ...MADE,
    globalId: 'ent-meridian',
    enterpriseId: '2001',
    name: 'Meridian Survey',
    suffix: '@meridian',
    trialMemberLimit: 5,
  });
  newCustomer(world, {
    ...MADE,
    customerId: 'cus-meridian-default',
    channelCode: 'partner',
    channelCustomerId: 'PT-2001',
    crmCustomerId: 'CRM-2001',
    customerName: 'Meridian Survey',
    enterpriseGlobalId: meridian.globalId,
    isDefault: true,
  });
  for (const [account, id, name] of [
    ['admin', '5001', 'Mira Meridian'],
    ['noor', '5002', 'Noor Haddad'],
  ] as const) {
    const globalId = `mem-meridian-${account}`;
    newEmployee(world, meridian, {
      ...MADE,
      account,
      globalId,
      id,
      userId: id,
      name,
      administrator: account === 'admin',
    });
  }
  putAssets(world, [
    ['2001', 'softkey', 'cus-meridian-default'],
    [
      '2002',
      'cloud_account',
      'cus-meridian-default',
      { memberGlobalId: 'mem-meridian-noor', assignTime: SEED_TIME },
    ],
  ]);
  seedOrder(world, 'lic-6001', 'PO-0001', 'ast-2001', [{ uri: 'survey.field' }]);
  seedOrder(world, 'lic-6002', 'PO-0002', 'ast-2002', [{ uri: 'cloud.model' }]);
}

/** Adds the third company, on channel `crm`. Every id is all digits and beyond 2^53, for responses that contain ids as numbers. */
function seedLongIds(world: World): void {
  const enterprise = newEnterprise(world, {
    ...MADE,
    globalId: '9007199254741993',
    enterpriseId: '9007199254741995',
    name: 'Longfellow Bridges',
    suffix: '@longfellow',
  });
  const customerId = '9007199254742993';
  newCustomer(world, {
    ...MADE,
    customerId,
    channelCode: 'crm',
    channelCustomerId: 'CH-4001',
    crmCustomerId: 'CRM-4001',
    customerName: enterprise.name,
    enterpriseGlobalId: enterprise.globalId,
    isDefault: true,
  });
  const admin = {
    account: 'admin',
    globalId: 'mem-longfellow-admin',
    name: 'Lena Longfellow',
    administrator: true,
  };
  newEmployee(world, enterprise, { ...MADE, ...admin, id: '9007199254744993', userId: '9007199254744995' });
  newAsset(world, {
    ...MADE,
    id: '9007199254743993',
    assetNum: '8000004001',
    licenseType: 'softkey',
    customerId,
  });
  seedOrder(world, '9007199254745993', 'SO-4001', '9007199254743993', [{ uri: 'draft.pro' }]);
}

/** Adds assets. `ast-1001` has the number 8000001001, and so on. */
function putAssets(world: World, assets: readonly SeedAsset[]): void {
  for (const [suffix, licenseType, customerId, more] of assets) {
    const known = { id: `ast-${suffix}`, assetNum: `800000${suffix}`, licenseType, customerId };
    newAsset(world, { ...MADE, ...known, ...more });
  }
}
