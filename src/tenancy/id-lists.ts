import { Injectable } from '@nestjs/common';
import { SingleFlight } from '../kit/single-flight/single-flight.ts';
import type { TextForm } from '../read-cache/list-store.ts';
import { type Cached, ReadCache } from '../read-cache/read-cache.ts';
import { type CallContext, type IdKind, isFresh } from '../request/call-context.ts';
import { MemberList } from '../upstream/member-list.ts';
import type { AskPage } from '../upstream/member-pages.ts';
import type { OperationName } from '../upstream/operations.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { type Decode, UpstreamClient } from '../upstream/upstream.client.ts';
import { assetNumShape, lentLockShape, type MemberField, readMemberPage } from '../upstream/wire/member.ts';
import { assetShape, type CustomerField, customerShape } from '../upstream/wire/order.ts';
import type { Reader } from '../upstream/wire/reader.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { toAssetContent } from '../upstream/wire/instances.ts';
import type { Shape } from '../upstream/wire/shape.ts';
import { isWholeFor, readDeciding } from '../upstream/wire/whole-list.ts';

/** The operation of the platform that shows each list. */
export const operationOf = {
  assets: 'listAssets',
  assetNums: 'listAssetNums',
  lentLocks: 'listLentLocks',
  members: 'listMembers',
  customers: 'queryCustomers',
  orders: 'listAssetProducts',
} as const satisfies Record<string, OperationName>;
export type ListName = keyof typeof operationOf;

export interface IdListRequest {
  readonly list: ListName;
  readonly enterprise: string;
  readonly by?: Readonly<Record<string, string>>;
}

type Id = string | null;
/** Ids by kind. The same index in each list is the same row. */
type Columns = Partial<Record<IdKind, Id[]>>;

interface Read {
  readonly columns: Columns;
  /** The kinds of which the list is whole: each item has its id, so an id that is missing from it does not exist. */
  readonly whole: readonly IdKind[];
}

/** The pages of a list that are read at a time. Two halve the time, and leave the platform able to serve other requests. */
const PAGES_AT_A_TIME = 2;

export class IdList {
  readonly #ids = new Map<string, ReadonlySet<string>>();

  constructor(private readonly read: Read) {}

  isWhole(kind: IdKind): boolean {
    return this.read.whole.includes(kind);
  }

  toJSON(): Read {
    return this.read;
  }

  has(kind: IdKind, id: string): boolean {
    return this.ids(kind).has(id);
  }

  ids(kind: IdKind): ReadonlySet<string> {
    let ids = this.#ids.get(kind);
    if (!ids)
      this.#ids.set(kind, (ids = new Set((this.read.columns[kind] ?? []).filter((id) => id !== null))));
    return ids;
  }

  /** Returns the ids of one kind in the rows that have one of the ids of another. */
  beside(kind: IdKind, other: IdKind, ids: ReadonlySet<string>): string[] {
    const { columns } = this.read;
    const column = columns[kind] ?? [];
    return (columns[other] ?? []).flatMap((id, row) => {
      const found = column[row];
      return id !== null && ids.has(id) && found ? [found] : [];
    });
  }
}

const FORM: TextForm<IdList> = {
  toText: JSON.stringify,
  fromText: (text) => new IdList(JSON.parse(text) as Read),
};

/** False for a row without an id. It may be the row of an id that is missing from the list. */
function isId(id: Id | undefined): boolean {
  return id != null;
}

/** Reads the columns of a list: for each kind the field that has its ids. */
function columnsIn<Name extends string>(shape: Shape<Name>, fields: Partial<Record<IdKind, Name>>) {
  const columns = Object.entries(fields) as [IdKind, Name][];
  const deciding = columns.map(([, field]) => field);
  return (data: unknown, nullIsEmpty: boolean, notes: ContractNotes): Read => {
    const read = (wire: Reader<Name>) => deciding.map((field) => wire.id(field));
    const list = readDeciding(shape, data, { fields: deciding, nullIsEmpty }, read, notes);
    const ids = columns.map(
      ([kind], column) => [kind, list.items.map((row) => row[column] ?? null)] as const,
    );
    const isWhole = ([, field]: [IdKind, Name], column: number) =>
      isWholeFor(list, [field]) && list.items.every((row) => isId(row[column]));
    return { columns: Object.fromEntries(ids), whole: columns.filter(isWhole).map(([kind]) => kind) };
  };
}
/** The lists that come whole, of one enterprise. */
const WHOLE_LISTS = {
  assets: columnsIn(assetShape, { asset: 'id', assetNum: 'assetNum', customer: 'customerId' }),
  assetNums: columnsIn(assetNumShape, { asset: 'assetId', assetNum: 'assetNum' }),
  lentLocks: columnsIn(lentLockShape, { lentLock: 'assetNum' }),
};

export interface Found {
  readonly list: IdList;
  /** True if the list was read after this request arrived. */
  readonly fresh: boolean;
}

/**
 * The ids in the lists of an enterprise, through the read cache. They are a hundredth of the data that the platform sends. No other field
 * of a list is required, so that a fault in one does not prevent a lookup.
 */
@Injectable()
export class IdLists {
  readonly #refreshes = new SingleFlight<IdList>();

  constructor(
    private readonly cache: ReadCache,
    private readonly upstream: UpstreamClient,
    private readonly memberList: MemberList,
    private readonly readings: PlatformReadings,
  ) {}

  async read(request: IdListRequest, call: CallContext): Promise<Found> {
    if (!this.cache.isOn) return { list: await this.refreshed(request, call), fresh: true };
    const { value, part } = await this.#cached(request, call, false);
    return { list: value, fresh: !part || isFresh(part) };
  }

