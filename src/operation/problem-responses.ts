import { ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { problemDefinition, type ProblemSlug } from '../problem/catalogue.ts';
import { ProblemDto } from '../problem/problem.dto.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { upstreamCodes } from '../upstream/problems/upstream-codes.ts';
import type { ResponseHeaders } from './idempotency-responses.ts';
import { type OperationName, operations } from '../upstream/operations.ts';

/** The problems of every operation. */
export const OF_ANY_REQUEST: readonly ProblemSlug[] = [
  'validation-failed',
  'not-acceptable',
  'uri-too-long',
  'too-many-requests',
  'headers-too-large',
  'internal-error',
  'dependency-unavailable',
];
const ALWAYS: readonly ProblemSlug[] = ['unauthenticated', 'forbidden', ...OF_ANY_REQUEST];
const WITH_BODY: readonly ProblemSlug[] = ['payload-too-large', 'unsupported-media-type'];
const UPSTREAM: readonly ProblemSlug[] = [
  'upstream-credential-rejected',
  'upstream-unmapped-error',
  'upstream-contract-violation',
  'upstream-unavailable',
];

const problem = 'application/problem+json';

/** Every problem that an operation can answer with which calls this operation of the platform. */
export function problemsOf(upstream: OperationName | undefined, hasBody: boolean): ProblemSlug[] {
  const own = [...ALWAYS, ...(hasBody ? WITH_BODY : [])];
  if (!upstream) return own;
  const read = operations[upstream].effect === 'read';
  return [
    ...own,
    ...[...upstreamCodes.values()].filter((code) => code.of.includes(upstream)).map((code) => code.slug),
    ...UPSTREAM,
    read ? 'upstream-timeout' : 'outcome-unknown',
  ];
}

/** One response for each status, with one example for each problem; `default` covers undocumented codes of the platform. */
export function problemResponses(
  slugs: readonly ProblemSlug[],
  headersOf: (status: number) => ResponseHeaders | undefined = () => undefined,
): MethodDecorator[] {
  const byStatus = Map.groupBy(
    [...new Set(slugs)].flatMap((slug) =>
      problemDefinition(slug).statuses.map((status) => ({ slug, status })),
    ),
    ({ status }) => status,
  );
  const schema = { $ref: getSchemaPath(ProblemDto) };
  const declared = [...byStatus].map(([status, entries]) => {
    const examples = Object.fromEntries(entries.map(({ slug }) => [slug, example(slug, status)]));
    const description = entries.map(({ slug }) => problemDefinition(slug).title).join('; ');
    return ApiResponse({
      status,
      description,
      headers: headersOf(status),
      content: { [problem]: { schema, examples } },
    });
  });
  return [
    ...declared,
    ApiResponse({ status: 'default', description: 'Any other problem', content: { [problem]: { schema } } }),
  ];
}

function example(slug: ProblemSlug, status: number): { summary: string; value: object } {
  const answer = new ProblemException(slug, {
    status,
    errors:
      slug === 'validation-failed'
        ? [{ pointer: '/channelCode', detail: 'is not a known field' }]
        : undefined,
  }).answer('example-1');
  // As it is sent: without absent members.
  return { summary: answer.title, value: JSON.parse(JSON.stringify(answer)) as object };
}
