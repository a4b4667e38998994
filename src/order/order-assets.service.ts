import { Injectable } from '@nestjs/common';
import { pageOf, type PageQuery } from '../operation/page.dto.ts';
import { itemsByEnterprise } from '../order-ledger/items-by-enterprise.ts';
import { type OrderDetails, type OrderedItem, released, sentAt } from '../order-ledger/ledger-record.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { isOlder, notedIn } from '../order-ledger/order-evidence.ts';
import type { CallContext } from '../request/call-context.ts';
import { PlatformSearch } from '../upstream/platform-search.ts';
import { violation } from '../upstream/problems/violation.ts';
import { type AssetContent, type ChannelOrder, type Instance, isFrom } from '../upstream/wire/instances.ts';
import { isWholeFor, notWhole } from '../upstream/wire/whole-list.ts';
import { AssetContents } from './asset-contents.ts';
import type { AssetDto } from './dto/asset.dto.ts';
import type { OrderAssetDto, OrderAssetPageDto } from './dto/order-assets.dto.ts';
import type { OrderPath } from './dto/order-record.dto.ts';
import { OrderRecordsService } from './order-records.service.ts';
import { OrderService } from './order.service.ts';

const NOT_SHOWN =
  'The platform does not show what is on an asset of the enterprise, so the gateway cannot tell whether it is of the order.';

const NO_ENTERPRISE =
  'An item of the order names no enterprise, and the platform does not show that of its customer, so the gateway cannot tell what the order made.';

type ListedAsset = Pick<AssetDto, 'assetId' | 'assetNum'>;

type NotedOrder = OrderDetails & ChannelOrder;

/** The items of an order for one enterprise. */
interface SoughtItems {
  readonly order: NotedOrder;
  readonly items: readonly OrderedItem[];
  /** When the order was sent, in ms since 1970. */
  readonly sent: number;
}

/** Finds the assets of an order. Where its record lacks a licence order, the channel's order number on the asset tells what belongs to the order. */
@Injectable()
export class OrderAssetsService {
  constructor(
    private readonly records: OrderRecordsService,
    private readonly orders: OrderService,
    private readonly contents: AssetContents,
    private readonly search: PlatformSearch,
    private readonly ledger: ObservedOrderLedger,
  ) {}

