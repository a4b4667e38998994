import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { EstateConfig } from '../config/app-config.ts';
import { poll } from '../kit/poll/poll.ts';
import { FREE_FIELDS, toAssetNums } from '../member/member.mapper.ts';
import type { AssetDto } from '../order/dto/asset.dto.ts';
import { toCameAssets } from '../order/order.mapper.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { wholeItems } from '../upstream/wire/whole-list.ts';
import { type HeldAsset, isListed } from './estate-row.ts';
import { EstateRowsStore } from './estate-rows-store.ts';

const LOOK_MS = 5_000;
/** The most lists and assets that wait, so that they take little memory. The oldest list is dropped first. */
const MAX_ASSETS = 5_000;

interface Shown {
  readonly list: 'listAssets' | 'listAssetNums';
  readonly enterprise: string;
  /** The time of the list (performance.now). */
  readonly at: number;
  readonly data: readonly unknown[];
}

/**
 * Lets an enterprise be read next if the platform has shown a caller other assets, or other members who have them, than the copy has. The
 * comparison runs after the response, so no caller waits for it.
 */
@Injectable()
export class EstateReads implements OnApplicationBootstrap, OnApplicationShutdown {
  /** The latest lists of each enterprise that were not compared yet. */
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
    this.upstream.served.onList((list, enterprise, data) => {
      if (list === 'listAssets' || list === 'listAssetNums')
        this.#shown.set(`${list} ${enterprise}`, { list, enterprise, at: performance.now(), data });
    });
    this.#endPoll = poll('reads of the estate', LOOK_MS, () => this.#look());
  }

  onApplicationShutdown(): void {
    this.#endPoll?.();
  }

  async #look(): Promise<void> {
    const shown = [...this.#shown.values()];
    this.#shown.clear();
    for (const each of shown)
      // While the database is away, and where a list is not whole, the next regular reading has to see the change.
      if (await this.#isOther(each).catch(() => false))
        await this.store.want([each.enterprise], 'written').catch(() => undefined);
  }

  async #isOther({ list, enterprise, at: shownAt, data }: Shown): Promise<boolean> {
    const one = await this.store.enterprise(enterprise);
    // A reading that has failed is tried again in its own time.
    const isRead = one?.state === 'whole' || one?.state === 'assets-only';
    if (!isRead) return false;
    // The times of readings are those of the database, whose clock may differ from that of this process.
    const at = one.now() - (performance.now() - shownAt);
    if ((one.seenAt ?? 0) >= at) return false;
    const { timestampUnit, nullIsEmpty } = this.readings;
    const known = await this.store.assets(enterprise);
    if (list === 'listAssetNums')
      // Other users may be shown who has the assets of an enterprise of which the gateway's own user is not.
      return one.state === 'whole' && haveOthers(data, known, at, nullIsEmpty);
    const listed = wholeItems(toCameAssets(data, timestampUnit, nullIsEmpty), ['assetNum']);
    const assets = new Map(listed.map((asset) => [asset.assetId, asset]));
    for (const [id, held] of known) {
      const now = assets.get(id);
      assets.delete(id);
      if (!held) return true;
      const isOther = now ? textOf(now) !== textOf(held.asset) : isListed(held.asset);
      if (held.seenAt < at && isOther) return true;
    }
    return assets.size > 0;
  }
}

/** Returns whether the list of asset numbers has an asset that the copy lacks, or another member who has one. */
function haveOthers(
  data: readonly unknown[],
  known: ReadonlyMap<string, HeldAsset | undefined>,
  at: number,
  nullIsEmpty: boolean,
): boolean {
  const numbers = wholeItems(toAssetNums(data, undefined, nullIsEmpty), FREE_FIELDS);
  return numbers.some(({ assetId, memberGlobalId, lent }) => {
    const held = known.get(assetId ?? '');
    if (!held) return assetId !== null;
    const isSame = held.asset.memberGlobalId === memberGlobalId && held.asset.lent === lent;
    return held.seenAt < at && !isSame;
  });
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
