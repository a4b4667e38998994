import type { Hash } from 'node:crypto';
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Span } from '@opentelemetry/api';
import { traceContext, type TraceContext } from '../observability/trace-context.ts';
import { contextOf } from '../observability/tracing.ts';
import type { AskedGenerations, CallContext } from '../upstream/call-context.ts';
import type { Caller } from '../caller/callers-file.ts';
import type { OperationPolicy } from '../caller/operation-policy.ts';

/** A file in the body of a request, of which nothing has been read yet. */
export interface RequestFile {
  readonly kind: 'csv' | 'ndjson';
  /** As the request names it; undefined where it does not. */
  readonly length: number | undefined;
  /** Of the bytes that were read so far; the reader adds them. */
  readonly digest: Hash;
  /** Asks the client for the body where it waits for that. The reader must not destroy the stream, because the response uses its connection. */
  open(): Readable;
}

/** What the gateway knows about a request besides HTTP; made when the request arrives. */
export interface RequestState {
  readonly requestId: string;
  readonly startedAt: number;
  readonly trace: TraceContext;
  /** What is undone when the response is closed, also before it is complete. */
  readonly atEnd: (() => void)[];
  /** Set when the caller is known; never on public routes. */
  caller?: Caller;
  /** The operation id of the route, when it is found. */
  operation?: string;
  /** What the route declares; set by the caller guard. */
  policy?: OperationPolicy;
  /** Of a cached read: asked when the request arrived. */
  generations?: AskedGenerations | undefined;
  /** Set by the caller guard when the caller may use the operation. */
  call?: CallContext;
  /** Set where the operation takes a file and the body has the type of one. */
  file?: RequestFile;
  /** The fields of a problem for the log line of the request. */
  problem?: Readonly<Record<string, string | number | boolean | undefined>>;
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState;
    /** Where spans are collected. */
    span?: Span;
  }
  /** What `@Operation` says of a route before its handler is known to Nest. */
  interface FastifyContextConfig {
    isCached?: boolean;
    /** The operation's body is a file that the handler reads. */
    takesFile?: boolean;
  }
}

const REQUEST_ID = /^[A-Za-z0-9_.:-]{1,64}$/;

export function requestState(request: FastifyRequest): RequestState {
  const given = request.headers['x-request-id'];
  return {
    requestId: typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID(),
    startedAt: performance.now(),
    atEnd: [],
    trace: request.span ? contextOf(request.span) : traceContext(request.headers),
  };
}

/** One header of the request. The OpenAPI document says about it only what the route declares. */
export const HeaderValue = createParamDecorator(
  (name: string, context: ExecutionContext): string | undefined => {
    const value = context.switchToHttp().getRequest<FastifyRequest>().headers[name];
    return typeof value === 'string' ? value : undefined;
  },
);

/** The file of a request; undefined where it has no body. */
export const UploadedFile = createParamDecorator(
  (_: unknown, context: ExecutionContext): RequestFile | undefined =>
    context.switchToHttp().getRequest<FastifyRequest>().state.file,
);

/** The caller of an authorised request, as in the callers file. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>().state;
  if (!caller) throw new Error('the caller guard has not run');
  return caller;
});

/** The call context of an authorised request, for a controller's parameter. */
export const Call = createParamDecorator((_: unknown, context: ExecutionContext): CallContext => {
  const { call } = context.switchToHttp().getRequest<FastifyRequest>().state;
  if (!call) throw new Error('the caller guard has not run');
  return call;
});
