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
import { Maintenance } from '../control/maintenance.ts';
import { KeyedWrites } from '../order-ledger/keyed-writes.ts';
import { Generations } from '../read-cache/read-keys.ts';
import { ResponseCache, type Served } from '../read-cache/response-cache.ts';
import type { DryRun } from '../upstream/dry-run.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import type { DryRunDto } from './dry-run.dto.ts';
import { isNamed, type Response, responseOf } from './response.ts';

type Handle = () => Promise<unknown>;

const MAX_LISTENERS = 20;

/**
 * Turns every failure of the platform (HTTP 299, a code in a 200, the connection, a token, an id of another tenant) into the HTTP exception
 * that the catalogue has for it, and does around each handler what the operation's policy says: cache and `ETag` for reads, idempotency and
 * invalidation for writes. The problem filter uses the same function for errors of guards and other code outside of handlers.
 *
 * It uses promises, and one observable for Nest: operators of rxjs cost more than the cache.
 */
@Injectable()
export class OperationInterceptor implements NestInterceptor {
  constructor(
    private readonly responses: ResponseCache,
    private readonly generations: Generations,
    private readonly writes: KeyedWrites,
    private readonly maintenance: Maintenance,
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

  async #handled(request: FastifyRequest, reply: FastifyReply, handle: Handle): Promise<unknown> {
    const { handling } = request.stages.get('authorised').policy;
    if (handling === 'write') return this.#write(request, reply, handle);
    // The lookup comes before the cache, which may have responses that this caller may not reach.
    await request.stages.reached?.lookUp?.();
    if (handling === 'read') return this.#read(request, reply, handle);
    return handling === 'stream' ? stream(request, reply, handle) : handle();
  }

  /** Serialises the result once, with an `ETag`, takes it from the cache where the operation allows that, and answers 304 where the caller has it. */
  async #read(
    request: FastifyRequest,
    reply: FastifyReply,
    handle: Handle,
  ): Promise<Response['body'] | undefined> {
    const { response, askedAt } = await this.#served(request, handle);
    const { body, etag, link } = response;
    // The caller may keep the response, and has to ask with its ETag before each use.
    void reply.header('etag', etag).header('cache-control', 'private, no-cache');
    if (link !== undefined) void reply.header('link', link);
    if (askedAt !== undefined) void reply.header('age', String(secondsSince(askedAt)));
    if (isNamed(request.headers['if-none-match'], etag)) {
      void reply.status(304);
      return undefined;
    }
    void reply.header('content-type', 'application/json; charset=utf-8');
    return body;
  }

  async #served({ stages, params, url }: FastifyRequest, handle: Handle): Promise<Served<Response>> {
    const { policy } = stages.get('authorised');
    const { call } = stages.get('reached');
    const respond = (result: unknown) => responseOf(result, url);
    if (policy.isCached && this.responses.isOn) {
      const read = { operation: policy.operationId, params: params as object, url, call };
      return this.responses.serve(read, handle, respond);
    }
    // The response may be made of cached lists all the same, so it may have an age.
    const response = respond(await handle());
    return { response, askedAt: call.progress.oldestPart };
  }

  /** Runs a write up to where it would begin, and answers what it would send. No `Idempotency-Key` is used. */
  async #dryRun(
    reply: FastifyReply,
    dryRun: DryRun,
    handle: Handle,
    lookUp: (() => Promise<void>) | undefined,
  ): Promise<DryRunDto> {
    await lookUp?.();
    try {
      await handle();
    } catch (error) {
      if (!dryRun.isStopped) throw error;
    }
    // The handler may have set that of the write.
    void reply.status(200);
    const { wouldSend, effects, plan = null } = dryRun;
    return { wouldSend, effects, plan };
  }

  /** Runs a write with an `Idempotency-Key` once, and drops cached reads that it may have changed. */
  async #write(request: FastifyRequest, reply: FastifyReply, handler: Handle): Promise<unknown> {
    const { policy } = request.stages.get('authorised');
    // Not before a repeated request has got the response of the first.
    const handle = () => {
      if (policy.stoppedBy) this.maintenance.assertNot(policy.stoppedBy);
      return handler();
    };
    const { idempotencyKey } = request.stages.get('validated');
    const { call, lookUp } = request.stages.get('reached');
    if (call.dryRun) return this.#dryRun(reply, call.dryRun, handle, lookUp);
    const hasKey = policy.idempotency === 'key' && idempotencyKey !== undefined;
    try {
      if (!hasKey) await lookUp?.();
      const result = hasKey
        ? await this.writes.run(request, reply, { idempotencyKey, lookUp, handle })
        : await handle();
      const location = policy.locationOf?.(result);
      if (location !== undefined) void reply.header('location', location);
      return result;
    } finally {
      // A failed write drops them too, because the platform may have carried it out. A request that was refused before anything was sent changed
      // nothing, and must not drop the cached reads of other callers. An order has dropped them while its outcome was recorded.
      const hasWritten = policy.idempotency !== 'order' && call.progress.upstreamMs > 0;
      if (hasWritten) await this.generations.written(request.params as object);
    }
  }
}

/**
 * A stream has no `ETag` and is not cached. A failure before the first byte is a problem; after it the connection is closed before the end
 * of the response, so that no client takes a part for the whole.
 */
async function stream(
  { method }: FastifyRequest,
  reply: FastifyReply,
  handle: Handle,
): Promise<StreamableFile> {
  // The hooks of a request and those of the stream listen for its end.
  reply.raw.setMaxListeners(MAX_LISTENERS);
  const file = (await handle()) as StreamableFile;
  // A proxy passes the bytes on as they arrive: nginx reads the first header, and what compresses reads the second.
  void reply.header('x-accel-buffering', 'no').header('cache-control', 'no-store, no-transform');
  if (method !== 'HEAD') return file;
  // A response to HEAD has no body, and a stream of events might not end. A stream again, since Nest gives the length of anything else, which is
  // not that of the response to GET (RFC 9110, section 8.6).
  file.getStream().destroy();
  return new StreamableFile(Readable.from([]), { type: file.options.type ?? 'application/octet-stream' });
}

function secondsSince(ms: number): number {
  return Math.max(0, Math.floor((Date.now() - ms) / 1000));
}

function throwProblem(error: unknown): never {
  throw asProblem(error);
}
