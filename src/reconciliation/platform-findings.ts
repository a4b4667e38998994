import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AliasUsers } from '../session/alias-users.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import type {
  WireAssetProducts,
  WireMerchandiseInstance,
  WireProductInstance,
} from '../upstream/wire/member.ts';
import type { WireAsset } from '../upstream/wire/order.ts';
import { Reader, readList, UnreadableTree } from '../upstream/wire/reader.ts';

/** A background job has no caller whose user it could borrow. */
const ALIAS = 'default';
const EVERYTHING = new Set(['*']);
/** Codes that speak of the asset alone: it is gone, or somebody else's by now. */
const ABOUT_AN_ASSET: ReadonlySet<string> = new Set(['60024', '60025']);
/** As where the products are shown (asset-products.mapper.ts). */
const MAX_LEVELS = 16;

export interface ChannelOrder {
  readonly channelCode: string;
  readonly channelOrderId: string;
}

/** What stands at the platform of a channel's order: its licence orders, each with its customer. */
export type SearchResult = ReadonlyMap<string, string | null>;

type Instance = WireProductInstance | WireMerchandiseInstance;

/** Reads which licence orders stand on the assets of an enterprise (order #8, member #7). It cannot write. */
@Injectable()
export class PlatformSearch {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly users: AliasUsers,
  ) {}

  /** Products are shown to a user of the platform only. */
  get possible(): boolean {
    return this.users.find(ALIAS) !== undefined;
  }

  /**
   * Everything found of that order. One asset after the other, so that callers hardly notice. Rejects where the platform cannot be
   * asked; what it refuses to show of a single asset, or shows in a form that is not the interface's, proves nothing and is left out.
   */
  async of(order: ChannelOrder, enterpriseGlobalId: string, abandon: AbortSignal): Promise<SearchResult> {
    const call: CallContext = {
      requestId: randomUUID(),
      caller: {
        name: 'evidence',
        grants: { enterprises: EVERYTHING, channels: EVERYTHING, users: EVERYTHING },
      },
      user: this.users.find(ALIAS),
      abandon,
      upstreamMs: 0,
    };
    const found = new Map<string, string | null>();
    const assets = await this.upstream.call('listAssets', call, { ids: { enterpriseGlobalId } }, toAssetIds);
    for (const assetId of assets) {
      abandon.throwIfAborted();
      try {
        await this.upstream.call('listAssetProducts', call, { ids: { assetId } }, (data) =>
          collect(data, order, found),
        );
      } catch (error) {
        if (!speaksOfOneAsset(error)) throw error;
      }
    }
    return found;
  }
}

function speaksOfOneAsset(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  return error.kind === 'nonconforming' || ABOUT_AN_ASSET.has(error.details.code ?? '');
}

function toAssetIds(data: unknown): string[] {
  return readList<WireAsset, string>(data, (asset) => asset.requiredId('id'));
}

/** Reads only what tells where an instance comes from: nothing else of it may stand in the way. */
function collect(data: unknown, order: ChannelOrder, found: Map<string, string | null>): void {
  const instance = (wire: Reader<Instance>): void => {
    const licenseOrderId = wire.id('licenseOrderId');
    const ofOrder = wire.id('channelOrderId') === order.channelOrderId;
    if (ofOrder && licenseOrderId && (wire.id('channelCode') ?? order.channelCode) === order.channelCode)
      found.set(licenseOrderId, wire.id('customerId') ?? null);
  };
  const merchandise =
    (level: number) =>
    (wire: Reader<WireMerchandiseInstance>): void => {
      if (level > MAX_LEVELS) throw new UnreadableTree(wire.place, `within ${MAX_LEVELS} levels`);
      instance(wire);
      wire.list('productInstanceList', instance);
      wire.list('children', merchandise(level + 1));
    };
  const wire = new Reader<WireAssetProducts>(data);
  wire.list('productInstanceList', instance);
  wire.list('children', merchandise(1));
}
