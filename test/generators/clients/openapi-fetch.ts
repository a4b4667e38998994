import createClient from 'openapi-fetch';
import { CUSTOMER, ENTERPRISE, MEMBER, PAGE_SIZE, type Steps, TAKEN } from './steps.ts';
import type { components, paths } from './generated/openapi-typescript.ts';

type PlaceOrder = components['schemas']['PlaceOrder'];

export async function steps(baseUrl: string, key: string): Promise<Steps> {
  const client = createClient<paths>({ baseUrl, headers: { 'X-Api-Key': key } });

  const order: PlaceOrder = {
    channelCode: 'crm',
    channelOrderId: 'SO-openapi-fetch',
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
    const { data, error } = await client.POST('/v1/license-orders', { body: order });
    if (error) throw new Error(`${error.status} ${error.code}`);
    // Without `validateOnly` it is the record, not the preview.
    if ('state' in data) licenseOrderIds.push(...data.items.map((item) => item.licenseOrderId));
  }

  const takenBy: string[] = [];
  const { error } = await client.PUT(
    '/v1/enterprises/{enterpriseGlobalId}/members/{memberGlobalId}/asset-nums',
    {
      params: { path: { enterpriseGlobalId: ENTERPRISE, memberGlobalId: MEMBER } },
      body: { assetNums: [TAKEN] },
    },
  );
  if (error?.code === 'asset-assigned-twice')
    for (const { assetNum, memberGlobalId } of error.conflicts ?? [])
      takenBy.push(`${assetNum} ${memberGlobalId}`);

  const assetIds: string[] = [];
  for (let page = 1, pages = 1; page <= pages; page++) {
    const { data, error: problem } = await client.GET('/v1/enterprises/{enterpriseGlobalId}/assets', {
      params: { path: { enterpriseGlobalId: ENTERPRISE }, query: { page, pageSize: PAGE_SIZE } },
    });
    if (problem) throw new Error(problem.title);
    assetIds.push(...data.items.map(({ assetId }) => assetId));
    pages = data.totalPages;
  }
  return { licenseOrderIds, takenBy, assetIds };
}
