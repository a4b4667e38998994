import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ProblemException } from '../problem/problem.exception.ts';
import { edge } from '../shared/edge.ts';
import { cutOff, firstResponse, giveUp, isGivenUp, MAX_URL, TOO_LATE } from './server-limits.ts';

/** The time for which the gateway discards the bytes that a client still sends after a refusal, until the client reads the response. */
const LINGER_MS = 5_000;

/** Answers bytes that are no valid HTTP request, and closes the connection. */
export const answerBadHttp = edge('bad request', badHttp, (_, socket) => socket.destroy());

function badHttp(error: HttpFault, socket: Socket): void {
  if (isGivenUp(socket) && isAboutRequest(error)) return;
  // If the process was blocked, it reads the bytes of that time in this turn of the event loop.
  if (error.code === TOO_SLOW && socket.bytesRead === 0) {
    setImmediate(edge('slow connection', () => socket.bytesRead > 0 || socket.destroy()));
    return;
  }
  giveUp(socket);
  answerInTurn(error, socket);
}

const TOO_SLOW = 'ERR_HTTP_REQUEST_TIMEOUT';

type HttpFault = Error & { readonly code?: string; readonly rawPacket?: unknown };

function answerInTurn(error: HttpFault, socket: Socket): void {
  const response = firstResponse(socket);
  // A client must not mistake this for the response to a running request, which may be an order.
  if (response?.req.complete && socket.writable) {
    const closed = edge('bad request', () => answerInTurn(error, socket));
    response.once('close', closed);
    return;
  }
  if (response) cutOff(response.req);
  // A client that has sent nothing gets no response. It may have connected in advance, and would read it as the response to its first
  // request.
  if (!socket.writable || socket.bytesRead === 0) socket.destroy();
  else if (error.code !== TOO_SLOW) refuse(socket, problemOf(error), response);
  // The body has arrived, but the process had no time to read it.
  else if (response && response.req.readableLength > 0) {
    refuse(socket, new ProblemException('overloaded'), response);
    response.req.resume();
  } else {
    refuse(
      socket,
      new ProblemException('validation-failed', { detail: TOO_LATE, retryable: true }),
      response,
    );
    socket.destroySoon();
  }
}

function isAboutRequest({ code = '' }: HttpFault): boolean {
  return code === TOO_SLOW || (code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE');
}

function problemOf({ code, rawPacket }: HttpFault): ProblemException {
  switch (code) {
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ProblemException('payload-too-large');
    case 'HPE_HEADER_OVERFLOW': {
      // Only the URL has arrived, so the URL was too long.
      const [, url = ''] = /^[A-Z]+ ([^ ]*)/.exec(String(rawPacket)) ?? [];
      return new ProblemException(url.length > MAX_URL ? 'uri-too-long' : 'headers-too-large');
    }
    default:
      return new ProblemException('validation-failed');
  }
}

/** Writes on the socket itself, because Node has made no response object. */
function refuse(socket: Socket, problem: ProblemException, response: ServerResponse | undefined): void {
  const requestId = randomUUID();
  const body = problem.bodyFor(requestId);
  if (response) cutOff(response.req, body.status);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${body.status} ${body.title}\r\nContent-Type: application/problem+json; charset=utf-8\r\n` +
      `X-Request-Id: ${requestId}\r\nCache-Control: no-store\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
  const end = edge('lingering connection', () => socket.destroy());
  setTimeout(end, LINGER_MS).unref();
}
