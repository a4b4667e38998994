import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { ProblemException } from '../problem/problem.exception.ts';
import { isGranted } from '../upstream/call-context.ts';
import type { Caller } from './callers-file.ts';
import { OPERATION_POLICY, type OperationPolicy } from './operation-policy.ts';

/**
 * Authorises every request by the policy that its route declares, never by its path; a route without a policy is refused. It checks
 * in this order: a known caller, the operation's scopes, and whether the caller was granted every enterprise and channel that the
 * request names (path, query, body). The upstream client checks the last again on the request that it sends.
 */
@Injectable()
export class CallerGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const policy = this.reflector.get<OperationPolicy | undefined>(OPERATION_POLICY, context.getHandler());
    if (!policy) throw new ProblemException('forbidden');
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    request.state.operation = policy.operationId;
    request.state.policy = policy;
    if (policy.scope === 'public') return true;
    const { caller, requestId, trace, generations } = request.state;
    if (!caller) throw new ProblemException('unauthenticated');
    const needed = policy.scope === 'none' ? [] : [policy.scope];
    for (const scope of [...needed, ...(policy.alsoScopes?.(request.body) ?? [])]) {
      if (!caller.scopes.has(scope))
        throw new ProblemException('forbidden', { detail: `The scope ${scope} is needed.` });
    }
    assertOwn(caller, [request.params, request.query, request.body, ...orderCustomers(request.body)]);
    request.state.call = { requestId, trace, caller, generations, upstreamMs: 0 };
    return true;
  }
}

function assertOwn({ grants }: Caller, parts: readonly unknown[]): void {
  for (const part of parts) {
    assertGranted(grants.enterprises, part, 'enterpriseGlobalId');
    assertGranted(grants.channels, part, 'channelCode');
  }
}

/** Validation refuses values that are not text, so they are not checked here. */
function assertGranted(granted: ReadonlySet<string>, part: unknown, name: string): void {
  const id = memberOf(part, name);
  if (typeof id === 'string' && !isGranted(granted, id)) {
    throw new ProblemException('forbidden', { detail: `This ${name} is not granted to the caller.` });
  }
}

function orderCustomers(body: unknown): unknown[] {
  const items = memberOf(body, 'items');
  return Array.isArray(items) ? items.map((item) => memberOf(item, 'customer')) : [];
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
