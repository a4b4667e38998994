import { type Type } from '@nestjs/common';
import {
  ApiBody,
  ApiExtension,
  ApiHeader,
  ApiOperation,
  ApiResponse,
  type ApiResponseOptions,
  ApiSecurity,
  getSchemaPath,
} from '@nestjs/swagger';
import { type Deprecated, deprecationText } from '../deprecation.ts';
import { dryRunOf } from '../dry-run-route.ts';
import type { OperationPolicy } from '../../request/operation-policy.ts';
import type { ProblemSlug } from '../../problem/catalogue.ts';
import {
  modulePrefix,
  type OperationName,
  operations,
  type UpstreamOperation,
} from '../../upstream/operations.ts';
import { conditional, ETAG, header, type ResponseHeaders } from './headers.ts';
import {
  idempotencyHeaders,
  idempotencyParameter,
  idempotencyProblems,
  locationHeader,
} from './idempotency-responses.ts';
import { problemResponses, problemsOf } from './problem-responses.ts';
import {
  fileBody,
  type FileDoc,
  requestExamples,
  streamContent,
  type StreamDoc,
} from './request-examples.ts';

const AGE: ResponseHeaders = {
  Age: header('Seconds since the call to the platform, where the response was cached', 'integer'),
};
const LINK: ResponseHeaders = { Link: header('first, prev, next, last (RFC 8288)') };

export const API_KEY = 'apiKey';
export const BEARER = 'bearer';

/** The headers of the acting user on the platform. Without either, it is the alias `default` (docs/api.md, section 1). */
const userHeaders = [
  ApiHeader({
    name: 'X-Acting-User',
    required: false,
    description: 'Alias of a configured user; by default `default`',
  }),
  ApiHeader({
    name: 'X-Session-Id',
    required: false,
    description: 'A session of `createSession`, instead of an alias',
  }),
];

/** The header of an operation that needs a user for lookups, and not for its call of the platform. */
const lookupHeader = ApiHeader({
  name: 'X-Acting-User',
  required: false,
  description:
    'Alias of a configured user, as whom the gateway looks things up for this request, also later; if absent, the user whom the operator has ' +
    'named for the enterprise',
});

const LOCATION: ResponseHeaders = { Location: header('What the request made') };

export interface Success {
  readonly status: number;
  readonly description: string;
  readonly type?: Type;
  readonly streams?: readonly StreamDoc[];
  /** What a read streams in place of JSON where `Accept` asks for it. */
  readonly alsoStreams?: readonly StreamDoc[];
  readonly headers?: ResponseHeaders;
  /** Which later operations take what from this response. */
  readonly links?: Readonly<Record<string, { operationId: string; parameters: Record<string, string> }>>;
}

export interface OperationDescription {
  readonly summary: string;
  readonly description?: string;
  /** The platform's operation that this one calls. Its problems are problems of the operation. */
  readonly upstream?: OperationName;
  /** The platform's operation that is called after the response, if the operation itself calls none or another one. */
  readonly later?: OperationName;
  /** An `Idempotency-Key` for the example, if the platform would refuse the same request again. */
  readonly keyExample?: string;
  /** True if the response is a page, with a `Link` to other pages. */
  readonly paged?: boolean;
  /** Problems besides the common ones and those of the platform's operation. */
  readonly problems?: readonly ProblemSlug[];
  /** The statuses of success, the usual one first. */
  readonly success: readonly [Success, ...Success[]];
  readonly file?: FileDoc;
  readonly deprecated?: Deprecated;
  readonly body?: Type;
  /** True for the dry run of an order. It has the problems of the order, also those of a repeat. */
  readonly ofOrder?: boolean;
  /** The operation whose examples of requests are used. The default is the operation itself. */
  readonly examplesOf?: string;
}

type Decorators = MethodDecorator[];

