import { SetMetadata } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { problemDefinition, problemSlugs, problemType, type ProblemSlug } from '../../problem/catalogue.ts';
import { ProblemDto } from '../../problem/problem.dto.ts';
import { type ProblemBody, ProblemException } from '../../problem/problem.exception.ts';
import { upstreamCodes } from '../../upstream/problems/upstream-codes.ts';
import type { ResponseHeaders } from './headers.ts';
import { type OperationName, operations } from '../../upstream/operations.ts';

/** Problems that are not particular to an operation. The document has them once, which makes it a third as long. */
const commonProblems: Readonly<Record<string, readonly ProblemSlug[]>> = {
  all: [
    'validation-failed',
    'not-acceptable',
    'uri-too-long',
    'too-many-requests',
    'headers-too-large',
    'internal-error',
    'dependency-unavailable',
    'overloaded',
  ],
  'with a key or a token': ['unauthenticated', 'forbidden'],
  'with a body': ['payload-too-large', 'unsupported-media-type'],
  'on behalf of a user of the platform': ['user-required', 'session-expired'],
  'that call the platform': [
    'upstream-credential-rejected',
    'upstream-unmapped-error',
    'upstream-contract-violation',
    'upstream-unavailable',
    'upstream-timeout',
    'maintenance',
  ],
};
const common = Object.values(commonProblems).flat();

/** Returns the operations that may have a problem that is particular to none, as words after "operations". Undefined for other problems. */
export function commonTo(slug: ProblemSlug): string | undefined {
  return Object.entries(commonProblems).find(([, slugs]) => slugs.includes(slug))?.[0];
}

const problem = 'application/problem+json';
const schema = { $ref: getSchemaPath(ProblemDto) };

export function problemsOf(upstream: OperationName | undefined): ProblemSlug[] {
  if (!upstream) return [];
  const refusals = [...upstreamCodes.values()].filter((code) => code.of.includes(upstream));
  const lost = operations[upstream].effect === 'read' ? [] : (['outcome-unknown'] as const);
  // By a code that the platform's profile teaches, the platform may refuse any operation.
  return [...refusals.map(({ slug }) => slug), 'upstream-rejected', ...lost];
}

const OWN_PROBLEMS = 'own-problems';

export function ownProblemsOf(handler: object): readonly ProblemSlug[] {
  return (Reflect.getMetadata(OWN_PROBLEMS, handler) as readonly ProblemSlug[] | undefined) ?? [];
}

/** Returns one response for each status of the operation's own problems, with all problems of that status. */
export function problemResponses(
  slugs: readonly ProblemSlug[],
  headersOf: (status: number, problems: readonly ProblemSlug[]) => ResponseHeaders | undefined = () =>
    undefined,
): MethodDecorator[] {
  const own = slugs.filter((slug) => !common.includes(slug));
  const statuses = new Set(own.flatMap((slug) => problemDefinition(slug).statuses));
  const responses = [...statuses].map((status) => {
    const here = [...new Set([...own, ...common])].filter((slug) =>
      problemDefinition(slug).statuses.includes(status),
    );
    return ApiResponse({
      status,
      description: here.map(titleOf).join('; '),
      headers: headersOf(status, here),
      content: { [problem]: { schema, examples: examplesOf(here.map((slug) => ({ slug, status }))) } },
    });
  });
  return [SetMetadata(OWN_PROBLEMS, own), ...responses];
}

/** Adds the response `default` of every operation, and an example of each problem to the document. */
export function addCommonProblems(document: OpenAPIObject): void {
  const examples = examplesOf(common.map((slug) => ({ slug, status: problemDefinition(slug).statuses[0] })));
  for (const path of Object.values(document.paths))
    for (const { responses } of Object.values(path as object) as { responses: Record<string, object> }[])
      responses['default'] = { $ref: '#/components/responses/Problem' };
  document.components = {
    ...document.components,
    responses: {
      Problem: {
        description: 'A problem that is not particular to the operation; `code` tells which',
        content: { [problem]: { schema, examples } },
      },
    },
  };
  const used = JSON.stringify(document);
  const all = problemSlugs.flatMap((slug) =>
    problemDefinition(slug).statuses.map(
      (status) => [exampleName(slug, status), example(slug, status)] as const,
    ),
  );
  document.components.examples = Object.fromEntries(
    all.filter(([name]) => used.includes(`"#/components/examples/${name}"`)),
  );
}

/** The problems of any request, for the introduction of the document. */
export const commonProblemsText = `## Problems of any operation

They are the response \`default\` of every operation; an operation lists only its own beside it.

| operations | problems |
| --- | --- |
${Object.entries(commonProblems)
  .map(
    ([of, slugs]) => `| ${of} | ${slugs.map((slug) => `${statusesOf(slug)} ${linkOf(slug)}`).join(', ')} |\n`,
  )
  .join('')}`;

function linkOf(slug: ProblemSlug): string {
  return `[\`${slug}\`](${problemType(slug)})`;
}

function titleOf(slug: ProblemSlug): string {
  return `${linkOf(slug)}: ${problemDefinition(slug).title}`;
}

function statusesOf(slug: ProblemSlug): string {
  return problemDefinition(slug).statuses.join(' or ');
}

function examplesOf(
  problems: readonly { slug: ProblemSlug; status: number }[],
): Record<string, { $ref: string }> {
  return Object.fromEntries(
    problems.map(({ slug, status }) => [
      slug,
      { $ref: `#/components/examples/${exampleName(slug, status)}` },
    ]),
  );
}

function exampleName(slug: ProblemSlug, status: number): string {
  return problemDefinition(slug).statuses.length === 1 ? slug : `${slug}-${status}`;
}

function example(slug: ProblemSlug, status: number): { summary: string; value: object } {
  const sent = exampleOf(slug, status);
  // JSON leaves out absent members, as the response does.
  return { summary: sent.title, value: JSON.parse(JSON.stringify(sent)) as object };
}

/** Returns the body of such a problem, as the document and its page show it. */
export function exampleOf(slug: ProblemSlug, status: number): ProblemBody {
  return new ProblemException(slug, {
    status,
    errors:
      slug === 'validation-failed'
        ? [{ pointer: '/channelCode', detail: 'is not a known field' }]
        : undefined,
    conflicts:
      slug === 'asset-assigned-twice'
        ? [{ assetNum: '8000001002', memberGlobalId: 'mem-harbour-anna' }]
        : undefined,
    fields: slug === 'edit-would-lose' ? ['passwordMobile'] : undefined,
    resetsAt: slug === 'budget-exhausted' ? '2026-12-01T00:00:00.000Z' : undefined,
    oldest: slug === 'events-expired' ? '000000000000001' : undefined,
  }).bodyFor('example-1');
}
