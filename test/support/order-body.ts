/** The smallest order that the sandbox carries out: one product for a customer that it knows. */
export function orderOf(channelOrderId: string, over: object = {}, product: object = {}) {
  return {
    channelCode: 'crm',
    channelOrderId,
    items: [
      {
        orderType: 'new_buy',
        licenseType: 'softkey',
        customer: { customerId: 'cus-harbour-default' },
        assets: [{ products: [{ productUri: 'draft.pro', ...product }] }],
      },
    ],
    ...over,
  };
}

/** An item that deletes one asset of the seed, which has the product `draft.view`. */
export const deletionOfAsset = {
  orderType: 'delete_asset',
  licenseType: 'cloud_account',
  srcLicenseOrderId: 'lic-1009',
  customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
  assets: [{ assetNums: ['8000001009'] }],
};
