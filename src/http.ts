import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { CallerIntake } from './caller/caller-intake.ts';
import { requestState } from './caller/request-call.ts';
import { Intake } from './health/intake.ts';
import { audit } from './observability/audit.ts';
import { Log } from './observability/log.ts';
import { Metrics } from './observability/metrics.ts';
import { AllowedMethods } from './problem/allowed-methods.ts';
import { ProblemException } from './problem/problem.exception.ts';
import { sendProblem } from './problem/problem.filter.ts';
import { readRequestBody, UnreadableBody } from './validation/request-body.ts';

/** Far beyond any request of the contract, and below the limit of Node's parser. */
const MAX_URL = 8 * 1024;
const JSON_TYPE = /^application\/json *(; *charset="?utf-8"?)? *$/i;

/** What stands before and after Nest on every request: its state, its body, its standard headers, its log line. */
export function connectHttp(app: NestFastifyApplication): void {
  const fastify = app.getHttpAdapter().getInstance();
  const allowed = app.get(AllowedMethods);
  const callers = app.get(CallerIntake);
  const intake = app.get(Intake);
  const log = app.get(Log);
  const metrics = app.get(Metrics);

  fastify.addHook('onRoute', ({ method, url }) => allowed.add(method, url));

  fastify.decorateRequest('state');
  fastify.addHook('onRequest', (request, reply, done) => {
    request.state = requestState(request);
    void reply.header('x-request-id', request.state.requestId);
    reply.raw.once('close', intake.arrived());
    const goOn = (problem?: ProblemException): void => {
      if (problem) sendProblem(problem, request, reply);
      else if (request.url.length > MAX_URL)
        sendProblem(new ProblemException('uri-too-long'), request, reply);
      else done();
    };
    // Before the body is read, let alone parsed. Refusing must stay cheap, and operators must still see what is going on.
    if (!isAlwaysServed(request) && intake.refuses())
      return goOn(new ProblemException('overloaded', { retryAfter: 1 }));
    const problem = isPublic(request) ? undefined : callers.arrived(request, reply);
    if (problem instanceof Promise) problem.then(goOn, done);
    else goOn(problem);
  });

  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    done(null, readBody(request, body as Buffer));
  });

  fastify.addHook('onSend', (request, reply, _payload, done) => {
    // Asked here and not on arrival: a connection kept open by the last answer would hold up the end of the process.
    if (intake.draining) void reply.header('connection', 'close');
    // Reads have said what may be kept of them; health and the catalogue leave it open.
    if (!reply.hasHeader('cache-control') && (request.state.call || reply.statusCode >= 400))
      void reply.header('cache-control', 'no-store');
    if (reply.statusCode === 401) void reply.header('www-authenticate', callers.challenge(request.headers));
    const upstreamMs = request.state.call?.upstreamMs ?? 0;
    if (upstreamMs > 0) void reply.header('server-timing', `upstream;dur=${upstreamMs.toFixed(1)}`);
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

/** What needs no caller takes nothing from one: these, and the documentation. */
function isPublic({ routeOptions }: FastifyRequest): boolean {
  return /^\/(health|problems|docs|openapi)(\W|$)/.test(routeOptions.url ?? '');
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

/** What is no HTTP that can be served, told on the bare socket; after it the connection is of no use. */
export function answerBadHttp(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const slug = error.code === 'HPE_HEADER_OVERFLOW' ? 'headers-too-large' : 'validation-failed';
  const requestId = randomUUID();
  const body = new ProblemException(slug).answer(requestId);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${body.status} ${body.title}\r\nContent-Type: application/problem+json; charset=utf-8\r\n` +
      `X-Request-Id: ${requestId}\r\nCache-Control: no-store\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}

/** A body is parsed for known callers only: nobody else can make the gateway work on a megabyte of JSON. */
function readBody(request: FastifyRequest, body: Buffer): unknown {
  if (!request.state.caller) return undefined;
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = request.headers;
  if (!JSON_TYPE.test(type) || coding !== 'identity') return new UnreadableBody('unsupported-media-type');
  return readRequestBody(body);
}
