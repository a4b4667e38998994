import { Injectable } from '@nestjs/common';
import { AliasUsers } from './alias-users.ts';
import { type ActingUser, type CallContext, Progress } from '../request/call-context.ts';
import { ownCallOf } from '../request/make-call.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { ContractNotes } from './gaps.ts';
import { mayEnd } from './if-shown.ts';
import { problemFrom } from './problems/as-problem.ts';
import { PlatformReadings } from './platform-readings.ts';
import { UpstreamClient } from './upstream.client.ts';
import { UpstreamFailure } from './upstream-failure.ts';
import { type AssetField, assetShape, customerShape } from './wire/order.ts';
import { type AssetContent, type Instance, toAssetContent } from './wire/instances.ts';
import { type LentLockField, lentLockShape, type NumberedAssets, toNumberedAssets } from './wire/member.ts';
import { type Reader, readList } from './wire/reader.ts';
import { isWholeFor, readDeciding } from './wire/whole-list.ts';

/** The codes with which the platform refuses a single asset: it was deleted, or belongs to another enterprise now. */
const ABOUT_AN_ASSET: ReadonlySet<string> = new Set(['60024', '60025']);

/** An asset, and the products and packages on it. */
export interface Holding extends Omit<AssetContent, 'isShown'> {
  readonly assetNum: string | null;
}

export interface Holdings {
  readonly assets: readonly Holding[];
  /** True if every item of the list of assets has a number. An asset that is missing from such a list does not exist. */
  readonly isWhole: boolean;
  /** True if the platform refused the list of the member center. Then only what the order module has listed before can be known to be gone. */
  readonly isListedOnly?: boolean;
}

export interface SoughtCustomer {
  readonly customerId?: string;
  readonly channelCustomerId?: string;
}

/** The terms of the gateway's own reads. */
export interface SearchTerms {
  readonly abandon?: AbortSignal;
  /** The alias of the user for the read, if this user serves the enterprise. */
  readonly user?: string | undefined;
  /** Limits the search to the assets with these numbers. Undefined means all assets. */
  readonly assetNums?: ReadonlySet<string>;
  /** The lists and contents that the search has read before. */
  readonly known?: SearchedAssets;
  /** Whether the assets that the order module lists decide. Otherwise the search reads those of the member center (member #6) too. */
  readonly isEnough?: (listed: Holdings) => boolean;
}

type AssetHolding = Omit<Holding, 'assetNum'>;

/** The lists and contents that one search has read so far. It goes on with them after a wait. */
export class SearchedAssets {
  /** The contents that came whole, by the id of the asset. They are not read again. */
  readonly contents = new Map<string, AssetHolding>();
  readonly #listed = new Map<string, ReadonlySet<string>>();

  /** True if a list of assets has come. */
  get hasList(): boolean {
    return this.#listed.size > 0;
  }

  /** Adds a list. Returns whether it has all assets of the lists with this name that came before. */
  isComplete(list: string, ids: Iterable<string>): boolean {
    const now = new Set(ids);
    const all = now.union(this.#listed.get(list) ?? new Set<string>());
    this.#listed.set(list, all);
    return all.size === now.size;
  }
}

/**
 * Reads the assets of an enterprise and their content (order #8, member #6 and #7), and the enterprise of a customer (order #3), to learn the
 * fate of an order. The assets are read on the gateway's own behalf. It cannot write.
 */
@Injectable()
export class PlatformSearch {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly users: AliasUsers,
    private readonly readings: PlatformReadings,
  ) {}

  /** True if there is a user. The platform shows products to users only. */
  get possible(): boolean {
    return this.users.size > 0;
  }

  /** True if the order module is known to list all assets of an enterprise (reading `assetList`). */
  get listsAll(): boolean {
    return this.readings.of('assetList') === 'all';
  }

