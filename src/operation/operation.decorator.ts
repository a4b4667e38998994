import { applyDecorators, HttpCode, SetMetadata, type Type } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import {
  ApiBody,
  ApiExtension,
  ApiHeader,
  ApiOperation,
  ApiResponse,
  type ApiResponseOptions,
  ApiSecurity,
} from '@nestjs/swagger';
import { OPERATION_POLICY, type OperationPolicy } from '../caller/operation-policy.ts';
import type { Scope } from '../caller/scopes.ts';
import type { ProblemSlug } from '../problem/catalogue.ts';
import {
  modulePrefix,
  type OperationName,
  operations,
  type UpstreamOperation,
} from '../upstream/operations.ts';
import {
  idempotencyHeaders,
  idempotencyParameter,
  idempotencyProblems,
  type ResponseHeaders,
} from './idempotency-responses.ts';
import { problemResponses, problemsOf } from './problem-responses.ts';
import {
  fileBody,
  type FileDoc,
  requestExamples,
  streamContent,
  type StreamDoc,
} from './request-examples.ts';

type Headers = Record<string, { description: string; schema: { type: 'string' | 'integer' } }>;

const ETAG: Headers = { ETag: { description: 'Entity tag of the content', schema: { type: 'string' } } };
const AGE: Headers = {
  Age: {
    description: 'Seconds since the call to the platform, where the response was cached',
    schema: { type: 'integer' },
  },
};
const LINK: Headers = {
  Link: { description: 'first, prev, next, last (RFC 8288)', schema: { type: 'string' } },
};

export const API_KEY = 'apiKey';
export const BEARER = 'bearer';

/** The acting user on the platform; without either header the alias `default` (docs/api.md, section 1). */
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

const LOCATION: ResponseHeaders = {
  Location: { description: 'What the request made', schema: { type: 'string' } },
};

interface Success {
  readonly status: number;
  readonly description: string;
  readonly type?: Type;
  /** A response that is a stream: its media types. */
  readonly streams?: readonly StreamDoc[];
  /** Which later operations take what from this response. */
  readonly links?: Readonly<Record<string, { operationId: string; parameters: Record<string, string> }>>;
}

type Policies = Pick<
  OperationPolicy,
  'alsoScopes' | 'idempotency' | 'answersRepeats' | 'looksUpAsUser' | 'locationOf'
>;

export interface OperationSpec extends Policies {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** A read has an `ETag` and may be cached; a write may have an `Idempotency-Key`, and drops what is cached. */
  readonly effect: 'read' | 'write';
  /** `none`: any caller may have it. */
  readonly scope: Scope | 'none';
  /** The platform's operation behind it, where there is one. */
  readonly upstream?: OperationName;
  /** The platform's operation that is called after the response, where the operation itself calls none or another. */
  readonly later?: OperationName;
  /** Whether the platform is called on behalf of a user; default: if the operation behind it is a member operation. */
  readonly actsAsUser?: boolean;
  /** How long a response of a read may be cached; default: as configured where the platform is called, else not at all. */
  readonly cacheMs?: number;
  /** A read whose response must not be stored, not even by the caller: it has no `ETag`. */
  readonly noStore?: boolean;
  /** An `Idempotency-Key` for the example, where the platform would refuse the same request again. */
  readonly keyExample?: string;
  /** Whether the response is a page, with a `Link` to other pages. */
  readonly paged?: boolean;
  /** Problems besides the common ones and those of the platform's operation. */
  readonly problems?: readonly ProblemSlug[];
  /** The statuses of success, the usual one first. */
  readonly success: readonly [Success, ...Success[]];
  /** The body is a file. */
  readonly file?: FileDoc;
  /** The class of the body. */
  readonly body?: Type;
}

/**
 * All that a route declares: which callers may use it, what the OpenAPI document says about it, every problem of its responses, and the
 * platform's operation behind it.
 */
