import { Injectable } from '@nestjs/common';
import { Log } from '../observability/log.ts';
import type { CallContext } from '../request/call-context.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { nothingIfUnknown } from '../upstream/unknown-enterprise.ts';
import { ContractViolation } from '../upstream/upstream-failure.ts';
import { assetShape } from '../upstream/wire/order.ts';
import { type Deciding, PlatformReadings } from '../upstream/platform-readings.ts';
import type { FieldOf } from '../upstream/wire/shape.ts';
import { readWhole, type WholeList } from '../upstream/wire/whole-list.ts';
import type { TimestampUnit } from '../upstream/wire/scalars.ts';
import type { AssetNumDto } from './dto/member-assets.dto.ts';
import {
  type AssetCountsDto,
  type AssetNumCountsDto,
  type OverviewDto,
  overviewSections,
} from './dto/overview.dto.ts';
import { FREE_FIELDS, isFree } from './member.mapper.ts';
import { MemberAssetsService } from './member-assets.service.ts';
import { logPartial, settle, type Settled } from './member-failure.ts';
import { MemberSearch } from './member-search.ts';

const SOON_MS = 30 * 24 * 60 * 60 * 1_000;
/** The fields of an asset number that are counted. */
const COUNTED = [...FREE_FIELDS, 'onlineFlag'] as const;
/** The fields of an asset that are counted, and that the platform may leave out for "none". */
const OPTIONAL = ['freezing', 'limitEndTime'] as const;
/** The form of licence types in the interface (section 2.5). */
const LICENSE_TYPE = /^[a-z][a-z0-9_]{0,63}$/;

/** Makes the overview of an enterprise of four simultaneous reads, each of which may fail alone. */
@Injectable()
export class OverviewService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly assets: MemberAssetsService,
    private readonly members: MemberSearch,
    private readonly log: Log,
    private readonly readings: PlatformReadings,
  ) {}

  async getOverview(call: CallContext, enterpriseGlobalId: string): Promise<OverviewDto> {
    const ids = { enterpriseGlobalId };
    const [members, assetNums, lentLocks, assets] = await Promise.all([
      settle(this.members.count(call, enterpriseGlobalId)),
      settle(this.assets.wholeAssetNums(call, enterpriseGlobalId, { fields: COUNTED })),
      settle(this.assets.wholeLentLocks(call, enterpriseGlobalId)),
      settle(
        this.upstream
          .call('listAssets', call, { ids }, (data) => this.#assetCounts(data))
          .catch(async (error: unknown) =>
            this.#assetCounts(await nothingIfUnknown(this.upstream, call, enterpriseGlobalId)(error)),
          ),
      ),
    ]);
    const sections = { members, assetNums, lentLocks, assets };
    const unreachable = overviewSections.words.flatMap((section) => {
      const result = sections[section];
      return 'problem' in result ? [{ section, problem: result.problem }] : [];
    });
    const [first] = unreachable;
    if (first && unreachable.length === overviewSections.words.length) throw first.problem;
    for (const { section, problem } of unreachable) logPartial(this.log, call.requestId, section, problem);
    return {
      enterpriseGlobalId,
      members: valueOf(members, (total) => ({ total })),
      assetNums: valueOf(assetNums, toAssetNumCounts),
      lentLocks: valueOf(lentLocks, ({ length }) => ({ total: length })),
      assets: valueOf(assets, (counts) => counts),
      unreachable: unreachable.map(({ section, problem }) => ({ section, code: problem.slug })),
    };
  }

  #assetCounts(data: unknown): ReturnType<typeof toAssetCounts> {
    return toAssetCounts(
      data,
      this.readings.timestampUnit,
      Date.now(),
      this.readings.deciding('licenseType', 'locked'),
    );
  }
}

function valueOf<T, U>(result: Settled<T>, show: (value: T) => U): U | null {
  return 'value' in result ? show(result.value) : null;
}

function toAssetNumCounts(items: WholeList<AssetNumDto>): AssetNumCountsDto {
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

/** Counts the assets of an enterprise (interface section 2.8). `now` is in ms since the epoch. */
export function toAssetCounts(
  data: unknown,
  unit: TimestampUnit,
  now: number,
  deciding: Deciding<FieldOf<typeof assetShape>>,
): AssetCountsDto {
  let isReadable = true;
  const assets = readWhole(assetShape, data, deciding, (wire) => {
    const licenseType = wire.text('licenseType') ?? '';
    const end = wire.time('limitEndTime', unit);
    const asset = {
      licenseType: LICENSE_TYPE.test(licenseType) ? licenseType : 'unknown',
      locked: wire.flag('locked') === true,
      frozen: wire.flag('freezing') === true,
      endsAt: end ? Date.parse(end) : Infinity,
    };
    isReadable &&= !OPTIONAL.some((field) => wire.isUnreadable(field));
    return asset;
  });
  if (!isReadable) throw new ContractViolation('data', `a list in which ${OPTIONAL.join(', ')} can be read`);
  const byLicenseType = Map.groupBy(assets, ({ licenseType }) => licenseType);
  const count = (test: (asset: (typeof assets)[number]) => boolean) => assets.filter(test).length;
  return {
    total: assets.length,
    byLicenseType: Object.fromEntries([...byLicenseType].map(([type, group]) => [type, group.length])),
    locked: count(({ locked }) => locked),
    frozen: count(({ frozen }) => frozen),
    expired: count(({ endsAt }) => endsAt <= now),
    expiringSoon: count(({ endsAt }) => endsAt > now && endsAt <= now + SOON_MS),
  };
}
