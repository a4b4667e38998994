/** The employee that a member call is about, and the user who makes it. */
import type { Call } from '../call.ts';
import { Refusal } from '../errors.ts';
import type { Employee } from '../state/records.ts';

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
