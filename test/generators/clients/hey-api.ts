import { CUSTOMER, ENTERPRISE, MEMBER, PAGE_SIZE, type Steps, TAKEN } from './steps.ts';
import { createClient } from './generated/hey-api/client/index.js';
import { listAssets, placeOrder, setMemberAssetNums } from './generated/hey-api/sdk.gen.js';
import type { PlaceOrder } from './generated/hey-api/types.gen.js';

/** Requests and responses are checked with zod, which the generator puts into each operation. */
export async function steps(baseUrl: string, key: string): Promise<Steps> {
  const client = createClient({ baseUrl, auth: ({ type }) => (type === 'apiKey' ? key : undefined) });

  const body: PlaceOrder = {
    channelCode: 'crm',
    channelOrderId: 'SO-hey-api',
    items: [
      {
        orderType: 'new_buy',
        licenseType: 'cloud_account',
        customer: { customerId: CUSTOMER, enterpriseGlobalId: ENTERPRISE },
        assets: [{ products: [{ productUri: 'draft.pro', limitConcurrent: 5 }] }],
      },
    ],
  };
  const licenseOrderIds: (string | null)[] = [];
  for (let round = 0; round < 2; round++) {
    const { data, error } = await placeOrder({ client, body });
    if (error) throw new Error(`${error.status} ${error.code}`);
    if (data && 'state' in data) licenseOrderIds.push(...data.items.map((item) => item.licenseOrderId));
  }

  const takenBy: string[] = [];
  const { error } = await setMemberAssetNums({
    client,
    path: { enterpriseGlobalId: ENTERPRISE, memberGlobalId: MEMBER },
    body: { assetNums: [TAKEN] },
  });
  if (error?.code === 'asset-assigned-twice')
    for (const { assetNum, memberGlobalId } of error.conflicts ?? [])
      takenBy.push(`${assetNum} ${memberGlobalId}`);

  const assetIds: string[] = [];
  for (let page = 1, pages = 1; page <= pages; page++) {
    const { data } = await listAssets({
      client,
      path: { enterpriseGlobalId: ENTERPRISE },
      query: { page, pageSize: PAGE_SIZE },
      throwOnError: true,
    });
    assetIds.push(...data.items.map(({ assetId }) => assetId));
    pages = data.totalPages;
  }
  return { licenseOrderIds, takenBy, assetIds };
}
