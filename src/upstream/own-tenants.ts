import { type CallContext, isBound, isGranted, type IdKind } from '../request/call-context.ts';
import type { UpstreamOperation, OperationName } from './operations.ts';
import type { UpstreamRequest } from './upstream.exchange.ts';

/** A request names an enterprise or channel that was not granted to its caller, or an id that was not looked up for it. */
export class ForeignTenant extends Error {
  override readonly name = 'ForeignTenant';
}

/** The kind of each id in requests to the platform, by its field. `never`: a bound caller's request must not have the field. */
const KINDS: ReadonlyMap<string, IdKind | 'never'> = new Map([
  ['assetId', 'asset'],
  ['assetIDs', 'asset'],
  ['assetNos', 'assetNum'],
  ['assetNums', 'assetNum'],
  ['addAssets', 'assetNum'],
  ['deleteAssets', 'assetNum'],
  ['memberGlobalId', 'member'],
  ['customerId', 'customer'],
  ['channelCustomerId', 'channelCustomer'],
  ['crmCustomerId', 'never'],
  ['srcLicenseOrderId', 'order'],
]);

/**
 * Operations across enterprises. Either their scope reaches every enterprise (`customers:write`), or the gateway filters the results
 * (`queryCustomers`).
 */
const ACROSS_ENTERPRISES: ReadonlySet<OperationName> = new Set([
  'bindCustomer',
  'createEnterprise',
  'updateCustomer',
  'queryCustomers',
]);

/** Checks the ids that a caller may name once more, after the tenancy guard, in case a controller or mapper has a fault. */
export function assertOwnTenants(
  operation: UpstreamOperation,
  request: UpstreamRequest,
  context: CallContext,
): void {
  const { grants } = context.caller;
  const items = (request.body as { orderList?: readonly object[] } | undefined)?.orderList ?? [];
  for (const part of [request.ids, request.query, request.body, ...items]) {
    assertGranted(operation, grants.enterprises, part, 'enterpriseGlobalId');
    assertGranted(operation, grants.channels, part, 'channelCode');
  }
  if (!isBound(grants) || ACROSS_ENTERPRISES.has(operation.name)) return;
  for (const item of items)
    if (!('enterpriseGlobalId' in item && item.enterpriseGlobalId)) throw foreign(operation);
  for (const part of [request.ids, request.query, request.body]) assertLookedUp(operation, part, context);
}

function assertGranted(
  operation: UpstreamOperation,
  granted: ReadonlySet<string>,
  part: object | undefined,
  name: string,
): void {
  const id = part && (part as Record<string, unknown>)[name];
  if (typeof id === 'string' && !isGranted(granted, id)) throw foreign(operation, name);
}

/** Checks objects and lists at any depth, because packages contain products and other packages. */
function assertLookedUp(operation: UpstreamOperation, part: unknown, context: CallContext): void {
  if (typeof part !== 'object' || part === null) return;
  for (const [name, value] of Object.entries(part) as [string, unknown][]) {
    if (value === undefined || value === null) continue;
    const kind = kindOf(name, value);
    if (kind) assertOwn(operation, kind, value, context);
    else assertLookedUp(operation, value, context);
  }
}

/** Returns the kind of an id. In a loan `borrowedUsbKey` is a number; in an order it is a flag. */
function kindOf(name: string, value: unknown): IdKind | 'never' | undefined {
  return name === 'borrowedUsbKey' && typeof value === 'string' ? 'lentLock' : KINDS.get(name);
}

function assertOwn(
  operation: UpstreamOperation,
  kind: IdKind | 'never',
  value: unknown,
  { authorisedIds }: CallContext,
): void {
  for (const id of Array.isArray(value) ? (value as unknown[]) : [value]) {
    if (kind !== 'never' && typeof id === 'string' && authorisedIds?.has(kind, id)) continue;
    throw authorisedIds?.refusal ?? foreign(operation, kind);
  }
}

function foreign(operation: UpstreamOperation, name = 'enterpriseGlobalId'): ForeignTenant {
  return new ForeignTenant(`${operation.name} names a ${name} that is not the caller's`);
}
