import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import type { KnownReadings } from '../config/platform-profile.ts';
import { exhausted, exhaustedProblem, monthOf } from '../budgets/state/budgets.ts';
import { UseStore } from '../budgets/state/use-store.ts';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import {
  type Bought,
  type Deletion,
  locationOf,
  type OrderedItem,
  orderName,
  type OrderSearch,
} from '../order-ledger/ledger-record.ts';
import { OrderLedger } from '../order-ledger/order-ledger.service.ts';
import { endOf } from '../order-ledger/write-outcome.ts';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import { Reservations } from '../tenancy/reservations.ts';
import type { CallContext } from '../request/call-context.ts';
import type { DryRun } from '../request/dry-run.ts';
import type { SoughtCustomer } from '../upstream/platform-search.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { DeletionEffects, namedBy } from './deletion-effects.ts';
import {
  type DeleteAssetDto,
  type DeleteProductDto,
  type PlaceOrderDto,
  sequenceOf,
} from './dto/license-order.dto.ts';
import type { BoughtAssetDto, ReducedAssetDto, RevokedAssetDto } from './dto/order-product.dto.ts';
import type { OrderRecordDto } from './dto/order-record.dto.ts';
import { budgetUses } from './order-budget.ts';
import { toBatchOrder, toOrderRecord, toPlacedItems } from './license-order.mapper.ts';

const NO_PACKAGES =
  'the platform is not known to delete packages (reading packagesInDeletion of its profile)';

/** Places licence orders: one call to the platform for each batch, never split or merged, and sent at most once under its number. */
@Injectable()
export class LicenseOrderService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly config: UpstreamConfig,
    private readonly ledger: OrderLedger,
    private readonly effects: DeletionEffects,
    private readonly reservations: Reservations,
    private readonly readings: PlatformReadings,
    private readonly maintenance: Maintenance,
    private readonly uses: UseStore,
  ) {}

  /** Returns `replayed` where the order was placed before, so that nothing was sent this time. */
  async placeOrder(
    call: CallContext,
    order: PlaceOrderDto,
    idempotencyKey: string | undefined,
  ): Promise<{ record: OrderRecordDto; location: string | undefined; replayed: boolean }> {
    if (call.dryRun) return this.#dryRun(call.dryRun, call, order);
    const body = this.#bodyOf(order);
    // One text serves the platform and the fingerprint: the mapper writes fields in alphabetical order, as the fingerprint needs them.
    const bodyText = JSON.stringify(body);
    const query = { appKey: call.caller.appKey ?? this.config.appKey.reveal() };
    const { channelCode, channelOrderId, syncMode } = order;
    // A new order leaves no record while the platform does not work, or where an id does not belong to the caller. A repeated order
    // still gets its earlier result, also where its deletion names things that are gone by now.
    const refusal =
      this.#notTaken(order) ??
      call.authorisedIds?.refusal ??
      this.maintenance.refusal('orders') ??
      this.upstream.refusal('batchOrder');
    // The end of an async deletion is told later by what is gone then, so the gateway looks at what is there before it sends the order.
    const isSeenBefore = syncMode === 'async' && order.items.some(({ orderType }) => orderType !== 'new_buy');
    const isNew = (refusal || isSeenBefore) && !(await this.ledger.knows(channelCode, channelOrderId));
    if (refusal && isNew) throw refusal;
    const sought = searchOf(order, call.user?.alias);
    const search = isSeenBefore && isNew ? await this.effects.marked(order, sought) : sought;
    const budgets = call.caller.budgets && budgetUses(order, call.caller.budgets);
    const write = {
      caller: call.caller.name,
      order: { channelCode, channelOrderId, syncMode, ordered: orderedItems(order), search },
      // The application's key is left out, because a new key does not make it another order; nor does another form of a date.
      payloadText: `{"body":${this.#isPlain ? bodyText : JSON.stringify(this.#bodyOf(order, {}))}}`,
      idempotencyKey,
      budgets,
      deadlineMs: this.config.orderDeadlineMs,
    };
    const { result, replayed } = await this.ledger.order(write, (sendOnce) =>
      this.#withNumbersBound(call, order, () => {
        // A number whose order was refused before may come with another one.
        const notTaken = this.#notTaken(order);
        if (notTaken) throw notTaken;
        return this.upstream.call('batchOrder', call, { query, body, bodyText, sendOnce }, (data, notes) =>
          toPlacedItems(data, body, this.readings.of('orderIds'), notes),
        );
      }),
    );
    return { record: toOrderRecord(result), location: locationOf(result), replayed };
  }

  /** Binds the reserved numbers of the order to its enterprises before it is sent, and frees them where it was not carried out. */
  async #withNumbersBound<T>(
    call: CallContext,
    { channelCode, channelOrderId }: PlaceOrderDto,
    send: () => Promise<T>,
  ): Promise<T> {
    const uses = call.authorisedIds?.reserved ?? [];
    if (uses.length === 0) return send();
    const use = [call.caller.name, orderName(channelCode, channelOrderId), uses] as const;
    // Another order has used a number since the lookup.
    if (!(await this.reservations.bind(...use))) throw new ProblemException('asset-not-found');
    try {
      return await send();
    } catch (error) {
      const { state } = endOf(error);
      if (state === 'not_sent' || state === 'rejected') await this.reservations.release(...use);
      throw error;
    }
  }

  async #dryRun(dryRun: DryRun, call: CallContext, order: PlaceOrderDto): Promise<never> {
    const refusal =
      this.#notTaken(order) ?? call.authorisedIds?.refusal ?? this.maintenance.refusal('orders');
    if (refusal) throw refusal;
    await this.#assertInBudget(call, order);
    await this.effects.show(dryRun, call, order);
    if (call.caller.budgets) dryRun.add('budget-used');
    return dryRun.stopBefore('batchOrder', this.#bodyOf(order));
  }

  /** The order itself is counted where it begins. */
  async #assertInBudget({ caller: { name, budgets } }: CallContext, order: PlaceOrderDto): Promise<void> {
    if (!budgets) return;
    const now = Date.now();
    const [use] = await this.uses.used(name, [monthOf(now)]);
    const spent = use && exhausted(budgetUses(order, budgets), use.used);
    if (spent) throw exhaustedProblem(spent, now);
  }

  get #isPlain(): boolean {
    return (
      this.readings.of('featureTrialEnd') !== 'text' && this.readings.of('productTrialEnd') !== 'seconds'
    );
  }

  #bodyOf(order: PlaceOrderDto, readings = this.#timeReadings()) {
    return toBatchOrder(order, { unit: this.config.timestampUnit, ...readings });
  }

  #timeReadings(): Pick<KnownReadings, 'featureTrialEnd' | 'productTrialEnd'> {
    return {
      featureTrialEnd: this.readings.of('featureTrialEnd'),
      productTrialEnd: this.readings.of('productTrialEnd'),
    };
  }

  /** What the platform is not known to take (src/config/readings.ts); undefined where it takes the order. */
  #notTaken({ items }: PlaceOrderDto): ProblemException | undefined {
    const errors: RequestFault[] = [];
    const most = this.readings.of('maxOrdersPerBatch') ?? items.length;
    if (items.length > most)
      errors.push({
        pointer: '/items',
        detail: `must be a list of 1 to ${most} objects: the platform takes no more`,
      });
    if (this.readings.of('packagesInDeletion') !== 'taken')
      for (const [index, item] of items.entries())
        if (item.orderType === 'delete_product')
          for (const [at, { products, merchandises }] of item.assets.entries()) {
            const asset = `/items/${index}/assets/${at}`;
            if (!products?.length)
              errors.push({ pointer: `${asset}/products`, detail: `must name a product: ${NO_PACKAGES}` });
            if (merchandises?.length)
              errors.push({ pointer: `${asset}/merchandises`, detail: `must be empty: ${NO_PACKAGES}` });
          }
    return errors.length > 0 ? new ProblemException('validation-failed', { errors }) : undefined;
  }
}

