import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { nothingIfUnknown } from '../upstream/problems/as-problem.ts';
import { type OverviewDto, overviewSections } from './dto/overview.dto.ts';
import { MemberAssetsService } from './member-assets.service.ts';
import { logPartial, settle, type Settled } from './member-failure.ts';
import { MemberSearch } from './member-search.ts';
import { toAssetCounts, toAssetNumCounts } from './overview.mapper.ts';

/** The overview of an enterprise: four reads at the same time, each of which may fail alone. */
@Injectable()
export class OverviewService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly assets: MemberAssetsService,
    private readonly members: MemberSearch,
    private readonly config: UpstreamConfig,
    private readonly log: Log,
  ) {}

  async getOverview(call: CallContext, enterpriseGlobalId: string): Promise<OverviewDto> {
    const ids = { enterpriseGlobalId };
    const [members, assetNums, lentLocks, assets] = await Promise.all([
      settle(this.members.count(call, enterpriseGlobalId)),
      settle(this.assets.allAssetNums(call, enterpriseGlobalId)),
      settle(this.assets.allLentLocks(call, enterpriseGlobalId)),
      settle(
        this.upstream
          .call('listAssets', call, { ids }, (data) => this.#assetCounts(data))
          .catch((error: unknown) => this.#assetCounts(nothingIfUnknown(error))),
      ),
    ]);
    const sections = { members, assetNums, lentLocks, assets };
    const unreachable = overviewSections.flatMap((section) => {
      const result = sections[section];
      return 'problem' in result ? [{ section, problem: result.problem }] : [];
    });
    const [first] = unreachable;
    if (first && unreachable.length === overviewSections.length) throw first.problem;
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
    return toAssetCounts(data, this.config.timestampUnit, Date.now());
  }
}

function valueOf<T, U>(result: Settled<T>, show: (value: T) => U): U | null {
  return 'value' in result ? show(result.value) : null;
}
