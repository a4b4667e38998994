import { Injectable } from '@nestjs/common';
import { EstateConfig } from '../config/app-config.ts';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import { isMaintenance } from '../maintenance/state/maintenance.ts';
import { Log } from '../observability/log.ts';
import { inOwnTrace } from '../observability/tracing.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext } from '../request/call-context.ts';
import type { TaskHold } from '../tasks/task-worker.ts';
import { TokenFailure } from '../token/token-failure.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import { chunksOf } from '../shared/chunks-of.ts';
import { changesIn, type Comparison, makesEvents } from './estate-changes.ts';
import { EstateDirectory } from './estate-directory.ts';
import { EstatePlatform } from './estate-platform.ts';
import { EstateLists, type ReadAsset, type ReadLists, unreadReasonOf } from './estate-lists.ts';
import { byAge, type HeldAsset, isListed, needsProducts, withListed } from './estate-row.ts';
import { EstateRowsStore, type KnownEnterprise, LEFT } from './estate-rows-store.ts';
import { BY_WRITE, type Change, FIRST_MS, ONE_WRITTEN_MS } from './estate-steps-store.ts';

const DAY_MS = 86_400_000;
/** An enterprise whose reading failed is read again after this time, or after the usual time if that is shorter. */
const FAILED_MS = 10 * 60_000;
/** The time until a reading is tried again if the database is away, or a maintenance has begun. */
const SOON_MS = 2_000;
/** A reading that gave way goes on before the readings that wait their turn, and after those that are to be first. */
const GO_ON_MS = FIRST_MS / 2;
/** A reading reads this number of assets before it gives way, so that it comes to its end at last. */
const MIN_ASSETS = 20;
/** A reading for which a write waits gives way once its products have taken this many times as long as its lists. */
const PRODUCTS_TO_LISTS = 3;
const ASSETS_PER_STEP = 100;
/** The number of failures one after the other that end the reading, because the platform is away. */
const MAX_FAILURES = 3;

/** The reasons for which an enterprise is forgotten after a day. The time of the first reading that met it follows. */
const GONE = 'The platform does not know it since ';

/** The number of assets whose products are missing after a reading, and the reason for the last of them. */
interface Missing {
  readonly count: number;
  readonly why: string;
}

/** What one reading needs in all its parts. */
interface Reading extends Comparison {
  readonly hold: TaskHold;
  readonly known: KnownEnterprise;
  readonly call: CallContext;
  readonly isWhole: boolean;
}

interface FoundAsset {
  readonly held: HeldAsset;
  /** True if its products are to be read. */
  readonly isOpen: boolean;
  /** True if it is stored together with its products. */
  readonly isWaiting: boolean;
}

/** Another process has the task of the enterprise, so nothing was written. */
class HoldLost extends Error {
  override readonly name = 'HoldLost';
}

/** Reads one enterprise into the copy. The old content stays until a list that came whole replaces it. */
@Injectable()
export class EstateReading {
  constructor(
    private readonly lists: EstateLists,
    private readonly store: EstateRowsStore,
    private readonly directory: EstateDirectory,
    private readonly platform: EstatePlatform,
    private readonly config: EstateConfig,
    private readonly log: Log,
  ) {}

  /** Resolves to the ms until the enterprise is read again; undefined: nobody may see it any more. */
  async run(hold: TaskHold): Promise<number | undefined> {
    let known: KnownEnterprise | undefined;
    try {
      known = await this.store.enterprise(hold.name);
      if (!known) return undefined;
      if (!this.directory.isWanted(hold.name)) return await this.#leave(hold, known, LEFT);
      // The reading is for a write alone if no caller has asked for a refresh since.
      if (known.isJustRead && known.askedAt < (known.seenAt ?? 0)) {
        await this.store.want([hold.name], 'written');
        return this.#refreshMs;
      }
      const reading = known;
      return await inOwnTrace('estate', () => this.#read(hold, reading));
    } catch (error) {
      if (hold.over.aborted || error instanceof HoldLost) return 0;
      if (error instanceof DatabaseUnavailable || isMaintenance(error)) return SOON_MS;
      const reason = reasonOf(error);
      if (!known || reason === undefined) throw error;
      const isNamed = this.directory.isNamed(hold.name);
      if (!isNamed && (await this.platform.isUnknown(hold.name, error, hold.over)))
        return await this.#lose(hold, known, reason);
      await this.#end(hold, known, reason).catch(() => undefined);
      return this.#failedMs;
    }
  }

  get #refreshMs(): number {
    return this.config.refreshMs ?? DAY_MS;
  }

  get #failedMs(): number {
    return Math.min(this.#refreshMs, FAILED_MS);
  }

  /** An enterprise that was read may come back, for example if the platform restores it. */
  async #lose(hold: TaskHold, known: KnownEnterprise, reason: string): Promise<number | undefined> {
    if (this.#isOnlyAskedFor(known)) return this.#forget(hold, reason);
    const state = known.seenAt === null ? 'unread' : 'stale';
    return this.#leave(hold, { ...known, state }, GONE).catch(() => SOON_MS);
  }

