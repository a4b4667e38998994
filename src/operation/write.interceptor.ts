import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { KeyedWrites } from '../order-ledger/keyed-writes.ts';
import { ReadCache } from '../read-cache/read-cache.ts';
import { Tenancy } from '../tenancy/tenancy.ts';
import { validatedAhead } from '../validation/validation.pipe.ts';

/** Around every write: runs a write with an `Idempotency-Key` once, and drops cached reads that it may have changed. */
@Injectable()
export class WriteInterceptor implements NestInterceptor {
  constructor(
    private readonly writes: KeyedWrites,
    private readonly cache: ReadCache,
    private readonly tenancy: Tenancy,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    return from(
      this.#write(context, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), next),
    );
  }

  async #write(
    context: ExecutionContext,
    request: FastifyRequest,
    reply: FastifyReply,
    next: CallHandler,
  ): Promise<unknown> {
    try {
      // Before the order ledger: an invalid request, or one for things that are not granted, leaves no record there.
      validatedAhead(context);
      const lookUp = this.tenancy.granted(context);
      const run = () => lastValueFrom(next.handle() as Observable<unknown>);
      const result = await this.writes.answer(request, reply, { lookUp, run });
      const location = request.state.policy?.locationOf?.(result);
      if (location !== undefined) void reply.header('location', location);
      return result;
    } finally {
      // Also after a failure, because the platform may have carried it out. A request that was refused before anything was sent changed
      // nothing, and must not drop the cached reads of other callers.
      if (request.state.call && request.state.call.upstreamMs > 0)
        await this.cache.written(request.params as object);
    }
  }
}
