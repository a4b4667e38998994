/** The employee that a member call is about, and the user who makes it. */
import type { Call } from '../call.ts';
import { Refusal } from '../errors.ts';
import type { OperationName } from '../operations.ts';
import type { Employee, Enterprise } from '../state/records.ts';

/**
 * Refuses with 60017 if the acting user's enterprise has no customer, even if the call is about another enterprise. A user who is no
 * employee has no enterprise.
 */
export function requireBoundUser({ state, username }: Call): void {
  const enterpriseGlobalId = actingEmployee({ state, username })?.enterpriseGlobalId;
  if (enterpriseGlobalId === undefined || state.customersOfEnterprise(enterpriseGlobalId).length === 0) {
    throw new Refusal('60017');
  }
}

/** The operations that may refuse a user with 60017 (section 7.2). */
const BOUND: ReadonlySet<OperationName> = new Set(['listAssetNums', 'listAssetProducts', 'listLentLocks']);

/**
 * Returns the call as its user sees the platform. If users see only their own enterprise, an operation refuses any other enterprise if the
 * interface has a code for that. All other operations behave as if that enterprise and its employees did not exist. A user who is not an
 * employee sees all enterprises.
 */
export function asSeen(call: Call, operation: OperationName): Call {
  if (!isForeign(call)) return call;
  if (BOUND.has(operation)) throw new Refusal('60017');
  return { ...call, parameters: {} };
}

function isForeign({ state, username, parameters, settings }: Call): boolean {
  const own = actingEmployee({ state, username })?.enterpriseGlobalId;
  if (settings.profile.usersSee === 'all' || own === undefined) return false;
  const { enterpriseGlobalId, memberGlobalId = '', assetId = '' } = parameters;
  const asset = state.assets.get(assetId);
  const owner = asset && state.customers.get(asset.customerId)?.enterpriseGlobalId;
  // Several enterprises may employ a person.
  const named = [
    ...(enterpriseGlobalId === undefined ? [] : [enterpriseGlobalId]),
    ...(enterpriseGlobalId === undefined
      ? state.employees.by('globalId', memberGlobalId).map((employee) => employee.enterpriseGlobalId)
      : []),
    ...(owner === undefined || owner === null ? [] : [owner]),
  ];
  return named.length > 0 && !named.includes(own);
}

/** Returns the acting user's record. Undefined for a user who is no employee. */
export function actingEmployee({ state, username }: Pick<Call, 'state' | 'username'>): Employee | undefined {
  return username === null ? undefined : state.employeeByUserName(username);
}

/** Returns the employee of a path that also names the enterprise (operations 2 to 4), or refuses with 60002. */
export function employeeOfPath({ state, parameters }: Call): Employee {
  const employee = state.employees
    .by('globalId', parameters['memberGlobalId'] ?? '')
    .find(({ enterpriseGlobalId }) => enterpriseGlobalId === parameters['enterpriseGlobalId']);
  if (employee === undefined) throw new Refusal('60002', 'the enterprise has no such employee');
  return employee;
}

/** True if the enterprise has no employee of the path, either not any more or never. */
export function isGone({ state, parameters }: Call): boolean {
  const employees = state.employees.by('globalId', parameters['memberGlobalId'] ?? '');
  return !employees.some(({ enterpriseGlobalId }) => enterpriseGlobalId === parameters['enterpriseGlobalId']);
}

/** Returns the employee with this account. If the profile says so, case is ignored. */
export function holderOf(
  { state, settings }: Call,
  { globalId, suffix }: Enterprise,
  account: string,
): Employee | undefined {
  const userName = account + suffix;
  if (settings.profile.accountCase === 'two') return state.employeeByUserName(userName);
  const wanted = userName.toLowerCase();
  return state.employees.by('enterprise', globalId).find((each) => each.userName.toLowerCase() === wanted);
}
