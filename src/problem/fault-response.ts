import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { ProblemException } from './problem.exception.ts';

/** Answers a request that failed outside of every filter: with 500, or by closing the connection if a response has begun. */
export function answerFault(_request: unknown, response: ServerResponse): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const requestId = randomUUID();
  const body = JSON.stringify(new ProblemException('internal-error').bodyFor(requestId));
  response
    .writeHead(500, {
      'content-type': 'application/problem+json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'x-request-id': requestId,
      'cache-control': 'no-store',
      connection: 'close',
    })
    .end(body);
}
