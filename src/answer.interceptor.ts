import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { ReadAnswers } from './cache/read-answers.ts';
import { KeyedWrites } from './guard/keyed-writes.ts';
import { asProblem } from './problem/as-problem.ts';

/**
 * What stands around every handler, behind the guards: whatever goes wrong on the way to upstream becomes an HTTP exception, reads
 * come from the cache or become bytes with an `ETag`, writes with a key run once and drop what they may have changed. One
 * interceptor and not one for each, since Nest wraps a request in an async scope and three observables for every one of them.
 */
@Injectable()
export class AnswerInterceptor implements NestInterceptor {
  constructor(
    private readonly reads: ReadAnswers,
    private readonly writes: KeyedWrites,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    return from(this.#answer(request, http.getResponse<FastifyReply>(), () => outcomeOf(next)));
  }

  #answer(request: FastifyRequest, reply: FastifyReply, run: () => Promise<unknown>): Promise<unknown> {
    const { policy } = request.state;
    if (!policy || policy.scope === 'public') return run();
    if (policy.scope.endsWith(':read')) return this.reads.answer(policy, request, reply, run);
    const write = () => this.writes.answer(policy, request, reply, run);
    return this.reads.afterWrite(request, write).catch(asThrownProblem);
  }
}

/** Inside of everything else, so that one failure of several readers is a problem already. */
export function outcomeOf(next: CallHandler): Promise<unknown> {
  return lastValueFrom(next.handle(), { defaultValue: undefined }).catch(asThrownProblem);
}

function asThrownProblem(error: unknown): never {
  throw asProblem(error);
}
