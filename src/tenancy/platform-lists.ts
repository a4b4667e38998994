import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import type { CallContext, OwnKind } from '../upstream/call-context.ts';
import { MemberList } from '../upstream/member-list.ts';
import type { AskPage } from '../upstream/member-pages.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { assetNumShape, lentLockShape } from '../upstream/wire/member.ts';
import { assetShape, customerShape } from '../upstream/wire/order.ts';
import { toInstances } from '../upstream/wire/instances.ts';
import { toMemberPageOf } from '../upstream/wire/member-page.ts';
import { readList } from '../upstream/wire/reader.ts';

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

/** How many pages of a list are read at a time: enough to halve the time, and few enough for the platform to serve other requests too. */
const PAGES_AT_A_TIME = 2;

/** Takes only the ids of the platform's lists. It requires no other field, so that a fault there does not prevent a lookup. */
@Injectable()
export class PlatformLists {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly list: MemberList,
    private readonly config: UpstreamConfig,
  ) {}

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
        readList(assetShape, data, undefined, (wire) => [
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
        readList(assetNumShape, data, undefined, (wire) => [wire.id('assetId'), wire.id('assetNum')]),
        ['asset', 'assetNum'],
      ),
    );
  }

  lentLocks(call: CallContext, enterpriseGlobalId: string): Promise<Columns> {
    return this.upstream.call('listLentLocks', call, { ids: { enterpriseGlobalId } }, (data) =>
      columnsOf(
        readList(lentLockShape, data, undefined, (wire) => [wire.id('assetNum')]),
        ['lentLock'],
      ),
    );
  }

  /** Reads every page, because the platform can search a member only by name or account. */
  async members(call: CallContext, enterpriseGlobalId: string): Promise<Columns> {
    const ask: AskPage<{ memberGlobalId: string }> = (query) =>
      this.upstream.call('listMembers', call, { ids: { enterpriseGlobalId }, query }, (data) =>
        toMemberPageOf(data, (wire) => ({ memberGlobalId: wire.requiredId('globalId') })),
      );
    const found: string[] = [];
    for await (const { items } of this.list.all(ask, PAGES_AT_A_TIME))
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

function columnsOf(rows: readonly Id[][], kinds: readonly OwnKind[]): Columns {
  return Object.fromEntries(kinds.map((kind, column) => [kind, rows.map((row) => row[column] ?? null)]));
}
