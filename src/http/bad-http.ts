import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ProblemException } from '../problem/problem.exception.ts';
import { edge } from '../shared/edge.ts';
import { problemUnder } from './public-path.ts';
import { cutShort, firstResponse, givenUp, HUNG_UP, MAX_URL, TOO_LATE, TOO_SLOW } from './server-limits.ts';

/** The time for which the gateway discards the bytes that a client still sends after a refusal, until the client reads the response. */
const LINGER_MS = 5_000;
/** The same for a client that was too slow. It is disconnected within 6 s if its headers do not end, and within 11 s if its body does not. */
const LINGER_SLOW_MS = 1_500;

/** Writes the line of a response that belongs to no request. */
type Tell = (requestId: string, problem: ProblemException) => void;

/** Returns the function that answers bytes that are no valid HTTP request, and closes the connection. */
export function answerBadHttp(tell: Tell, publicPath: string): (error: HttpFault, socket: Socket) => void {
  const answer = (error: HttpFault, socket: Socket) => badHttp(error, socket, tell, publicPath);
  return edge('bad request', answer, (_, socket) => socket.destroy());
}

function badHttp(error: HttpFault, socket: Socket, tell: Tell, publicPath: string): void {
  if (givenUp.has(socket) && isAboutRequest(error)) return;
  // If the process was blocked, it reads the bytes of that time in this turn of the event loop.
  if (error.code === TOO_SLOW && socket.bytesRead === 0) {
    setImmediate(edge('slow connection', () => socket.bytesRead > 0 || socket.destroy()));
    return;
  }
  givenUp.add(socket);
  answerInTurn(error, socket, tell, publicPath);
}

type HttpFault = Error & { readonly code?: string; readonly rawPacket?: unknown };

function answerInTurn(error: HttpFault, socket: Socket, tell: Tell, publicPath: string): void {
  const response = firstResponse(socket);
  const refuseWith = (problem: ProblemException, lingerMs = LINGER_MS): void => {
    const requestId = refuse(socket, problem, { response, lingerMs, publicPath });
    // A request of which only a part has arrived has a line of its own.
    if (!response) tell(requestId, problem);
  };
  // A client must not mistake this for the response to a running request, which may be an order.
  if (response?.req.complete && socket.writable) {
    const closed = edge('bad request', () => answerInTurn(error, socket, tell, publicPath));
    response.once('close', closed);
    return;
  }
  if (response) cutShort.set(response.req, HUNG_UP);
  // A client that has sent nothing gets no response. It may have connected in advance, and would read it as the response to its first
  // request.
  if (!socket.writable || socket.bytesRead === 0) socket.destroy();
  else if (error.code !== TOO_SLOW) refuseWith(problemOf(error));
  // The body has arrived, but the process had no time to read it.
  else if (response && response.req.readableLength > 0) {
    refuseWith(new ProblemException('overloaded'));
    response.req.resume();
  } else
    refuseWith(
      new ProblemException('validation-failed', { detail: TOO_LATE, retryable: true }),
      LINGER_SLOW_MS,
    );
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

/** Writes on the socket itself, because Node has made no response object. Returns the id of the request in the response. */
function refuse(
  socket: Socket,
  problem: ProblemException,
  { response, lingerMs, publicPath }: { response?: ServerResponse; lingerMs: number; publicPath: string },
): string {
  const requestId = String(response?.req.headers['x-request-id'] ?? randomUUID());
  const body = problem.bodyFor(requestId);
  if (response) cutShort.set(response.req, body.status);
  const text = problemUnder(publicPath, JSON.stringify(body));
  socket.end(
    `HTTP/1.1 ${body.status} ${body.title}\r\nContent-Type: application/problem+json; charset=utf-8\r\n` +
      `X-Request-Id: ${requestId}\r\nCache-Control: no-store\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
  const end = edge('lingering connection', () => socket.destroy());
  setTimeout(end, lingerMs).unref();
  return requestId;
}
