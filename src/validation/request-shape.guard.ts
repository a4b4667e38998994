import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { FastifyRequest } from 'fastify';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import { acceptedType } from './accepted-type.ts';
import { MAX_FAULTS } from './compiled-validation.ts';
import { UnreadableBody } from './request-body.ts';

/** Of responses that are no streams. */
const SERVED = ['application/json', 'application/problem+json'];
/** A browser that follows a link names it, and is served all the same. */
const PAGE = 'text/html';
/** Ranges that have the form of one; another text is not repeated. */
const RANGES = /^[\w.+*/;,= -]{1,200}$/;
/** Clients send few different headers. Where a client sends many, they are only parsed again. */
const MAX_ACCEPTS = 100;

interface Declared {
  readonly query: boolean;
  readonly body: boolean;
}

/**
 * Refuses what no DTO can check: a query that is not UTF-8, query parameters or a body on an operation that declares none, and an
 * `Accept` header (RFC 9110 12.5.1) that allows no type of the gateway.
 */
@Injectable()
export class RequestShapeGuard implements CanActivate {
  readonly #declared = new WeakMap<object, Declared>();
  readonly #accepts = new Map<string, boolean>();

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { policy } = request.state;
    const { accept } = request.headers;
    const isAccepted = policy?.streams ? acceptedType(accept, policy.streams) : this.#accepted(accept);
    if (!isAccepted) throw notAcceptable(accept, policy?.streams ?? SERVED.slice(0, 1));
    if (policy?.takesFile && request.body instanceof UnreadableBody) throw request.body.problem;
    const errors = faultsOf(request, this.#declaredBy(context));
    if (errors.length > 0) throw new ProblemException('validation-failed', { errors });
    return true;
  }

  #accepted(accept: string | undefined): boolean {
    if (!accept) return true;
    const known = this.#accepts.get(accept);
    if (known !== undefined) return known;
    const page = accept.includes(PAGE) ? [PAGE] : [];
    const accepted = (acceptedType(accept, SERVED) ?? acceptedType(accept, page)) !== undefined;
    if (this.#accepts.size < MAX_ACCEPTS) this.#accepts.set(accept, accepted);
    return accepted;
  }

  #declaredBy(context: ExecutionContext): Declared {
    const handler = context.getHandler();
    let declared = this.#declared.get(handler);
    if (!declared) {
      declared = {
        query: declares(context, RouteParamtypes.QUERY),
        body: declares(context, RouteParamtypes.BODY),
      };
      this.#declared.set(handler, declared);
    }
    return declared;
  }
}

function notAcceptable(accept: string | undefined, types: readonly string[]): ProblemException {
  const there = types.map((type) => `\`${type}\``).join(' or ');
  const is = accept !== undefined && RANGES.test(accept) ? `, and is \`${accept}\`` : '';
  return new ProblemException('not-acceptable', {
    errors: [{ parameter: 'Accept', detail: `must allow ${there}${is}` }],
  });
}

function faultsOf({ url, query, body }: FastifyRequest, declared: Declared): RequestFault[] {
  const errors: RequestFault[] = [];
  if (!isDecodable(url)) errors.push({ parameter: 'query', detail: 'must be percent-encoded UTF-8' });
  else if (!declared.query)
    for (const parameter of Object.keys(query as object).slice(0, MAX_FAULTS))
      errors.push({ parameter, detail: 'is not a known parameter' });
  if (!declared.body && body !== undefined && body !== null)
    errors.push({ pointer: '', detail: 'must be empty' });
  return errors;
}

/** The query parser silently replaces what it cannot decode, so this check comes before it. */
function isDecodable(url: string): boolean {
  const start = url.indexOf('?');
  if (start === -1 || !url.includes('%', start)) return true;
  try {
    decodeURIComponent(url.slice(start));
    return true;
  } catch {
    return false;
  }
}

function declares(context: ExecutionContext, part: RouteParamtypes): boolean {
  const args = Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), context.getHandler().name) as
    object | undefined;
  return Object.keys(args ?? {}).some((key) => key.startsWith(`${part}:`));
}
