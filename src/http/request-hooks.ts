import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { tellDeprecation } from '../operation/deprecation.ts';
import { beginStages, type RequestStages } from '../request/request-stages.ts';
import { Admission } from './admission.ts';
import { Connections } from './connections.ts';
import { RequestLog } from './request-log.ts';
import { connectSpans } from './request-spans.ts';
import { bodyTypeOf, RequestBodies, unsupportedType } from './request-bodies.ts';
import {
  closeAfterResponse,
  hasBody,
  cutShort,
  givenUp,
  inTurn,
  limitConnections,
  MAX_URL,
  malformedRequest,
  maxConnections,
} from './server-limits.ts';
import { AllowedMethods } from './allowed-methods.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { sendProblem } from './problem.filter.ts';
import { PATCH_TYPES } from '../shared/json-types.ts';
import { type Done, Identification } from './identification.ts';
import { namePublicPath } from './public-path.ts';
import { inOwnTurn } from '../shared/slices.ts';
import { readRequestBody, UnreadableBody } from '../validation/request-body.ts';
import { edge } from '../shared/edge.ts';

/** A body of this length takes some milliseconds to read and to check. */
const LARGE_BODY = 64 * 1024;

/**
 * Runs the stages of every request before and after Nest, each as a hook of Fastify: arrived, identified, then its body parsed. After the
 * guards, the interceptor and the handler: headed, answered. Nest's guards run after the body is read, so hooks identify the caller
 * (decision 4), and check whether it has requests left (decision 14).
 */
@Injectable()
export class RequestHooks {
  constructor(
    private readonly allowed: AllowedMethods,
    private readonly identification: Identification,
    private readonly admission: Admission,
    private readonly connections: Connections,
    private readonly bodies: RequestBodies,
    private readonly requestLog: RequestLog,
  ) {}

  connect(fastify: FastifyInstance, publicPath = ''): void {
    limitConnections(fastify.server);
    this.connections.bound(fastify.server, maxConnections());
    fastify.addHook('preClose', (done) => {
      this.connections.closeUnused();
      done();
    });
    fastify.addHook('onRoute', (route) => {
      this.allowed.add(route.method, route.url);
      tellDeprecation(fastify, route, publicPath);
    });
    connectSpans(fastify);
    fastify.decorateRequest('stages');
    fastify.addHook('onRequest', (request, reply, done) => this.#arrived(request, reply, done));
    fastify.addHook('onRequest', (request, reply, done) =>
      this.identification.identify(request, reply, done),
    );
    fastify.removeAllContentTypeParsers();
    fastify.addContentTypeParser('*', (request, payload, done) => this.#parsed(request, payload, done));
    fastify.addHook('onSend', (request, reply, payload, done) => {
      this.#headed(request, reply);
      // Fastify gives a response to HEAD without content the length 0, which differs from that of GET (RFC 9110, section 8.6).
      const isKnown = request.method === 'HEAD' && reply.statusCode === 304;
      done(null, isKnown ? Readable.from([]) : payload);
    });
    namePublicPath(fastify, publicPath);
  }

  /**
   * Begins the stages of the request. It refuses a request that is not valid HTTP, or that follows the last response of its connection. Any other
   * goes on once the responses before it are sent: finished responses that wait for one another would fill the memory.
   */
  #arrived(request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const left = this.connections.busy(request.raw.socket);
    if (!left || givenUp.has(request.raw.socket)) return void reply.hijack();
    request.stages = beginStages(request);
    const { requestId, atEnd } = request.stages.arrived;
    void reply.header('x-request-id', requestId);
    // If the rest of the request is not valid HTTP, its refusal has the same id.
    request.raw.headers['x-request-id'] = requestId;
    // All functions share one listener, because each further listener costs a microsecond.
    atEnd.push(left, this.admission.enter());
    const ended = edge('end of a request', () => {
      // Fastify calls no `onResponse` if the caller hung up, so the line is written here. It is an edge of its own: the rest runs even if it fails.
      this.requestLog.ended(request, reply);
      for (const end of atEnd) end();
    });
    reply.raw.once('close', ended);
    const problem = malformedRequest(request);
    if (problem) return sendProblem(problem, request, reply.header('connection', 'close'));
    if (request.originalUrl.length <= MAX_URL) return inTurn(reply.raw, done);
    sendProblem(new ProblemException('uri-too-long'), request, reply);
  }

  /** Passes JSON to the handler, or adds a file of which nothing is read yet. */
  #parsed(request: FastifyRequest, payload: IncomingMessage, done: Parsed): void {
    const caller = request.stages.identified?.caller;
    if (cutShort.has(request.raw)) return;
    // Either there is no body, or the gateway does not read it: no route accepts it, or the caller is unknown.
    if (!hasBody(request.raw) || !caller || request.is404) return done(null);
    const kind = bodyTypeOf(request);
    if (kind === undefined) {
      const refused = new UnreadableBody('unsupported-media-type', [unsupportedType(request)]);
      if (request.headers['transfer-encoding'] === undefined) return done(null, refused);
      // Chunks may end without a byte (RFC 9112, section 7.1). That is no body, and has no type.
      return this.bodies.firstByte(request, payload, (isThere) => {
        if (!cutShort.has(request.raw)) done(null, isThere ? refused : undefined);
      });
    }
    if (kind !== 'json') {
      request.stages.pass('parsed', { file: this.bodies.file(request, payload, kind) });
      return done(null);
    }
    this.bodies.read(request, payload, (problem, body) => {
      const read = () => {
        // No response follows, which would release the body.
        if (cutShort.has(request.raw)) this.bodies.done(request);
        else done(problem, body && readRequestBody(body));
      };
      if (body && body.length > LARGE_BODY) inOwnTurn(read);
      else read();
    });
  }

