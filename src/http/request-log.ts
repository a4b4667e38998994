import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { logFields, type ProblemException } from '../problem/problem.exception.ts';
import { edge } from '../shared/edge.ts';
import { audit } from './audit.ts';
import { cutShort, HUNG_UP } from './server-limits.ts';

/** Writes the lines of a request, and counts it. */
@Injectable()
export class RequestLog {
  constructor(
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {}

  /** Writes the audit line, if the request is a write. */
  responding(request: FastifyRequest, reply: FastifyReply): void {
    audit(this.log, request, reply);
  }

  /** Writes the line of a request whose response is closed, and counts it. */
  readonly ended = edge('log of a request', (request: FastifyRequest, reply: FastifyReply) => {
    const { stages } = request;
    const statusCode = reply.raw.headersSent ? reply.statusCode : (cutShort.get(request.raw) ?? HUNG_UP);
    const { requestId, startedAt, trace } = stages.arrived;
    const { operationId: operation = 'none', takesFile, streams } = stages.authorised?.policy ?? {};
    const durationMs = performance.now() - startedAt;
    // The duration of a file or a stream depends on the caller.
    const isOurs = !takesFile && !streams;
    this.metrics.request(operation, statusCode, isOurs ? durationMs / 1000 : undefined);
    this.log[statusCode >= 500 ? 'error' : 'info'](
      {
        event: 'request',
        requestId,
        traceId: trace.traceId,
        // The log has no path, because its ids and query reveal who bought which product.
        operation,
        status: statusCode,
        durationMs: Math.round(durationMs * 10) / 10,
        upstreamMs: stages.reached && Math.round(stages.reached.call.progress.upstreamMs * 10) / 10,
        caller: stages.identified?.caller.name,
        ...stages.failed?.fields,
      },
      `${operation} ${statusCode}`,
    );
  });

  /** Writes the line of a refusal of bytes that are no request, and counts it. */
  refused(requestId: string, problem: ProblemException): void {
    const { status } = problem.body;
    this.metrics.request('none', status, undefined);
    this.log.info(
      { event: 'request', requestId, operation: 'none', status, ...logFields(problem) },
      `none ${status}`,
    );
  }
}