function orderedItems({ items }: PlaceOrderDto): OrderedItem[] {
  return items.map((item, index) => ({
    sequence: sequenceOf(item, index),
    orderType: item.orderType,
    enterpriseGlobalId: item.customer.enterpriseGlobalId ?? null,
  }));
}

function searchOf({ items }: PlaceOrderDto, user: string | undefined): OrderSearch {
  const customers: Record<string, SoughtCustomer> = {};
  const deletions: Record<string, readonly Deletion[]> = {};
  const purchases: Record<string, readonly Bought[]> = {};
  for (const [index, item] of items.entries()) {
    const sequence = sequenceOf(item, index);
    const { enterpriseGlobalId, customerId, channelCustomerId } = item.customer;
    if (enterpriseGlobalId === undefined) customers[sequence] = { customerId, channelCustomerId };
    if (item.orderType === 'new_buy') purchases[sequence] = item.assets.flatMap(boughtOn);
    else deletions[sequence] = deletionsOf(item);
  }
  return {
    ...(user !== undefined && { user }),
    ...(Object.keys(purchases).length > 0 && { purchases }),
    ...(Object.keys(customers).length > 0 && { customers }),
    ...(Object.keys(deletions).length > 0 && { deletions }),
  };
}

/** The products and packages that a purchase puts on one asset, or on each asset that it names. The platform knows what is in a package. */
function boughtOn({ assetNums = [], products = [], merchandises = [] }: BoughtAssetDto): Bought[] {
  const count = Math.max(1, assetNums.length);
  return [
    ...products.flatMap(({ productUri, gmsPid, appKey, limitConcurrent: nodes }) => {
      const names = [productUri, gmsPid, appKey].filter((name) => name !== undefined);
      return names.length > 0 ? [{ names, nodes, count }] : [];
    }),
    ...merchandises.flatMap(({ merchandiseNum }) =>
      merchandiseNum === undefined ? [] : [{ names: [], merchandiseNum, count }],
    ),
  ];
}

function deletionsOf(item: DeleteAssetDto | DeleteProductDto): Deletion[] {
  return item.assets.map((asset: RevokedAssetDto | ReducedAssetDto) => ({
    assetNums: asset.assetNums,
    licenseOrderId: item.srcLicenseOrderId,
    named: item.orderType === 'delete_product' ? namedBy(asset) : undefined,
  }));
}
