/** Order operation 5: licence orders in batches, by the rules of section 4.1. */
import type { Call, Handler, World } from '../call.ts';
import { invalid, Refusal } from '../errors.ts';
import { newCustomer, newEmployee, newEnterprise } from '../state/creation.ts';
import type { Customer, LicenseOrder, OrderState, WaitingBatch } from '../state/records.ts';
import { type Batch, type Item, readBatch } from './batch-request.ts';
import { deleteAssets, deleteProducts } from './deletion.ts';
import { buy } from './purchase.ts';

/** An order with its item. */
interface Placed {
  readonly order: LicenseOrder;
  readonly customer: Customer;
  readonly item: Item;
}

/**
 * Carries out all items in their order, or none. There is no idempotency: the same `channelOrderId` sent twice places two orders, as the
 * platform may. An `async` batch is checked in the same way and makes its orders and customers at once; its purchases and deletions take
 * effect later.
 * @returns one item of section 2.6 for each order
 */
export const batchOrder: Handler = (call) => {
  const { state, clock, settings } = call;
  const batch = readBatch(call);
  const now = clock.now();
  const isNever = settings.profile.asyncOrders === 'never';
  const later = batch.syncMode === 'async' && (isNever || settings.asyncOrderMs > 0);
  const placed = batch.items.map((item) => place(call, batch, item, later ? 'waiting' : 'done'));
  const licenseOrderIds = placed.map(({ order }) => order.licenseOrderId);
  state.transaction(() => takeEffect(call, placed), !later);
  if (later) {
    const dueTime = isNever ? Number.MAX_SAFE_INTEGER : now + settings.asyncOrderMs;
    state.waitingBatches.put({ licenseOrderIds, items: batch.items, dueTime, waiting: true });
  }
  const { channelCode, channelOrderId } = batch;
  state.recordCommit({ channelCode, channelOrderId, at: now, licenseOrderIds });
  const { orderIds } = settings.profile;
  if (orderIds === 'later') return null;
  return placed.map(({ order, item }) => ({
    sequence: order.sequence,
    licenseOrderId:
      orderIds === 'always' || item.orderType === 'new_buy' ? shownId(call, placed, order) : null,
    customerId: order.customerId,
  }));
};

/** Returns the id of the item's licence order, or of the first one if the whole batch is one order. */
function shownId(
  { settings }: Pick<Call, 'settings'>,
  [first]: readonly Placed[],
  { licenseOrderId }: LicenseOrder,
) {
  return settings.profile.licenseOrders === 'batch' && first ? first.order.licenseOrderId : licenseOrderId;
}

/**
 * Lets every async batch take effect whose time has come, the earliest first, as of that time. A batch that has become impossible, for
 * example because its asset is gone, fails as a whole. An order that was set to `failed` in the meantime is left out.
 */
export function passTime(world: World): void {
  const { state, clock } = world;
  const due = state.waitingBatches.by('waiting', 'yes').filter(({ dueTime }) => dueTime <= clock.now());
  for (const batch of due.sort((a, b) => a.dueTime - b.dueTime)) finish(world, batch);
}

function finish(world: World, { licenseOrderIds, items, dueTime }: WaitingBatch): void {
  const { state } = world;
  const nothing = { parameters: {}, query: new URLSearchParams(), body: undefined, username: null };
  const call: Call = { ...world, ...nothing, clock: { now: () => dueTime } };
  const placed = (items as readonly Item[]).flatMap((item, index): Placed[] => {
    const order = state.orders.need(licenseOrderIds[index] ?? '');
    return order.state === 'waiting'
      ? [{ order, item, customer: state.customers.need(order.customerId) }]
      : [];
  });
  const failure = failureOf(() => state.transaction(() => takeEffect(call, placed)));
  const outcome: OrderState = failure === null ? 'done' : 'failed';
  for (const { order } of placed) state.orders.change(order.licenseOrderId, { state: outcome, failure });
  state.waitingBatches.change(licenseOrderIds.join(' '), { waiting: false });
}

function failureOf(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error.message;
  }
}

