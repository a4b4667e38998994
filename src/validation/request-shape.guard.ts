import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { FastifyRequest } from 'fastify';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';

const SERVED = new Set(['application/json', 'application/problem+json', 'application/*', '*/*', 'text/html']);

/**
 * What no DTO can check: a query that is no UTF-8, query parameters or a body on an operation that declares none, and an
 * `Accept` header (RFC 9110 12.5.1) that allows nothing we have.
 */
@Injectable()
export class RequestShapeGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (!isAcceptable(request.headers.accept)) throw new ProblemException('not-acceptable');
    const errors = [...queryFaults(context, request), ...bodyFaults(context, request)];
    if (errors.length > 0) throw new ProblemException('validation-failed', { errors });
    return true;
  }
}

function queryFaults(context: ExecutionContext, { url, query }: FastifyRequest): RequestFault[] {
  if (!isDecodable(url.slice(url.indexOf('?')))) {
    return [{ parameter: 'query', detail: 'must be percent-encoded UTF-8' }];
  }
  if (declares(context, RouteParamtypes.QUERY)) return [];
  return Object.keys(query as object).map((parameter) => ({ parameter, detail: 'is not a known parameter' }));
}

/** The parser of queries replaces what it cannot decode; nothing may be replaced silently. */
function isDecodable(search: string): boolean {
  try {
    decodeURIComponent(search);
    return true;
  } catch {
    return false;
  }
}

function bodyFaults(context: ExecutionContext, { body }: FastifyRequest): RequestFault[] {
  const given = body !== undefined && body !== null;
  return given && !declares(context, RouteParamtypes.BODY) ? [{ pointer: '', detail: 'must be empty' }] : [];
}

function isAcceptable(accept: string | undefined): boolean {
  if (!accept) return true;
  return accept.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return SERVED.has(type) && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

function declares(context: ExecutionContext, part: RouteParamtypes): boolean {
  const args = Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), context.getHandler().name) as
    object | undefined;
  return Object.keys(args ?? {}).some((key) => key.startsWith(`${part}:`));
}
