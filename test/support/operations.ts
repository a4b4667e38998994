import { newSecret } from './canary.ts';
import { type Effect, type OperationName, operationList } from '../../src/upstream/operations.ts';
import type { TestAnswer, TestGateway } from './gateway.ts';

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

/** `upstream` where the platform's operation is shown by several of ours, and is called as another of them. */
function row(
  id: string,
  scope: string,
  request: string,
  body?: object,
  upstream?: OperationName,
): OperationCase {
  const called = operationList.find(({ name, operationId }) =>
    upstream === undefined ? operationId === id : name === upstream,
  );
  if (!called)
    throw new Error(
      `${id}: src/upstream/operations.ts has no operation of that name, nor its operationIds a row for it`,
    );
  const [method = '', path = ''] = request.split(' ');
  return {
    id,
    upstream: called.name,
    effect: called.effect,
    method,
    path,
    ...(body && { body }),
    scopes: [scope],
  };
}

export const operationCases: readonly OperationCase[] = [
  row('bindCustomer', 'customers:write', 'POST /v1/customers', {
    channelCode: 'crm',
    channelCustomerId: 'CH-9',
    customerName: 'Nine',
    enterpriseName: 'Nine',
  }),
  row('findCustomers', 'orders:read', 'GET /v1/customers?channelCode=crm&channelCustomerId=CH-1001'),
  row('updateCustomer', 'customers:write', 'PATCH /v1/crm-customers/CRM-1001', { address: '2 Quay Street' }),
  row('createEnterprise', 'customers:write', 'POST /v1/enterprises', {
    crmCustomerId: 'CRM-9',
    customerName: 'Nine',
  }),
  row('listAssets', 'orders:read', 'GET /v1/enterprises/ent-harbour/assets'),
  row('getAsset', 'orders:read', 'GET /v1/enterprises/ent-harbour/assets/ast-1002', undefined, 'listAssets'),
  row('placeOrder', 'orders:write', 'POST /v1/license-orders', {
    channelCode: 'crm',
    channelOrderId: 'SO-9',
    items: [purchase],
  }),
  row('disableLocks', 'locks:write', 'POST /v1/enterprises/ent-harbour/locks/disable', {
    assetNums: ['8000001003'],
  }),
  row('enableLocks', 'locks:write', 'POST /v1/enterprises/ent-harbour/locks/enable', {
    assetNums: ['8000001003'],
  }),
  row('reserveAssetNums', 'orders:write', 'POST /v1/asset-num-reservations', { size: 1 }),
  row('addMembers', 'members:write', 'POST /v1/enterprises/ent-harbour/members', {
    members: [{ account: 'nina', password: newSecret('m'), name: 'Nina' }],
  }),
  row('updateMember', 'members:write', 'PATCH /v1/enterprises/ent-harbour/members/mem-harbour-anna', {
    account: 'anna',
    name: 'Anna Berg',
  }),
  row(
    'resetMemberPassword',
    'members:write',
    'PUT /v1/enterprises/ent-harbour/members/mem-harbour-anna/password',
    { password: newSecret('m') },
  ),
  row('deleteMember', 'members:write', 'DELETE /v1/enterprises/ent-harbour/members/mem-harbour-dora'),
  row('listMembers', 'members:read', 'GET /v1/enterprises/ent-harbour/members'),
  row(
    'getMember',
    'members:read',
    'GET /v1/enterprises/ent-harbour/members/mem-harbour-anna',
    undefined,
    'listMembers',
  ),
  row('listAssetNums', 'members:read', 'GET /v1/enterprises/ent-harbour/asset-nums'),
  row('getAssetProducts', 'members:read', 'GET /v1/enterprises/ent-harbour/assets/ast-1002/products'),
  row('listLentLocks', 'members:read', 'GET /v1/enterprises/ent-harbour/lent-locks'),
  row(
    'setMemberAssetNums',
    'members:write',
    'PUT /v1/enterprises/ent-harbour/members/mem-harbour-anna/asset-nums',
    { assetNums: ['8000001002', '8000001009'] },
    'changePrivileges',
  ),
  row(
    'changeMemberAssetNums',
    'members:write',
    'PATCH /v1/enterprises/ent-harbour/members/mem-harbour-anna/asset-nums',
    { assign: ['8000001009'] },
  ),
  row('lendAssets', 'members:write', 'POST /v1/enterprises/ent-harbour/members/mem-harbour-anna/loans', {
    lentLockNum: '8000001006',
    assetIds: ['ast-1002'],
  }),
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
