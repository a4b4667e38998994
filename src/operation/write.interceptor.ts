import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { KeyedWrites } from '../order-ledger/keyed-writes.ts';
import { ReadCache } from '../read-cache/read-cache.ts';
import { Tenancy } from '../tenancy/tenancy.ts';

/** Around every write: what has an `Idempotency-Key` runs once, and cached reads of what it may have changed are dropped. */
@Injectable()
export class WriteInterceptor implements NestInterceptor {
  constructor(
    private readonly writes: KeyedWrites,
    private readonly cache: ReadCache,
    private readonly tenancy: Tenancy,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const handle = async () => {
      // After the key: a repeat is answered as the first was, also where what it names is gone by now.
      await this.tenancy.check(context);
      return lastValueFrom(next.handle() as Observable<unknown>);
    };
    return from(this.#write(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), handle));
  }

  async #write(
    request: FastifyRequest,
    reply: FastifyReply,
    handle: () => Promise<unknown>,
  ): Promise<unknown> {
    try {
      return await this.writes.answer(request, reply, handle);
    } finally {
      // Also where it failed: the platform may have carried it out. Refused before anything was sent it changed nothing, and a caller
      // of wrong requests must not keep the cache of every other caller cold.
      if (request.state.call && request.state.call.upstreamMs > 0)
        await this.cache.written(request.params as object);
    }
  }
}
