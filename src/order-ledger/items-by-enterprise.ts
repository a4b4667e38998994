import type { SoughtCustomer } from '../upstream/platform-search.ts';
import type { OrderDetails, OrderedItem } from './ledger-record.ts';

/**
 * Groups items of an order by their enterprise. An item that names no enterprise belongs to the enterprise of its customer. Resolves to
 * undefined where the enterprise of an item is not known.
 */
export async function itemsByEnterprise(
  order: OrderDetails,
  items: readonly OrderedItem[],
  enterpriseOf: (customer: SoughtCustomer) => Promise<string | undefined>,
): Promise<ReadonlyMap<string, readonly OrderedItem[]> | undefined> {
  const grouped = new Map<string, OrderedItem[]>();
  const known = new Map<string, string | undefined>();
  for (const item of items) {
    const customer = item.enterpriseGlobalId === null ? customerOf(order, item) : undefined;
    const key = JSON.stringify(customer);
    if (customer && !known.has(key)) known.set(key, await enterpriseOf(customer));
    const enterprise = item.enterpriseGlobalId ?? known.get(key);
    if (enterprise === undefined) return undefined;
    grouped.set(enterprise, [...(grouped.get(enterprise) ?? []), item]);
  }
  return grouped;
}

/** Returns the customer that the order names, or that the platform named in its response; undefined where neither named one. */
function customerOf({ search, items }: OrderDetails, { sequence }: OrderedItem): SoughtCustomer | undefined {
  const { customerId, channelCustomerId } = search?.customers?.[sequence] ?? {};
  const named = items.find((item) => item.sequence === sequence)?.customerId ?? undefined;
  if (customerId === undefined && named === undefined && channelCustomerId === undefined) return undefined;
  return { customerId: customerId ?? named, channelCustomerId };
}
