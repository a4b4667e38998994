import { CUSTOMER, ENTERPRISE, MEMBER, PAGE_SIZE, type Steps, TAKEN } from './steps.ts';
import { listAssets, placeOrder, type PlaceOrder, setMemberAssetNums } from './generated/orval/client.ts';
import { ListAssetsResponse, PlaceOrderBody } from './generated/orval/zod.ts';

/** The address is in the generated client. */
export async function steps(_: string, key: string): Promise<Steps> {
  const options = { headers: { 'X-Api-Key': key } };

  const order: PlaceOrder = {
    channelCode: 'crm',
    channelOrderId: 'SO-orval',
    items: [
      {
        orderType: 'new_buy',
        licenseType: 'cloud_account',
        customer: { customerId: CUSTOMER, enterpriseGlobalId: ENTERPRISE },
        assets: [{ products: [{ productUri: 'draft.pro', limitConcurrent: 5 }] }],
      },
    ],
  };
  PlaceOrderBody.parse(order);
  const licenseOrderIds: (string | null)[] = [];
  for (let round = 0; round < 2; round++) {
    const { status, data } = await placeOrder(order, undefined, options);
    if (status !== 201) throw new Error(String(status));
    licenseOrderIds.push(...data.items.map((item) => item.licenseOrderId));
  }

  const takenBy: string[] = [];
  const refused = await setMemberAssetNums(ENTERPRISE, MEMBER, { assetNums: [TAKEN] }, undefined, options);
  if (refused.status === 409)
    for (const { assetNum, memberGlobalId } of refused.data.conflicts ?? [])
      takenBy.push(`${assetNum} ${memberGlobalId}`);

  const assetIds: string[] = [];
  for (let page = 1, pages = 1; page <= pages; page++) {
    const response = await listAssets(ENTERPRISE, { page, pageSize: PAGE_SIZE }, options);
    if (response.status !== 200) throw new Error(String(response.status));
    const { items, totalPages } = ListAssetsResponse.parse(response.data);
    assetIds.push(...items.map(({ assetId }) => assetId));
    pages = totalPages;
  }
  return { licenseOrderIds, takenBy, assetIds };
}
