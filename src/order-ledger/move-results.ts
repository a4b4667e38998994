import type { Details, LedgerRecord, State } from './ledger-record.ts';
import type { Move } from './write-steps.ts';

/** The reason of a due order that was not sent and that is in doubt nevertheless. */
const NOT_RECORDED =
  'The order was not sent at its time, and the gateway could not record this before the lease of the order ended.';
/** The results of the platform, which must not be lost. "Not sent" and "in doubt" may be lost, because the end of the lease says as much. */
export const RESULTS: ReadonlySet<State> = new Set(['succeeded', 'accepted', 'incomplete', 'rejected']);

/** Whether the record has all items of these details, or knows none: a number that was freed may belong to another order now. */
export function hasItems(record: LedgerRecord, details: Details | undefined): boolean {
  const known = itemsOf(record.details);
  return known.length === 0 || itemsOf(details).every((item) => known.includes(item));
}

/** An order in doubt does not wait again: its lease ended before the gateway could record that the order was not sent. */
export function notSent({ details, ...move }: Move): Move {
  const order = details?.order && { ...details.order, reason: NOT_RECORDED };
  return { ...move, to: 'not_sent', ...(details && { details: { ...details, order } }) };
}

function itemsOf(details: Details | undefined): string[] {
  return (details?.order?.items ?? []).map(({ licenseOrderId }) => licenseOrderId);
}

export function resultFields({ name, to, details }: Move): Record<string, string> {
  return { write: name, found: to, licenseOrderIds: itemsOf(details).join() };
}
