import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { ReadAnswers } from './read-answers.ts';
import { KeyedWrites } from '../order-ledger/keyed-writes.ts';
import { asThrownProblem } from '../upstream/problems/as-problem.ts';

/**
 * Around every write, behind the guards: what goes wrong on the way to upstream becomes an HTTP exception, what has a key runs once,
 * and cached reads of what it may have changed are dropped. One interceptor and not one for each of these: every one costs.
 */
@Injectable()
export class WriteInterceptor implements NestInterceptor {
  constructor(
    private readonly reads: ReadAnswers,
    private readonly writes: KeyedWrites,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const run = () => this.writes.answer(request, http.getResponse<FastifyReply>(), () => outcomeOf(next));
    return from(this.reads.afterWrite(request, run).catch(asThrownProblem));
  }
}

/** What the handler answers; whatever else it throws, failures of upstream are problems. */
export function outcomeOf(next: CallHandler): Promise<unknown> {
  return lastValueFrom(next.handle(), { defaultValue: undefined }).catch(asThrownProblem);
}
