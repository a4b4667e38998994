import type { LedgerRecord } from '../order-ledger/ledger-record.ts';
import { type Grants, isGranted } from '../upstream/call-context.ts';
import { isBound } from '../upstream/tenancy.ts';

/** Whether a caller may see the record of an order: its channel and every enterprise of its items are granted. */
export function isVisible({ details: { order } }: LedgerRecord, grants: Grants): boolean {
  if (!order || !isGranted(grants.channels, order.channelCode)) return false;
  if (!isBound(grants)) return true;
  return order.ordered.every(
    ({ enterpriseGlobalId }) => enterpriseGlobalId !== null && grants.enterprises.has(enterpriseGlobalId),
  );
}
