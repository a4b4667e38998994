/** The platform's operations as data (interface section 4), and the match of a request line with one of them. */
import type { Module } from './errors.ts';

const ORDER_PREFIX = '/order/api/order/v1';
const MEMBER_PREFIX = '/me/api/v1';

const ROUTES = [
  ['bindCustomer', 'order', 'POST', '/enterprise/user/bind'],
  ['createEnterprise', 'order', 'POST', '/enterprise/user/create'],
  ['queryCustomers', 'order', 'GET', '/enterprise/user/query'],
  ['updateCustomer', 'order', 'POST', '/enterprise/user/update'],
  ['batchOrder', 'order', 'POST', '/licenseOrder/batchOrder'],
  ['disableLocks', 'order', 'POST', '/asset/lock'],
  ['enableLocks', 'order', 'POST', '/asset/unlock'],
  ['listAssets', 'order', 'GET', '/asset/{enterpriseGlobalId}/list'],
  ['obtainAssetNums', 'order', 'POST', '/shellnums'],
  ['addMembers', 'member', 'POST', '/enterprise/{enterpriseGlobalId}/member'],
  ['editMember', 'member', 'PUT', '/enterprise/{enterpriseGlobalId}/member/{memberGlobalId}'],
  [
    'resetPassword',
    'member',
    'PUT',
    '/enterprise/{enterpriseGlobalId}/member/{memberGlobalId}/resetPassword',
  ],
  ['deleteMember', 'member', 'DELETE', '/enterprise/{enterpriseGlobalId}/member/{memberGlobalId}'],
  ['listMembers', 'member', 'GET', '/enterprise/{enterpriseGlobalId}/members'],
  ['listAssetNums', 'member', 'GET', '/enterprise/{enterpriseGlobalId}/asset/assetNums'],
  ['listAssetProducts', 'member', 'GET', '/enterprise/asset/{assetId}/merchandiseProducts'],
  ['listLentLocks', 'member', 'GET', '/enterprise/{enterpriseGlobalId}/asset/borrowUsbKeys'],
  ['changePrivileges', 'member', 'POST', '/enterprise/member/{memberGlobalId}/privileges'],
  ['borrowAssets', 'member', 'POST', '/enterprise/member/{memberGlobalId}/borrow'],
] as const;

export type OperationName = (typeof ROUTES)[number][0];

export interface Operation {
  readonly name: OperationName;
  readonly module: Module;
  readonly method: string;
  /** The path from the server's root, with parameters in braces. */
  readonly path: string;
}

export const OPERATIONS: readonly Operation[] = ROUTES.map(([name, module, method, path]) => ({
  name,
  module,
  method,
  path: (module === 'order' ? ORDER_PREFIX : MEMBER_PREFIX) + path,
}));

interface Route {
  readonly operation: Operation;
  readonly pattern: RegExp;
}

const FIXED = new Map<string, Operation>();
const WITH_PARAMETERS: Route[] = [];
for (const operation of OPERATIONS) {
  if (operation.path.includes('{')) {
    const pattern = operation.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)');
    WITH_PARAMETERS.push({ operation, pattern: new RegExp(`^${pattern}$`) });
  } else {
    FIXED.set(`${operation.method} ${operation.path}`, operation);
  }
}

export interface RouteMatch {
  readonly operation: Operation;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Returns the operation of a request line with its decoded path parameters. Null if no operation has that method and path. */
export function matchOperation(method: string, path: string): RouteMatch | null {
  const fixed = FIXED.get(`${method} ${path}`);
  if (fixed !== undefined) return { operation: fixed, parameters: {} };
  for (const { operation, pattern } of WITH_PARAMETERS) {
    if (operation.method !== method) continue;
    const groups = pattern.exec(path)?.groups;
    if (groups === undefined) continue;
    const parameters = decodeAll(groups);
    if (parameters !== null) return { operation, parameters };
  }
  return null;
}

/** Returns the methods of a path. The list is empty if the path is unknown. */
export function methodsOf(path: string): string[] {
  return [...new Set(OPERATIONS.map(({ method }) => method))].filter(
    (method) => matchOperation(method, path) !== null,
  );
}

function decodeAll(groups: Record<string, string>): Record<string, string> | null {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text)]));
  } catch {
    return null;
  }
}
