import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { asksForFresh, isNamed } from '../read-cache/etag.ts';
import { ReadCache, type Served, tagged } from '../read-cache/read-cache.ts';
import type { Content } from '../read-cache/response-store.ts';
import { Tenancy } from '../tenancy/tenancy.ts';
import { pageLinks } from './page-links.ts';

type Handle = () => Promise<unknown>;

/**
 * Around every read: serialises the result once, with an `ETag`, takes it from the cache where the operation allows that, and answers 304
 * where the caller has it already. It uses promises, and an observable only for Nest: operators of rxjs cost more than the cache.
 */
@Injectable()
export class ReadInterceptor implements NestInterceptor {
  constructor(
    private readonly cache: ReadCache,
    private readonly tenancy: Tenancy,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<string | undefined> {
    const http = context.switchToHttp();
    const handle = () => lastValueFrom(next.handle() as Observable<unknown>);
    const respond = () =>
      this.#respond(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), handle);
    // Before the cache: it may have responses that this caller may not reach.
    const checked = this.tenancy.check(context);
    return from(checked ? checked.then(respond) : respond());
  }

  async #respond(request: FastifyRequest, reply: FastifyReply, handle: Handle): Promise<string | undefined> {
    const { answer, ageSeconds } = await this.#read(request, reply, handle);
    const { body, etag, link } = answer;
    // The caller may keep the response, and has to ask with its ETag before each use.
    void reply.header('etag', etag).header('cache-control', 'private, no-cache');
    if (link !== undefined) void reply.header('link', link);
    if (ageSeconds !== undefined) void reply.header('age', String(ageSeconds));
    if (isNamed(request.headers['if-none-match'], etag)) {
      void reply.status(304);
      return undefined;
    }
    void reply.header('content-type', 'application/json; charset=utf-8');
    return body;
  }

  #read(request: FastifyRequest, reply: FastifyReply, handle: Handle): Promise<Served> {
    const { call, policy } = request.state;
    if (!call || !policy) throw new Error('the caller guard has not run');
    const fresh = asksForFresh(request.headers['cache-control']);
    if (fresh) call.fresh = true;
    const load = async () => {
      const result = await handle();
      return { ...contentOf(result, request.url), askedAt: call.cachedAt };
    };
    const lifeMs = this.cache.lifeOf(policy.cacheMs);
    if (lifeMs === 0) {
      // A cached read continues without its caller: other callers may wait for it, and the cache keeps its result.
      call.abandon = hangUp(reply);
      return load().then((content) => ({ answer: tagged(content), ...agedBy(content) }));
    }
    const read = {
      operation: policy.operationId,
      params: request.params as object,
      query: request.query as object,
      call,
      lifeMs,
    };
    return this.cache.read(read, fresh, load);
  }
}

/** The `Age` of a response made from cached parts. */
function agedBy({ askedAt }: { readonly askedAt?: number | undefined }): Pick<Served, 'ageSeconds'> {
  return askedAt === undefined ? {} : { ageSeconds: Math.max(0, Math.floor((Date.now() - askedAt) / 1000)) };
}

/** Aborted when the caller hangs up before it has its response. */
function hangUp({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort();
  });
  return controller.signal;
}

function contentOf(result: unknown, url: string): Content {
  return { body: JSON.stringify(result), link: pageLinks(result, url) };
}
