import { newSecret } from './canary.ts';
import type { TestAnswer, TestGateway } from './gateway.ts';

export type Effect = 'read' | 'repeatable' | 'once';

/** A valid request for each operation, and its name upstream: the rows of the table-driven tests. */
export interface OperationCase {
  readonly id: string;
  readonly upstream: string;
  readonly effect: Effect;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly scopes: readonly string[];
}

const purchase = {
  orderType: 'new_buy',
  licenseType: 'softkey',
  customer: { customerId: 'cus-harbour-default' },
  assets: [{ products: [{ productUri: 'draft.pro' }] }],
};

export const operationCases: readonly OperationCase[] = [
  {
    id: 'bindCustomer',
    upstream: 'bindCustomer',
    effect: 'once',
    method: 'POST',
    path: '/v1/customers',
    body: { channelCode: 'crm', channelCustomerId: 'CH-9', customerName: 'Nine', enterpriseName: 'Nine' },
    scopes: ['customers:write'],
  },
  {
    id: 'findCustomers',
    upstream: 'queryCustomers',
    effect: 'read',
    method: 'GET',
    path: '/v1/customers?channelCode=crm&channelCustomerId=CH-1001',
    scopes: ['orders:read'],
  },
  {
    id: 'updateCustomer',
    upstream: 'updateCustomer',
    effect: 'repeatable',
    method: 'PATCH',
    path: '/v1/crm-customers/CRM-1001',
    body: { address: '2 Quay Street' },
    scopes: ['customers:write'],
  },
  {
    id: 'createEnterprise',
    upstream: 'createEnterprise',
    effect: 'once',
    method: 'POST',
    path: '/v1/enterprises',
    body: { crmCustomerId: 'CRM-9', customerName: 'Nine' },
    scopes: ['customers:write'],
  },
  {
    id: 'listAssets',
    upstream: 'listAssets',
    effect: 'read',
    method: 'GET',
    path: '/v1/enterprises/ent-harbour/assets',
    scopes: ['orders:read'],
  },
  {
    id: 'getAsset',
    upstream: 'listAssets',
    effect: 'read',
    method: 'GET',
    path: '/v1/enterprises/ent-harbour/assets/ast-1002',
    scopes: ['orders:read'],
  },
  {
    id: 'placeOrder',
    upstream: 'batchOrder',
    effect: 'once',
    method: 'POST',
    path: '/v1/license-orders',
    body: { channelCode: 'crm', channelOrderId: 'SO-9', items: [purchase] },
    scopes: ['orders:write'],
  },
  {
    id: 'disableLocks',
    upstream: 'disableLocks',
    effect: 'once',
    method: 'POST',
    path: '/v1/enterprises/ent-harbour/locks/disable',
    body: { assetNums: ['8000001003'] },
    scopes: ['locks:write'],
  },
  {
    id: 'enableLocks',
    upstream: 'enableLocks',
    effect: 'once',
    method: 'POST',
    path: '/v1/enterprises/ent-harbour/locks/enable',
    body: { assetNums: ['8000001003'] },
    scopes: ['locks:write'],
  },
  {
    id: 'reserveAssetNums',
    upstream: 'obtainAssetNums',
    effect: 'once',
    method: 'POST',
    path: '/v1/asset-num-reservations',
    body: { size: 1 },
    scopes: ['orders:write'],
  },
  {
    id: 'addMembers',
    upstream: 'addMembers',
    effect: 'once',
    method: 'POST',
    path: '/v1/enterprises/ent-harbour/members',
    body: { members: [{ account: 'nina', password: newSecret('m'), name: 'Nina' }] },
    scopes: ['members:write'],
  },
  {
    id: 'updateMember',
    upstream: 'editMember',
    effect: 'repeatable',
    method: 'PATCH',
    path: '/v1/enterprises/ent-harbour/members/mem-harbour-anna',
    body: { account: 'anna', name: 'Anna Berg' },
    scopes: ['members:write'],
  },
  {
    id: 'resetMemberPassword',
    upstream: 'resetPassword',
    effect: 'repeatable',
    method: 'PUT',
    path: '/v1/enterprises/ent-harbour/members/mem-harbour-anna/password',
    body: { password: newSecret('m') },
    scopes: ['members:write'],
  },
  {
    id: 'deleteMember',
    upstream: 'deleteMember',
    effect: 'repeatable',
    method: 'DELETE',
    path: '/v1/enterprises/ent-harbour/members/mem-harbour-dora',
    scopes: ['members:write'],
  },
  {
    id: 'listMembers',
    upstream: 'listMembers',
    effect: 'read',
    method: 'GET',
    path: '/v1/enterprises/ent-harbour/members',
    scopes: ['members:read'],
  },
  {
    id: 'listAssetNums',
    upstream: 'listAssetNums',
    effect: 'read',
    method: 'GET',
    path: '/v1/enterprises/ent-harbour/asset-nums',
    scopes: ['members:read'],
  },
  {
    id: 'getAssetProducts',
    upstream: 'listAssetProducts',
    effect: 'read',
    method: 'GET',
    path: '/v1/enterprises/ent-harbour/assets/ast-1002/products',
    scopes: ['members:read'],
  },
  {
    id: 'listLentLocks',
    upstream: 'listLentLocks',
    effect: 'read',
    method: 'GET',
    path: '/v1/enterprises/ent-harbour/lent-locks',
    scopes: ['members:read'],
  },
  {
    id: 'setMemberAssetNums',
    upstream: 'changePrivileges',
    effect: 'repeatable',
    method: 'PUT',
    path: '/v1/enterprises/ent-harbour/members/mem-harbour-anna/asset-nums',
    body: { assetNums: ['8000001002', '8000001009'] },
    scopes: ['members:write'],
  },
  {
    id: 'changeMemberAssetNums',
    upstream: 'changePrivileges',
    effect: 'repeatable',
    method: 'PATCH',
    path: '/v1/enterprises/ent-harbour/members/mem-harbour-anna/asset-nums',
    body: { assign: ['8000001009'] },
    scopes: ['members:write'],
  },
  {
    id: 'lendAssets',
    upstream: 'borrowAssets',
    effect: 'once',
    method: 'POST',
    path: '/v1/enterprises/ent-harbour/members/mem-harbour-anna/loans',
    body: { lentLockNum: '8000001006', assetIds: ['ast-1002'] },
    scopes: ['members:write'],
  },
];

let orders = 0;

/** Each order has a number of its own; under the same one it would be the same order. */
export function freshBody({ id, body }: OperationCase): object | undefined {
  return id === 'placeOrder' ? { ...body, channelOrderId: `SO-9-${++orders}` } : body;
}

export function send(
  gateway: TestGateway,
  operation: OperationCase,
  options: Parameters<TestGateway['request']>[2] = {},
): Promise<TestAnswer> {
  return gateway.request(operation.method, operation.path, { body: freshBody(operation), ...options });
}
