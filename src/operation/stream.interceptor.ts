import { Readable } from 'node:stream';
import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  StreamableFile,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { Tenancy } from '../tenancy/tenancy.ts';

const MAX_LISTENERS = 20;

/**
 * Around every read whose response is a stream: it has no `ETag` and is not cached. A failure before the first byte is a problem; after
 * it the connection is closed before the end of the response, so that no client takes a part for the whole.
 */
@Injectable()
export class StreamInterceptor implements NestInterceptor {
  constructor(private readonly tenancy: Tenancy) {}

  intercept(context: ExecutionContext, next: CallHandler<StreamableFile>): Observable<StreamableFile> {
    return from(this.#respond(context, next));
  }

  async #respond(context: ExecutionContext, next: CallHandler<StreamableFile>): Promise<StreamableFile> {
    await this.tenancy.check(context);
    // The hooks of a request and those of the stream listen for its end.
    context.switchToHttp().getResponse<FastifyReply>().raw.setMaxListeners(MAX_LISTENERS);
    const file = await lastValueFrom(next.handle());
    if (context.switchToHttp().getRequest<FastifyRequest>().method !== 'HEAD') return file;
    // A response to HEAD has no body, and a stream of events might not end. A stream again, since Nest gives the length of anything else, which is
    // not that of the response to GET (RFC 9110, section 8.6).
    file.getStream().destroy();
    return new StreamableFile(Readable.from([]), { type: file.options.type ?? 'application/octet-stream' });
  }
}
