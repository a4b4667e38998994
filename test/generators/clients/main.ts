import createClient from 'openapi-fetch';
import { createClient as createHeyApi } from './generated/hey-api/client/index.js';
import * as heyApi from './generated/hey-api/sdk.gen.js';
import type { PlaceOrder } from './generated/hey-api/types.gen.js';
import type { components, paths } from './generated/openapi-typescript.ts';
import * as orval from './generated/orval/client.ts';
import { ListAssetsResponse, PlaceOrderBody } from './generated/orval/zod.ts';

/** Each client places an order, is refused, and walks over all pages, at the gateway at GATEWAY_URL; what they found is printed. */

const { GATEWAY_URL: baseUrl = '', API_KEY: key = '' } = process.env;
const enterpriseGlobalId = 'ent-harbour';
/** This member has no asset number, and that of the other one is taken. */
const memberGlobalId = 'mem-harbour-dora';
const taken = { assetNums: ['8000001002'] };
const pageSize = 5;

type Conflicts = readonly { readonly assetNum: string; readonly memberGlobalId: string }[] | undefined;
interface Client {
  /** The licence orders of the record. */
  place(): Promise<readonly (string | null)[]>;
  /** Returns the conflicts of the refusal that is told apart from others. */
  conflicts(): Promise<Conflicts>;
  page(
    page: number,
  ): Promise<{ readonly items: readonly { assetId: string }[]; readonly totalPages: number }>;
}

function orderOf(channelOrderId: string): PlaceOrder {
  const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId };
  const assets = [{ products: [{ productUri: 'draft.pro', limitConcurrent: 5 }] }];
  return {
    channelCode: 'crm',
    channelOrderId,
    items: [{ orderType: 'new_buy', licenseType: 'cloud_account', customer, assets }],
  };
}

const fetching = createClient<paths>({ baseUrl, headers: { 'X-Api-Key': key } });
const ofOpenapiFetch: Client = {
  place: async () => {
    const body: components['schemas']['PlaceOrder'] = orderOf('SO-openapi-fetch');
    const { data, error } = await fetching.POST('/v1/license-orders', { body });
    if (error) throw new Error(`${error.status} ${error.code}`);
    return data.items.map(({ licenseOrderId }) => licenseOrderId);
  },
  conflicts: async () => {
    const { error } = await fetching.PUT(
      '/v1/enterprises/{enterpriseGlobalId}/members/{memberGlobalId}/asset-nums',
      { params: { path: { enterpriseGlobalId, memberGlobalId } }, body: taken },
    );
    return error?.code === 'asset-assigned-twice' ? error.conflicts : [];
  },
  page: async (page) => {
    const { data, error } = await fetching.GET('/v1/enterprises/{enterpriseGlobalId}/assets', {
      params: { path: { enterpriseGlobalId }, query: { page, pageSize } },
    });
    if (error) throw new Error(error.title);
    return data;
  },
};

/** Requests and responses are checked with zod, which the generator puts into each operation. */
const client = createHeyApi({ baseUrl, auth: ({ type }) => (type === 'apiKey' ? key : undefined) });
const ofHeyApi: Client = {
  place: async () => {
    const body = orderOf('SO-hey-api');
    const { data } = await heyApi.placeOrder({ client, body, throwOnError: true });
    return data.items.map(({ licenseOrderId }) => licenseOrderId);
  },
  conflicts: async () => {
    const path = { enterpriseGlobalId, memberGlobalId };
    const { error } = await heyApi.setMemberAssetNums({ client, path, body: taken });
    return error?.code === 'asset-assigned-twice' ? error.conflicts : [];
  },
  page: async (page) => {
    const query = { page, pageSize };
    return (await heyApi.listAssets({ client, path: { enterpriseGlobalId }, query, throwOnError: true }))
      .data;
  },
};

/** The address is in the generated client. */
const options = { headers: { 'X-Api-Key': key } };
const ofOrval: Client = {
  place: async () => {
    const order: orval.PlaceOrder = orderOf('SO-orval');
    PlaceOrderBody.parse(order);
    const { status, data } = await orval.placeOrder(order, options);
    if (status !== 201) throw new Error(String(status));
    return data.items.map(({ licenseOrderId }) => licenseOrderId);
  },
  conflicts: async () => {
    const refused = await orval.setMemberAssetNums(enterpriseGlobalId, memberGlobalId, taken, options);
    return refused.status === 409 ? refused.data.conflicts : [];
  },
  page: async (page) => {
    const response = await orval.listAssets(enterpriseGlobalId, { page, pageSize }, options);
    if (response.status !== 200) throw new Error(String(response.status));
    return ListAssetsResponse.parse(response.data);
  },
};

const found: Record<string, unknown> = {};
for (const [name, each] of Object.entries({ ofOpenapiFetch, ofHeyApi, ofOrval })) {
  const licenseOrderIds = [...(await each.place()), ...(await each.place())];
  const conflicts = await each.conflicts();
  const assetIds: string[] = [];
  for (let page = 1, pages = 1; page <= pages; page++) {
    const { items, totalPages } = await each.page(page);
    assetIds.push(...items.map(({ assetId }) => assetId));
    pages = totalPages;
  }
  found[name] = { licenseOrderIds, conflicts, assetIds };
}
process.stdout.write(JSON.stringify(found));
