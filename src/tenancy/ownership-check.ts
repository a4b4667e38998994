import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { ProblemException, type UpstreamResponse } from '../problem/problem.exception.ts';
import type { CallContext, IdKind } from '../request/call-context.ts';
import { AliasUsers } from '../upstream/alias-users.ts';
import type { OperationName } from '../upstream/operations.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { violation } from '../upstream/problems/violation.ts';
import { type IdList, type IdListRequest, IdLists, type ListName, operationOf } from './id-lists.ts';

/** The kinds of ids that are remembered (decision 17). */
const REMEMBERED_KINDS: ReadonlySet<IdKind> = new Set(['member', 'asset', 'assetNum']);
/** The time for which the gateway remembers that an id belongs to an enterprise. */
const REMEMBERED_MS = 24 * 3_600_000;
/** The most ids that are remembered, about 16 MB. Only ids that callers named are remembered. */
const REMEMBERED_BYTES = 16 * 1024 * 1024;
/** The assets of one enterprise that are read at a time. They leave the platform able to serve other requests. */
const ASSETS_AT_A_TIME = 4;
/** The time limit of a search through the assets of a large enterprise. The read cache keeps the results for the next search. */
const SEARCH_MS = 20_000;
/** Problems of a single asset: it is gone, or its list cannot be read. */
const OF_ONE_ASSET: ReadonlySet<string> = new Set([
  'asset-not-found',
  'asset-of-other-customer',
  'upstream-contract-violation',
]);

export interface OwnershipLookup {
  readonly enterprise: string;
  readonly kind: IdKind;
  readonly ids: ReadonlySet<string>;
  /** True for an operation of the member center, whose own list of asset numbers is then searched. */
  readonly ofMembers: boolean;
  /** The channel of a customer, and the customer's number in it, if the request names one. */
  readonly channel?: { readonly channelCode: string; readonly channelCustomerId: string };
  /** The numbers of the assets on which the licence orders probably are. */
  readonly assetNums?: ReadonlySet<string>;
}

/** Looks up whether assets, members, customers and licence orders belong to an enterprise. Returns the ids that do not. */
@Injectable()
export class OwnershipCheck {
  readonly #own = new LRUCache<string, true>({
    maxSize: REMEMBERED_BYTES,
    sizeCalculation: (_, key) => 64 + 2 * key.length,
    ttl: REMEMBERED_MS,
    ttlResolution: 0,
  });

  constructor(
    private readonly lists: IdLists,
    private readonly readings: PlatformReadings,
    private readonly users: AliasUsers,
  ) {}

  /** Returns the missing ids. `call` is the gateway's own, with the user on whose behalf member lists are read. */
  async missing(lookup: OwnershipLookup, call: CallContext): Promise<ReadonlySet<string>> {
    const { kind, ids } = lookup;
    const unknown = new Set([...ids].filter((id) => !this.#own.get(keyOf(lookup, id))));
    if (unknown.size === 0) return unknown;
    const found = await (kind === 'order'
      ? this.#orders(lookup, unknown, call)
      : this.#listed(lookup, unknown, call));
    for (const id of found) {
      if (REMEMBERED_KINDS.has(kind)) this.#own.set(keyOf(lookup, id), true);
      unknown.delete(id);
    }
    return unknown;
  }

  async #listed(lookup: OwnershipLookup, wanted: ReadonlySet<string>, call: CallContext): Promise<string[]> {
    const { kind } = lookup;
    const found = new Set<string>();
    let notWhole: IdListRequest | undefined;
    for (const request of listsFor(lookup, call)) {
      const left = [...wanted].filter((id) => !found.has(id));
      if (left.length === 0) break;
      const first = await this.lists.read(request, call);
      for (const id of left) if (first.list.has(kind, id)) found.add(id);
      if (left.every((id) => found.has(id))) continue;
      const now = first.fresh ? first.list : await this.lists.refreshed(request, call);
      for (const id of left) if (now.has(kind, id)) found.add(id);
      if (!now.isWhole(kind)) notWhole ??= request;
    }
    if (found.size === wanted.size) return [...found];
    if (notWhole) throw incomplete(answered(operationOf[notWhole.list]));
    // A gateway without users works with the order module alone.
    const isUnasked = kind === 'assetNum' && !call.user && this.users.size > 0;
    if (isUnasked && this.readings.of('assetList') !== 'all') throw incomplete(answered('listAssets'));
    return [...found];
  }

  /**
   * Searches licence orders, which the platform shows for one asset at a time. The search reads the assets that the request names first,
   * then all others. A licence order is missing only if no asset has it now.
   */
  async #orders(lookup: OwnershipLookup, wanted: ReadonlySet<string>, call: CallContext): Promise<string[]> {
    if (!call.user) throw new ProblemException('user-required');
    const search: Search = {
      lookup,
      wanted,
      call,
      found: new Set(),
      seen: new Set(),
      unread: new Map(),
      until: performance.now() + SEARCH_MS,
    };
    const fresh = new Map<ListName, IdList>();
    const first = async (list: ListName) => {
      const read = await this.lists.read({ list, enterprise: lookup.enterprise }, call);
      if (read.fresh) fresh.set(list, read.list);
      return read.list;
    };
    if (await this.#search(search, first, false)) return [...search.found];
    const now = async (list: ListName) => {
      const known =
        fresh.get(list) ?? (await this.lists.refreshed({ list, enterprise: lookup.enterprise }, call));
      if (!known.isWhole('asset')) search.unread.set(list, answered(operationOf[list]));
      return known;
    };
    const isAllFound = await this.#search(search, now, true);
    const [unread] = search.unread.values();
    if (!isAllFound && unread) throw incomplete(unread);
    return [...search.found];
  }

  /** Returns whether everything is found. The member center is asked only for what is on no asset that the order module lists. */
  async #search(search: Search, read: (list: ListName) => Promise<IdList>, fresh: boolean): Promise<boolean> {
    const { assetNums = new Set<string>() } = search.lookup;
    const isOn = (assets: Iterable<string>) => this.#searchAssets(assets, search, fresh);
    const own = await read('assets');
    if (await isOn(own.beside('asset', 'assetNum', assetNums))) return true;
    const hasLocks = this.readings.of('assetList') === 'all';
    const isNamedBeyond = [...assetNums].some((assetNum) => !own.has('assetNum', assetNum));
    const others = !hasLocks && isNamedBeyond ? await read('assetNums') : undefined;
    if (others && (await isOn(others.beside('asset', 'assetNum', assetNums)))) return true;
    if (await isOn(own.ids('asset'))) return true;
    return hasLocks ? false : isOn((others ?? (await read('assetNums'))).ids('asset'));
  }

  /** Returns whether everything is found. */
  async #searchAssets(ids: Iterable<string>, search: Search, fresh: boolean): Promise<boolean> {
    const assets = new Set(ids).difference(search.seen);
    const limit = pLimit(ASSETS_AT_A_TIME);
    const work = async (assetId: string) => {
      if (search.found.size === search.wanted.size) return;
      if (performance.now() > search.until) throw new ProblemException('upstream-timeout');
      await this.#searchAsset(assetId, search, fresh);
    };
    // After a failure, the waiting assets are dropped.
    await limit.map(assets, work).finally(() => limit.clearQueue());
    return search.found.size === search.wanted.size;
  }

  async #searchAsset(
    assetId: string,
    { lookup, wanted, call, found, seen, unread }: Search,
    fresh: boolean,
  ): Promise<void> {
    const request: IdListRequest = { list: 'orders', enterprise: lookup.enterprise, by: { assetId } };
    try {
      const read = fresh
        ? { list: await this.lists.refreshed(request, call), fresh }
        : await this.lists.read(request, call);
      if (read.fresh) seen.add(assetId);
      if (read.fresh && !read.list.isWhole('order')) unread.set(assetId, answered(operationOf.orders));
      for (const id of wanted) if (read.list.has('order', id)) found.add(id);
    } catch (error) {
      if (!(error instanceof ProblemException && OF_ONE_ASSET.has(error.slug))) throw error;
      seen.add(assetId);
      if (error.slug !== 'asset-not-found')
        unread.set(assetId, error.body.upstream ?? answered(operationOf.orders));
    }
  }
}

