import { ApiHeader } from '@nestjs/swagger';
import type { OperationPolicy } from '../../request/operation-policy.ts';
import type { ProblemSlug } from '../../problem/catalogue.ts';
import { header, type ResponseHeaders } from './headers.ts';

/** The OpenAPI parts of writes that must not run twice: the key's header, the responses to a repeated request, and their header. */

type Idempotency = NonNullable<OperationPolicy['idempotency']>;

export const idempotencyProblems: readonly ProblemSlug[] = ['request-in-progress', 'idempotency-key-reused'];

const REPLAYED: ResponseHeaders = {
  'Idempotent-Replayed': header(
    '`true` where this is the result of an earlier request, and nothing was sent',
  ),
};
const LOCATION: ResponseHeaders = { Location: header('The record of the order') };
/** The `Location` of problems, by the problem. An operation declares `outcome-unknown` itself only if it makes something whose URL is known. */
const LOCATIONS: Partial<Record<ProblemSlug, string>> = {
  'import-in-progress': 'The job that runs, of `import-in-progress`',
  'order-not-cancellable': 'The record of the order',
  'order-not-settleable': 'The record of the order',
  'outcome-unknown': 'What the request may have made, of `outcome-unknown`',
};
/** The statuses of problems that tell the effect of a keyed write. Only these problems are replayed. */
const OF_OUTCOMES = new Set([409, 422, 502, 504]);

export function idempotencyHeaders(
  idempotency: Idempotency | undefined,
  status: number,
): ResponseHeaders | undefined {
  if (idempotency === undefined) return undefined;
  // A scheduled order may have ended with any problem, and its repeat gets that problem.
  if (idempotency === 'order') return { ...REPLAYED, ...LOCATION };
  return status < 400 || OF_OUTCOMES.has(status) ? REPLAYED : undefined;
}

/** Returns the `Location` of those problems of a status that the operation declares itself. */
export function locationHeader(
  problems: readonly ProblemSlug[],
  own: readonly ProblemSlug[] = [],
): ResponseHeaders {
  const [description] = problems.flatMap((slug) => (own.includes(slug) && LOCATIONS[slug]) || []);
  return description === undefined ? {} : { Location: header(description) };
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
