import { Injectable } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import type { OwnKind } from '../upstream/reach.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import type {
  WireAssetNum,
  WireLentLock,
  WireMember,
  WireMerchandiseInstance,
  WirePage,
  WireProductInstance,
} from '../upstream/wire/member.ts';
import type { WireAsset, WireCustomer } from '../upstream/wire/order.ts';
import { readInstances } from '../upstream/wire/instances.ts';
import { ContractViolation } from '../upstream/wire/contract-notes.ts';
import { Reader, readList } from '../upstream/wire/reader.ts';

export type ListName = 'assets' | 'assetNums' | 'lentLocks' | 'members' | 'customers' | 'orders';

/** A list, its owner, and the parameters of its request. */
export interface Asked {
  readonly list: ListName;
  readonly enterprise: string;
  readonly by?: Readonly<Record<string, string>>;
}

type Id = string | null;
/** Ids by kind; the same index in each is the same row. */
export type Columns = Partial<Record<OwnKind, Id[]>>;

/** Large, for few pages, and not above the maximum of listMembers. */
const PAGE_SIZE = 200;
/** How many pages of a list are read at a time: enough to halve the time, and few enough for the platform to serve other requests too. */
const PAGES_AT_A_TIME = 2;
const MAX_PAGES = 500;

/** Reads only the ids of the platform's lists, so that a fault in other fields does not prevent a lookup. */
@Injectable()
export class PlatformLists {
  constructor(private readonly upstream: UpstreamClient) {}

  async columns(asked: Asked, call: CallContext): Promise<Columns> {
    try {
      return await this[asked.list](call, asked.enterprise, asked.by ?? {});
    } catch (error) {
      throw asProblem(error);
    }
  }

  assets(call: CallContext, enterpriseGlobalId: string): Promise<Columns> {
    return this.upstream.call('listAssets', call, { ids: { enterpriseGlobalId } }, (data) =>
      columnsOf(
        readList<WireAsset, Id[]>(data, (wire) => [
          wire.id('id'),
          wire.id('assetNum'),
          wire.id('customerId'),
        ]),
        ['asset', 'assetNum', 'customer'],
      ),
    );
  }

  assetNums(call: CallContext, enterpriseGlobalId: string): Promise<Columns> {
    return this.upstream.call('listAssetNums', call, { ids: { enterpriseGlobalId } }, (data) =>
      columnsOf(
        readList<WireAssetNum, Id[]>(data, (wire) => [wire.id('assetId'), wire.id('assetNum')]),
        ['asset', 'assetNum'],
      ),
    );
  }

  lentLocks(call: CallContext, enterpriseGlobalId: string): Promise<Columns> {
    return this.upstream.call('listLentLocks', call, { ids: { enterpriseGlobalId } }, (data) =>
      columnsOf(
        readList<WireLentLock, Id[]>(data, (wire) => [wire.id('assetNum')]),
        ['lentLock'],
      ),
    );
  }

  /** Reads every page, because the platform can search a member only by name or account. */
  async members(call: CallContext, enterpriseGlobalId: string): Promise<Columns> {
    const page = async (number: number) =>
      this.upstream.call(
        'listMembers',
        call,
        { ids: { enterpriseGlobalId }, query: { pageNum: String(number), pageSize: String(PAGE_SIZE) } },
        (data) => {
          const wire = new Reader<WirePage>(data);
          const ids = wire.list<WireMember, Id>('list', (member) => member.id('globalId'));
          const total = wire.count('total');
          // Without the total the later pages cannot be read, and their members would seem to be missing.
          if (total === null) throw new ContractViolation('data.total', 'a count');
          return { ids, total };
        },
      );
    const first = await page(1);
    const pages = Math.ceil(first.total / Math.max(1, Math.min(PAGE_SIZE, first.ids.length || PAGE_SIZE)));
    if (pages > MAX_PAGES)
      throw new ProblemException('upstream-contract-violation', { outcome: 'not_processed' });
    const found = [first.ids];
    const rest = Array.from({ length: Math.max(0, pages - 1) }, (_, index) => index + 2).values();
    const work = async () => {
      for (const number of rest) found[number - 1] = (await page(number)).ids;
    };
    await Promise.all(Array.from({ length: PAGES_AT_A_TIME }, work));
    return { member: found.flat() };
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
      const rows = readList<WireCustomer, (Id | undefined)[]>(data, (wire) => [
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
      const found = new Set<string>();
      const instance = (wire: Reader<WireProductInstance | WireMerchandiseInstance>) => {
        const id = wire.id('licenseOrderId');
        if (id) found.add(id);
      };
      readInstances(data, undefined, { product: instance, merchandise: instance });
      return { order: [...found] };
    });
  }
}

function columnsOf(rows: readonly Id[][], kinds: readonly OwnKind[]): Columns {
  return Object.fromEntries(kinds.map((kind, column) => [kind, rows.map((row) => row[column] ?? null)]));
}
