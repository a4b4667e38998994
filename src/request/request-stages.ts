import type { Hash } from 'node:crypto';
import { randomUUID } from 'node:crypto';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Span } from '@opentelemetry/api';
import { contextOf, traceContext, type TraceContext } from '../observability/tracing.ts';
import type { ActingUser, CallContext } from './call-context.ts';
import type { Caller } from './caller.ts';
import type { OperationPolicy } from './operation-policy.ts';

/**
 * The way of a request as one list: the data that each stage adds. A request passes a stage once, and no code changes what the stage has
 * added. `http/http.module.ts` puts the guards and the interceptor in this order, and `http/request-hooks.ts` the hooks around them.
 */
interface Stages {
  /** Hook: the headers of the request have arrived. */
  readonly arrived: {
    readonly requestId: string;
    readonly startedAt: number;
    readonly trace: TraceContext;
    /** Functions that run when the response is closed, even before it is complete. */
    readonly atEnd: (() => void)[];
  };
  /** Hook, before the body is read: the caller, within its limits. Public routes do not have this stage. */
  readonly identified: {
    readonly caller: Caller;
    /** The generation of a cached read. Redis is asked for it together with the rate of the caller. */
    readonly generation: CallContext['generation'];
  };
  /** Hook: the body is a file, of which nothing has been read yet. A body of JSON is in the request itself. */
  readonly parsed: { readonly file: RequestFile };
  /** `CallerGuard`: the declarations of the route. The caller has its scopes. A refused request has the stage too, for its log line. */
  readonly authorised: { readonly policy: OperationPolicy };
  /** `ValidationGuard`: path, query and body as instances of their DTO classes, without a fault. */
  readonly validated: {
    readonly parameters: readonly object[];
    readonly body: object | undefined;
    /** The key of an operation that accepts one (docs/api.md, section 4). Undefined if the caller sends none. */
    readonly idempotencyKey: string | undefined;
  };
  /**
   * `ActingUserGuard`: the user of the platform on whose behalf the gateway calls. It precedes the next stage, which reads lists as that
   * user.
   */
  readonly acting: { readonly user: ActingUser | undefined };
  /** `TenancyGuard`: all ids of the request are granted, and the arguments of the handler are ready. */
  readonly reached: {
    readonly call: CallContext;
    /** Looks up the ids that cannot be checked without the platform. The interceptor calls it. Undefined if there is nothing to look up. */
    readonly lookUp: (() => Promise<void>) | undefined;
  };
  /**
   * `WriteHandling`: a write that did not fail. `changedNothing` is what its policy says of the response. A read does not have this stage. The
   * hooks then add headers, log line, metrics and audit line.
   */
  readonly handled: { readonly changedNothing: boolean };
  /** The problem filter or a hook: the fields of the problem for the log line. */
  readonly failed: { readonly fields: Readonly<Record<string, string | number | boolean | undefined>> };
}

export class RequestStages implements Partial<Stages> {
  declare readonly identified?: Stages['identified'];
  declare readonly parsed?: Stages['parsed'];
  declare readonly authorised?: Stages['authorised'];
  declare readonly validated?: Stages['validated'];
  declare readonly acting?: Stages['acting'];
  declare readonly reached?: Stages['reached'];
  declare readonly handled?: Stages['handled'];
  declare readonly failed?: Stages['failed'];

  constructor(readonly arrived: Stages['arrived']) {}

  pass<Name extends Exclude<keyof Stages, 'arrived'>>(stage: Name, added: Stages[Name]): void {
    if (this[stage] !== undefined) throw new Error(`the request has passed the stage ${stage} before`);
    (this as Partial<Record<keyof Stages, object>>)[stage] = added;
  }

  /** Returns the data that a stage has added. Throws if the request has not passed it. */
  get<Name extends keyof Stages>(stage: Name): Stages[Name] {
    const added = this[stage] as Stages[Name] | undefined;
    if (!added) throw new Error(`the request has not passed the stage ${stage}`);
    return added;
  }
}

/** A file in the body of a request, of which nothing has been read yet. */
export interface RequestFile {
  readonly kind: 'csv' | 'ndjson';
  /** The length in bytes, as the request states it. Undefined if the request does not state it. */
  readonly length: number | undefined;
  /** The digest of the bytes that were read so far. */
  readonly digest: Hash;
  /**
   * Asks the client for the body, if it waits for that, and yields it. Rejects if the request is refused before all of it has come, or if it is
   * longer than a file may be.
   */
  chunks(): AsyncGenerator<Buffer>;
}

/** The headers of RFC 9745 and RFC 8594. */
export interface DeprecationHeaders {
  readonly deprecation: string;
  readonly sunset?: string;
}

/** The one declaration of the additions to requests and routes of Fastify. */
declare module 'fastify' {
  interface FastifyRequest {
    stages: RequestStages;
    /** The span of the request, if spans are collected. */
    span?: Span;
  }
  /** The declarations of `@Operation` for a route, before Nest knows its handler. */
  interface FastifyContextConfig {
    policy?: OperationPolicy;
    isCached?: boolean;
    takesFile?: boolean;
    /** True for a PATCH and its dry run: the body may be of the type of merge patches. */
    takesPatch?: boolean;
    deprecation?: DeprecationHeaders;
  }
}

const REQUEST_ID = /^[A-Za-z0-9_.:-]{1,64}$/;

export function beginStages({ headers, span }: FastifyRequest): RequestStages {
  const given = headers['x-request-id'];
  return new RequestStages({
    requestId: typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID(),
    startedAt: performance.now(),
    trace: span ? contextOf(span) : traceContext(headers),
    atEnd: [],
  });
}

function stagesOf(context: ExecutionContext): RequestStages {
  return context.switchToHttp().getRequest<FastifyRequest>().stages;
}

/** One header of the request. The OpenAPI document describes only the headers that the route declares. */
export const HeaderValue = createParamDecorator(
  (name: string, context: ExecutionContext): string | undefined => {
    const value = context.switchToHttp().getRequest<FastifyRequest>().headers[name];
    return typeof value === 'string' ? value : undefined;
  },
);

export const IdempotencyKey = createParamDecorator(
  (_: unknown, context: ExecutionContext): string | undefined =>
    stagesOf(context).get('validated').idempotencyKey,
);

export const UploadedFile = createParamDecorator(
  (_: unknown, context: ExecutionContext): RequestFile | undefined => stagesOf(context).parsed?.file,
);

/** The caller of an authorised request, as in the callers file. */
export const CurrentCaller = createParamDecorator(
  (_: unknown, context: ExecutionContext): Caller => stagesOf(context).get('identified').caller,
);

/** The call context of an authorised request, for a controller's parameter. */
export const Call = createParamDecorator(
  (_: unknown, context: ExecutionContext): CallContext => stagesOf(context).get('reached').call,
);
