import { describe, expect, it } from '@jest/globals';
import type { OperationName } from './operations.ts';
import { secret, useSandbox } from './testing.ts';

const test = useSandbox();

const LOCK = '8000001006';
const row = { userName: 'mia', password: secret(), name: 'Mia' };
const edit = { userName: 'anna', name: 'Anna' };
const page = { pageNum: '1', pageSize: '10' };
const binding = {
  channelCode: 'crm',
  channelCustomerId: 'CH-9',
  customerName: 'Nine',
  enterpriseName: 'Nine Works',
};
const product = { productUri: 'x' };
const buying = {
  orderType: 'new_buy',
  licenseType: 'softkey',
  customerId: 'cus-harbour-default',
  assets: [{ products: [product] }],
};
const deletion = { ...buying, orderType: 'delete_asset', assets: [{ assetNos: ['8000001001'] }] };
const removal = (...products: object[]): object => ({
  ...buying,
  orderType: 'delete_product',
  licenseType: 'cloud_account',
  srcLicenseOrderId: 'lic-5002',
  assets: [{ assetNos: ['8000001002'], products }],
});
const selling = (given: object): object => ({
  ...buying,
  assets: [{ products: [{ ...product, ...given }] }],
});
const batch = (orderList: unknown, more: object = {}): object => ({
  channelCode: 'crm',
  channelOrderId: 'SO-1',
  orderList,
  ...more,
});
const assign = (...addAssets: unknown[]): object => ({ deleteAssets: [], addAssets });
const withdraw = (...deleteAssets: unknown[]): object => ({ deleteAssets, addAssets: [] });
const lend = (borrowedUsbKey: unknown, assetIDs?: unknown): object => ({ borrowedUsbKey, assetIDs });

/** A code, the body that causes it, and a part of the answer if the rule is not plain from the body. */
type Refused = readonly [code: string, body: unknown, says?: string];

