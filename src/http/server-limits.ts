import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { ProblemSlug } from '../problem/catalogue.ts';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import { edge } from '../shared/edge.ts';
import { answerFault } from '../problem/fault-response.ts';
import { memoryLimit } from './admission.ts';
import { pathOf, targetFault } from './request-target.ts';

/** The limits of a connection before the caller is known: Node's own limits, and the ones that Node lacks. */

export const MAX_BODY_BYTES = 1024 * 1024;
/**
 * The most bytes of a head. Node includes path and query: a URL of 16 KiB fits in besides 2 KiB of headers, and gets the problem of a long
 * URL.
 */
const MAX_HEAD_BYTES = 18 * 1024;
const MAX_HEADERS = 100;
/** The longest URL, which is far more than any documented request has. */
export const MAX_URL = 8 * 1024;

/**
 * The time for the headers, from the first byte of a request, or from the start of a connection without one. A TLS handshake has the same
 * time.
 */
export const HEADERS_MS = 4_000;
/** The time from the first byte of a request to its last. */
const REQUEST_MS = 9_000;
/** The detail of the problem for a client that was too slow. */
export const TOO_LATE = `The request did not arrive in time: its headers have ${HEADERS_MS / 1000} s, all of it has ${REQUEST_MS / 1000} s.`;
/** The interval at which Node checks the two times above. */
const CHECK_MS = 250;
/**
 * The time after which a client that reads nothing is checked. Node checks once more, so such a client is disconnected after at most twice
 * this time.
 */
const STALLED_MS = 14_000;
/** The time for which an idle connection stays open. Node closes it one second later than it announces. */
const KEEP_ALIVE_MS = 71_000;
/** The time for which the gateway discards the rest of a body after a refusal, until the client reads the response. */
const LINGER_BODY_MS = 20_000;
/**
 * The time for which an unknown client can read a refusal. The gateway reads nothing of its body, and waits for few such clients at a time.
 */
const LINGER_STRANGER_MS = 2_000;
const MAX_LINGERING_STRANGERS = 256;

const MAX_CONNECTIONS = 10_000;
/** The memory for each connection that may be open. An idle one takes less, and one that is served may take more. */
const BYTES_A_CONNECTION = 96 * 1024;
/** The open files that are reserved for the platform, Redis and the log. */
const RESERVED_FILES = 1_024;

export const serverLimits = {
  bodyLimit: MAX_BODY_BYTES,
  requestTimeout: REQUEST_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  connectionTimeout: STALLED_MS,
  rewriteUrl: ({ url = '/' }: { readonly url?: string }) => pathOf(url),
  http: {
    headersTimeout: HEADERS_MS,
    connectionsCheckingInterval: CHECK_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    insecureHTTPParser: false,
    // The response of Node would be empty, so malformedRequest() checks the header instead.
    requireHostHeader: false,
  },
} as const;

/**
 * Connections that have had their last response, or have it next. No further request is served on them. Further bytes may be part of the
 * body of a refused request.
 */
export const givenUp = new WeakSet<Socket>();
/** Requests that were refused before they had arrived completely, with the status. They must not run when the rest arrives. */
export const cutShort = new WeakMap<IncomingMessage, number>();
/** The status of a request whose caller hung up before the response, in the log and the metrics. nginx uses the same. */
export const HUNG_UP = 499;

/** Node's code for a client that was too slow. */
export const TOO_SLOW = 'ERR_HTTP_REQUEST_TIMEOUT';

