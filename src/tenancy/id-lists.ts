import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { SingleFlight } from '../kit/single-flight/single-flight.ts';
import type { TextForm } from '../read-cache/list-store.ts';
import { type Cached, ReadCache } from '../read-cache/read-cache.ts';
import type { CallContext, IdKind } from '../upstream/call-context.ts';
import { MemberList } from '../upstream/member-list.ts';
import type { AskPage } from '../upstream/member-pages.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { assetNumShape, lentLockShape, readMemberPage } from '../upstream/wire/member.ts';
import { assetShape, customerShape } from '../upstream/wire/order.ts';
import { toInstances } from '../upstream/wire/instances.ts';
import { readList, type Shape } from '../upstream/wire/reader.ts';

type ListName = 'assets' | 'assetNums' | 'lentLocks' | 'members' | 'customers' | 'orders';

export interface IdListRequest {
  readonly list: ListName;
  readonly enterprise: string;
  readonly by?: Readonly<Record<string, string>>;
}

type Id = string | null;
/** Ids by kind; the same index in each is the same row. */
type Columns = Partial<Record<IdKind, Id[]>>;

/** How many pages of a list are read at a time: enough to halve the time, and few enough for the platform to serve other requests too. */
const PAGES_AT_A_TIME = 2;

export class IdList {
  readonly #ids = new Map<string, ReadonlySet<string>>();

  constructor(readonly columns: Columns) {}

  has(kind: IdKind, id: string): boolean {
    return this.ids(kind).has(id);
  }

  ids(kind: IdKind): ReadonlySet<string> {
    let ids = this.#ids.get(kind);
    if (!ids) this.#ids.set(kind, (ids = new Set((this.columns[kind] ?? []).filter((id) => id !== null))));
    return ids;
  }

  /** The ids of one kind in the rows that have one of the ids of another. */
  beside(kind: IdKind, other: IdKind, ids: ReadonlySet<string>): string[] {
    const column = this.columns[kind] ?? [];
    return (this.columns[other] ?? []).flatMap((id, row) => {
      const found = column[row];
      return id !== null && ids.has(id) && found ? [found] : [];
    });
  }
}

const FORM: TextForm<IdList> = {
  toText: ({ columns }) => JSON.stringify(columns),
  fromText: (text) => new IdList(JSON.parse(text) as Columns),
};

/** Reads the columns of a list: for each kind the field that has its ids. */
function columnsIn<Name extends string>(shape: Shape<Name>, fields: Partial<Record<IdKind, Name>>) {
  const columns = Object.entries(fields);
  return (data: unknown): Columns => {
    const rows = readList(shape, data, undefined, (wire) => columns.map(([, field]) => wire.id(field)));
    return Object.fromEntries(
      columns.map(([kind], column) => [kind, rows.map((row) => row[column] ?? null)]),
    );
  };
}
const ASSETS = columnsIn(assetShape, { asset: 'id', assetNum: 'assetNum', customer: 'customerId' });
const ASSET_NUMS = columnsIn(assetNumShape, { asset: 'assetId', assetNum: 'assetNum' });
const LENT_LOCKS = columnsIn(lentLockShape, { lentLock: 'assetNum' });

export interface Found {
  readonly list: IdList;
  /** Whether the list was read after this request came. */
  readonly fresh: boolean;
}

/**
 * The ids in the lists of an enterprise, through the read cache: a hundredth of the data that the platform sends. No other field of a list
 * is required, so that a fault there does not prevent a lookup.
 */
@Injectable()
export class IdLists {
  readonly #refreshes = new SingleFlight<IdList>();

  constructor(
    private readonly cache: ReadCache,
    private readonly upstream: UpstreamClient,
    private readonly memberList: MemberList,
    private readonly config: UpstreamConfig,
  ) {}

  async read(request: IdListRequest, call: CallContext): Promise<Found> {
    if (!this.cache.isOn) return { list: await this.refreshed(request, call), fresh: true };
    const { value, part } = await this.#cached(request, call, false);
    return { list: value, fresh: part?.askedAt === undefined };
  }

