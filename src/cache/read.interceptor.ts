import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { OPERATION_POLICY, type OperationPolicy } from '../caller/operation-policy.ts';
import { asksForFresh, etagOf, isNamed } from './etag.ts';
import { pageLinks } from './page-links.ts';
import { type ReadAnswer, ReadCache } from './read-cache.ts';

/**
 * Reads of both areas become bytes with an `ETag` once, come from the cache where their operation may, and are 304 where the
 * caller has them already; writes drop what they may have changed. It runs behind the guards, so nobody is served what
 * somebody else may have.
 */
@Injectable()
export class ReadInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly cache: ReadCache,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const policy = this.reflector.get<OperationPolicy | undefined>(OPERATION_POLICY, context.getHandler());
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    if (!policy || policy.scope === 'public' || policy.scope === 'sessions:write') return next.handle();
    return from(
      policy.scope.endsWith(':read')
        ? this.#read(policy, request, http.getResponse<FastifyReply>(), next)
        : this.#write(request, next),
    );
  }

  async #read(
    policy: OperationPolicy,
    request: FastifyRequest,
    reply: FastifyReply,
    next: CallHandler,
  ): Promise<string | undefined> {
    const answer = await this.#answer(policy, request, reply, () => answerOf(next, request.url));
    const { body, etag, link, ageSeconds } = answer;
    // Kept by the caller, and asked about before each use: what it has is as good as what we have.
    void reply.headers({ etag, 'cache-control': 'private, no-cache' });
    if (link !== undefined) void reply.header('link', link);
    if (ageSeconds !== undefined) void reply.header('age', String(ageSeconds));
    if (isNamed(request.headers['if-none-match'], etag)) {
      void reply.status(304);
      return undefined;
    }
    void reply.type('application/json; charset=utf-8');
    return body;
  }

  #answer(
    policy: OperationPolicy,
    request: FastifyRequest,
    reply: FastifyReply,
    load: () => Promise<ReadAnswer>,
  ): Promise<ReadAnswer & { ageSeconds?: number }> {
    const { call } = request.state;
    if (!policy.cached || !this.cache.enabled || !call) {
      // A cached read goes on without its caller: others may have joined it, and its answer is kept.
      if (call) call.abandon = hangUp(reply);
      return load();
    }
    const read = {
      operation: policy.operationId,
      params: request.params as object,
      query: request.query as object,
      call,
    };
    return this.cache.read(read, asksForFresh(request.headers['cache-control']), load);
  }

  async #write(request: FastifyRequest, next: CallHandler): Promise<unknown> {
    try {
      return await lastValueFrom(next.handle(), { defaultValue: undefined });
    } finally {
      // Also where it failed: the platform may have carried it out. Refused before anything was sent, it changed nothing,
      // and a caller of wrong requests must not keep everybody's cache cold.
      if (request.state.call && request.state.call.upstreamMs > 0)
        await this.cache.written(request.params as object);
    }
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

async function answerOf(next: CallHandler, url: string): Promise<ReadAnswer> {
  const result: unknown = await lastValueFrom(next.handle());
  const body = JSON.stringify(result);
  return { body, etag: etagOf(body), link: pageLinks(result, url) };
}
