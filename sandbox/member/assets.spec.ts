import { describe, expect, it } from '@jest/globals';
import { secret, useSandbox } from '../testing.ts';

const visitor = { username: 'visitor', password: secret() };

const test = useSandbox({ users: [visitor] });

const buying = {
  customerId: 'cus-harbour-default',
  orderType: 'new_buy',
  licenseType: 'normal_recover_usbkey',
};

async function products(assetId: string): Promise<any> {
  return (await test.call('listAssetProducts', { parameters: { assetId } })).data;
}

describe('listAssetNums', () => {
  it('shows every asset of the enterprise, the employee it is assigned or lent to, and whether it is lent or online', async () => {
    const all: any[] = (await test.call('listAssetNums')).data;
    expect(all).toHaveLength(12);
    expect(all.slice(0, 2)).toEqual([
      {
        assetNum: '8000001001',
        assetId: 'ast-1001',
        cloudAccountGlobalId: null,
        borrowedFlag: false,
        onlineFlag: false,
      },
      {
        assetNum: '8000001002',
        assetId: 'ast-1002',
        cloudAccountGlobalId: 'mem-harbour-anna',
        borrowedFlag: false,
        onlineFlag: true,
      },
    ]);
    const lent = all.filter(({ borrowedFlag }) => borrowedFlag);
    expect(lent.map(({ assetNum, cloudAccountGlobalId }) => [assetNum, cloudAccountGlobalId])).toEqual([
      ['8000001007', 'mem-harbour-chen'],
      ['8000001012', 'mem-harbour-chen'],
    ]);
  });

  it('shows what an order bought, and no longer what an order revoked', async () => {
    const assets = [{ assetNos: ['8700000001'], products: [{ productUri: 'a.b' }] }];
    expect((await test.order([{ ...buying, assets }])).code).toBe(0);
    expect(await test.assetNum('8700000001')).toMatchObject({ cloudAccountGlobalId: null });
    const revoking = { ...buying, orderType: 'delete_asset', assets: [{ assetNos: ['8700000001'] }] };
    expect((await test.order([revoking])).code).toBe(0);
    expect(await test.assetNum('8700000001')).toBeUndefined();
  });

  it('is empty for an unknown enterprise', async () => {
    const unknown = { enterpriseGlobalId: 'ent-0' };
    expect((await test.call('listAssetNums', { parameters: unknown })).data).toEqual([]);
  });
});

describe('listLentLocks', () => {
  it('shows lent locks, free and lent, and those of orders at once', async () => {
    const assets = [{ assetNos: ['8700000002'], borrowedUsbKey: true, products: [{ productUri: 'a.b' }] }];
    await test.order([{ ...buying, assets }]);
    expect((await test.call('listLentLocks')).data).toEqual([
      { assetId: 'ast-1006', assetNum: '8000001006', borrowedFlag: false, cloudAccountGlobalId: null },
      {
        assetId: 'ast-1007',
        assetNum: '8000001007',
        borrowedFlag: true,
        cloudAccountGlobalId: 'mem-harbour-chen',
      },
      {
        assetId: expect.any(String),
        assetNum: '8700000002',
        borrowedFlag: false,
        cloudAccountGlobalId: null,
      },
    ]);
  });
});

