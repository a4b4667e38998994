/** Orders that work with the demo unchanged. The numbers and ids are those of the sandbox's seed. */
const buyer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };

export const orderExamples = {
  newBuy: {
    summary: 'Buy a product: the asset list shows it afterwards',
    value: {
      channelCode: 'crm',
      channelOrderId: 'SO-2001',
      items: [
        {
          orderType: 'new_buy',
          licenseType: 'cloud_account',
          customerType: 'company',
          customer: buyer,
          assets: [
            {
              startsAt: '2026-01-01T00:00:00.000Z',
              endsAt: '2030-01-01T00:00:00.000Z',
              products: [
                {
                  crmProductId: 'CRM-P-2001',
                  productUri: 'draft.pro',
                  productName: 'Draft Pro',
                  limitConcurrent: 5,
                },
              ],
            },
          ],
        },
      ],
    },
  },
  newBuyPackage: {
    summary: 'Buy a package of products',
    value: {
      channelCode: 'crm',
      channelOrderId: 'SO-2002',
      items: [
        {
          orderType: 'new_buy',
          licenseType: 'softkey',
          customer: buyer,
          assets: [
            {
              merchandises: [
                {
                  merchandiseNum: 'PKG-DRAFT',
                  merchandiseName: 'Draft package',
                  timeDurationExpression: '1-0-0',
                  products: [{ productUri: 'draft.pro', limitConcurrent: 2 }],
                },
              ],
            },
          ],
        },
      ],
    },
  },
  deleteAsset: {
    summary: 'Revoke a whole asset of one order',
    value: {
      channelCode: 'crm',
      channelOrderId: 'SO-2003',
      items: [
        {
          orderType: 'delete_asset',
          licenseType: 'cloud_account',
          srcLicenseOrderId: 'lic-1009',
          customer: buyer,
          assets: [{ assetNums: ['8000001009'] }],
        },
      ],
    },
  },
  deleteProduct: {
    summary: 'Revoke one product of an asset, independent of its times',
    value: {
      channelCode: 'crm',
      channelOrderId: 'SO-2004',
      items: [
        {
          orderType: 'delete_product',
          licenseType: 'softkey',
          srcLicenseOrderId: 'lic-5001',
          customer: buyer,
          assets: [
            {
              assetNums: ['8000001001'],
              products: [{ productUri: 'draft.view', strictMatchWhenDelete: false }],
            },
          ],
        },
      ],
    },
  },
} as const;

export const settlementExamples = {
  found: {
    summary:
      'The order was placed. The order of the example has been settled so already, so this changes nothing',
    value: { as: 'succeeded', reason: 'Found in the list of assets, ticket 4711' },
  },
} as const;