/** Finds or makes the customer, and records the order. */
function place(call: Call, batch: Batch, item: Item, state: OrderState): Placed {
  const customer = findCustomer(call, batch, item) ?? makeCustomer(call, batch, item);
  const order = call.state.orders.put({
    licenseOrderId: call.state.nextId('licenseOrder'),
    channelCode: batch.channelCode,
    channelOrderId: batch.channelOrderId,
    sequence: item.sequence,
    customerId: customer.customerId,
    licenseType: item.licenseType,
    orderType: item.orderType,
    srcLicenseOrderId: item.srcLicenseOrderId,
    syncMode: batch.syncMode,
    appKey: batch.appKey,
    state,
    failure: null,
    createTime: call.clock.now(),
  });
  return { order, customer, item };
}

function takeEffect(call: Call, placed: readonly Placed[]): void {
  for (const { order, customer, item } of placed) {
    if (item.orderType === 'new_buy')
      buy(call, { ...order, licenseOrderId: shownId(call, placed, order) }, customer, item);
    else if (item.orderType === 'delete_asset') deleteAssets(call, customer, item);
    else deleteProducts(call, customer, item);
  }
}

/**
 * Finds the customer of an item: by `customerId`, else `crmCustomerId`, else the batch's channel with `channelCustomerId`, else the default
 * customer of `enterpriseGlobalId`. A `customerId` or `enterpriseGlobalId` that does not exist is refused, as is a customer of another
 * enterprise than the named one. The other two may name a customer that the order creates.
 */
function findCustomer({ state }: Call, batch: Batch, item: Item): Customer | undefined {
  const { customerId, crmCustomerId, channelCustomerId, enterpriseGlobalId, path } = item;
  if (enterpriseGlobalId !== null && state.enterprises.get(enterpriseGlobalId) === undefined) {
    throw invalid(`${path}.enterpriseGlobalId is unknown`);
  }
  let customer: Customer | undefined;
  if (customerId !== null) {
    customer = state.customers.get(customerId);
    if (customer === undefined) throw invalid(`${path}.customerId is unknown`);
  } else if (crmCustomerId !== null || channelCustomerId !== null) {
    const known = crmCustomerId === null ? [] : state.customers.by('crm', crmCustomerId);
    customer = known.find(({ isDefault }) => isDefault) ?? known[0];
    if (customer === undefined && channelCustomerId !== null) {
      customer = state.customerOfChannel(batch.channelCode, channelCustomerId);
      if (crmCustomerId !== null && (customer?.crmCustomerId ?? null) !== null) {
        throw invalid(`${path}.channelCustomerId belongs to another crmCustomerId`);
      }
    }
  } else if (enterpriseGlobalId !== null) {
    customer = state.defaultCustomer(enterpriseGlobalId);
  }
  if (
    customer !== undefined &&
    enterpriseGlobalId !== null &&
    customer.enterpriseGlobalId !== enterpriseGlobalId
  ) {
    throw invalid(`${path}: the customer is not one of that enterprise`);
  }
  return customer;
}

/**
 * Makes the customer of an item. A new purchase may contain the data of a new customer (rule 1): a name and a CRM or channel number. The
 * customer is bound to the named enterprise. Without one, a company gets an enterprise of its own with an administrator, and a personal
 * customer gets none.
 */
function makeCustomer(call: Call, batch: Batch, item: Item): Customer {
  const { customerName, crmCustomerId, channelCustomerId, address, passwordMobile, path } = item;
  const numbered = crmCustomerId !== null || channelCustomerId !== null;
  if (item.orderType !== 'new_buy' || customerName === null || !numbered)
    throw invalid(`${path}: no such customer`);
  let enterpriseGlobalId = item.enterpriseGlobalId;
  if (enterpriseGlobalId === null && item.customerType === 'company') {
    const enterprise = newEnterprise(call, { name: customerName, address });
    newEmployee(call, enterprise, {
      account: item.adminAccount ?? 'admin',
      name: item.adminName ?? customerName,
      administrator: true,
      passwordMobile: item.adminCellNumber ?? passwordMobile,
    });
    enterpriseGlobalId = enterprise.globalId;
  }
  return newCustomer(call, {
    channelCode: batch.channelCode,
    channelCustomerId,
    crmCustomerId,
    customerName,
    customerType: item.customerType,
    branchName: item.branchName,
    address,
    passwordMobile,
    enterpriseGlobalId,
    isDefault: enterpriseGlobalId !== null && call.state.defaultCustomer(enterpriseGlobalId) === undefined,
  });
}
