import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { OPERATION_POLICY, type OperationPolicy } from '../caller/operation-policy.ts';
import { UpstreamConfig } from '../config/app-config.ts';
import { asProblem } from '../problem/upstream-failure.interceptor.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { UnreadableBody } from '../validation/request-body.ts';
import { GuardService, type KeyedWrite } from './guard.service.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';

/** The longest write (adding 1,000 members) calls upstream so many times, one after the other. */
const CALLS = 5;

/**
 * Writes with an `Idempotency-Key` run once: a repeat gets the same answer. It stands before validation, and whatever ends with
 * nothing processed, a 400 among it, leaves the key free.
 */
@Injectable()
export class KeyedWriteInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly guard: GuardService,
    private readonly config: UpstreamConfig,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const policy = this.reflector.get<OperationPolicy | undefined>(OPERATION_POLICY, context.getHandler());
    if (policy?.once !== 'key') return next.handle();
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const idempotencyKey = idempotencyKeyOf(request.headers);
    const { call } = request.state;
    // A body that cannot be read has no fingerprint, and is refused by validation.
    if (idempotencyKey === undefined || !call || request.body instanceof UnreadableBody) return next.handle();
    const write: KeyedWrite = {
      caller: call.caller.name,
      idempotencyKey,
      payload: payloadOf(policy.operationId, request, call),
      deadlineMs: CALLS * this.config.deadlineMs,
    };
    return from(this.#once(write, next, http.getResponse<FastifyReply>()));
  }

  async #once(write: KeyedWrite, next: CallHandler, reply: FastifyReply): Promise<unknown> {
    try {
      const { answer, replayed } = await this.guard.keyed(write, async () => {
        const body: unknown = await lastValueFrom(next.handle(), { defaultValue: undefined });
        return { status: reply.statusCode, body };
      });
      if (replayed) void reply.status(answer.status).header('idempotent-replayed', 'true');
      return answer.body;
    } catch (error) {
      throw asProblem(error);
    }
  }
}

function payloadOf(operation: string, { params, body }: FastifyRequest, { user }: CallContext): object {
  // A session that was opened anew is the same user to the caller.
  return { operation, params, body, user: user?.kind === 'alias' ? user.name : user?.kind };
}
