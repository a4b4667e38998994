import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { ProblemSlug } from '../problem/catalogue.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { edge } from '../shared/edge.ts';
import { answerFault } from '../problem/fault-response.ts';
import { memoryLimit } from './admission.ts';
import { pathOf, targetFault } from './request-target.ts';

/** Limits of a connection before the caller is known: Node's limits, and those that Node lacks. */

export const MAX_BODY_BYTES = 1024 * 1024;
/** Node includes path and query: a URL of 16 KiB fits in beside 2 KiB of headers, and gets the problem of a long URL. */
const MAX_HEAD_BYTES = 18 * 1024;
const MAX_HEADERS = 100;
/** Far more than any documented request has. */
export const MAX_URL = 8 * 1024;

/** Counted from the first byte of a request, or from the start of a connection without one. A handshake of TLS has the same time. */
export const HEADERS_MS = 4_000;
/** Counted from the first byte of a request to its last. */
const REQUEST_MS = 9_000;
/** The detail of the problem for a client that was too slow. */
export const TOO_LATE = `The request did not arrive in time: its headers have ${HEADERS_MS / 1000} s, all of it has ${REQUEST_MS / 1000} s.`;
/** Node checks these two this often. */
const CHECK_MS = 250;
/** Node checks once more whether the client has read anything, so a client that reads nothing is disconnected after at most twice this time. */
const STALLED_MS = 14_000;
/** Node closes a connection one second later than it announces. */
const KEEP_ALIVE_MS = 71_000;
/** For this time the gateway discards what a client still sends of a body after a refusal, until the client reads the response. */
const LINGER_BODY_MS = 20_000;
/** The same for an unknown client: the gateway reads nothing of its body, and waits for few such clients at a time. */
const LINGER_STRANGER_MS = 2_000;
const MAX_LINGERING_STRANGERS = 256;

const MAX_CONNECTIONS = 10_000;
/** The memory for each connection that may be open: an idle one takes less, one that is served may take more. */
const BYTES_A_CONNECTION = 96 * 1024;
/** Open files that are left for the platform, Redis and the log. */
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
    // Node's response would be empty: malformedRequest() checks it instead.
    requireHostHeader: false,
  },
} as const;

/** Connections on which no further request is served. */
const givenUp = new WeakSet<Socket>();
/** Requests that were refused before all of them had arrived: they must not run when the rest arrives. */
const cutShort = new WeakSet<IncomingMessage>();

/** Limits that cannot be set through Fastify. */
export function limitConnections(server: Server): void {
  // Node silently drops headers beyond its limit: one more than we allow shows that there were too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
  server.on(
    'timeout',
    edge('idle connection', (socket: Socket) => {
      // A client that waits for the platform may be idle. A client that does not read its response, or is idle for long, is disconnected.
      if (firstResponse(socket) && socket.writableLength === 0) socket.setTimeout(STALLED_MS);
      else socket.destroy();
    }),
  );
  // A client is asked for its body when the gateway reads it.
  const serve = (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response);
  const awaits = (request: IncomingMessage, response: ServerResponse): void => {
    awaitingContinue.set(request, response);
    serve(request, response);
  };
  server.on('checkContinue', edge('request', awaits, answerFault));
  server.on('checkExpectation', edge('request', serve, answerFault));
  // The edge catches what Fastify throws before it has made a request of its own.
  const listeners = server.listeners('request') as (typeof serve)[];
  server.removeAllListeners('request');
  const begin = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    // Node has read it together with others, and the connection was closed meanwhile.
    if (socket.destroyed) return;
    let all = underWay.get(socket);
    if (!all) underWay.set(socket, (all = []));
    while (all[0]?.closed) all.shift();
    all.push(response);
    for (const each of listeners) each(request, response);
  };
  server.on('request', edge('request', begin, answerFault));
}

/** The responses that each connection waits for, in their order, and perhaps some that it has got. */
const underWay = new WeakMap<Socket, ServerResponse[]>();

/** Requests whose clients wait for `100 Continue` before they send the body. */
const awaitingContinue = new WeakMap<IncomingMessage, ServerResponse>();

