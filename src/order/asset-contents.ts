import { Injectable } from '@nestjs/common';
import pLimit from 'p-limit';
import { ProblemException, type UpstreamResponse } from '../problem/problem.exception.ts';
import { ReadCache, type Source } from '../read-cache/read-cache.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { problemFrom } from '../upstream/problems/as-problem.ts';
import type { CallContext } from '../request/call-context.ts';
import { type AssetContent, toAssetContent } from '../upstream/wire/instances.ts';
import type { AssetDto } from './dto/asset.dto.ts';

/** The number of assets whose products are read at a time. It is small, so that the platform can serve other requests too. */
const ASSETS_AT_A_TIME = 4;
/** The time after which the request fails. The read cache, or `known`, keeps what was read so far for the next request. */
export const READ_MS = 20_000;
/** Two refusals of the platform to show an asset that it has listed. They do not prove that nothing is on the asset. */
const REFUSALS: ReadonlySet<string> = new Set(['asset-not-found', 'asset-of-other-customer']);
const NOT_SHOWN: AssetContent = { instances: [], isShown: false, isWhole: false };

/** What is on an asset. `refusal` is the response of a platform that refuses to show it. */
interface ReadContent extends AssetContent {
  readonly refusal?: UpstreamResponse | undefined;
}

/** How the contents of assets are read. */
interface ReadTerms {
  /** Bypasses the cache. */
  readonly fresh: true;
  /** The time of `performance.now()` after which no further asset is read. */
  readonly until: number;
  /** The contents that were read before, by the id of the asset. They are not read again, and what is read is added. */
  readonly known: Map<string, AssetContent>;
}

/** Reads the products and packages on assets (member #7), each with its order. */
@Injectable()
export class AssetContents {
  constructor(
    private readonly cache: ReadCache,
    private readonly readings: PlatformReadings,
  ) {}

  /** Returns the content of each asset, in the order of `assets`. Their enterprise must be granted to the caller. */
  async read(
    call: CallContext,
    enterpriseGlobalId: string,
    assets: readonly Pick<AssetDto, 'assetId'>[],
    { fresh, until = performance.now() + READ_MS, known }: Partial<ReadTerms> = {},
  ): Promise<readonly ReadContent[]> {
    const ids = assets.map(({ assetId }) => assetId);
    call.authorisedIds?.add('asset', ids);
    const limit = pLimit(ASSETS_AT_A_TIME);
    const contents = limit.map(ids, async (assetId) => {
      const before = known?.get(assetId);
      if (before) return before;
      if (performance.now() > until || call.abandon?.aborted) throw new ProblemException('upstream-timeout');
      const content = await this.#readAsset(call, enterpriseGlobalId, assetId, fresh);
      known?.set(assetId, content);
      return content;
    });
    // A failure drops the assets that still wait. p-limit has started the next one by then.
    return contents.finally(() => limit.clearQueue());
  }

  async #readAsset(
    call: CallContext,
    enterpriseGlobalId: string,
    assetId: string,
    fresh: boolean | undefined,
  ): Promise<ReadContent> {
    const source: Source<AssetContent> = {
      operation: 'listAssetProducts',
      ids: { assetId },
      enterpriseGlobalId,
      result: 'shownContent',
      decode: (data, notes) =>
        toAssetContent(data, this.readings.timestampUnit, this.readings.nullIsEmpty, { notes }),
    };
    try {
      return await this.cache.read(source, call, fresh);
    } catch (error) {
      const { slug, body } = problemFrom(error);
      if (REFUSALS.has(slug)) return { ...NOT_SHOWN, refusal: body.upstream };
      throw error;
    }
  }
}
