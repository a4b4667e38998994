import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { EstateConfig } from '../config/app-config.ts';
import { poll } from '../kit/poll/poll.ts';
import type { AssetDto } from '../order/dto/asset.dto.ts';
import { toCameAssets } from '../order/order.mapper.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { wholeItems } from '../upstream/wire/whole-list.ts';
import { isListed } from './estate-row.ts';
import { EstateRowsStore } from './estate-rows-store.ts';

const LOOK_MS = 5_000;
/** The most lists and assets that wait, so that they take little memory. The oldest list is dropped first. */
const MAX_ASSETS = 5_000;

interface Shown {
  /** The time of the list (performance.now). */
  readonly at: number;
  readonly data: readonly unknown[];
}

/**
 * Lets an enterprise be read next if the platform has shown a caller other assets than the copy has. The comparison runs after the
 * response, so no caller waits for it.
 */
@Injectable()
export class EstateReads implements OnApplicationBootstrap, OnApplicationShutdown {
  /** The latest list of each enterprise that was not compared yet. */
  readonly #shown = new LRUCache<string, Shown>({
    maxSize: MAX_ASSETS,
    sizeCalculation: ({ data }) => 1 + data.length,
  });
  #endPoll: (() => void) | undefined;

  constructor(
    private readonly config: EstateConfig,
    private readonly upstream: UpstreamClient,
    private readonly store: EstateRowsStore,
    private readonly readings: PlatformReadings,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.refreshMs === undefined) return;
    this.upstream.served.onAssets((enterprise, data) =>
      this.#shown.set(enterprise, { at: performance.now(), data }),
    );
    this.#endPoll = poll('reads of the estate', LOOK_MS, () => this.#look());
  }

  onApplicationShutdown(): void {
    this.#endPoll?.();
  }

  async #look(): Promise<void> {
    const shown = [...this.#shown.entries()];
    this.#shown.clear();
    for (const [enterprise, each] of shown)
      // While the database is away, and where a list is not whole, the next regular reading has to see the change.
      if (await this.#isOther(enterprise, each).catch(() => false))
        await this.store.want([enterprise], 'written').catch(() => undefined);
  }

  async #isOther(enterprise: string, { at: shownAt, data }: Shown): Promise<boolean> {
    const known = await this.store.enterprise(enterprise);
    // A reading that has failed is tried again in its own time.
    const isRead = known?.state === 'whole' || known?.state === 'assets-only';
    if (!isRead) return false;
    // The times of readings are those of the database, whose clock may differ from that of this process.
    const at = known.now() - (performance.now() - shownAt);
    if ((known.seenAt ?? 0) >= at) return false;
    const { timestampUnit, nullIsEmpty } = this.readings;
    const listed = wholeItems(toCameAssets(data, timestampUnit, nullIsEmpty), ['assetNum']);
    const assets = new Map(listed.map((asset) => [asset.assetId, asset]));
    for (const [id, held] of await this.store.assets(enterprise)) {
      const now = assets.get(id);
      assets.delete(id);
      if (!held) return true;
      const isOther = now ? textOf(now) !== textOf(held.asset) : isListed(held.asset);
      if (held.seenAt < at && isOther) return true;
    }
    return assets.size > 0;
  }
}

/** Returns what the list of assets says of an asset, as far as the copy has it. */
function textOf(
  asset: Pick<
    AssetDto,
    'assetNum' | 'licenseType' | 'updatedAt' | 'startsAt' | 'endsAt' | 'locked' | 'frozen'
  >,
) {
  const { assetNum, licenseType, updatedAt, startsAt, endsAt, locked, frozen } = asset;
  return JSON.stringify([assetNum, licenseType, updatedAt, startsAt, endsAt, locked, frozen]);
}