const BODIES: readonly (readonly [OperationName, Record<string, string>, readonly Refused[]])[] = [
  [
    'bindCustomer',
    {},
    [
      ...Object.keys(binding).map(
        (name) => ['13004', { ...binding, [name]: '' }, `${name} must not be empty`] as const,
      ),
      ['13004', { ...binding, crmId: '1' }, 'crmId is not a field'],
    ],
  ],
  ['createEnterprise', {}, [['13004', { crmCustomerId: 'CRM-1001', customerName: 'X' }]]],
  ['updateCustomer', {}, [['13004', { crmCustomerId: 'CRM-0', address: 'x' }]]],
  [
    'disableLocks',
    {},
    [
      ['13004', { assetNums: [], operatorIdentity: 'ops' }],
      ['13004', { assetNums: [8000001003], operatorIdentity: 'ops' }],
      ['13004', { assetNums: '8000001003', operatorIdentity: 'ops' }],
    ],
  ],
  [
    'obtainAssetNums',
    {},
    [0, 1001, 1.5, '5']
      .map((size): Refused => ['13004', { size }])
      .concat(
        // These texts are no JSON at all.
        ['', '{'].map((text): Refused => ['13004', text]),
      ),
  ],
  [
    'batchOrder',
    {},
    [
      ['13004', batch([])],
      ['13004', batch(Array.from({ length: 2 }, () => ({ ...buying, sequence: 2 })))],
      ['13004', batch([{ ...buying, orderType: 'gift' }])],
      ['13004', batch([buying], { syncMode: 'later' })],
      ['13004', batch([{ ...buying, assets: [] }])],
      ['13004', batch([{ ...buying, assets: [{ products: [] }] }])],
      ['13004', batch([selling({ productUri: undefined })])],
      ['13004', batch([selling({ limitConcurrent: '2' })])],
      ['13004', batch([selling({ timeDurationExpression: '1y' })])],
      ['13004', batch([{ ...buying, assets: [{ assetNums: ['1'], products: [product] }] }]), 'assetNums'],
      // These transfers name products that the order does not hold, and another company's order.
      ['13004', batch([selling({ srcLicenseOrderId: 'lic-5001' })])],
      ['13004', batch([selling({ productUri: 'survey.field', srcLicenseOrderId: 'lic-6001' })])],
      // These rows name a wrong customer, or none.
      ...[
        { crmCustomerId: 'CRM-new', channelCustomerId: 'PT-1003' },
        { customerId: 'cus-none', customerName: 'X' },
        { enterpriseGlobalId: 'ent-none' },
        { customerId: 'cus-harbour-yard', enterpriseGlobalId: 'ent-meridian' },
        { crmCustomerId: 'CRM-new', channelCustomerId: 'CH-1002', customerName: 'X' },
        {},
      ].map((names): Refused => ['13004', batch([{ ...buying, customerId: undefined, ...names }])]),
      // These deletions name another customer, another type, no asset, and an order that is not of the asset.
      ...[
        { customerId: 'cus-harbour-yard' },
        { licenseType: 'lan_softkey' },
        { assets: [{ assetNos: [] }] },
        { srcLicenseOrderId: 'lic-1003' },
        { srcLicenseOrderId: 'lic-none' },
      ].map((wrong): Refused => ['13004', batch([{ ...deletion, ...wrong }])]),
      ['13004', batch([removal()])],
      ['13004', batch([removal({ productUri: 'no.such' })])],
      ...['cloud_account', 'cloud_customer', 'cloud_personal'].map((licenseType): Refused => {
        const item = { ...removal({ productUri: 'cloud.model' }), licenseType, srcLicenseOrderId: '' };
        return ['13004', batch([item]), 'orderList[0].srcLicenseOrderId'];
      }),
      // The batch fails at its last item, so none of its items takes effect.
      ['13004', batch([buying, deletion, deletion])],
      ['13004', batch([buying, deletion, deletion], { syncMode: 'async' })],
    ],
  ],
  [
    'addMembers',
    {},
    [
      ['40000', {}],
      ['40000', { userList: ['mia'] }],
      ['40000', { userList: [row], more: 1 }],
      ['40000', []],
      ['40021', { userList: [] }],
      ['60013', { userList: Array.from({ length: 101 }, (_, at) => ({ ...row, userName: `m${at}` })) }],
      ...(
        [
          ['40008', { userName: '' }],
          ['10003', { userName: 'zoë' }],
          ['10003', { userName: 7 }],
          ['30002', { userName: 'a'.repeat(55) }],
          ['40001', { password: '' }],
          ['50003', { password: 'x'.repeat(5) }],
          ['50003', { password: 'x'.repeat(33) }],
          ['40022', { name: '' }],
          ['30002', { name: 'x'.repeat(31) }],
          ['30003', { remark: 'x'.repeat(201) }],
          ['10004', { passwordMobile: '12345' }],
          ['40009', { departmentId: '10' }],
          ['40009', { departmentId: 1.5 }],
          ['40000', { nickName: 'm' }],
        ] as const
      ).map(([code, wrong]): Refused => [code, { userList: [row, { ...row, userName: 'max', ...wrong }] }]),
    ],
  ],
  ['addMembers', { enterpriseGlobalId: 'ent-tidewater' }, [['40006', { userList: [row] }]]],
  [
    'editMember',
    { memberGlobalId: 'mem-harbour-anna' },
    [
      ['40000', {}],
      ['40000', { ...edit, userName: '' }],
      ['40000', { ...edit, name: '' }],
      ['40000', { ...edit, password: 'x' }],
      ['10003', { ...edit, userName: 'an-na' }],
    ],
  ],
  ['editMember', { memberGlobalId: 'mem-0' }, [['60002', edit]]],
  [
    'editMember',
    { memberGlobalId: 'mem-harbour-anna', enterpriseGlobalId: 'ent-meridian' },
    [['60002', edit]],
  ],
  ['resetPassword', { memberGlobalId: 'mem-harbour-anna' }, [['40001', { password: '' }]]],
  ['resetPassword', { memberGlobalId: 'mem-0' }, [['60002', { password: secret() }]]],
  ['deleteMember', { memberGlobalId: 'mem-0' }, [['60002', undefined]]],
  [
    'changePrivileges',
    { memberGlobalId: 'mem-harbour-anna' },
    [
      ['40000', { addAssets: ['8000001009'] }],
      ['40000', { deleteAssets: [], addAssets: '8000001009' }],
      ['40000', assign('')],
      ['40000', assign(8000001009)],
      ['40000', { ...assign(), assign: [] }],
      ['60024', assign('8999999999')],
      ['60024', withdraw('8000001005')],
      ['60024', assign(LOCK)],
      ['60024', assign('8000001009', '8000001003'), 'asset 8000001003 is not grantable'],
      ['60025', assign('8000002001')],
      // These numbers belong to another employee, to her already, appear twice, or are both withdrawn and assigned.
      ['60028', assign('8000001005')],
      ['60028', assign('8000001002')],
      ['60028', assign('8000001009', '8000001009')],
      ['60028', { deleteAssets: ['8000001002'], addAssets: ['8000001002'] }],
    ],
  ],
  ['changePrivileges', { memberGlobalId: 'mem-0' }, [['60026', assign('8000001009')]]],
  ['changePrivileges', { memberGlobalId: 'mem-shared-petra' }, [['60023', assign('8000001009')]]],
  [
    'borrowAssets',
    { memberGlobalId: 'mem-harbour-anna' },
    [
      ['40000', lend('', ['ast-1002'])],
      ['40000', lend(LOCK, [])],
      ['40000', lend(LOCK, 'ast-1002')],
      ['33003', lend(LOCK, ['ast-1009'])],
      ['33003', lend(LOCK, ['ast-1002', 'ast-0'])],
      ['33008', lend('8999999999', ['ast-1002'])],
      ['33008', lend('8000001003', ['ast-1002'])],
      ['33018', lend('8000001007', ['ast-1002'])],
    ],
  ],
  ['borrowAssets', { memberGlobalId: 'mem-harbour-chen' }, [['33007', lend(LOCK, ['ast-1012'])]]],
  ['borrowAssets', { memberGlobalId: 'mem-0' }, [['60026', lend(LOCK, ['ast-1002'])]]],
  ['borrowAssets', { memberGlobalId: 'mem-shared-petra' }, [['33003', lend(LOCK, ['ast-1002'])]]],
];

