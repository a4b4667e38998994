import { createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { asThrownProblem } from '../upstream/problems/as-problem.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { asksForFresh, isNamed } from '../read-cache/etag.ts';
import { pageLinks } from './page-links.ts';
import type { Content } from '../read-cache/response-store.ts';
import { ReadCache, type Served, tagged } from '../read-cache/read-cache.ts';

/** A read on its way to its answer. */
export interface Reading {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** For a controller's parameter. */
export const Read = createParamDecorator((_: unknown, context: ExecutionContext): Reading => {
  const http = context.switchToHttp();
  return { request: http.getRequest<FastifyRequest>(), reply: http.getResponse<FastifyReply>() };
});

/**
 * Reads of both areas become bytes with an `ETag` once, come from the cache where their operation may, and are 304 where the
 * caller has them already; writes drop what they may have changed. Controllers call it, and no interceptor does: Nest wraps a
 * request in async scopes and a dozen observables for that, which takes as long as everything else that a cached answer needs.
 */
@Injectable()
export class ReadAnswers {
  constructor(private readonly cache: ReadCache) {}

  /** `find` is asked where nothing is kept. Its failure is a problem before it is shared with other readers. */
  async answer(
    { request, reply }: Reading,
    find: (call: CallContext) => Promise<unknown>,
  ): Promise<Buffer | undefined> {
    const { answer, ageSeconds } = await this.#read(request, reply, find);
    const { body, etag, link } = answer;
    // Kept by the caller, and asked about before each use: what it has is as good as what we have.
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

  /** Runs a write. What it may have changed is dropped even where it failed: the platform may have carried it out. */
  async afterWrite(request: FastifyRequest, run: () => Promise<unknown>): Promise<unknown> {
    try {
      return await run();
    } finally {
      // Refused before anything was sent, it changed nothing, and a caller of wrong requests must not keep everybody's cache cold.
      const { call, policy } = request.state;
      if (call && call.upstreamMs > 0 && policy?.scope !== 'sessions:write')
        await this.cache.written(request.params as object);
    }
  }

  #read(
    request: FastifyRequest,
    reply: FastifyReply,
    find: (call: CallContext) => Promise<unknown>,
  ): Promise<Served> {
    const { call, policy } = request.state;
    if (!call || !policy) throw new Error('the caller guard has not run');
    const load = async () => contentOf(await find(call).catch(asThrownProblem), request.url);
    if (!policy.cached || !this.cache.enabled) {
      // A cached read goes on without its caller: others may have joined it, and its answer is kept.
      call.abandon = hangUp(reply);
      return load().then((content) => ({ answer: tagged(content) }));
    }
    const read = {
      operation: policy.operationId,
      params: request.params as object,
      query: request.query as object,
      call,
    };
    return this.cache.read(read, asksForFresh(request.headers['cache-control']), load);
  }
}

/** Aborted when the caller hangs up before it has its answer. */
function hangUp({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort();
  });
  return controller.signal;
}

function contentOf(result: unknown, url: string): Content {
  return { body: Buffer.from(JSON.stringify(result)), link: pageLinks(result, url) };
}
