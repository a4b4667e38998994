/** Member operations 6 and 8: an enterprise's asset numbers and lent locks (sections 4.2 and 2.11). */
import type { Handler } from '../call.ts';
import { requireBoundUser } from './who.ts';

/**
 * Operation 6 lists every live asset of all customers of the enterprise, including lent locks. A lent lock shows the employee to whom it is
 * lent, every other asset the employee to whom it is assigned. An unknown enterprise has none.
 */
export const listAssetNums: Handler = (call) => {
  requireBoundUser(call);
  return call.state.assetsOfEnterprise(call.parameters['enterpriseGlobalId'] ?? '').map((asset) => ({
    assetNum: asset.assetNum,
    assetId: asset.id,
    cloudAccountGlobalId: asset.lentLock ? asset.lentToMember : asset.memberGlobalId,
    borrowedFlag: (asset.lentLock ? asset.lentToMember : asset.lentInto) !== null,
    onlineFlag: asset.online,
  }));
};

/** Operation 8 lists the lent locks among them. A free lock has no employee. */
export const listLentLocks: Handler = (call) => {
  requireBoundUser(call);
  return call.state
    .assetsOfEnterprise(call.parameters['enterpriseGlobalId'] ?? '')
    .filter(({ lentLock }) => lentLock)
    .map((lock) => ({
      assetId: lock.id,
      assetNum: lock.assetNum,
      borrowedFlag: lock.lentToMember !== null,
      cloudAccountGlobalId: lock.lentToMember,
    }));
};
