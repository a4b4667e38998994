import { ProblemException } from '../problem/problem.exception.ts';
import type { ProblemBody } from '../problem/problem.exception.ts';
import type { LedgerRecord } from './ledger-record.ts';

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
    return new ProblemException('outcome-unknown', { status: 502, retryable: false, location, replayed });
  const { code, status, detail, outcome, retryable, upstream, errors } = kept;
  return new ProblemException(code, {
    status,
    detail,
    outcome,
    retryable,
    upstream,
    errors,
    location,
    replayed,
    cause,
  });
}
