import { randomUUID } from 'node:crypto';
import { type OrderDetails, orderName } from '../../src/order-ledger/ledger-record.ts';
import type { Begin } from '../../src/order-ledger/write-steps.ts';

/** An order as the order ledger keeps it. */
export function ledgerOrder(channelOrderId: string, given: Partial<OrderDetails> = {}): OrderDetails {
  return {
    ...{ channelCode: 'crm', channelOrderId, syncMode: 'sync', ordered: [], items: [], reason: null },
    ...given,
  };
}

/** What begins an order in the order ledger. */
export function ledgerBegin(channelOrderId: string, given: Partial<Begin> = {}): Begin {
  return {
    name: orderName('crm', channelOrderId),
    owner: randomUUID(),
    fingerprints: ['k1:payload'],
    leaseMs: 60_000,
    details: { caller: 'billing', order: ledgerOrder(channelOrderId) },
    ...given,
  };
}
