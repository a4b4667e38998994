import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { asksForFresh, etagOf, isNamed } from '../read-cache/etag.ts';
import { ageOf, ReadCache, type Served } from '../read-cache/read-cache.ts';
import { Tenancy } from '../tenancy/tenancy.ts';
import { pageLinks } from './page-links.ts';
import { edge } from '../shared/edge.ts';

type Handle = () => Promise<unknown>;

/** A result as it is sent. Node sends a text together with the headers in one write, and bytes in a second one. */
interface Response {
  readonly result: unknown;
  readonly body: string;
  readonly etag: string;
  readonly link: string | undefined;
}

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
    const { value, ageSeconds } = await this.#read(request, reply, handle);
    const { body, etag, link } = value;
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

  /** The response stays in this process: it is made of what Redis has. */
  #read(request: FastifyRequest, reply: FastifyReply, handle: Handle): Promise<Served<Response>> {
    const { call, policy } = request.state;
    if (!call || !policy) throw new Error('the caller guard has not run');
    const fresh = asksForFresh(request.headers['cache-control']);
    if (fresh) call.fresh = true;
    const load = async (held?: Response) => {
      const value = responseOf(await handle(), request.url, held);
      return { value, length: value.body.length, askedAt: call.cachedAt };
    };
    const lifeMs = this.cache.lifeOf(policy.cacheMs);
    if (lifeMs === 0) {
      // A cached read continues without its caller: other callers may wait for it, and the cache keeps its result.
      call.abandon = hangUp(reply);
      return load().then(({ value, askedAt }) => ({ value, ...agedBy(askedAt) }));
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
function agedBy(askedAt: number | undefined): Pick<Served<unknown>, 'ageSeconds'> {
  return askedAt === undefined ? {} : { ageSeconds: ageOf(askedAt) };
}

/** Aborted when the caller hangs up before it has its response. */
function hangUp({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once(
    'close',
    edge('abandoned read', () => raw.writableFinished || controller.abort()),
  );
  return controller.signal;
}

/** `held` is the last response to an equal request. A result of the same parts gives the same response. */
function responseOf(result: unknown, url: string, held?: Response): Response {
  if (held && hasSameParts(held.result, result)) return held;
  const body = JSON.stringify(result);
  const etag = held?.body === body ? held.etag : etagOf(body);
  return { result, body, etag, link: pageLinks(result, url) };
}

/**
 * Whether two results give the same JSON because their fields, and the items of their lists, are the same objects. Results are made of cached
 * values that are never changed, so no item has to be looked into. False where that would be necessary.
 */
export function hasSameParts(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) || Array.isArray(other)) return hasSameItems(one, other);
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return (
    Object.keys(other).every((name, index) => name === names[index]) &&
    Object.keys(other).length === names.length &&
    names.every((name) => one[name] === other[name] || hasSameItems(one[name], other[name]))
  );
}

function hasSameItems(one: unknown, other: unknown): boolean {
  return (
    Array.isArray(one) &&
    Array.isArray(other) &&
    one.length === other.length &&
    one.every((item, index) => item === other[index])
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