const QUERIES: readonly (readonly [OperationName, Record<string, string>, string, Record<string, string>])[] =
  [
    ['queryCustomers', {}, '13004', { channelCustomerId: 'CH-1001' }],
    ['queryCustomers', {}, '13004', { channelCode: 'crm', defaultCustomer: 'true' }],
    ['listAssets', { enterpriseGlobalId: 'ent-0' }, '13004', {}],
    ['listAssetProducts', { assetId: 'ast-0' }, '60024', {}],
    ['listMembers', {}, '40000', { pageNum: '1' }],
    ['listMembers', {}, '40000', { ...page, pageSize: '0' }],
    ['listMembers', {}, '40000', { ...page, pageSize: '1001' }],
    ['listMembers', {}, '40000', { ...page, pageNum: '1.5' }],
    ['listMembers', {}, '40000', { ...page, departmentId: 'x' }],
  ];

describe('a refusal', () => {
  it.each(
    BODIES.flatMap(([name, parameters, refused]) =>
      refused.map(([code, body, says = '']) => [name, code, body, parameters, says] as const),
    ),
  )('of %s is %s, and nothing changes, for %j', async (name, code, body, parameters, says) => {
    const before = await test.state();
    const answer = await test.call(name, { parameters, query: { appKey: 'a' }, body });
    expect(answer).toMatchObject({ status: 299, code, text: expect.stringContaining(says) });
    expect([await test.state(), await test.commits()]).toEqual([before, []]);
  });

  it.each(QUERIES)('of %s with %j is %s for %j', async (name, parameters, code, query) => {
    expect(await test.call(name, { parameters, query })).toMatchObject({ status: 299, code });
  });

  it('of an order names the appKey that lacks in the query', async () => {
    expect((await test.call('batchOrder', { body: batch([buying]) })).message).toBe(
      'appKey must not be empty',
    );
  });

  it('takes no number from what is accepted afterwards', async () => {
    await test.order([buying, deletion, deletion]);
    expect((await test.order([buying])).data).toMatchObject([{ licenseOrderId: '9007199254740993' }]);
  });
});
