/** Order operations 6 and 7: disabling and enabling physical locks (section 4.1), with a result for each lock (section 2.7). */
import type { Call, Handler } from '../call.ts';
import { invalid } from '../errors.ts';
import { REISSUABLE_LICENSE_TYPES } from '../state/records.ts';
import { Fields } from './fields.ts';

const LOCK_FIELDS = new Set(['assetNums', 'operatorIdentity']);

const SUCCEEDED = 1;
const NOT_FOUND = 2;
const FAILED = 3;
const WRONG_TYPE = 4;

/** Disables locks. A lock that is disabled already is a success or a failure, as the profile says. */
export const disableLocks: Handler = (call) => switchLocks(call, true);

/** Enables locks, by the same rule. */
export const enableLocks: Handler = (call) => switchLocks(call, false);

function switchLocks(call: Call, locked: boolean): unknown {
  const fields = new Fields(call.body, '', LOCK_FIELDS, call.settings);
  const assetNums = fields.texts('assetNums');
  fields.requiredText('operatorIdentity');
  if (assetNums.length === 0) throw invalid('assetNums must not be empty');
  if (assetNums.length > call.settings.profile.maxLocksPerCall) throw invalid('assetNums has too many items');
  return assetNums.map((assetNum) => ({ assetNum, status: switchLock(call, assetNum, locked) }));
}

function switchLock({ state, clock, settings }: Call, assetNum: string, locked: boolean): number {
  const asset = state.assetByNum(assetNum);
  if (asset === undefined) return NOT_FOUND;
  if (!asset.largeCustomer && !REISSUABLE_LICENSE_TYPES.has(asset.licenseType)) return WRONG_TYPE;
  if (asset.faulty) return FAILED;
  if (asset.locked === locked) return settings.profile.lockedTwice === 'success' ? SUCCEEDED : FAILED;
  state.assets.change(asset.id, { locked, updateTime: clock.now() });
  return SUCCEEDED;
}
