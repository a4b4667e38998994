import { Readable } from 'node:stream';
import { Injectable, StreamableFile } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ResponseCache, type Served } from '../read-cache/response-cache.ts';
import { isNamed, type Response, responseOf } from './response.ts';

type Handle = () => Promise<unknown>;

const MAX_LISTENERS = 20;

/** Handles the cache and the `ETag` of a read. */
@Injectable()
export class ReadHandling {
  constructor(private readonly responses: ResponseCache) {}

  /**
   * Serialises the result once, with an `ETag`. It uses the cache if the operation allows that, and answers 304 if the caller has the
   * result already.
   */
  async handle(
    request: FastifyRequest,
    reply: FastifyReply,
    handle: Handle,
  ): Promise<Response['body'] | StreamableFile | undefined> {
    const served = await this.#served(request, handle);
    if (served instanceof StreamableFile) return handleStream(request, reply, () => Promise.resolve(served));
    const { response, askedAt } = served;
    const { body, etag, link } = response;
    // The caller may keep the response, and has to send its ETag before each use.
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

  async #served(
    { stages, params, url }: FastifyRequest,
    handle: Handle,
  ): Promise<Served<Response> | StreamableFile> {
    const { policy } = stages.get('authorised');
    const { call } = stages.get('reached');
    const respond = (result: unknown) => responseOf(result, url);
    if (policy.isCached && this.responses.isOn) {
      const read = { operation: policy.operationId, params: params as object, url, call };
      return this.responses.serve(read, handle, respond);
    }
    // The response may be made of cached lists all the same, so it may have an age.
    const result = await handle();
    if (result instanceof StreamableFile) return result;
    const response = respond(result);
    return { response, askedAt: call.progress.oldestPart };
  }
}

/**
 * Starts a stream, which has no `ETag` and is not cached. A failure before the first byte is a problem. After it, the connection is closed
 * before the end of the response, so that no client mistakes a part for the whole.
 */
export async function handleStream(
  { method }: FastifyRequest,
  reply: FastifyReply,
  handle: Handle,
): Promise<StreamableFile> {
  // The hooks of a request and those of the stream listen for its end.
  reply.raw.setMaxListeners(MAX_LISTENERS);
  const file = (await handle()) as StreamableFile;
  // A proxy then passes the bytes on as they arrive: nginx reads the first header, and compressing proxies read the second.
  void reply.header('x-accel-buffering', 'no').header('cache-control', 'no-store, no-transform');
  if (method !== 'HEAD') return file;
  // A response to HEAD has no body, and a stream of events might not end. The body is an empty stream, because Nest sends the length of any
  // other body, which differs from that of the response to GET (RFC 9110, section 8.6).
  file.getStream().destroy();
  return new StreamableFile(Readable.from([]), { type: file.options.type ?? 'application/octet-stream' });
}

function secondsSince(ms: number): number {
  return Math.max(0, Math.floor((Date.now() - ms) / 1000));
}
