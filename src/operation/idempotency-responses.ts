import { ApiHeader } from '@nestjs/swagger';
import type { OperationPolicy } from '../caller/operation-policy.ts';
import type { ProblemSlug } from '../problem/catalogue.ts';

/** What writes that must not run twice have beyond others: the key, the responses to its repetition, and what marks them. */

export type ResponseHeaders = Record<string, { description: string; schema: { type: 'string' } }>;
type Idempotency = NonNullable<OperationPolicy['idempotency']>;

export const idempotencyProblems: readonly ProblemSlug[] = ['request-in-progress', 'idempotency-key-reused'];

const REPLAYED: ResponseHeaders = {
  'Idempotent-Replayed': {
    description: '`true` where this is the result of an earlier request, and nothing was sent',
    schema: { type: 'string' },
  },
};
const LOCATION: ResponseHeaders = {
  Location: { description: 'The record of the order', schema: { type: 'string' } },
};
/** Of problems only those that tell what became of a write. */
const OF_OUTCOMES = new Set([409, 422, 502, 504]);

export function idempotencyHeaders(
  idempotency: Idempotency | undefined,
  status: number,
): ResponseHeaders | undefined {
  if (idempotency === undefined || (status >= 400 && !OF_OUTCOMES.has(status))) return undefined;
  // 200 of an order is the preview, which has no record.
  if (idempotency === 'order') return status === 200 ? undefined : { ...REPLAYED, ...LOCATION };
  return REPLAYED;
}

export function idempotencyParameter(
  idempotency: Idempotency,
  example: string | undefined,
): MethodDecorator & ClassDecorator {
  return ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    ...(example !== undefined && { example }),
    description:
      '16 to 255 of A-Z a-z 0-9 _ . : -, quoted or bare, new for each write: a repeated request with the same key gets the response of the first' +
      (idempotency === 'order'
        ? '. The number of an order always protects it as well, also without the key'
        : ''),
  });
}