export function described(spec: OperationDescription, policy: OperationPolicy): Decorators {
  const { operationId, scope, idempotency, actsAsUser } = policy;
  const upstream = spec.upstream && operations[spec.upstream];
  const shown = spec.later ? operations[spec.later] : upstream;
  const { description = '', deprecated, examplesOf = operationId } = spec;
  const about = deprecated ? `${deprecationText(deprecated)}\n\n${description}` : description;
  const repeats = spec.ofOrder ? 'order' : idempotency;
  const text = `${about}\n\nScope: ${scope === 'none' ? 'none' : `\`${scope}\``}`.trim();
  return [
    ApiOperation({
      operationId,
      summary: spec.summary,
      description: text,
      ...(deprecated && { deprecated: true }),
      ...(spec.file && { requestBody: fileBody(examplesOf, spec.file) }),
    }),
    // A caller sends a key or a token.
    ApiSecurity(API_KEY),
    ApiSecurity(BEARER),
    ...(shown ? [ApiExtension('x-upstream', upstreamRoute(shown))] : []),
    ...(actsAsUser ? userHeaders : []),
    ...(policy.looksUpAsUser ? [lookupHeader] : []),
    ...(idempotency ? [idempotencyParameter(idempotency, spec.keyExample)] : []),
    ...(policy.hasDryRun ? [ApiExtension('x-dry-run', dryRunOf(operationId))] : []),
    ...(policy.isDryRun ? [ApiExtension('x-dry-run-of', examplesOf)] : []),
    ...(spec.body
      ? [ApiBody({ type: spec.body, required: true, examples: requestExamples(examplesOf) })]
      : []),
    ...successResponses(spec, policy),
    ...problemResponses(
      [...problemsOf(spec.upstream), ...(repeats ? idempotencyProblems : []), ...(spec.problems ?? [])],
      (status, problems) => ({
        ...idempotencyHeaders(repeats, status),
        ...locationHeader(problems, policy.isDryRun ? [] : spec.problems),
      }),
    ),
  ];
}

function successResponses(spec: OperationDescription, policy: OperationPolicy): Decorators {
  const { operationId, handling, idempotency, actsAsUser, locationOf } = policy;
  if (handling === 'read') {
    const asksPlatform = spec.upstream !== undefined || actsAsUser === true;
    return readResponses(operationId, spec.success, { asksPlatform, paged: spec.paged ?? false });
  }
  return spec.success.map(({ streams, ...success }) =>
    ApiResponse({
      ...success,
      ...(streams && { content: streamContent(operationId, streams) }),
      headers: {
        ...idempotencyHeaders(idempotency, success.status),
        ...(locationOf && success.status !== 200 && LOCATION),
      },
    }),
  );
}

function upstreamRoute({ name, method, module, path }: UpstreamOperation): object {
  return { operation: name, method, path: modulePrefix[module] + path };
}

/** The OpenAPI parts of reads: `ETag` and 304, `Age` and `no-cache` where the platform is called, `Link` of pages. */
function readResponses(
  operationId: string,
  successes: readonly Success[],
  { asksPlatform, paged }: { asksPlatform: boolean; paged: boolean },
): Decorators {
  const headers = { ...ETAG, ...(asksPlatform && AGE), ...(paged && LINK) };
  return [
    ...conditional({ ...headers, ...successes[0]?.headers }),
    ...(asksPlatform
      ? [ApiHeader({ name: 'Cache-Control', required: false, description: '`no-cache` bypasses the cache' })]
      : []),
    ...successes.map((success) => ApiResponse(readResponse(operationId, success, headers))),
  ];
}

function readResponse(
  operationId: string,
  { alsoStreams, type, headers: own, ...success }: Success,
  headers: ResponseHeaders,
): ApiResponseOptions {
  const all = { ...success, headers: { ...headers, ...own } };
  if (!alsoStreams || !type) return { ...all, ...(type && { type }) };
  const json = { 'application/json': { schema: { $ref: getSchemaPath(type) } } };
  return { ...all, content: { ...json, ...streamContent(operationId, alsoStreams) } };
}
