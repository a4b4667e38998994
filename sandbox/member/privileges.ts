/** Member operation 9: assigning asset numbers to an employee and withdrawing them (section 4.2). */
import type { Call, Handler } from '../call.ts';
import { Refusal } from '../errors.ts';
import { unassign } from '../state/lending.ts';
import type { Asset, Employee } from '../state/records.ts';
import { isExpired } from '../state/time.ts';
import { readObject, readTexts } from './body.ts';

const FIELDS = new Set(['deleteAssets', 'addAssets']);

/**
 * Operation 9 makes all changes or none. Both arrays are required and may be empty. 60028 refuses a number that appears twice, in one array
 * or in both, and a number to assign that is already assigned, to any employee. 60024 refuses one that cannot be assigned.
 */
export const changePrivileges: Handler = (call) => {
  const { state, clock } = call;
  const values = readObject(call.body, 'the body', FIELDS, call.settings);
  const deleteAssets = readTexts(values, 'deleteAssets');
  const addAssets = readTexts(values, 'addAssets');
  const employee = employeeByGlobalId(call);
  const withdrawn = deleteAssets.map((assetNum) => assetToWithdraw(call, employee, assetNum));
  const assigned = addAssets.map((assetNum) => assetToAssign(call, employee, assetNum));
  const named = [...deleteAssets, ...addAssets];
  if (new Set(named).size < named.length) throw new Refusal('60028', 'an asset number is named twice');
  const taken = assigned.find(({ memberGlobalId }) => memberGlobalId !== null);
  if (taken !== undefined) throw new Refusal('60028', `asset ${taken.assetNum} is assigned already`);
  for (const asset of withdrawn) unassign(call, asset);
  for (const { id } of assigned) {
    const now = clock.now();
    state.assets.change(id, { memberGlobalId: employee.globalId, assignTime: now, updateTime: now });
  }
  return null;
};

/**
 * Returns the employee. The path names no enterprise, so the platform cannot distinguish the two records of a person in two enterprises
 * (60023).
 */
function employeeByGlobalId({ state, parameters }: Call): Employee {
  const [employee, another] = state.employees.by('globalId', parameters['memberGlobalId'] ?? '');
  if (employee === undefined) throw new Refusal('60026');
  if (another !== undefined) throw new Refusal('60023');
  return employee;
}

function assetToWithdraw(call: Call, employee: Employee, assetNum: string): Asset {
  const asset = assetOfEnterprise(call, employee, assetNum);
  if (asset.memberGlobalId !== employee.globalId) {
    throw new Refusal('60024', `asset ${assetNum} is not assigned to the employee`);
  }
  return asset;
}

/**
 * Returns the asset. Section 7.2 has no code of its own for an asset that cannot be assigned. Lent locks are lent (operation 10), not
 * assigned.
 */
function assetToAssign(call: Call, employee: Employee, assetNum: string): Asset {
  const asset = assetOfEnterprise(call, employee, assetNum);
  const reason =
    (asset.lentLock && 'is a lent lock') ||
    (!asset.grantable && 'is not grantable') ||
    (asset.freezing && 'is frozen') ||
    (isExpired(asset, call.clock.now()) && 'has expired');
  if (reason !== false) throw new Refusal('60024', `asset ${assetNum} ${reason}`);
  return asset;
}

function assetOfEnterprise(call: Call, employee: Employee, assetNum: string): Asset {
  const asset = call.state.assetByNum(assetNum);
  if (asset === undefined) throw new Refusal('60024', `no asset ${assetNum}`);
  if (call.state.enterpriseOf(asset) !== employee.enterpriseGlobalId) {
    throw new Refusal('60025', `asset ${assetNum} belongs to no customer of the employee's enterprise`);
  }
  return asset;
}