export function askForBody(request: IncomingMessage): void {
  awaitingContinue.get(request)?.writeContinue();
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** How many connections may be open, in a process with this memory (bytes). */
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

/** The response that this connection waits for first. */
export function firstResponse(socket: Socket): ServerResponse | undefined {
  return underWay.get(socket)?.find(({ closed }) => !closed);
}

/** Whether this connection has had its last response: further bytes may be part of the body of a refused request. */
export function isGivenUp(socket: Socket): boolean {
  return givenUp.has(socket);
}

/** The next response of this connection is its last. */
export function giveUp(socket: Socket): void {
  givenUp.add(socket);
}

/** Whether the request was refused while it was still arriving. */
export function isCutShort({ raw }: FastifyRequest): boolean {
  return cutShort.has(raw);
}

export function cutOff(request: IncomingMessage): void {
  cutShort.add(request);
}

const HOST = /^[\w.~%!$&'()*+,;=:[\]-]*$/;

/**
 * Refuses what Node's parser accepts although RFC 9112 does not allow it, or what a proxy before the gateway may have read differently.
 * Afterwards the connection is closed.
 */
export function malformedRequest({ raw, originalUrl }: FastifyRequest): ProblemException | undefined {
  const { headers, rawHeaders, method, httpVersionMajor, httpVersionMinor } = raw;
  if (rawHeaders.length > 2 * MAX_HEADERS) return refusalOf(raw, 'headers-too-large');
  if (httpVersionMajor !== 1) return refusalOf(raw, 'validation-failed', 'version', 'must be HTTP/1.1');
  const { host, expect } = headers;
  const fault = targetFault(originalUrl, host);
  if (fault !== undefined) return refusalOf(raw, 'validation-failed', 'path', fault);
  const isOld = httpVersionMinor === 0;
  if (!isHost(host, isOld, rawHeaders))
    return refusalOf(
      raw,
      'validation-failed',
      'Host',
      'must be given once, as the name and port of the server',
    );
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (isOld || coding.toLowerCase() !== 'chunked'))
    return refusalOf(raw, 'validation-failed', 'Transfer-Encoding', 'must be chunked, in HTTP/1.1');
  if (expect !== undefined && expect.toLowerCase() !== '100-continue')
    return refusalOf(raw, 'validation-failed', 'Expect', 'must be 100-continue');
  if (method === 'GET' && (coding !== undefined || Number(headers['content-length'] ?? 0) > 0))
    return refusalOf(raw, 'validation-failed', 'Content-Length', 'must be 0 on a GET');
  return undefined;
}

function isHost(host: string | undefined, isOld: boolean, rawHeaders: readonly string[]): boolean {
  if (host === undefined) return isOld;
  let count = 0;
  for (let name = 0; name < rawHeaders.length; name += 2) {
    const header = rawHeaders[name] as string;
    if (header.length === 4 && header.toLowerCase() === 'host') count++;
  }
  return count === 1 && HOST.test(host);
}

function refusalOf(
  { socket }: IncomingMessage,
  slug: ProblemSlug,
  parameter?: string,
  detail = '',
): ProblemException {
  givenUp.add(socket);
  return new ProblemException(slug, {
    errors: parameter === undefined ? undefined : [{ parameter, detail }],
  });
}

/**
 * Closes the connection after a response that was sent before the end of its request. For a while the gateway reads and discards what a
 * known caller still sends: otherwise most clients would fail to send and never see the response. From a stranger it reads nothing more:
 * the stranger can read the response while the connection stays open, and a flood of bodies costs nothing.
 */
export function closeAfterResponse(request: IncomingMessage, isStranger: boolean): void {
  const { socket } = request;
  givenUp.add(socket);
  if (isStranger) socket.pause();
  const destroySoon = edge('lingering connection', socket.destroySoon.bind(socket));
  // Node calls it when the response has been written.
  socket.destroySoon = () => {
    socket.end();
    if (isStranger) return lingerUnread(request);
    // A reader that stopped in the midst of the body may still wait for more, and would keep it from flowing. A listener lets it flow:
    // after the last one of a stopped reader, `resume` alone does not.
    request
      .removeAllListeners('readable')
      .once('end', destroySoon)
      .on(
        'data',
        edge('lingering connection', () => undefined),
      );
    setTimeout(destroySoon, LINGER_BODY_MS).unref();
  };
}

/** Connections of strangers that are not read any more, the oldest first. */
const unread = new Set<Socket>();

function lingerUnread(request: IncomingMessage): void {
  const { socket } = request;
  // Node lets the rest of the body flow after the response, to throw it away: a MiB of it costs more than the refusal.
  setImmediate(
    edge('lingering connection', () => {
      request.pause();
      socket.pause();
    }),
  );
  const [oldest] = unread;
  if (oldest && unread.size >= MAX_LINGERING_STRANGERS) oldest.destroy();
  unread.add(socket);
  const end = edge('lingering connection', () => socket.destroy());
  const timer = setTimeout(end, LINGER_STRANGER_MS).unref();
  socket.once(
    'close',
    edge('lingering connection', () => {
      clearTimeout(timer);
      unread.delete(socket);
    }),
  );
}
