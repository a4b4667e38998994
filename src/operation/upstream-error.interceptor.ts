import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { handleStream, ReadHandling } from './read-handling.ts';
import { WriteHandling } from './write-handling.ts';

/**
 * Turns every failure of the platform (HTTP 299, a code in a 200, the connection, a token, an id of another tenant) into the HTTP exception
 * that the catalogue has for it. The problem filter uses the same function for errors of guards and other code outside of handlers.
 *
 * The rest of an operation's policy is done by classes that this one calls, in promises. Nest makes an observable for each interceptor, and
 * operators of rxjs cost more than the cache (decision 16).
 */
@Injectable()
export class UpstreamErrorInterceptor implements NestInterceptor {
  constructor(
    private readonly reads: ReadHandling,
    private readonly writes: WriteHandling,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const handle = () => lastValueFrom(next.handle() as Observable<unknown>);
    const handled = this.#handled(
      http.getRequest<FastifyRequest>(),
      http.getResponse<FastifyReply>(),
      handle,
    );
    return from(handled.catch(throwProblem));
  }

  async #handled(
    request: FastifyRequest,
    reply: FastifyReply,
    handle: () => Promise<unknown>,
  ): Promise<unknown> {
    const { handling } = request.stages.get('authorised').policy;
    if (handling === 'write') return this.writes.handle(request, reply, handle);
    // The lookup comes before the cache, which may have responses that this caller may not read.
    await request.stages.reached?.lookUp?.();
    if (handling === 'read') return this.reads.handle(request, reply, handle);
    return handling === 'stream' ? handleStream(request, reply, handle) : handle();
  }
}

function throwProblem(error: unknown): never {
  throw asProblem(error);
}
