/** Member operations 2 to 4: editing an employee, resetting a password, deleting (section 4.2). */
import type { Handler } from '../call.ts';
import { Refusal } from '../errors.ts';
import { emptyLock, unassign } from '../state/lending.ts';
import { readObject } from './body.ts';
import { departmentName, type EmptyCodes, readPassword, readTerms } from './employee-fields.ts';
import { employeeOfPath, holderOf, isGone } from './who.ts';

const EDIT_FIELDS = new Set(['userName', 'departmentId', 'name', 'remark', 'passwordMobile']);
const PASSWORD_FIELDS = new Set(['password']);
const EMPTY: EmptyCodes = { account: '40000', name: '40000' };

/**
 * Operation 2 edits an employee. An absent or null field is kept or removed, as the profile says. An empty `remark` or `passwordMobile` is
 * removed. Another `userName` renames the account, and a taken one is refused with 10003. Renaming ends the sessions under the old name.
 */
export const editMember: Handler = (call) => {
  const { state, clock, settings } = call;
  const employee = employeeOfPath(call);
  const enterprise = state.enterprises.need(employee.enterpriseGlobalId);
  const values = readObject(call.body, 'the body', EDIT_FIELDS, settings);
  const { account, departmentId, name, remark, passwordMobile } = readTerms(values, enterprise, EMPTY);
  const userName = account + enterprise.suffix;
  const holder = holderOf(call, enterprise, account);
  if (holder !== undefined && holder.id !== employee.id) {
    throw new Refusal('10003', 'userName is the account of another employee');
  }
  const cleared = { departmentId: null, departmentName: null, remark: null, passwordMobile: null };
  state.employees.change(employee.id, {
    ...(settings.profile.memberEdit === 'clears' ? cleared : {}),
    userName,
    name,
    updateTime: clock.now(),
    ...(departmentId === undefined
      ? {}
      : { departmentId, departmentName: departmentName(enterprise, departmentId) }),
    ...(remark === undefined ? {} : { remark }),
    ...(passwordMobile === undefined ? {} : { passwordMobile }),
  });
  return null;
};

/**
 * Operation 3 resets a password. The employee's sessions end: their tokens are then refused with 60005, and their refresh tokens are
 * invalid.
 */
export const resetPassword: Handler = (call) => {
  const { state, clock, settings } = call;
  const employee = employeeOfPath(call);
  const values = readObject(call.body, 'the body', PASSWORD_FIELDS, settings);
  state.employees.change(employee.id, {
    password: readPassword(values['password'], settings),
    passwordVersion: employee.passwordVersion + 1,
    updateTime: clock.now(),
  });
  return null;
};

/**
 * Operation 4 deletes an employee. Assets are withdrawn, lent rights return, lent locks become free, sessions end. The account may be added
 * again.
 */
export const deleteMember: Handler = (call) => {
  const { state, clock } = call;
  if (call.settings.profile.deletedTwice === 'success' && isGone(call)) return null;
  const { id, globalId, enterpriseGlobalId } = employeeOfPath(call);
  for (const asset of state.assets.by('member', globalId)) {
    if (state.enterpriseOf(asset) === enterpriseGlobalId) unassign(call, asset);
  }
  for (const lock of state.assets.by('lentToMember', globalId)) {
    if (state.enterpriseOf(lock) === enterpriseGlobalId) emptyLock(call, lock);
  }
  state.employees.change(id, { deleted: true, online: false, updateTime: clock.now() });
  return null;
};
