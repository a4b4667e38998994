import type { Hash } from 'node:crypto';
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Span } from '@opentelemetry/api';
import { contextOf, traceContext, type TraceContext } from '../observability/tracing.ts';
import type { ActingUser, CallContext } from './call-context.ts';
import type { Caller } from './caller.ts';
import type { OperationPolicy } from './operation-policy.ts';

/**
 * The way of a request as one list: what each stage adds to what the gateway knows. A stage is passed once, and nobody changes what it has
 * added. `http/http.module.ts` puts the guards and the interceptor in this order, `http/request-hooks.ts` the hooks around them.
 */
interface Stages {
  /** Hook: the headers of the request are here. */
  readonly arrived: {
    readonly requestId: string;
    readonly startedAt: number;
    readonly trace: TraceContext;
    /** What is undone when the response is closed, also before it is complete. */
    readonly atEnd: (() => void)[];
  };
  /** Hook, before the body is read: who calls, within its limits. Public routes do not have this stage. */
  readonly identified: {
    readonly caller: Caller;
    /** Of a cached read: Redis is asked for it together with the rate of the caller. */
    readonly generation: CallContext['generation'];
  };
  /** Hook: the body is a file, of which nothing has been read yet. A body of JSON is the request's. */
  readonly parsed: { readonly file: RequestFile };
  /** `CallerGuard`: what the route declares, and that the caller has its scopes. Also a refused request has the stage, for its log line. */
  readonly authorised: { readonly policy: OperationPolicy };
  /** `ValidationGuard`: path, query and body as instances of their DTO classes, without a fault. */
  readonly validated: {
    readonly parameters: readonly object[];
    readonly body: object | undefined;
    /** Of an operation that takes one (docs/api.md, section 4); undefined where the caller sends none. */
    readonly idempotencyKey: string | undefined;
  };
  /** `ActingUserGuard`: the user of the platform on whose behalf the gateway calls. Before the next stage, which reads lists as that user. */
  readonly acting: { readonly user: ActingUser | undefined };
  /** `TenancyGuard`: all that the request names is granted, and what the handler gets. */
  readonly reached: {
    readonly call: CallContext;
    /** Looks up what cannot be decided without the platform; the interceptor calls it. Undefined where nothing is left to look up. */
    readonly lookUp: (() => Promise<void>) | undefined;
  };
  // `UpstreamErrorInterceptor` handles the request. The hooks then add headers, log line, metrics and audit line.
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
  declare readonly failed?: Stages['failed'];

  constructor(readonly arrived: Stages['arrived']) {}

  pass<Name extends Exclude<keyof Stages, 'arrived'>>(stage: Name, added: Stages[Name]): void {
    if (this[stage] !== undefined) throw new Error(`the request has passed the stage ${stage} before`);
    (this as Partial<Record<keyof Stages, object>>)[stage] = added;
  }

  /** What a stage has added. Throws where the request has not passed it. */
  get<Name extends keyof Stages>(stage: Name): Stages[Name] {
    const added = this[stage] as Stages[Name] | undefined;
    if (!added) throw new Error(`the request has not passed the stage ${stage}`);
    return added;
  }
}

/** A file in the body of a request, of which nothing has been read yet. */
export interface RequestFile {
  readonly kind: 'csv' | 'ndjson';
  /** In bytes, as the request says; undefined where it does not say it. */
  readonly length: number | undefined;
  /** The digest of the bytes that were read so far; the reader adds them. */
  readonly digest: Hash;
  /** Asks the client for the body where it waits for that. The reader must not destroy the stream, because the response uses its connection. */
  open(): Readable;
}

/** RFC 9745 and RFC 8594. */
export interface DeprecationHeaders {
  readonly deprecation: string;
  readonly sunset?: string;
}

/** The one declaration of what requests and routes of Fastify have in addition. */
declare module 'fastify' {
  interface FastifyRequest {
    stages: RequestStages;
    /** Set where spans are collected. */
    span?: Span;
  }
  /** What `@Operation` says of a route before its handler is known to Nest. */
  interface FastifyContextConfig {
    isCached?: boolean;
    takesFile?: boolean;
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

/** One header of the request. The OpenAPI document says about it only what the route declares. */
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
