import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { SharedReads } from '../read-cache/shared-reads.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import type {
  WireAssetProducts,
  WireMerchandiseInstance,
  WireProductInstance,
} from '../upstream/wire/member.ts';
import { Reader, UnreadableTree } from '../upstream/wire/reader.ts';
import type { TimestampUnit } from '../upstream/wire/time.ts';
import type { AssetDto } from './dto/asset.dto.ts';

/** Of the assets of one enterprise whose products are read: few enough for the platform to serve others beside it. */
const ASSETS_AT_A_TIME = 4;
/** What was read until then is in the read cache for the next request. */
const READ_MS = 20_000;
/** As where the products are shown. */
const MAX_LEVELS = 16;
/** The asset is not there any more, so nothing stands on it. */
const GONE: ReadonlySet<string> = new Set(['asset-not-found', 'asset-of-other-customer']);

/** A product or package that stands on an asset, as far as orders are recognised by it. */
export interface Instance {
  readonly licenseOrderId: string | null;
  readonly channelCode: string | null;
  readonly channelOrderId: string | null;
  /** null: a package. */
  readonly product: InstalledProduct | null;
  /** The packages that it stands in, from the outside in; of a package itself too. */
  readonly merchandiseNums: readonly string[];
}

export interface InstalledProduct {
  readonly productUri: string | null;
  readonly gmsPid: string | null;
  readonly appKey: string | null;
  readonly startsAt: string | null;
  readonly endsAt: string | null;
  readonly limitConcurrent: number | null;
}

/** What stands on assets (member #7), as orders see it: products and packages in one list, each with the order that it came from. */
@Injectable()
export class AssetContents {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly shared: SharedReads,
    private readonly config: UpstreamConfig,
  ) {}

  /** Of each asset in the order given. `fresh`: past the cache. The assets have to be those of an enterprise that is granted. */
  async of(
    call: CallContext,
    enterpriseGlobalId: string,
    assets: readonly AssetDto[],
    fresh?: boolean,
  ): Promise<readonly (readonly Instance[])[]> {
    call.reach?.add(
      'asset',
      assets.map(({ assetId }) => assetId),
    );
    const until = performance.now() + READ_MS;
    const contents: (readonly Instance[])[] = [];
    const left = assets.entries();
    const work = async () => {
      for (const [index, { assetId }] of left) {
        if (performance.now() > until) throw new ProblemException('upstream-timeout');
        contents[index] = await this.#ofAsset(call, enterpriseGlobalId, assetId, fresh);
      }
    };
    await Promise.all(Array.from({ length: ASSETS_AT_A_TIME }, work));
    return contents;
  }

  async #ofAsset(
    call: CallContext,
    enterpriseGlobalId: string,
    assetId: string,
    fresh: boolean | undefined,
  ): Promise<readonly Instance[]> {
    const source = { name: 'assetContents', enterpriseGlobalId, query: { assetId } };
    const load = () =>
      this.upstream.call('listAssetProducts', call, { ids: { assetId } }, (data) =>
        toInstances(data, this.config.timestampUnit),
      );
    try {
      return await this.shared.read(source, call, load, fresh);
    } catch (error) {
      const problem = asProblem(error);
      if (problem instanceof ProblemException && GONE.has(problem.slug)) return [];
      throw error;
    }
  }
}

function toInstances(data: unknown, unit: TimestampUnit): Instance[] {
  const found: Instance[] = [];
  const product = (merchandiseNums: readonly string[]) => (wire: Reader<WireProductInstance>) => {
    found.push({
      ...originOf(wire),
      merchandiseNums,
      product: {
        productUri: wire.id('productUri'),
        gmsPid: wire.id('gmsPid'),
        appKey: wire.id('appKey'),
        startsAt: wire.time('limitStartTime', unit),
        endsAt: wire.time('limitEndTime', unit),
        limitConcurrent: wire.integer('limitConcurrent'),
      },
    });
  };
  const merchandise =
    (outer: readonly string[], level: number) => (wire: Reader<WireMerchandiseInstance>) => {
      if (level > MAX_LEVELS) throw new UnreadableTree(wire.place, `within ${MAX_LEVELS} levels`);
      const num = wire.id('merchandiseNum');
      const merchandiseNums = num === null ? outer : [...outer, num];
      found.push({ ...originOf(wire), merchandiseNums, product: null });
      wire.list('productInstanceList', product(merchandiseNums));
      wire.list('children', merchandise(merchandiseNums, level + 1));
    };
  const wire = new Reader<WireAssetProducts>(data);
  wire.list('productInstanceList', product([]));
  wire.list('children', merchandise([], 1));
  return found;
}

function originOf(wire: Reader<WireProductInstance | WireMerchandiseInstance>) {
  return {
    licenseOrderId: wire.id('licenseOrderId'),
    channelCode: wire.id('channelCode'),
    channelOrderId: wire.id('channelOrderId'),
  };
}
