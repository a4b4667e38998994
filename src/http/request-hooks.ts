import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { CallerAuthentication } from '../caller/caller-authentication.ts';
import { requestState } from '../operation/request-state.ts';
import { Admission } from './admission.ts';
import {
  closeAfterAnswer,
  isCutShort,
  isGivenUp,
  limitConnections,
  MAX_URL,
  malformedRequest,
} from './server-limits.ts';
import { audit } from './audit.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { AllowedMethods } from './allowed-methods.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { sendProblem } from './problem.filter.ts';
import { readRequestBody, UnreadableBody } from '../validation/request-body.ts';

/** Made once: there may be thousands a second. */
const OVERLOADED = new ProblemException('overloaded', { retryAfter: 1 });
const JSON_TYPE = /^application\/json *(; *charset="?utf-8"?)? *$/i;

/** What stands before and after Nest on every request: its state, its body, its standard headers, its log line. */
export function connectHttp(app: NestFastifyApplication): void {
  const fastify = app.getHttpAdapter().getInstance();
  const allowed = app.get(AllowedMethods);
  const callers = app.get(CallerAuthentication);
  const intake = app.get(Admission);
  const log = app.get(Log);
  const metrics = app.get(Metrics);

  limitConnections(fastify.server, metrics);
  fastify.server.on('connection', () => intake.connected());
  fastify.addHook('onRoute', ({ method, url }) => allowed.add(method, url));

  fastify.decorateRequest('state');
  fastify.addHook('onRequest', (request, reply, done) => {
    if (isGivenUp(request)) return void reply.hijack();
    request.state = requestState(request);
    void reply.header('x-request-id', request.state.requestId);
    reply.raw.once('close', intake.arrived());
    const goOn = (problem?: ProblemException): void => {
      if (problem) sendProblem(problem, request, reply);
      else done();
    };
    const problem = malformedRequest(request);
    if (problem) return sendProblem(problem, request, reply.header('connection', 'close'));
    if (request.url.length > MAX_URL) return goOn(new ProblemException('uri-too-long'));
    // Operators must see what is going on, whatever it is.
    if (isAlwaysServed(request)) return done();
    // Before the body is read, let alone parsed: refusing must stay cheap. Who has gone meanwhile wants nothing any more.
    const isTaken = intake.takes(() => {
      if (reply.raw.destroyed || isCutShort(request)) return;
      const refusal = isPublic(request) ? undefined : callers.arrived(request, reply);
      if (refusal instanceof Promise) refusal.then(goOn, done);
      else goOn(refusal);
    });
    if (!isTaken) sendProblem(OVERLOADED, request, reply);
  });

  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    if (!isCutShort(request)) done(null, readBody(request, body as Buffer));
  });

  fastify.addHook('onSend', (request, reply, _payload, done) => {
    // Asked here and not on arrival: a connection kept open by the last answer would hold up the end of the process.
    if (intake.draining) void reply.header('connection', 'close');
    if (!request.raw.complete && reply.getHeader('connection') === 'close') closeAfterAnswer(request.raw);
    // Reads have said what may be kept of them; health and the catalogue leave it open.
    if (!reply.hasHeader('cache-control') && (request.state.call || reply.statusCode >= 400))
      void reply.header('cache-control', 'no-store');
    if (reply.statusCode === 401) void reply.header('www-authenticate', callers.challenge(request.headers));
    const { upstreamMs = 0, lookupMs = 0 } = request.state.call ?? {};
    if (upstreamMs + lookupMs > 0)
      void reply.header('server-timing', `upstream;dur=${(upstreamMs + lookupMs).toFixed(1)}`);
    // Not when the answer has gone out: to a caller that hung up it never does.
    audit(log, request, reply);
    done();
  });

  fastify.addHook('onResponse', (request, reply, done) => {
    const { requestId, startedAt, operation = 'none', caller, call, problem } = request.state;
    const durationMs = performance.now() - startedAt;
    metrics.request(operation, reply.statusCode, durationMs / 1000);
    const level = reply.statusCode >= 500 ? 'error' : 'info';
    log[level](
      {
        event: 'request',
        requestId,
        // Not the path: ids and queries tell who bought what.
        operation,
        status: reply.statusCode,
        durationMs: Math.round(durationMs * 10) / 10,
        upstreamMs: call && Math.round(call.upstreamMs * 10) / 10,
        caller: caller?.name,
        ...problem,
      },
      `${operation} ${reply.statusCode}`,
    );
    done();
  });
}

/** Health and the pages of problems cost nothing, and are what is asked for when something is wrong. */
function isAlwaysServed({ routeOptions }: FastifyRequest): boolean {
  return /^\/(health|problems)(\/|$)/.test(routeOptions.url ?? '');
}

/** The documentation needs no caller, and takes nothing from one. */
function isPublic({ routeOptions }: FastifyRequest): boolean {
  return /^\/(docs|openapi)(\W|$)/.test(routeOptions.url ?? '');
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

/** A body is parsed for known callers only: nobody else can make the gateway work on a megabyte of JSON. */
function readBody(request: FastifyRequest, body: Buffer): unknown {
  if (!request.state.caller) return undefined;
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = request.headers;
  if (!JSON_TYPE.test(type) || coding !== 'identity') return new UnreadableBody('unsupported-media-type');
  return readRequestBody(body);
}
