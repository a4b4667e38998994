/** Order operations 8 and 9: the virtual assets of an enterprise, and asset-number digit strings (section 4.1). */
import { type Call, type Handler, wireTime } from '../call.ts';
import { invalid, Refusal } from '../errors.ts';
import type { Asset, Extension } from '../state/records.ts';
import { Fields } from './fields.ts';

const SHELL_FIELDS = new Set(['size']);

/**
 * Operation 8 lists assets. `extendCode` keeps the assets, or the properties, of that code, or nothing, as the profile says. For an unknown
 * enterprise the profile chooses 13004, a code of its own, or no asset.
 */
export const listAssets: Handler = (call) => {
  const enterpriseGlobalId = call.parameters['enterpriseGlobalId'] ?? '';
  const extendCode = call.query.get('extendCode') ?? '';
  if (call.state.enterprises.get(enterpriseGlobalId) === undefined) {
    const { unknownEnterprise } = call.settings.profile;
    if (unknownEnterprise === 'empty') return [];
    const message = `there is no main account ${enterpriseGlobalId}`;
    if (unknownEnterprise === 'other-code') throw new Refusal('13004', message, { message, as: '13009' });
    throw invalid('enterpriseGlobalId is unknown');
  }
  const { assetList, extendCode: filter } = call.settings.profile;
  const isMeant = (extension: Extension) => extendCode === '' || extension.extendCode === extendCode;
  return call.state
    .assetsOfEnterprise(enterpriseGlobalId)
    .filter(({ licenseType }) => assetList === 'all' || !licenseType.includes('usbkey'))
    .filter(({ extensions }) => extendCode === '' || filter !== 'assets' || extensions.some(isMeant))
    .map((asset) => ({
      ...assetView(call, asset),
      ...(filter === 'properties' && { assetExtends: asset.extensions.filter(isMeant) }),
    }));
};

/** Operation 9 returns numbers that no asset has. They count as consumed even if no order uses them. */
export const obtainAssetNums: Handler = ({ body, settings, state }) => {
  const size = new Fields(body, '', SHELL_FIELDS, settings).integer('size');
  const { maxAssetNums } = settings.profile;
  if (size === null || size < 1 || size > maxAssetNums) {
    throw invalid(`size must lie between 1 and ${maxAssetNums}`);
  }
  return Array.from({ length: size }, () => state.nextAssetNum(settings.region));
};

/**
 * Returns an asset in the form of section 2.8. The times inside `assignStatus` are strings there, and null for an asset without an
 * assignment.
 */
function assetView(call: Call, asset: Asset): Record<string, unknown> {
  const assignTime = wireTime(call, asset.assignTime);
  return {
    id: asset.id,
    licenseType: asset.licenseType,
    assetNum: asset.assetNum,
    grantable: asset.grantable,
    customerId: asset.customerId,
    keyShellNumber: asset.assetNum.replaceAll(/\D/g, ''),
    keyChipType: asset.keyChipType,
    locked: asset.locked,
    freezing: asset.freezing,
    createTime: wireTime(call, asset.createTime),
    updateTime: wireTime(call, asset.updateTime),
    limitStartTime: wireTime(call, asset.limitStartTime),
    limitEndTime: wireTime(call, asset.limitEndTime),
    assignStatus: {
      id: asset.id,
      assignStatus: asset.memberGlobalId === null ? 'unassigned' : 'assigned',
      assignMemberId: asset.memberGlobalId,
      createTime: assignTime === null ? null : String(assignTime),
      updateTime: null,
    },
    assetLimits: null,
    assetExtends: asset.extensions,
    borrowedUsbKey: asset.lentLock,
  };
}
