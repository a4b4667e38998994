/** The employee that a member call is about, and the user who makes it. */
import type { Call } from '../call.ts';
import { Refusal } from '../errors.ts';
import type { Employee, Enterprise } from '../state/records.ts';

/**
 * The acting user's enterprise must have a customer (60017), also when the call is about another enterprise; a user who is no employee
 * has none.
 */
export function requireBoundUser({ state, username }: Call): void {
  const enterpriseGlobalId = actingEmployee({ state, username })?.enterpriseGlobalId;
  if (enterpriseGlobalId === undefined || state.customersOfEnterprise(enterpriseGlobalId).length === 0) {
    throw new Refusal('60017');
  }
}

/** Refuses a call about another enterprise, if users see only their own. A user who is no employee sees all. */
export function requireOwnEnterprise({ state, username, parameters, settings }: Call): void {
  const own = actingEmployee({ state, username })?.enterpriseGlobalId;
  if (settings.profile.usersSee === 'all' || own === undefined) return;
  const { memberGlobalId = '', assetId = '' } = parameters;
  const asset = state.assets.get(assetId);
  const named =
    parameters['enterpriseGlobalId'] ??
    state.employees.by('globalId', memberGlobalId)[0]?.enterpriseGlobalId ??
    (asset && state.customers.get(asset.customerId)?.enterpriseGlobalId);
  if (named !== undefined && named !== null && named !== own) throw new Refusal('60017');
}

/** The acting user's record; undefined for a user who is no employee. */
export function actingEmployee({ state, username }: Pick<Call, 'state' | 'username'>): Employee | undefined {
  return username === null ? undefined : state.employeeByUserName(username);
}

/** The employee of a path that names the enterprise too (operations 2 to 4); 60002 when not found. */
export function employeeOfPath({ state, parameters }: Call): Employee {
  const employee = state.employees
    .by('globalId', parameters['memberGlobalId'] ?? '')
    .find(({ enterpriseGlobalId }) => enterpriseGlobalId === parameters['enterpriseGlobalId']);
  if (employee === undefined) throw new Refusal('60002', 'the enterprise has no such employee');
  return employee;
}

/** Whether the enterprise has no employee of the path, any more or at all. */
export function isGone({ state, parameters }: Call): boolean {
  const employees = state.employees.by('globalId', parameters['memberGlobalId'] ?? '');
  return !employees.some(({ enterpriseGlobalId }) => enterpriseGlobalId === parameters['enterpriseGlobalId']);
}

/** The employee whose account this is; where the profile says so, also one whose account differs in the case of letters. */
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
