import { Injectable } from '@nestjs/common';
import pLimit from 'p-limit';
import { UpstreamConfig } from '../config/app-config.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { ReadCache, type Source } from '../read-cache/read-cache.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { type Instance, toInstances } from '../upstream/wire/instances.ts';
import type { AssetDto } from './dto/asset.dto.ts';

/** The number of assets whose products are read at a time: few enough for the platform to serve other requests too. */
const ASSETS_AT_A_TIME = 4;
/** After this time the request fails. The read cache has what was read so far, for the next request. */
const READ_MS = 20_000;
/** The asset was deleted, so it has no products. */
const GONE: ReadonlySet<string> = new Set(['asset-not-found', 'asset-of-other-customer']);

/** Reads the products and packages on assets (member #7), each with its order, as one list for each asset. */
@Injectable()
export class AssetContents {
  constructor(
    private readonly cache: ReadCache,
    private readonly config: UpstreamConfig,
  ) {}

  /** Returns the lists in the order of the assets, which must belong to an enterprise that is granted. `fresh` bypasses the cache. */
  async read(
    call: CallContext,
    enterpriseGlobalId: string,
    assets: readonly AssetDto[],
    fresh?: boolean,
  ): Promise<readonly (readonly Instance[])[]> {
    const ids = assets.map(({ assetId }) => assetId);
    call.authorisedIds?.add('asset', ids);
    const until = performance.now() + READ_MS;
    const limit = pLimit(ASSETS_AT_A_TIME);
    const contents = limit.map(ids, (assetId) => {
      if (performance.now() > until) throw new ProblemException('upstream-timeout');
      return this.#readAsset(call, enterpriseGlobalId, assetId, fresh);
    });
    // A failure drops the assets that wait; p-limit has begun the next one by then.
    return contents.finally(() => limit.clearQueue());
  }

  async #readAsset(
    call: CallContext,
    enterpriseGlobalId: string,
    assetId: string,
    fresh: boolean | undefined,
  ): Promise<readonly Instance[]> {
    const source: Source<readonly Instance[]> = {
      operation: 'listAssetProducts',
      ids: { assetId },
      enterpriseGlobalId,
      result: 'assetContents',
      decode: (data) => toInstances(data, this.config.timestampUnit),
    };
    try {
      return await this.cache.read(source, call, fresh);
    } catch (error) {
      const problem = asProblem(error);
      if (problem instanceof ProblemException && GONE.has(problem.slug)) return [];
      throw error;
    }
  }
}