  /**
   * Reads one asset after the other, to leave capacity for callers. Rejects if the platform does not respond, if no user serves the
   * enterprise, or if a maintenance of everything begins meanwhile.
   */
  async holdings(
    enterpriseGlobalId: string,
    { abandon, user, assetNums, known, isEnough = () => true }: SearchTerms,
  ): Promise<Holdings> {
    const call = this.#callFor(enterpriseGlobalId, { abandon, user });
    const ids = { enterpriseGlobalId };
    const deciding = this.readings.deciding('assetNum');
    const listed = await this.upstream.call('listAssets', call, { ids }, (data, notes) => {
      const read = (asset: Reader<AssetField>) => ({
        assetId: asset.requiredId('id'),
        assetNum: asset.id('assetNum'),
      });
      return readDeciding(assetShape, data, deciding, read, notes);
    });
    const isComplete = known?.isComplete(`assets of ${enterpriseGlobalId}`, listed.items.map(idOf)) ?? true;
    const isWanted = (num: string | null) => !assetNums || num === null || assetNums.has(num);
    const wanted = listed.items.filter(({ assetNum }) => isWanted(assetNum));
    const own = {
      assets: await this.#holdings(call, wanted, known),
      isWhole: isComplete && isWholeFor(listed, deciding.fields),
    };
    if (isEnough(own)) return own;
    const numbered = await this.#numbered(call, enterpriseGlobalId);
    if (numbered instanceof ProblemException)
      return { ...own, isWhole: own.isWhole && !mayEnd(numbered), isListedOnly: true };
    const areAllThere =
      known?.isComplete(`numbers of ${enterpriseGlobalId}`, numbered.items.map(idOf)) ?? true;
    const seen = new Set(listed.items.map(idOf));
    const others = numbered.items.filter((each) => !seen.has(each.assetId) && isWanted(each.assetNum));
    return {
      assets: [...own.assets, ...(await this.#holdings(call, others, known))],
      isWhole: own.isWhole && areAllThere && isWholeFor(numbered, ['assetId', 'assetNum']),
    };
  }

  /** Reads the assets of the member center (member #6). Resolves to the problem if the platform refuses to show them to the user. */
  async #numbered(call: CallContext, enterpriseGlobalId: string): Promise<NumberedAssets | ProblemException> {
    const own = { ...call, progress: new Progress() };
    try {
      return await this.upstream.call('listAssetNums', own, { ids: { enterpriseGlobalId } }, (data, notes) =>
        toNumberedAssets(data, this.readings.nullIsEmpty, notes),
      );
    } catch (error) {
      if (error instanceof UpstreamFailure && error.kind === 'refused') return problemFrom(error);
      throw error;
    }
  }

  /**
   * Reads the locks that are lent (member #8), which the order module may not list (reading `assetList`). Rejects as {@link holdings} does.
   * `acting` is the user for the read, if it is not one of the gateway's own.
   */
  async lentLocks(
    enterpriseGlobalId: string,
    { acting, ...terms }: Pick<SearchTerms, 'abandon' | 'user' | 'known'> & { readonly acting?: ActingUser },
  ): Promise<Holdings> {
    const call = acting
      ? ownCallOf('reconciliation', { user: acting, abandon: terms.abandon })
      : this.#callFor(enterpriseGlobalId, terms);
    const deciding = this.readings.deciding('assetId');
    const ids = { enterpriseGlobalId };
    const listed = await this.upstream.call('listLentLocks', call, { ids }, (data, notes) => {
      const read = (lock: Reader<LentLockField>) => ({
        assetId: lock.requiredId('assetId'),
        assetNum: lock.id('assetNum'),
        isLent: lock.flag('borrowedFlag'),
      });
      return readDeciding(lentLockShape, data, deciding, read, notes);
    });
    const lent = listed.items.filter(({ isLent }) => isLent !== false);
    const isComplete = terms.known?.isComplete(`locks of ${enterpriseGlobalId}`, lent.map(idOf)) ?? true;
    return {
      assets: await this.#holdings(call, lent, terms.known),
      isWhole: isComplete && isWholeFor(listed, deciding.fields),
    };
  }

  /**
   * Returns undefined if the channel does not show the customer, if the customer has no enterprise, or if several customers have this
   * number.
   */
  async enterpriseOf(
    call: CallContext,
    channelCode: string,
    { customerId, channelCustomerId }: SoughtCustomer,
  ): Promise<string | undefined> {
    const query = { channelCode, channelCustomerId, defaultCustomer: 'N' };
    const customers = await this.upstream.call('queryCustomers', call, { query }, toCustomers);
    const isSought = (each: Customer) =>
      customerId === undefined
        ? each.channelCustomerId === channelCustomerId
        : each.customerId === customerId;
    const [enterprise, ...others] = new Set(
      customers.filter(isSought).map((each) => each.enterpriseGlobalId),
    );
    return others.length === 0 ? (enterprise ?? undefined) : undefined;
  }

  #callFor(enterpriseGlobalId: string, { abandon, user }: SearchTerms): CallContext {
    const acting = this.users.forEnterprise(enterpriseGlobalId, user);
    if (!acting) throw new NoUser();
    return ownCallOf('reconciliation', { user: acting, abandon });
  }

  async #holdings(
    call: CallContext,
    assets: readonly { readonly assetId: string; readonly assetNum: string | null }[],
    { contents } = new SearchedAssets(),
  ): Promise<Holding[]> {
    const holdings: Holding[] = [];
    for (const { assetId, assetNum } of assets) {
      call.abandon?.throwIfAborted();
      // Each call asks whether a maintenance stops it.
      const content =
        contents.get(assetId) ?? (await this.#read({ ...call, progress: new Progress() }, assetId));
      if (content.isWhole) contents.set(assetId, content);
      holdings.push({ assetNum, ...content });
    }
    return holdings;
  }

  async #read(call: CallContext, assetId: string): Promise<AssetHolding> {
    const instances: Instance[] = [];
    try {
      return await this.upstream.call('listAssetProducts', call, { ids: { assetId } }, (data, notes) =>
        toAssetContent(data, this.readings.timestampUnit, this.readings.nullIsEmpty, { instances, notes }),
      );
    } catch (error) {
      if (isAboutOneAsset(error)) return { instances, isWhole: false };
      throw error;
    }
  }
}

const idOf = ({ assetId }: { readonly assetId: string }) => assetId;

/** The users file has no user who serves the enterprise. */
export class NoUser extends Error {
  override readonly name = 'NoUser';
}

/** Returns whether the platform does not show this asset. It may show others. */
export function isAboutOneAsset(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  const { kind, details } = error;
  return kind === 'nonconforming' || (kind === 'refused' && ABOUT_AN_ASSET.has(details.code ?? ''));
}

type Customer = ReturnType<typeof toCustomers>[number];

function toCustomers(data: unknown, notes: ContractNotes) {
  return readList(customerShape, data, notes, (customer) => ({
    customerId: customer.requiredId('customerId'),
    channelCustomerId: customer.id('channelCustomerId'),
    enterpriseGlobalId: customer.id('enterpriseGlobalId'),
  }));
}