  /** Forgets an enterprise that only a caller knows. Otherwise it would count in every list as one that is missing. */
  async #forget(hold: TaskHold, reason: string): Promise<number | undefined> {
    this.#tell(hold.name, reason);
    return this.#change(hold, { isForgotten: true }).then(
      () => undefined,
      () => SOON_MS,
    );
  }

  /**
   * Returns whether the enterprise is known only from a refresh or a write of a caller with all enterprises. The platform may not know such an
   * enterprise. An enterprise of a placed order or of a channel is found again through these.
   */
  #isOnlyAskedFor({ enterpriseGlobalId, seenAt, askedAt }: KnownEnterprise): boolean {
    return seenAt === null && askedAt > 0 && !this.directory.isNamed(enterpriseGlobalId);
  }

  /**
   * Forgets the enterprise a day after the first call, because the caller's entry may come back. Until then the enterprise's `reason` keeps the
   * time of that call.
   */
  async #leave(
    hold: TaskHold,
    { state, seenAt, reason }: KnownEnterprise,
    why: string,
  ): Promise<number | undefined> {
    const leftAt = reason?.startsWith(why) ? Date.parse(reason.slice(why.length)) : undefined;
    if (leftAt === undefined) {
      const left = why + new Date().toISOString();
      await this.#change(hold, { state: { state, seenAt, reason: left } });
    } else if (Date.now() - leftAt >= DAY_MS) {
      await this.#change(hold, { isForgotten: true });
      return undefined;
    }
    return FAILED_MS;
  }

  /** Resolves to the ms until the enterprise is read again. Undefined if it is forgotten. */
  async #read(hold: TaskHold, known: KnownEnterprise): Promise<number | undefined> {
    const startedAt = known.now();
    const call = this.platform.contextFor(hold.name, hold.over);
    const before = await this.store.assets(hold.name);
    const lists = await this.lists.read(hold.name, call);
    // Some platforms show empty lists of an enterprise that they do not know. One that a write has just made is empty, too.
    if (lists.assets.length === 0 && known.askedAt > BY_WRITE && this.#isOnlyAskedFor(known))
      return this.#forget(hold, 'it has no asset');
    const isWhole = lists.assetsOnly === undefined;
    const now = lists.assets.map((asset) => this.#heldOf(asset, before.get(asset.assetId), startedAt, lists));
    const cut = now.filter(({ seenAt }) => seenAt !== startedAt).length;
    const written = isWhole ? await this.store.written(hold.name, now, before) : undefined;
    const since = known.seenAt;
    const opened = [...before.values()].filter((each) => each !== undefined);
    const wasShown =
      known.state === 'whole' || opened.some(({ read, asset }) => read !== null || asset.lent !== null);
    const listedAt = opened.reduce((last, { seenAt }) => Math.max(last, seenAt), since ?? 0);
    const comparison: Comparison = { enterprise: hold.name, since, listedAt, startedAt, before, wasShown };
    const reading: Reading = { ...comparison, hold, known, call, isWhole };
    const assets = now.map((each): FoundAsset => {
      const { assetId } = each.asset;
      const old = before.get(assetId);
      const askedAt = Math.max(known.askedAt, written?.get(assetId) ?? -Infinity);
      const isOpen = isWhole && needsProducts(each, startedAt, askedAt, this.#refreshMs);
      // A new asset makes events when its products have been read.
      const isNew = isOpen && (old ? old.isNew : makesEvents(reading, each));
      const isWaiting = isOpen && !old && (isNew || before.has(assetId));
      return { isOpen, isWaiting, held: { ...each, isNew } };
    });
    await this.#keepLists(reading, assets);
    const open = assets.filter(({ isOpen }) => isOpen).map(({ held }) => held);
    const missing = await this.#readProducts(reading, open.toSorted(byAge));
    if (!missing) return GO_ON_MS;
    const count = cut + missing.count;
    if (count > 0) {
      const why = missing.count > 0 ? missing.why : 'listAssets: did not come whole';
      // The first reading also ends if a few assets are missing, so that the endings of the others are told.
      const readAt = 2 * count <= assets.length ? startedAt : null;
      await this.#end(hold, known, `${why}, ${count} of ${assets.length} assets`, readAt);
      return this.#failedMs;
    }
    const how = { state: isWhole ? 'whole' : 'assets-only', reason: lists.assetsOnly ?? null } as const;
    await this.#change(hold, { state: { ...how, seenAt: startedAt }, isFirst: since === null });
    return this.#refreshMs;
  }

  /**
   * Whether another enterprise has to be read first, or this one anew: the lists of a long reading lack what a write has changed since. Most
   * of the time goes into products also where writes go on, because long lists are read again later. If an asset has no
   * `updatedAt`, a new reading reads its products again, and might never end.
   */
  async #mustGiveWay(
    { known, startedAt }: Reading,
    listedAt: number,
    open: readonly HeldAsset[],
  ): Promise<boolean> {
    if (await this.store.isAsked()) return true;
    const longMs = Math.max(ONE_WRITTEN_MS, PRODUCTS_TO_LISTS * (listedAt - startedAt));
    const isLong = known.now() - listedAt >= longMs;
    return isLong && open.every(({ asset }) => asset.updatedAt !== null) && this.store.isWritten(known);
  }

  /** Resolves to undefined if the reading stopped for an enterprise that has to be read first. An asset that fails stops no other asset. */
  async #readProducts(reading: Reading, open: readonly HeldAsset[]): Promise<Missing | undefined> {
    const { hold, call, known } = reading;
    const listedAt = known.now();
    let [count, failures, why] = [0, 0, 'getAssetProducts: did not come whole'];
    for (const [index, held] of open.entries()) {
      if (index >= MIN_ASSETS && (await this.#mustGiveWay(reading, listedAt, open))) return undefined;
      const at = known.now();
      let products: HeldAsset['products'] | undefined;
      try {
        products = await this.lists.products(held.asset.assetId, call);
        failures = 0;
      } catch (error) {
        if (!(error instanceof UpstreamFailure) || hold.over.aborted) throw error;
        why = unreadReasonOf(error);
        failures++;
      }
      if (products) {
        const read = { at, updatedAt: held.asset.updatedAt };
        const now = { ...held, products, read, isNew: false };
        await this.#change(hold, { kept: [now], changes: changesIn(reading, held, now) });
      } else {
        count++;
        await this.#change(hold, { kept: [{ ...held, failedAt: at }] });
      }
      if (failures === MAX_FAILURES) return { count: count + open.length - index - 1, why };
    }
    return { count, why };
  }

  /**
   * Stores the content of the lists at once. Products stay unchanged until they are read, and a new asset is stored together with its
   * products. An asset that only the lists of a user had may still exist if those lists were not read.
   */
  async #keepLists(reading: Reading, assets: readonly FoundAsset[]): Promise<void> {
    const { hold, before, isWhole } = reading;
    const there = new Set(assets.map(({ held }) => held.asset.assetId));
    const gone = [...before].filter(
      ([id, old]) => !there.has(id) && (isWhole || !old || isListed(old.asset)),
    );
    await this.#change(hold, {
      gone: gone.map(([id]) => id),
      changes: gone.flatMap(([, old]) => changesIn(reading, old, undefined)),
    });
    const known = assets.filter(({ isWaiting }) => !isWaiting).map(({ held }) => held);
    for (const kept of chunksOf(known, ASSETS_PER_STEP)) {
      const changes = kept.flatMap((held) => changesIn(reading, before.get(held.asset.assetId), held));
      await this.#change(hold, { kept, changes });
    }
  }

  /** The asset as it is now, with the products that are known of it. */
  #heldOf(
    asset: ReadAsset,
    old: HeldAsset | undefined,
    now: number,
    { accounts, assetsOnly }: ReadLists,
  ): HeldAsset {
    const seenInUse = asset.online === true ? new Date(now).toISOString() : null;
    const ofMember = accounts.get(asset.memberGlobalId ?? '') ?? [];
    const kept = old?.asset.memberGlobalId === asset.memberGlobalId ? old.accounts : [];
    const held: HeldAsset = {
      asset: { ...asset, lastOnlineAt: seenInUse ?? old?.asset.lastOnlineAt ?? null },
      products: old?.products ?? [],
      read: old?.read ?? null,
      failedAt: old?.failedAt,
      seenAt: now,
      accounts: assetsOnly === undefined ? ofMember.map((account) => this.store.keyOf(account)) : kept,
      isNew: false,
    };
    return withListed(held, old);
  }

  /** Ends a failed reading. The copy keeps its rows with their age. `readAt` is the time of a reading that lacks only a few assets. */
  async #end(
    hold: TaskHold,
    { seenAt: before, state: was }: KnownEnterprise,
    reason: string,
    readAt: number | null = null,
  ): Promise<void> {
    const seenAt = before ?? readAt;
    const state = seenAt === null ? 'unread' : 'stale';
    await this.#change(hold, { state: { state, reason, seenAt }, isFirst: before !== seenAt });
    if (was !== 'stale') this.#tell(hold.name, reason);
  }

  #tell(enterprise: string, reason: string): void {
    this.log.warn(
      { event: 'estate-reading-failed', enterprise, reason },
      'An enterprise could not be read for the estate',
    );
  }

  async #change(hold: TaskHold, change: Change): Promise<void> {
    if (!(await this.store.change(hold, change))) throw new HoldLost('another process has the task');
  }
}

/** Returns the reason why the platform was not read. Undefined means a fault of the gateway. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof UpstreamFailure) return unreadReasonOf(error);
  if (error instanceof TokenFailure) return `token: ${error.kind}`;
  return error instanceof ProblemException ? error.slug : undefined;
}
