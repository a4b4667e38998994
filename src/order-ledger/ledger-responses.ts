import { ProblemException } from '../problem/problem.exception.ts';
import type { ProblemBody } from '../problem/problem.exception.ts';
import type { LedgerRecord } from './ledger-record.ts';

/** Of an order; of other writes the problem's own text says what to do. */
const IN_DOUBT =
  'The order was sent, and whether it was placed is not known. Do not send it under another number, since it may be placed already: ' +
  'the record at `Location` says what became of it, and the same number is never placed twice.';

/** Where the record of an order can be read; undefined for other writes. */
export function locationOf({ details: { order } }: LedgerRecord): string | undefined {
  return (
    order &&
    `/v1/license-orders/${encodeURIComponent(order.channelCode)}/${encodeURIComponent(order.channelOrderId)}`
  );
}

/** The response to a write that failed, now (`replayed` false) or earlier (docs/api.md, section 3). */
export function problemFor(record: LedgerRecord, replayed = true, cause?: unknown): ProblemException {
  const location = locationOf(record);
  if (record.state === 'sending')
    return new ProblemException('request-in-progress', { retryAfter: 1, location });
  const kept = record.details.answer?.body as ProblemBody | undefined;
  // The lease ended, so the replica that sent the write can no longer record its outcome.
  if (!kept)
    return new ProblemException('outcome-unknown', {
      status: 502,
      retryable: false,
      detail: location && IN_DOUBT,
      location,
      replayed,
    });
  const { code, status, detail, outcome, retryable, upstream, errors } = kept;
  return new ProblemException(code, {
    status,
    detail: detail ?? (location && code === 'outcome-unknown' ? IN_DOUBT : undefined),
    outcome,
    retryable,
    upstream,
    errors,
    location,
    replayed,
    cause,
  });
}