  /** Sets the headers that every response has, and writes the audit line of a write. */
  #headed(request: FastifyRequest, reply: FastifyReply): void {
    const { stages, raw, method } = request;
    // The state is checked now and not on arrival, because a connection that the last response keeps open would delay the end of the
    // process.
    if (this.admission.draining) void reply.header('connection', 'close');
    const withBody = hasBody(raw);
    const isUnread = withBody && !raw.readableEnded;
    if (isUnread) void reply.header('connection', 'close');
    if ((isUnread || !raw.complete) && reply.getHeader('connection') === 'close')
      closeAfterResponse(raw, stages.identified === undefined);
    if (withBody) this.bodies.done(request);
    // Reads have set the header themselves. Health and the pages of problems set none.
    if (!reply.hasHeader('cache-control') && (stages.reached || reply.statusCode >= 400))
      void reply.header('cache-control', 'no-store');
    if (reply.statusCode === 401)
      void reply.header('www-authenticate', this.identification.challenge(request));
    // A PATCH needs this header (RFC 5789, 2.2).
    if (reply.statusCode === 415 && method === 'PATCH')
      void reply.header('accept-patch', PATCH_TYPES.join(', '));
    if (stages.reached) void reply.header('server-timing', timing(stages));
    // A caller that has hung up gets no response, but its write may have been carried out.
    this.requestLog.responding(request, reply);
  }
}

/**
 * Returns the header of times. `upstream` is the time of calls to the platform, if there were any. `total` is the time since the headers of
 * the request arrived.
 */
function timing({ arrived, reached }: RequestStages): string {
  const { upstreamMs = 0, lookupMs = 0 } = reached?.call.progress ?? {};
  const total = `total;dur=${(performance.now() - arrived.startedAt).toFixed(1)}`;
  const atPlatformMs = upstreamMs + lookupMs;
  return atPlatformMs > 0 ? `upstream;dur=${atPlatformMs.toFixed(1)}, ${total}` : total;
}

type Parsed = (error: Error | null, body?: unknown) => void;
