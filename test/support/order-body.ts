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
