import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { callerTrace, firstSpan, isCollecting, within } from '../observability/tracing.ts';
import type { RequestStages } from '../request/request-stages.ts';
import { edge } from '../shared/edge.ts';

/** Adds a span to each request, from its arrival to the end of its response. Without a collector there is no hook. */
export function connectSpans(fastify: FastifyInstance): void {
  if (!isCollecting()) return;
  fastify.decorateRequest('span');
  fastify.addHook('onRequest', (request, reply, done) => {
    const { method, headers } = request;
    const options = { kind: SpanKind.SERVER, attributes: { 'http.request.method': method } };
    const span = firstSpan(method, options, callerTrace(headers));
    request.span = span;
    // The span does not end in `onResponse`, because Fastify does not call it if the caller hung up.
    const closed = edge('span', () => end(request, reply));
    if (span.isRecording()) reply.raw.once('close', closed);
    done();
  });
  // The span becomes the active one only here: a request whose rate or token is checked may continue in a turn that another request began.
  fastify.addHook('preHandler', ({ span }, _reply, done) => {
    if (span?.isRecording()) within(span, done);
    else done();
  });
}

/** Ends the span. Its name is the template of the route, because the path contains ids. */
function end(
  { span, method, stages, routeOptions: { url } }: FastifyRequest,
  { statusCode }: FastifyReply,
): void {
  if (!span) return;
  span.setAttribute('http.response.status_code', statusCode);
  if (url !== undefined) span.updateName(`${method} ${url}`).setAttribute('http.route', url);
  const { authorised, failed } = (stages as RequestStages | undefined) ?? {};
  if (authorised) span.setAttribute('gateway.operation', authorised.policy.operationId);
  const { problem, outcome } = failed?.fields ?? {};
  if (problem !== undefined) span.setAttribute('error.type', String(problem));
  if (outcome !== undefined) span.setAttribute('gateway.outcome', String(outcome));
  if (statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}
