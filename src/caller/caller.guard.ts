import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { ProblemException } from '../problem/problem.exception.ts';
import { OPERATION_POLICY, type OperationPolicy } from '../request/operation-policy.ts';

/**
 * Authorises every request by the policy that its route declares, never by its path. A route without a policy is refused. The caller must
 * be known, and have the operation's scopes. A hook has identified the caller before the body was read (decision 4).
 */
@Injectable()
export class CallerGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const policy = this.reflector.get<OperationPolicy | undefined>(OPERATION_POLICY, context.getHandler());
    if (!policy) throw new ProblemException('forbidden');
    const { stages, body } = context.switchToHttp().getRequest<FastifyRequest>();
    stages.pass('authorised', { policy });
    if (policy.scope === 'public') return true;
    if (!stages.identified) throw new ProblemException('unauthenticated');
    const { scopes, whyNone = '' } = stages.identified.caller;
    const needed = policy.scope === 'none' ? [] : [policy.scope];
    for (const scope of [...needed, ...(policy.alsoScopes?.(body) ?? [])])
      if (!scopes.has(scope))
        throw new ProblemException('forbidden', {
          detail: `The scope ${scope} is needed. ${whyNone}`.trimEnd(),
        });
    return true;
  }
}
