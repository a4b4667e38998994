import { type LedgerRecord, unsettled } from '../order-ledger/ledger-record.ts';
import type { OrderRecordDto } from './dto/order-record.dto.ts';

/** Converts the ledger's record of an order for callers. */
export function toOrderRecord({ state, submittedAt, settledAt, details }: LedgerRecord): OrderRecordDto {
  const { order } = details;
  if (!order) throw new Error('a write that is no order has no order record');
  const placed = new Map(order.items.map((item) => [item.sequence, item]));
  return {
    channelCode: order.channelCode,
    channelOrderId: order.channelOrderId,
    state,
    syncMode: order.syncMode,
    items: order.ordered.map(({ sequence, orderType, enterpriseGlobalId }) => {
      const item = placed.get(sequence);
      const licenseOrderId = item?.licenseOrderId ?? null;
      return {
        sequence,
        orderType,
        enterpriseGlobalId,
        licenseOrderId,
        customerId: item?.customerId ?? null,
      };
    }),
    submittedAt: new Date(submittedAt).toISOString(),
    settledAt: settledAt === null || unsettled.includes(state) ? null : new Date(settledAt).toISOString(),
    reason: order.reason,
  };
}
