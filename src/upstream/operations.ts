import { INVISIBLE } from '../shared/invisible.ts';
import type { GroupName } from '../transport/upstream-pools.ts';

/** The platform's operations as data (interface sections 4.1 and 4.2). A new operation is a new line. */

export type UpstreamModule = 'order' | 'member';
/**
 * The effect of a call. `repeatable` has the same effect when it is repeated. `once` must never be sent again while its outcome is open.
 */
export type Effect = 'read' | 'repeatable' | 'once';

/** The form of nearly all ids, which needs no encoding. */
export const SIMPLE_ID = /^[A-Za-z0-9_-]{1,128}$/;
/**
 * The form of an id in a path. It excludes everything that some server may read as another path, encoded or not. Some servers cut off the
 * text after a semicolon (RFC 3986, 3.3).
 */
const PATH_ID = new RegExp(String.raw`^(?!\.{1,2}(?:;|$))[^${INVISIBLE}/\\?#]{1,128}$`, 'u');
export const PATH_ID_RULE =
  'must be 1 to 128 printable characters, none of them / \\ ? #, and not . or .., also not before a ;';

/** True if the id has a form that is allowed in a path of the platform. */
export function isPathId(id: string): boolean {
  return SIMPLE_ID.test(id) || PATH_ID.test(id);
}

export interface UpstreamOperation {
  readonly name: OperationName;
  /** The gateway's operation that uses this one. It has the name that callers know. */
  readonly operationId: string;
  readonly module: UpstreamModule;
  /** The endpoint's number in its table of the interface. */
  readonly number: number;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path below the module's prefix. `{name}` is one path segment. */
  readonly path: string;
  readonly effect: Effect;
  readonly group: GroupName;
  /** The business code of a response with data that reports a partial success of the request. */
  readonly partialCode?: string;
  /** True if the operation has its own deadline and a new connection for each attempt: see OwnConnections. */
  readonly placesOrders?: true;
}

export const modulePrefix: Readonly<Record<UpstreamModule, string>> = {
  order: '/order/api/order/v1',
  member: '/me/api/v1',
};

/** The names of the gateway's operations that differ from the platform's. */
const operationIds: Readonly<Record<string, string>> = {
  queryCustomers: 'findCustomers',
  batchOrder: 'placeOrder',
  obtainAssetNums: 'reserveAssetNums',
  editMember: 'updateMember',
  resetPassword: 'resetMemberPassword',
  listAssetProducts: 'getAssetProducts',
  changePrivileges: 'changeMemberAssetNums',
  borrowAssets: 'lendAssets',
};

type Row = readonly [
  UpstreamOperation['method'],
  path: string,
  Effect,
  special?: Pick<UpstreamOperation, 'partialCode' | 'placesOrders'>,
];

const order = {
  bindCustomer: ['POST', '/enterprise/user/bind', 'once'],
  createEnterprise: ['POST', '/enterprise/user/create', 'once'],
  queryCustomers: ['GET', '/enterprise/user/query', 'read'],
  updateCustomer: ['POST', '/enterprise/user/update', 'repeatable'],
  batchOrder: ['POST', '/licenseOrder/batchOrder', 'once', { placesOrders: true }],
  disableLocks: ['POST', '/asset/lock', 'once'],
  enableLocks: ['POST', '/asset/unlock', 'once'],
  listAssets: ['GET', '/asset/{enterpriseGlobalId}/list', 'read'],
  obtainAssetNums: ['POST', '/shellnums', 'once'],
} as const satisfies Record<string, Row>;

const member = {
  addMembers: ['POST', '/enterprise/{enterpriseGlobalId}/member', 'once', { partialCode: '60027' }],
  editMember: ['PUT', '/enterprise/{enterpriseGlobalId}/member/{memberGlobalId}', 'repeatable'],
  resetPassword: [
    'PUT',
    '/enterprise/{enterpriseGlobalId}/member/{memberGlobalId}/resetPassword',
    'repeatable',
  ],
  deleteMember: ['DELETE', '/enterprise/{enterpriseGlobalId}/member/{memberGlobalId}', 'repeatable'],
  listMembers: ['GET', '/enterprise/{enterpriseGlobalId}/members', 'read'],
  listAssetNums: ['GET', '/enterprise/{enterpriseGlobalId}/asset/assetNums', 'read'],
  listAssetProducts: ['GET', '/enterprise/asset/{assetId}/merchandiseProducts', 'read'],
  listLentLocks: ['GET', '/enterprise/{enterpriseGlobalId}/asset/borrowUsbKeys', 'read'],
  // This operation is repeatable, because MemberRightsService sends only the difference to the present rights.
  changePrivileges: ['POST', '/enterprise/member/{memberGlobalId}/privileges', 'repeatable'],
  borrowAssets: ['POST', '/enterprise/member/{memberGlobalId}/borrow', 'once'],
} as const satisfies Record<string, Row>;

export type OperationName = keyof typeof order | keyof typeof member;

function rows(module: UpstreamModule, table: Record<string, Row>): UpstreamOperation[] {
  return Object.entries(table).map(([name, [method, path, effect, special]], index) => ({
    name: name as OperationName,
    operationId: operationIds[name] ?? name,
    module,
    number: index + 1,
    method,
    path,
    effect,
    group: special?.placesOrders ? 'orders' : (`${module}${effect === 'read' ? 'Reads' : 'Writes'}` as const),
    ...special,
  }));
}

export const operationList: readonly UpstreamOperation[] = [
  ...rows('order', order),
  ...rows('member', member),
];

export const operations = Object.fromEntries(operationList.map((each) => [each.name, each])) as Readonly<
  Record<OperationName, UpstreamOperation>
>;