/** Sets the limits that cannot be set through Fastify. */
export function limitConnections(server: Server): void {
  // Node silently drops headers beyond its limit. One more than the gateway allows shows that there were too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
  const idle = edge('idle connection', (socket: Socket) => {
    // A client that waits for the platform may be idle. A client that does not read its response, or is idle for long, is disconnected.
    if (firstResponse(socket) && socket.writableLength === 0) socket.setTimeout(STALLED_MS);
    else socket.destroy();
  });
  server.on('timeout', idle);
  // The gateway asks a client for its body only when it reads the body.
  const serve = (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response);
  const awaits = (request: IncomingMessage, response: ServerResponse): void => {
    awaitingContinue.set(request, response);
    serve(request, response);
  };
  server.on('checkContinue', edge('request', awaits, answerFault));
  server.on('checkExpectation', edge('request', serve, answerFault));
  // The edge catches exceptions that Fastify throws before it has made a request of its own.
  const listeners = server.listeners('request') as (typeof serve)[];
  server.removeAllListeners('request');
  const begin = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    // Node has read this request together with others, and the connection was closed since.
    if (socket.destroyed) return;
    let all = underWay.get(socket);
    if (!all) underWay.set(socket, (all = []));
    while (all[0]?.closed) all.shift();
    all.push(response);
    if (hasBody(request)) endIfLate(server, request);
    for (const each of listeners) each(request, response);
  };
  server.on('request', edge('request', begin, answerFault));
}

/** Node looks for slow requests only until the server is closed, and a body that does not end would hold up the end of the process. */
function endIfLate(server: Server, request: IncomingMessage): void {
  const end = edge('late body', () => {
    const late = Object.assign(new Error('the body is late'), { code: TOO_SLOW });
    if (!request.complete) server.emit('clientError', late, request.socket);
  });
  const timer = setTimeout(end, REQUEST_MS + 2 * CHECK_MS).unref();
  request.once(
    'close',
    edge('late body', () => clearTimeout(timer)),
  );
}

/** The responses for which each connection waits, in their order. The list may still have some that were sent. */
const underWay = new WeakMap<Socket, ServerResponse[]>();

/** Requests whose clients wait for `100 Continue` before they send the body. */
const awaitingContinue = new WeakMap<IncomingMessage, ServerResponse>();

export function askForBody(request: IncomingMessage): void {
  awaitingContinue.get(request)?.writeContinue();
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Returns the number of connections that may be open in a process with this memory (bytes). */
export function maxConnections(memory = memoryLimit()): number {
  const files = openFiles();
  return Math.min(
    MAX_CONNECTIONS,
    Math.floor(memory / BYTES_A_CONNECTION),
    Math.max(files - RESERVED_FILES, Math.floor(files / 2)),
  );
}

function openFiles(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    // Only Linux has this file.
    return Infinity;
  }
}

/** Returns the response for which this connection waits first. */
export function firstResponse(socket: Socket): ServerResponse | undefined {
  return underWay.get(socket)?.find(({ closed }) => !closed);
}

/**
 * Calls `next` once the responses before this one on its connection are sent, or at once if there are none. If the connection ends with one
 * of them, `next` is not called: the caller would not get the response.
 */
export function inTurn(response: ServerResponse, next: () => void): void {
  const { socket } = response.req;
  const all = underWay.get(socket) ?? [];
  const before = all[all.indexOf(response) - 1];
  if (!before || before.closed) return next();
  const sent = edge('request in its turn', () => {
    if (socket.writable) next();
  });
  before.once('close', sent);
}

/** The headers that the gateway uses and of which Node keeps the first value, without a word about others. By the lengths of their names. */
const SINGLE: readonly (string | undefined)[] = Object.assign([], {
  4: 'host',
  12: 'content-type',
  13: 'authorization',
});