interface Search {
  readonly lookup: OwnershipLookup;
  readonly wanted: ReadonlySet<string>;
  readonly call: CallContext;
  readonly found: Set<string>;
  /** Assets that were read after the request arrived. */
  readonly seen: Set<string>;
  /** The responses for assets whose lists could not be read completely. Any of these assets may have an id that is not found. */
  readonly unread: Map<string, UpstreamResponse>;
  readonly until: number;
}

const answered = (operation: OperationName): UpstreamResponse => ({ operation, status: 200 });

/** Returns the problem for an incomplete list, because an id that is not found may be in the missing part. */
function incomplete(upstream: UpstreamResponse): ProblemException {
  return violation(
    'A list of the platform did not come whole, so the gateway cannot tell whether this id exists.',
    upstream,
  );
}

/** Returns the lists to search, in order. The next list is read only for ids that are missing from the one before. */
function listsFor(
  { enterprise, kind, channel, ofMembers }: OwnershipLookup,
  { user }: CallContext,
): IdListRequest[] {
  const assetNums: IdListRequest = { list: 'assetNums', enterprise };
  const ofOrders: IdListRequest = { list: 'assets', enterprise };
  const assets = ofMembers ? [assetNums, ofOrders] : [ofOrders];
  // The order module may list virtual assets only (reading `assetList`), so a number that is missing there may be that of a lock.
  if (!ofMembers && user && kind === 'assetNum') assets.push(assetNums);
  const customers: IdListRequest[] = channel ? [{ list: 'customers', enterprise, by: { ...channel } }] : [];
  switch (kind) {
    case 'member':
      return [{ list: 'members', enterprise }];
    case 'lentLock':
      return [{ list: 'lentLocks', enterprise }];
    case 'customer':
      return [{ list: 'assets', enterprise }, ...customers];
    case 'channelCustomer':
      return customers;
    default:
      return assets;
  }
}

/** Ids have no line breaks. */
function keyOf({ enterprise, kind }: OwnershipLookup, id: string): string {
  return `${kind}\n${enterprise}\n${id}`;
}