describe('listAssetProducts', () => {
  it('shows products as section 2.12 has them', async () => {
    const { productInstanceList, children } = await products('ast-1001');
    expect(children).toEqual([]);
    expect(productInstanceList).toHaveLength(2);
    expect(productInstanceList[1]).toEqual({
      id: 'prd-5001-2',
      licenseType: 'softkey',
      customerId: 'cus-harbour-default',
      assetId: 'ast-1001',
      assetInsId: 'ast-1001',
      merchandiseInsId: null,
      assetNum: '8000001001',
      productUri: 'draft.view',
      gmsPid: 'gms-draft-view',
      appKey: null,
      productName: 'Product draft.view',
      channelCode: 'crm',
      licenseOrderId: 'lic-5001',
      channelOrderId: 'SO-0001',
      limitStartTime: 1767600000000,
      limitEndTime: 4102358400000,
      limitAmount: 0,
      limitConcurrent: 1,
      limitTimeDuration: 0,
      trial: 1,
      trialEndDate: 4102358400000,
      limitType: 'basic',
      prodDefExtend: false,
      timeDurationExpression: null,
      srcLicenseOrderId: null,
      createTime: 1767600000000,
      updateTime: null,
      activateFlag: true,
      crmProductId: 'CP-SO-0001-2',
      productExtendInstanceList: [],
    });
  });

  it('shows packages as trees, null where they have no children', async () => {
    const { productInstanceList, children } = await products('ast-1002');
    expect(productInstanceList.map(({ productUri }: any) => productUri)).toEqual([
      'cloud.model',
      'cloud.model',
    ]);
    expect(children).toEqual([
      {
        id: 'mer-5002-suite',
        licenseType: 'cloud_account',
        merchandiseNum: 'PKG-SUITE',
        merchandiseName: 'Package suite',
        parentId: null,
        parentMerchandiseNum: null,
        customerId: 'cus-harbour-default',
        licenseOrderId: 'lic-5002',
        channelOrderId: 'SO-0002',
        createTime: 1767600000000,
        updateTime: null,
        channelCode: 'crm',
        timeDurationExpression: '1-0-0',
        srcLicenseOrderId: null,
        productInstanceList: [
          expect.objectContaining({ productUri: 'cloud.render', merchandiseInsId: 'mer-5002-suite' }),
        ],
        children: [
          expect.objectContaining({
            id: 'mer-5002-extras',
            parentId: 'mer-5002-suite',
            parentMerchandiseNum: 'PKG-SUITE',
            children: null,
            productInstanceList: [expect.objectContaining({ productUri: 'cloud.share' })],
          }),
        ],
      },
    ]);
  });

  it('shows the features of an order as extensions, and a package without products of its own', async () => {
    const assets = [
      {
        assetNos: ['8700000003'],
        products: [{ productUri: 'a.b', productFeatures: [{ featureCode: 'f', featureValue: '1' }] }],
        merchandises: [
          {
            merchandiseNum: 'M1',
            children: [{ merchandiseNum: 'M2', licenseOrderProductList: [{ appKey: 'k' }] }],
          },
        ],
      },
    ];
    await test.order([{ ...buying, assets }]);
    const { assetId } = await test.assetNum('8700000003');
    expect(await products(assetId)).toMatchObject({
      productInstanceList: [
        {
          limitType: 'feature',
          prodDefExtend: true,
          productExtendInstanceList: [{ featureCode: 'f', featureValue: '1' }],
        },
      ],
      children: [{ merchandiseNum: 'M1', productInstanceList: null, children: [{ merchandiseNum: 'M2' }] }],
    });
  });

  it('does not find a revoked asset', async () => {
    const assets = [{ assetNos: ['8000001001'] }];
    await test.order([{ ...buying, orderType: 'delete_asset', licenseType: 'softkey', assets }]);
    const gone = await test.call('listAssetProducts', { parameters: { assetId: 'ast-1001' } });
    expect(gone.code).toBe('60024');
  });
});

describe('a user who is bound to no customer', () => {
  it.each(['tidewater', 'visitor'])('%s sees no assets', async (user) => {
    await test.memberHeaders('visitor', visitor.password);
    const calls = [
      test.call('listAssetNums', { user }),
      test.call('listLentLocks', { user }),
      test.call('listAssetProducts', { parameters: { assetId: 'ast-1001' }, user }),
    ];
    for (const { status, code } of await Promise.all(calls)) expect([status, code]).toEqual([299, '60017']);
    const query = { pageNum: '1', pageSize: '1' };
    expect((await test.call('listMembers', { query, user })).code).toBe(0);
  });
});
