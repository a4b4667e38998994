import { assetShape } from '../upstream/wire/order.ts';
import { readList } from '../upstream/wire/reader.ts';
import type { TimestampUnit } from '../upstream/wire/scalars.ts';
import { isFree } from './member.mapper.ts';
import type { AssetNumDto } from './dto/member-assets.dto.ts';
import type { AssetCountsDto, AssetNumCountsDto } from './dto/overview.dto.ts';

const SOON_MS = 30 * 24 * 60 * 60 * 1_000;
/** The form of the interface's licence types (section 2.5). */
const LICENSE_TYPE = /^[a-z][a-z0-9_]{0,63}$/;

export function toAssetNumCounts(items: readonly AssetNumDto[]): AssetNumCountsDto {
  const count = (test: (item: AssetNumDto) => boolean) => items.filter(test).length;
  const isAssigned = ({ memberGlobalId }: AssetNumDto) => typeof memberGlobalId === 'string';
  return {
    total: items.length,
    assigned: count(isAssigned),
    free: count(isFree),
    lent: count(({ lent }) => lent === true),
    online: count(({ online }) => online === true),
  };
}

interface CountedAsset {
  readonly licenseType: string;
  readonly locked: boolean;
  readonly frozen: boolean;
  /** ms since the epoch; Infinity where the asset has no end. */
  readonly endsAt: number;
}

/** The counts of an enterprise's assets for the overview (interface section 2.8). `now` is in ms since the epoch. */
export function toAssetCounts(data: unknown, unit: TimestampUnit, now: number): AssetCountsDto {
  const assets = readList(assetShape, data, undefined, (wire): CountedAsset => {
    const licenseType = wire.text('licenseType') ?? '';
    const end = wire.time('limitEndTime', unit);
    return {
      licenseType: LICENSE_TYPE.test(licenseType) ? licenseType : 'unknown',
      locked: wire.boolean('locked') === true,
      frozen: wire.boolean('freezing') === true,
      endsAt: end ? Date.parse(end) : Infinity,
    };
  });
  const byLicenseType = Map.groupBy(assets, ({ licenseType }) => licenseType);
  const count = (test: (asset: CountedAsset) => boolean) => assets.filter(test).length;
  return {
    total: assets.length,
    byLicenseType: Object.fromEntries([...byLicenseType].map(([type, group]) => [type, group.length])),
    locked: count(({ locked }) => locked),
    frozen: count(({ frozen }) => frozen),
    expired: count(({ endsAt }) => endsAt <= now),
    expiringSoon: count(({ endsAt }) => endsAt > now && endsAt <= now + SOON_MS),
  };
}