const HOST = /^[\w.~%!$&'()*+,;=:[\]-]*$/;

/**
 * Refuses a request that Node's parser accepts although RFC 9112 does not allow it, or that a proxy in front of the gateway may have read
 * differently. The connection is closed afterwards.
 */
export function malformedRequest({ raw, originalUrl }: FastifyRequest): ProblemException | undefined {
  if (raw.rawHeaders.length > 2 * MAX_HEADERS) return refusalOf(raw, 'headers-too-large');
  const fault = faultIn(raw, originalUrl);
  return fault && refusalOf(raw, 'validation-failed', [fault]);
}

function faultIn(request: IncomingMessage, target: string): RequestFault | undefined {
  const { headers, rawHeaders, method, httpVersionMajor, httpVersionMinor } = request;
  if (httpVersionMajor !== 1) return { parameter: 'version', detail: 'must be HTTP/1.1' };
  const { host, expect } = headers;
  const detail = targetFault(target, host);
  if (detail !== undefined) return { parameter: 'path', detail };
  const isOld = httpVersionMinor === 0;
  const repeated = repeatedIn(rawHeaders);
  if (repeated === 'host' || !isHost(host, isOld))
    return { parameter: 'Host', detail: 'must be given once, as the name and port of the server' };
  if (repeated !== undefined) return { parameter: repeated, detail: 'must be given once' };
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (isOld || coding.toLowerCase() !== 'chunked'))
    return { parameter: 'Transfer-Encoding', detail: 'must be chunked, in HTTP/1.1' };
  if (expect !== undefined && expect.toLowerCase() !== '100-continue')
    return { parameter: 'Expect', detail: 'must be 100-continue' };
  if (method === 'GET' && (coding !== undefined || Number(headers['content-length'] ?? 0) > 0))
    return { parameter: 'Content-Length', detail: 'must be 0 on a GET' };
  return undefined;
}

function isHost(host: string | undefined, isOld: boolean): boolean {
  return host === undefined ? isOld : HOST.test(host);
}

/** Returns the first of the {@link SINGLE} headers that is there twice. */
function repeatedIn(rawHeaders: readonly string[]): string | undefined {
  // Bit n is set once the header whose name has n letters was there.
  let seen = 0;
  for (let name = 0; name < rawHeaders.length; name += 2) {
    const header = rawHeaders[name] as string;
    const single = SINGLE[header.length];
    if (single === undefined || header.toLowerCase() !== single) continue;
    const bit = 1 << header.length;
    if ((seen & bit) !== 0) return single;
    seen |= bit;
  }
  return undefined;
}

function refusalOf(
  { socket }: IncomingMessage,
  slug: ProblemSlug,
  errors?: readonly RequestFault[],
): ProblemException {
  givenUp.add(socket);
  return new ProblemException(slug, { errors });
}

/**
 * Closes the connection after a response that was sent before the end of its request. The gateway reads and discards for a while the bytes
 * that a known caller still sends, because most clients would otherwise fail to send and never see the response. It reads nothing more from
 * an unknown client. That client can read the response while the connection stays open, and a flood of bodies costs nothing.
 */
export function closeAfterResponse(request: IncomingMessage, isStranger: boolean): void {
  const { socket } = request;
  givenUp.add(socket);
  if (isStranger) socket.pause();
  const destroySoon = edge('lingering connection', socket.destroySoon.bind(socket));
  // Node calls this function when the response has been written.
  socket.destroySoon = () => {
    socket.end();
    if (isStranger) return lingerUnread(request);
    // A reader that stopped in the middle of the body may still wait for more, and would stop the flow. A listener starts the flow again.
    // `resume` alone does not start it again once its last listener is removed.
    const discard = edge('lingering connection', () => undefined);
    request.removeAllListeners('readable').once('end', destroySoon).on('data', discard);
    setTimeout(destroySoon, LINGER_BODY_MS).unref();
  };
}

/** Connections of unknown clients that are not read any more, the oldest first. */
const unread = new Set<Socket>();

function lingerUnread(request: IncomingMessage): void {
  const { socket } = request;
  // Node would read and discard the rest of the body after the response. A MiB of it costs more than the refusal.
  const pause = edge('lingering connection', () => {
    request.pause();
    socket.pause();
  });
  setImmediate(pause);
  const [oldest] = unread;
  if (oldest && unread.size >= MAX_LINGERING_STRANGERS) oldest.destroy();
  unread.add(socket);
  const end = edge('lingering connection', () => socket.destroy());
  const timer = setTimeout(end, LINGER_STRANGER_MS).unref();
  const closed = edge('lingering connection', () => {
    clearTimeout(timer);
    unread.delete(socket);
  });
  socket.once('close', closed);
}
