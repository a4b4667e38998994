import { ApiHeader } from '@nestjs/swagger';
import type { OperationPolicy } from '../../request/operation-policy.ts';
import type { ProblemSlug } from '../../problem/catalogue.ts';

/** The OpenAPI parts of writes that must not run twice: the key's header, the responses to a repeated request, and their header. */

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
const RUNNING: ResponseHeaders = {
  Location: { description: 'The job that runs, of `import-in-progress`', schema: { type: 'string' } },
};
/** The statuses of problems that tell the effect of a write. Only these problems are replayed. */
const OF_OUTCOMES = new Set([409, 422, 502, 504]);

export function idempotencyHeaders(
  idempotency: Idempotency | undefined,
  status: number,
  problems: readonly ProblemSlug[] = [],
): ResponseHeaders | undefined {
  if (idempotency === undefined || (status >= 400 && !OF_OUTCOMES.has(status))) return undefined;
  if (idempotency === 'order') return { ...REPLAYED, ...LOCATION };
  if (problems.includes('import-in-progress')) return { ...REPLAYED, ...RUNNING };
  return problems.includes('order-not-settleable') ? { ...REPLAYED, ...LOCATION } : REPLAYED;
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
