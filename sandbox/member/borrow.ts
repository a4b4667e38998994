/** Member operation 10: moving the product rights of an employee's assets into a lent lock (section 4.2). */
import type { Call, Handler } from '../call.ts';
import { Refusal } from '../errors.ts';
import type { Asset, Employee } from '../state/records.ts';
import { isExpired } from '../state/time.ts';
import { hasFreeNodes } from '../state/nodes.ts';
import { badParameter, readObject, readText, readTexts } from './body.ts';
import { actingEmployee } from './who.ts';

const FIELDS = new Set(['borrowedUsbKey', 'assetIDs']);

/**
 * Operation 10 moves all rights or none. The lock is then lent to the employee. An asset that is already in this lock stays there. No
 * operation returns rights directly; they return when the asset is withdrawn, the employee is deleted, or the asset or the lock is revoked.
 */
export const borrowAssets: Handler = (call) => {
  const values = readObject(call.body, 'the body', FIELDS, call.settings);
  const lockNum = readText(values, 'borrowedUsbKey');
  const assetIds = new Set(readTexts(values, 'assetIDs'));
  if (assetIds.size === 0) throw badParameter('assetIDs must not be empty');
  const employee = borrower(call);
  const lock = lentLock(call, employee, lockNum);
  const updateTime = call.clock.now();
  for (const assetId of assetIds) {
    const asset = assetToLend(call, employee, lock, assetId);
    if (asset.lentInto !== lock.id) call.state.assets.change(asset.id, { lentInto: lock.id, updateTime });
  }
  if (lock.lentToMember === null) {
    call.state.assets.change(lock.id, { lentToMember: employee.globalId, updateTime });
  }
  return null;
};

/**
 * Returns the employee of the path. Of two records it is the one in the acting user's enterprise (60026). The acting user must be this
 * employee or an administrator of the enterprise (33003).
 */
function borrower(call: Call): Employee {
  const acting = actingEmployee(call);
  const records = call.state.employees.by('globalId', call.parameters['memberGlobalId'] ?? '');
  const employee =
    records.length > 1
      ? records.find(({ enterpriseGlobalId }) => enterpriseGlobalId === acting?.enterpriseGlobalId)
      : records[0];
  if (employee === undefined) throw new Refusal('60026');
  const isAdministrator =
    acting?.administrator === true && acting.enterpriseGlobalId === employee.enterpriseGlobalId;
  if (acting?.id !== employee.id && !isAdministrator) {
    throw new Refusal('33003', 'the acting user is neither the employee nor an administrator');
  }
  return employee;
}

/** Returns a lent lock of the enterprise that works and is not lent to another employee. */
function lentLock({ state, clock }: Call, employee: Employee, lockNum: string): Asset {
  const lock = state.assetByNum(lockNum);
  if (lock?.lentLock !== true || state.enterpriseOf(lock) !== employee.enterpriseGlobalId) {
    throw new Refusal('33008', `${lockNum} is no lent lock of the enterprise`);
  }
  if (lock.locked || lock.freezing || lock.faulty || isExpired(lock, clock.now())) {
    throw new Refusal('33008', 'the lent lock is disabled, frozen, faulty or expired');
  }
  if (lock.lentToMember !== null && lock.lentToMember !== employee.globalId) throw new Refusal('33018');
  return lock;
}

/** Returns an asset of the enterprise that is assigned to the employee, is in no other lock and has nodes to lend. */
function assetToLend(call: Call, employee: Employee, lock: Asset, assetId: string): Asset {
  const { state } = call;
  const asset = state.assets.get(assetId);
  const isOwn =
    asset?.memberGlobalId === employee.globalId && state.enterpriseOf(asset) === employee.enterpriseGlobalId;
  if (!isOwn) throw new Refusal('33003', `asset ${assetId} is not assigned to the employee`);
  if (asset.lentInto === lock.id) return asset;
  if (asset.lentInto !== null) throw new Refusal('33007', `asset ${assetId}`);
  if (!hasFreeNodes(call, asset)) throw new Refusal('33006', `asset ${assetId}`);
  return asset;
}
