import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { CallerAuthentication } from '../caller/caller-authentication.ts';
import type { Caller } from '../caller/callers-file.ts';
import { lastsAsItsCaller } from '../caller/operation-policy.ts';
import { requestState } from '../operation/request-state.ts';
import { ReadCache } from '../read-cache/read-cache.ts';
import { Admission } from './admission.ts';
import { Connections } from './connections.ts';
import { connectSpans } from './request-spans.ts';
import { bodyTypeOf, unsupportedType } from './body-type.ts';
import { RequestBodies } from './request-bodies.ts';
import {
  closeAfterResponse,
  hasBody,
  isCutShort,
  isGivenUp,
  limitConnections,
  MAX_URL,
  malformedRequest,
  maxConnections,
} from './server-limits.ts';
import { audit } from './audit.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { AllowedMethods } from './allowed-methods.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { sendProblem } from './problem.filter.ts';
import { inOwnTurn } from '../shared/slices.ts';
import { readRequestBody, UnreadableBody } from '../validation/request-body.ts';
import { edge } from '../shared/edge.ts';

/** It takes some milliseconds to read and to check. */
const LARGE_BODY = 64 * 1024;

/** The work before and after Nest on every request: its state, admission, body, standard headers and log line. */
export function connectHttp(app: NestFastifyApplication): void {
  const fastify = app.getHttpAdapter().getInstance();
  const allowed = app.get(AllowedMethods);
  const callers = app.get(CallerAuthentication);
  const admission = app.get(Admission);
  const connections = app.get(Connections);
  const bodies = app.get(RequestBodies);
  const cache = app.get(ReadCache);
  const log = app.get(Log);
  const metrics = app.get(Metrics);

  limitConnections(fastify.server);
  connections.bound(fastify.server, maxConnections());
  fastify.addHook('preClose', (done) => {
    connections.closeUnused();
    done();
  });
  fastify.addHook('onRoute', ({ method, url }) => allowed.add(method, url));

  connectSpans(fastify);
  fastify.decorateRequest('state');
  fastify.addHook('onRequest', (request, reply, done) => {
    const { headers, raw } = request;
    const left = isGivenUp(request) ? undefined : connections.busy(raw.socket);
    if (!left) return void reply.hijack();
    request.state = requestState(request);
    void reply.header('x-request-id', request.state.requestId);
    // One listener for all: each further one costs a microsecond.
    const atClose = [left, admission.enter()];
    reply.raw.once(
      'close',
      edge('end of a request', () => {
        for (const end of atClose) end();
      }),
    );
    const refuse = (problem: ProblemException): void => sendProblem(problem, request, reply);
    const goOn = (problem?: ProblemException): void => (problem ? refuse(problem) : done());
    const problem = malformedRequest(request);
    if (problem) return sendProblem(problem, request, reply.header('connection', 'close'));
    if (request.url.length > MAX_URL) return refuse(new ProblemException('uri-too-long'));

    /** Before the body is read, so that a refusal stays cheap: what a request of a known caller needs, and the limits of its caller. */
    const receive = (caller: Caller): void => {
      request.state.caller = caller;
      connections.known(raw.socket);
      atClose.push(admission.enterFromCaller(), () => bodies.closed(request));
      const full = admission.refusal() ?? bodies.admit(request, caller);
      if (full) return refuse(full);
      if (request.routeOptions.config.isCached)
        request.state.generations = cache.ask(request.params as object);
      const refusal = callers.admit(caller, reply);
      if (refusal instanceof Promise) refusal.then(goOn).then(undefined, done);
      else goOn(refusal);
    };

    const access = accessTo(request);
    if (access !== 'callers') return goOn(access === 'public' ? admission.refusal() : undefined);
    const known = callers.recognised(headers);
    if (known) return receive(known);
    // The operation needs a caller: the gateway reads no body of a stranger.
    const stranger = (why?: ProblemException): void =>
      request.is404 ? done() : refuse(why ?? callers.refusal(headers));
    const full = admission.refusal();
    if (full) return refuse(full);
    if (!callers.hasToken(headers)) return stranger();
    callers
      .verified(headers)
      .then((caller) => {
        // A caller that hung up meanwhile is not counted: its response is closed already.
        if (reply.raw.closed) return;
        if (caller instanceof ProblemException) stranger(caller);
        else receive(caller);
      })
      // What fails after a verdict, too.
      .then(undefined, done);
  });

  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', (request, payload, done) => {
    const { caller } = request.state;
    if (isCutShort(request)) return;
    // There is no body, or the gateway does not read it: no route takes it, or the caller is unknown.
    if (!hasBody(request.raw) || !caller || request.is404) return done(null);
    const kind = bodyTypeOf(request);
    if (kind === undefined)
      return done(null, new UnreadableBody('unsupported-media-type', [unsupportedType(request)]));
    if (kind !== 'json') {
      request.state.file = bodies.file(request, payload, kind);
      return done(null);
    }
    bodies.read(request, payload, (problem, body) => {
      const read = () => !isCutShort(request) && done(problem, body && readRequestBody(body));
      if (body && body.length > LARGE_BODY) inOwnTurn(read);
      else read();
    });
  });

  fastify.addHook('onSend', (request, reply, _payload, done) => {
    // Checked here and not on arrival: a connection that the last response keeps open would delay the end of the process.
    if (admission.draining) void reply.header('connection', 'close');
    const isUnread = hasBody(request.raw) && !request.raw.readableEnded;
    if (isUnread) void reply.header('connection', 'close');
    if ((isUnread || !request.raw.complete) && reply.getHeader('connection') === 'close')
      closeAfterResponse(request.raw, request.state.caller === undefined);
    bodies.done(request);
    // Reads have set it themselves; health and the pages of problems set none.
    if (!reply.hasHeader('cache-control') && (request.state.call || reply.statusCode >= 400))
      void reply.header('cache-control', 'no-store');
    if (reply.statusCode === 401) void reply.header('www-authenticate', callers.challenge(request.headers));
    const { upstreamMs = 0, lookupMs = 0 } = request.state.call ?? {};
    if (upstreamMs + lookupMs > 0)
      void reply.header('server-timing', `upstream;dur=${(upstreamMs + lookupMs).toFixed(1)}`);
    // Not in onResponse: Fastify does not call that for a caller that hung up.
    audit(log, request, reply);
    done();
  });

  const told = edge('log of a request', (request: FastifyRequest, reply: FastifyReply) => {
    const { requestId, startedAt, trace, operation = 'none', policy, caller, call, problem } = request.state;
    const durationMs = performance.now() - startedAt;
    const isOurs = !policy || !lastsAsItsCaller(policy);
    metrics.request(operation, reply.statusCode, isOurs ? durationMs / 1000 : undefined);
    const level = reply.statusCode >= 500 ? 'error' : 'info';
    log[level](
      {
        event: 'request',
        requestId,
        traceId: trace.traceId,
        // Not the path: its ids and query reveal who bought which product.
        operation,
        status: reply.statusCode,
        durationMs: Math.round(durationMs * 10) / 10,
        upstreamMs: call && Math.round(call.upstreamMs * 10) / 10,
        caller: caller?.name,
        ...problem,
      },
      `${operation} ${reply.statusCode}`,
    );
  });
  // Fastify would pass over what fails there without a word.
  fastify.addHook('onResponse', (request, reply, done) => {
    told(request, reply);
    done();
  });
}

/** The kind of client that a route serves: by the route's template, so that another spelling of the path changes nothing. No public route takes a body. */
function accessTo({ routeOptions: { url = '' } }: FastifyRequest): 'callers' | 'health' | 'public' {
  // An operator must always be able to see the state.
  if (url.startsWith('/health/')) return 'health';
  return /^\/(?:(problems|docs|openapi)(\W|$)|$)/.test(url) ? 'public' : 'callers';
}

/** A path that cannot be decoded reaches no route, so it is answered here, in the form of every other problem. */
export function answerBadUrl(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  request.state = requestState(request);
  const problem =
    error.code === 'FST_ERR_MAX_PARAM_LENGTH'
      ? new ProblemException('uri-too-long')
      : new ProblemException('validation-failed', {
          errors: [{ parameter: 'path', detail: 'must be percent-encoded UTF-8' }],
        });
  const headers = { 'x-request-id': request.state.requestId, 'cache-control': 'no-store' };
  sendProblem(problem, request, reply.headers(headers));
}