export function Operation(spec: OperationSpec): MethodDecorator {
  const upstream = spec.upstream && operations[spec.upstream];
  const shown = spec.later ? operations[spec.later] : upstream;
  const actsAsUser = spec.actsAsUser ?? upstream?.module === 'member';
  const streams = spec.success[0].streams;
  const read = spec.effect === 'read' && !spec.noStore && !streams;
  const cacheMs = spec.cacheMs ?? (upstream ? undefined : 0);
  const { scope, alsoScopes, idempotency, answersRepeats, looksUpAsUser, locationOf } = spec;
  const policy: OperationPolicy = {
    ...{ scope, alsoScopes, idempotency, answersRepeats, looksUpAsUser, locationOf },
    operationId: spec.id,
    handling: streams ? 'stream' : read ? 'read' : spec.effect === 'write' ? 'write' : 'plain',
    actsAsUser,
    cacheMs,
    streams: streams?.map(({ type }) => type),
    takesFile: spec.file !== undefined,
  };
  return applyDecorators(
    SetMetadata(OPERATION_POLICY, policy),
    HttpCode(spec.success[0].status),
    ApiOperation({
      operationId: spec.id,
      summary: spec.summary,
      description:
        `${spec.description ?? ''}\n\nScope: ${spec.scope === 'none' ? 'none' : `\`${spec.scope}\``}`.trim(),
      ...(spec.file && { requestBody: fileBody(spec.id, spec.file) }),
    }),
    // The body is not read before the handler.
    ...(spec.file ? [RouteConfig({ takesFile: true })] : []),
    // Either of the two.
    ApiSecurity(API_KEY),
    ApiSecurity(BEARER),
    ...(shown ? [ApiExtension('x-upstream', upstreamRoute(shown))] : []),
    ...(actsAsUser ? userHeaders : []),
    ...(spec.idempotency ? [idempotencyParameter(spec.idempotency, spec.keyExample)] : []),
    ...(spec.body ? [ApiBody({ type: spec.body, required: true, examples: requestExamples(spec.id) })] : []),
    ...(read ? [RouteConfig({ isCached: cacheMs !== 0 })] : []),
    ...(read
      ? readResponses(spec.success, {
          asksPlatform: upstream !== undefined || actsAsUser,
          paged: spec.paged ?? false,
        })
      : spec.success.map(({ streams: media, ...success }) =>
          ApiResponse({
            ...success,
            ...(media && { content: streamContent(spec.id, media) }),
            headers: {
              ...idempotencyHeaders(spec.idempotency, success.status),
              ...(spec.locationOf && success.status !== 200 && LOCATION),
            },
          }),
        )),
    ...problemResponses(
      [
        ...problemsOf(spec.upstream),
        ...(spec.idempotency ? idempotencyProblems : []),
        ...(spec.problems ?? []),
      ],
      (status, problems) => idempotencyHeaders(spec.idempotency, status, problems),
    ),
  );
}

function upstreamRoute({ name, method, module, path }: UpstreamOperation): object {
  return { operation: name, method, path: modulePrefix[module] + path };
}

/** A route that needs no caller: health, problems. A test has the list of these routes. */
export function PublicOperation(
  id: string,
  summary: string,
  description: string,
  problems: readonly ProblemSlug[] = [],
): MethodDecorator {
  const policy: OperationPolicy = { operationId: id, scope: 'public', handling: 'plain' };
  return applyDecorators(
    SetMetadata(OPERATION_POLICY, policy),
    ApiOperation({ operationId: id, summary, description, security: [] }),
    ...problemResponses(problems),
  );
}

/** The OpenAPI parts of reads: `ETag` and 304, `Age` and `no-cache` where the platform is called, `Link` of pages. */
function readResponses(
  successes: readonly ApiResponseOptions[],
  { asksPlatform, paged }: { asksPlatform: boolean; paged: boolean },
): (MethodDecorator & ClassDecorator)[] {
  const headers = { ...ETAG, ...(asksPlatform && AGE), ...(paged && LINK) };
  return [
    ApiHeader({ name: 'If-None-Match', required: false, description: 'An `ETag`: 304 while it is the same' }),
    ...(asksPlatform
      ? [ApiHeader({ name: 'Cache-Control', required: false, description: '`no-cache` bypasses the cache' })]
      : []),
    ...successes.map((success) => ApiResponse({ ...success, headers })),
    ApiResponse({ status: 304, description: 'The content still has the `ETag` in `If-None-Match`', headers }),
  ];
}
