import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { callerTrace } from '../observability/trace-context.ts';
import { firstSpan, isCollecting, within } from '../observability/tracing.ts';
import type { RequestStages } from '../operation/request-stages.ts';
import { edge } from '../shared/edge.ts';

/** A span for each request, from its arrival to the end of its response. Without a collector there is no hook. */
export function connectSpans(fastify: FastifyInstance): void {
  if (!isCollecting()) return;
  fastify.decorateRequest('span');
  fastify.addHook('onRequest', (request, reply, done) => {
    const { method, headers } = request;
    const options = { kind: SpanKind.SERVER, attributes: { 'http.request.method': method } };
    const span = firstSpan(method, options, callerTrace(headers));
    request.span = span;
    // Not in onResponse: Fastify does not call that for a caller that hung up.
    if (span.isRecording())
      reply.raw.once(
        'close',
        edge('span', () => end(request, reply)),
      );
    done();
  });
  // Not before: a request whose rate or token is checked may go on in a turn that another request began.
  fastify.addHook('preHandler', ({ span }, _reply, done) => {
    if (span?.isRecording()) within(span, done);
    else done();
  });
}

/** The route is the template: the path has ids. */
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