  async getOrderAssets(call: CallContext, path: OrderPath, wanted: PageQuery): Promise<OrderAssetPageDto> {
    const record = await this.records.find(path, call.caller.grants);
    const { state, details } = record;
    const { order } = details;
    // Nothing of the order was carried out.
    if (!order || state === 'scheduled' || state === 'rejected' || released.includes(state))
      return pageOf([], wanted);
    const bought = order.ordered.filter(({ orderType }) => orderType === 'new_buy');
    const purchases = await itemsByEnterprise(order, bought, (customer) =>
      this.search.enterpriseOf(call, order.channelCode, customer),
    );
    if (!purchases) throw violation(NO_ENTERPRISE, { operation: 'queryCustomers', status: 200 });
    const rows: OrderAssetDto[] = [];
    const noted = { ...order, isShared: await this.ledger.isShared(order) };
    for (const [enterpriseGlobalId, items] of purchases) {
      const sought = { order: noted, items, sent: sentAt(record) };
      rows.push(...(await this.#assetsIn(call, enterpriseGlobalId, sought)));
    }
    return pageOf(
      rows.sort((one, other) => (one.sequence ?? Infinity) - (other.sequence ?? Infinity)),
      wanted,
    );
  }

  /**
   * `hidden` is what came where the platform does not show what on an asset of its list is of the order. A list of the cache may have an asset
   * that is gone.
   */
  async #shown(
    call: CallContext,
    enterpriseGlobalId: string,
    { order, items }: SoughtItems,
    fresh?: boolean,
  ) {
    const listed = await this.orders.cameAssets(call, enterpriseGlobalId, fresh);
    const isWhole = isWholeFor(listed, []);
    const assets: ListedAsset[] = [...listed.items];
    const contents = [...(await this.contents.read(call, enterpriseGlobalId, assets))];
    if (!isWhole || !isAllOn(contents, order, items)) {
      const seen = new Set(assets.map(({ assetId }) => assetId));
      const numbered = await this.orders.numberedAssets(call, enterpriseGlobalId, fresh);
      if (!isWhole && numbered.length === 0) throw notWhole('listAssets');
      const others = numbered.filter(({ assetId }) => !seen.has(assetId));
      assets.push(...others);
      contents.push(...(await this.contents.read(call, enterpriseGlobalId, others)));
    }
    const isHidden = ({ isShown, instances }: AssetContent) =>
      !isShown || instances.some((one) => mayBeOf(order, items, one));
    return { assets, contents, hidden: contents.find(isHidden) };
  }

  async #assetsIn(
    call: CallContext,
    enterpriseGlobalId: string,
    sought: SoughtItems,
  ): Promise<OrderAssetDto[]> {
    const { order, items, sent } = sought;
    // The platform may make one licence order of several items.
    const known = Map.groupBy(order.items, ({ licenseOrderId }) => licenseOrderId);
    const placed = new Set(order.items.map(({ sequence }) => sequence));
    const here = new Set(items.map(({ sequence }) => sequence));
    const open = [...here.difference(placed)];
    const onlyOpen = open.length === 1 ? open[0] : undefined;
    let shown = await this.#shown(call, enterpriseGlobalId, sought);
    if (shown.hidden) shown = await this.#shown(call, enterpriseGlobalId, sought, true);
    if (shown.hidden)
      throw violation(NOT_SHOWN, shown.hidden.refusal ?? { operation: 'listAssetProducts', status: 200 });
    const { assets, contents } = shown;
    const noted = open.length > 0 ? [...notedIn(contents, order)] : [];
    const mayBeOpen = new Map(noted.filter(([, instances]) => !isOlder(instances, sent)));
    return assets.flatMap(({ assetId, assetNum }, index) => {
      const made = Map.groupBy(contents[index]?.instances ?? [], ({ licenseOrderId }) => licenseOrderId);
      return [...made].flatMap(([licenseOrderId, instances]) => {
        if (licenseOrderId === null) return [];
        const placedAs = known.get(licenseOrderId);
        if (!placedAs && !mayBeOpen.has(licenseOrderId)) return [];
        const own = placedAs?.filter((item) => here.has(item.sequence)).map((item) => item.sequence);
        const [sequence = null, ...others] = own ?? (onlyOpen === undefined ? [] : [onlyOpen]);
        const row = { licenseOrderId, assetId, assetNum, productUris: productUrisOf(instances) };
        return [{ sequence: others.length === 0 ? sequence : null, ...row }];
      });
    });
  }
}

/**
 * Whether each item has a licence order of its own that is on one of the assets. All assets of an item are of its licence type, so the list that has
 * one of them has all.
 */
function isAllOn(
  contents: readonly AssetContent[],
  { items: placed }: OrderDetails,
  items: readonly OrderedItem[],
): boolean {
  const shown = new Set(contents.flatMap(({ instances }) => instances.map((each) => each.licenseOrderId)));
  const own = Map.groupBy(placed, ({ licenseOrderId }) => licenseOrderId);
  const isOn = ({ sequence }: OrderedItem) =>
    placed.some(
      (each) =>
        each.sequence === sequence &&
        own.get(each.licenseOrderId)?.length === 1 &&
        shown.has(each.licenseOrderId),
    );
  return items.every(isOn);
}

/** Whether the instance may be of the order, and lacks the licence order or the channel that would tell. */
function mayBeOf(order: NotedOrder, items: readonly OrderedItem[], instance: Instance): boolean {
  const { licenseOrderId, channelOrderId } = instance;
  const noted = isFrom(instance, order);
  if (licenseOrderId === null) return channelOrderId === null || noted !== false;
  const placed = new Set(order.items.map(({ sequence }) => sequence));
  const isOpen = items.some(({ sequence }) => !placed.has(sequence));
  return noted === undefined && isOpen && order.items.every((each) => each.licenseOrderId !== licenseOrderId);
}

/** Every product once, in the order of the platform. */
function productUrisOf(instances: readonly Instance[]): string[] {
  return [...new Set(instances.flatMap(({ product }) => product?.productUri ?? []))];
}
