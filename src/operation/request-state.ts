import { randomUUID } from 'node:crypto';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { CallContext } from '../upstream/call-context.ts';
import type { Caller } from '../caller/callers-file.ts';
import type { OperationPolicy } from '../caller/operation-policy.ts';

/** What the gateway knows of a request beyond HTTP, set when it arrives. */
export interface RequestState {
  readonly requestId: string;
  readonly startedAt: number;
  /** Set once it is known who calls; never on what is public. */
  caller?: Caller;
  /** The operation id of the route, once one is found. */
  operation?: string;
  /** What the route declares, once the caller guard has looked. */
  policy?: OperationPolicy;
  /** Set by the caller guard once the caller may have the operation. */
  call?: CallContext;
  /** What the log line of the request says about a problem. */
  problem?: Readonly<Record<string, string | number | boolean | undefined>>;
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState;
  }
}

const REQUEST_ID = /^[A-Za-z0-9_.:-]{1,64}$/;

export function requestState(request: FastifyRequest): RequestState {
  const given = request.headers['x-request-id'];
  return {
    requestId: typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID(),
    startedAt: performance.now(),
  };
}

/** One header of the request; the document says of it what its route declares, and no more. */
export const HeaderValue = createParamDecorator(
  (name: string, context: ExecutionContext): string | undefined => {
    const value = context.switchToHttp().getRequest<FastifyRequest>().headers[name];
    return typeof value === 'string' ? value : undefined;
  },
);

/** The caller of an authorised request, as the callers file has it. */
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
