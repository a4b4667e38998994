import { ApiHeader } from '@nestjs/swagger';
import type { OperationPolicy } from '../caller/operation-policy.ts';
import type { ProblemSlug } from '../problem/catalogue.ts';

/** What writes that run once have beyond other operations: the key, the answers to its repetition, and what marks them. */

export type ResponseHeaders = Record<string, { description: string; schema: { type: 'string' } }>;
type Once = NonNullable<OperationPolicy['once']>;

export const onceProblems: readonly ProblemSlug[] = ['request-in-progress', 'idempotency-key-reused'];

const REPLAYED: ResponseHeaders = {
  'Idempotent-Replayed': {
    description: '`true` where this is the answer to an earlier request, and nothing was sent',
    schema: { type: 'string' },
  },
};
const LOCATION: ResponseHeaders = {
  Location: { description: 'The record of the order', schema: { type: 'string' } },
};
/** Of problems only those that tell what became of a write. */
const TOLD = new Set([409, 422, 502, 504]);

export function onceHeaders(once: Once | undefined, status: number): ResponseHeaders | undefined {
  if (once === undefined || (status >= 400 && !TOLD.has(status))) return undefined;
  // 200 of an order is the preview, which has no record.
  if (once === 'order') return status === 200 ? undefined : { ...REPLAYED, ...LOCATION };
  return REPLAYED;
}

export function onceParameter(once: Once): MethodDecorator & ClassDecorator {
  return ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      '16 to 255 of A-Z a-z 0-9 _ . : -, quoted or bare, new for each write: a repeat with the same key gets the answer to the first' +
      (once === 'order'
        ? '. An order is guarded by its number as well, whether or not the key is there'
        : ''),
  });
}