  /** Reads past the cache, one read at a time, so that requests for unknown ids cannot cause many reads. */
  refreshed(request: IdListRequest, call: CallContext): Promise<IdList> {
    const key = JSON.stringify([request.list, request.enterprise, request.by, call.user?.name]);
    // The read that is under way may have begun before this request came.
    return this.#refreshes.next(key, async () => (await this.#cached(request, call, true)).value);
  }

  #cached(
    { list, enterprise, by = {} }: IdListRequest,
    call: CallContext,
    fresh: boolean,
  ): Promise<Cached<IdList>> {
    const load = async () => {
      const columns = await this[list](call, enterprise, by).catch((error: unknown) => {
        throw asProblem(error);
      });
      return { value: new IdList(columns), length: lengthOf(columns) };
    };
    const spec = { name: `lookup:${list}`, enterpriseGlobalId: enterprise, query: by, form: FORM, load };
    return this.cache.list(spec, call, fresh);
  }

  assets(call: CallContext, enterpriseGlobalId: string): Promise<Columns> {
    return this.upstream.call('listAssets', call, { ids: { enterpriseGlobalId } }, ASSETS);
  }

  assetNums(call: CallContext, enterpriseGlobalId: string): Promise<Columns> {
    return this.upstream.call('listAssetNums', call, { ids: { enterpriseGlobalId } }, ASSET_NUMS);
  }

  lentLocks(call: CallContext, enterpriseGlobalId: string): Promise<Columns> {
    return this.upstream.call('listLentLocks', call, { ids: { enterpriseGlobalId } }, LENT_LOCKS);
  }

  /** Reads every page, because the platform can search a member only by name or account. */
  async members(call: CallContext, enterpriseGlobalId: string): Promise<Columns> {
    const ask: AskPage<{ memberGlobalId: string }> = (query) =>
      this.upstream.call('listMembers', call, { ids: { enterpriseGlobalId }, query }, (data) =>
        readMemberPage(data, (wire) => ({ memberGlobalId: wire.requiredId('globalId') })),
      );
    const found: string[] = [];
    for await (const { items } of this.memberList.all(ask, PAGES_AT_A_TIME))
      for (const { memberGlobalId } of items) found.push(memberGlobalId);
    return { member: found };
  }

  /** The customers of one channel number that are bound to the enterprise. */
  customers(
    call: CallContext,
    enterpriseGlobalId: string,
    by: Readonly<Record<string, string>>,
  ): Promise<Columns> {
    const query = {
      channelCode: by['channelCode'],
      channelCustomerId: by['channelCustomerId'],
      defaultCustomer: 'N',
    };
    return this.upstream.call('queryCustomers', call, { query }, (data) => {
      const rows = readList(customerShape, data, undefined, (wire) => [
        wire.id('customerId'),
        wire.id('enterpriseGlobalId'),
      ]);
      const own = rows.filter(([, enterprise]) => enterprise === enterpriseGlobalId);
      return {
        customer: own.map(([customer]) => customer ?? null),
        channelCustomer: own.map(() => by['channelCustomerId'] ?? null),
      };
    });
  }

  /** The licence orders whose products or packages are on one asset. */
  orders(
    call: CallContext,
    _enterprise: string,
    { assetId = '' }: Readonly<Record<string, string>>,
  ): Promise<Columns> {
    return this.upstream.call('listAssetProducts', call, { ids: { assetId } }, (data) => {
      const instances = toInstances(data, this.config.timestampUnit);
      return { order: [...new Set(instances.flatMap(({ licenseOrderId }) => licenseOrderId ?? []))] };
    });
  }
}

/** About as long as its JSON. */
function lengthOf(columns: Columns): number {
  return Object.values(columns).reduce(
    (sum, column) => sum + column.reduce((length, id) => length + (id?.length ?? 4) + 3, 0),
    0,
  );
}
