import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { newTrace } from '../observability/tracing.ts';
import { AliasUsers } from '../session/acting-user.guard.ts';
import { type CallContext, Progress } from '../upstream/call-context.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import { assetShape } from '../upstream/wire/order.ts';
import { type ChannelOrder, type Instance, isFrom, toInstances } from '../upstream/wire/instances.ts';
import { readList } from '../upstream/wire/reader.ts';

/** The search has no caller whose user could act, so it acts as this one. */
const ALIAS = 'default';
const EVERYTHING = new Set(['*']);
/** The platform refuses a single asset with these codes: it was deleted, or belongs to another enterprise now. */
const ABOUT_AN_ASSET: ReadonlySet<string> = new Set(['60024', '60025']);

/** What the platform has of a channel's order, by the ids of the licence orders. */
export type SearchResult = ReadonlyMap<string, readonly Instance[]>;

/** Reads the licence orders on the assets of an enterprise (order #8, member #7). It cannot write. */
@Injectable()
export class PlatformSearch {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly users: AliasUsers,
    private readonly config: UpstreamConfig,
  ) {}

  /** Whether there is a user: the platform shows products to users only. */
  get possible(): boolean {
    return this.users.find(ALIAS) !== undefined;
  }

  /**
   * Finds all licence orders of that order. It reads one asset after the other, to leave capacity for callers. Rejects if the platform
   * does not respond. It skips an asset that the platform refuses to show, or whose response violates the interface: that proves nothing.
   */
  async find(order: ChannelOrder, enterpriseGlobalId: string, abandon: AbortSignal): Promise<SearchResult> {
    const call: CallContext = {
      requestId: randomUUID(),
      trace: newTrace(),
      caller: {
        name: 'reconciliation',
        grants: { enterprises: EVERYTHING, channels: EVERYTHING, users: EVERYTHING },
      },
      user: this.users.find(ALIAS),
      abandon,
      progress: new Progress(),
    };
    const found: Instance[] = [];
    const assets = await this.upstream.call('listAssets', call, { ids: { enterpriseGlobalId } }, toAssetIds);
    for (const assetId of assets) {
      abandon.throwIfAborted();
      try {
        await this.upstream.call('listAssetProducts', call, { ids: { assetId } }, (data) =>
          toInstances(data, this.config.timestampUnit, found),
        );
      } catch (error) {
        if (!isAboutOneAsset(error)) throw error;
      }
    }
    const placed = found.filter((instance) => isFrom(instance, order));
    const orders = Map.groupBy(placed, ({ licenseOrderId }) => licenseOrderId ?? '');
    orders.delete('');
    return orders;
  }
}

function isAboutOneAsset(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  return error.kind === 'nonconforming' || ABOUT_AN_ASSET.has(error.details.code ?? '');
}

function toAssetIds(data: unknown): string[] {
  return readList(assetShape, data, undefined, (asset) => asset.requiredId('id'));
}