  /** Reads without the cache, one read at a time, so that requests for unknown ids cannot cause many reads. */
  refreshed(request: IdListRequest, call: CallContext): Promise<IdList> {
    const key = JSON.stringify([request.list, request.enterprise, request.by, call.user?.name]);
    // A read that is in progress may have begun before this request arrived.
    return this.#refreshes.next(key, async () => (await this.#cached(request, call, true)).value);
  }

  #cached(
    { list, enterprise, by = {} }: IdListRequest,
    call: CallContext,
    fresh: boolean,
  ): Promise<Cached<IdList>> {
    const load = async () => {
      const read = await this.#read(list, call, enterprise, by).catch((error: unknown) => {
        throw asProblem(error);
      });
      return { value: new IdList(read), length: lengthOf(read.columns) };
    };
    const spec = { name: `ids:${list}`, enterpriseGlobalId: enterprise, query: by, form: FORM, load };
    return this.cache.list(spec, call, fresh);
  }

  #read(
    list: ListName,
    call: CallContext,
    enterpriseGlobalId: string,
    by: Readonly<Record<string, string>>,
  ): Promise<Read> {
    if (list === 'members') return this.#members(call, enterpriseGlobalId);
    if (list === 'customers') return this.#customers(call, enterpriseGlobalId, by);
    if (list === 'orders') return this.#orders(call, by);
    const decode: Decode<Read> = (data, notes) => WHOLE_LISTS[list](data, this.readings.nullIsEmpty, notes);
    return this.upstream.call(operationOf[list], call, { ids: { enterpriseGlobalId } }, decode);
  }

  /** Reads every page, because the platform can search a member only by name or account. */
  async #members(call: CallContext, enterpriseGlobalId: string): Promise<Read> {
    const ask: AskPage<{ memberGlobalId: string; deleted: boolean | null }> = (query) =>
      this.upstream.call('listMembers', call, { ids: { enterpriseGlobalId }, query }, (data, notes) => {
        const read = (wire: Reader<MemberField>) => ({
          memberGlobalId: wire.requiredId('globalId'),
          deleted: wire.flag('deleted'),
        });
        return readMemberPage(data, read, notes);
      });
    const found: string[] = [];
    let nameless = 0;
    for await (const part of this.memberList.all(ask, { pagesAtATime: PAGES_AT_A_TIME })) {
      nameless += part.nameless;
      for (const { memberGlobalId } of part.items) found.push(memberGlobalId);
    }
    return { columns: { member: found }, whole: nameless === 0 ? ['member'] : [] };
  }

  /**
   * Reads the customers of the enterprise to which one channel number belongs. The platform also lists the enterprise's other customers, and
   * may list those of other enterprises, so each row says its own channel and number.
   */
  #customers(
    call: CallContext,
    enterpriseGlobalId: string,
    by: Readonly<Record<string, string>>,
  ): Promise<Read> {
    const deciding = this.readings.deciding(
      'customerId',
      'channelCode',
      'channelCustomerId',
      'enterpriseGlobalId',
    );
    const query = {
      channelCode: by['channelCode'],
      channelCustomerId: by['channelCustomerId'],
      defaultCustomer: 'N',
    };
    return this.upstream.call('queryCustomers', call, { query }, (data, notes) => {
      const read = (wire: Reader<CustomerField>) => ({
        customerId: wire.id('customerId'),
        channelCode: wire.id('channelCode'),
        channelCustomerId: wire.id('channelCustomerId'),
        enterprise: wire.id('enterpriseGlobalId'),
      });
      const list = readDeciding(customerShape, data, deciding, read, notes);
      const own = list.items.filter(({ enterprise }) => enterprise === enterpriseGlobalId);
      const columns = {
        customer: own.map(({ customerId }) => customerId),
        channelCustomer: own.map(({ channelCode, channelCustomerId }) =>
          channelCode === by['channelCode'] ? channelCustomerId : null,
        ),
      };
      const whole: IdKind[] = [];
      const isOwnKnown =
        isWholeFor(list, ['enterpriseGlobalId']) && list.items.every((each) => isId(each.enterprise));
      if (isOwnKnown && isWholeFor(list, ['customerId']) && own.every((each) => isId(each.customerId)))
        whole.push('customer');
      if (
        isOwnKnown &&
        isWholeFor(list, ['channelCode', 'channelCustomerId']) &&
        own.every((each) => isId(each.channelCode) && isId(each.channelCustomerId))
      )
        whole.push('channelCustomer');
      return { columns, whole };
    });
  }

  /** Reads the licence orders whose products or packages are on one asset. */
  #orders(call: CallContext, { assetId = '' }: Readonly<Record<string, string>>): Promise<Read> {
    const { timestampUnit, nullIsEmpty } = this.readings;
    return this.upstream.call('listAssetProducts', call, { ids: { assetId } }, (data, notes) => {
      const { instances, isWhole } = toAssetContent(data, timestampUnit, nullIsEmpty, { notes });
      const order = [...new Set(instances.flatMap(({ licenseOrderId }) => licenseOrderId ?? []))];
      const isKnown = isWhole && instances.every((each) => each.licenseOrderId !== null);
      return { columns: { order }, whole: isKnown ? ['order'] : [] };
    });
  }
}

/** Returns approximately the length of its JSON. */
function lengthOf(columns: Columns): number {
  return Object.values(columns).reduce(
    (sum, column) => sum + column.reduce((length, id) => length + (id?.length ?? 4) + 3, 0),
    0,
  );
}
