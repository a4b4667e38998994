import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
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
import type { TimestampUnit } from '../upstream/wire/time.ts';
import { Reader, readList, UnreadableTree } from '../upstream/wire/reader.ts';

/** A background job has no caller whose user it could borrow. */
const ALIAS = 'default';
const EVERYTHING = new Set(['*']);
/** Codes that speak of the asset alone: it is gone, or belongs to another enterprise by now. */
const ABOUT_AN_ASSET: ReadonlySet<string> = new Set(['60024', '60025']);
/** As where the products are shown (asset-products.mapper.ts). */
const MAX_LEVELS = 16;

export interface ChannelOrder {
  readonly channelCode: string;
  readonly channelOrderId: string;
}

export interface FoundOrder {
  readonly customerId: string | null;
  /** When the first of what came of it was made, in ms by the platform's clock; null where the platform does not say. */
  readonly createdAt: number | null;
}

/** What stands at the platform of a channel's order: its licence orders by their ids. */
export type SearchResult = ReadonlyMap<string, FoundOrder>;

type Instance = WireProductInstance | WireMerchandiseInstance;

/** Reads which licence orders stand on the assets of an enterprise (order #8, member #7). It cannot write. */
@Injectable()
export class PlatformSearch {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly users: AliasUsers,
    private readonly config: UpstreamConfig,
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
        name: 'reconciliation',
        grants: { enterprises: EVERYTHING, channels: EVERYTHING, users: EVERYTHING },
      },
      user: this.users.find(ALIAS),
      abandon,
      upstreamMs: 0,
    };
    const found = new Map<string, FoundOrder>();
    const assets = await this.upstream.call('listAssets', call, { ids: { enterpriseGlobalId } }, toAssetIds);
    for (const assetId of assets) {
      abandon.throwIfAborted();
      try {
        await this.upstream.call('listAssetProducts', call, { ids: { assetId } }, (data) =>
          collect(data, order, this.config.timestampUnit, found),
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
function collect(
  data: unknown,
  order: ChannelOrder,
  unit: TimestampUnit,
  found: Map<string, FoundOrder>,
): void {
  const instance = (wire: Reader<Instance>): void => {
    const licenseOrderId = wire.id('licenseOrderId');
    const ofOrder = wire.id('channelOrderId') === order.channelOrderId;
    const ofChannel = (wire.id('channelCode') ?? order.channelCode) === order.channelCode;
    if (!ofOrder || !licenseOrderId || !ofChannel) return;
    const known = found.get(licenseOrderId);
    const times = [known?.createdAt ?? null, millisecondOf(wire.time('createTime', unit))];
    found.set(licenseOrderId, {
      customerId: wire.id('customerId') ?? known?.customerId ?? null,
      createdAt: times.reduce((one, other) =>
        one === null || other === null ? (one ?? other) : Math.min(one, other),
      ),
    });
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

function millisecondOf(time: string | null): number | null {
  return time === null ? null : Date.parse(time);
}
