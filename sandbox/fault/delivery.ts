/**
 * Writes a response to the wire, intact or damaged. Damaged deliveries write to the socket directly, past node:http, and end the
 * connection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Reply } from '../answer.ts';
import type { Pending } from './pending.ts';
import type { FaultAction } from './rules.ts';
import { bytesOf } from './spoil.ts';

/** The time in which the bytes before a reset reach the peer's socket. A reset may overtake them. */
const BEFORE_RESET_MS = 15;

/** Sends a response in the ordinary way: node:http, kept-alive connection, Content-Length. */
export function send(response: ServerResponse, { status, headers, body }: Reply): void {
  const withoutBody = status === 204 || status === 304;
  const length = withoutBody ? {} : { 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, { ...(headers as Record<string, string | string[]>), ...length });
  response.end(withoutBody ? undefined : body);
}

/** Delivers a response as the action says. Resolves when the last byte is passed to the socket or the connection is gone. */
export async function deliver(
  reply: Reply,
  action: FaultAction,
  request: IncomingMessage,
  response: ServerResponse,
  pending: Pending,
): Promise<void> {
  const { socket } = request;
  if (action.reset === 'before-headers') return void socket.resetAndDestroy();
  if (action.close === 'before-headers') return void socket.destroySoon();
  if (action.wire !== undefined) {
    await write(socket, [bytesOf(action.wire)], action.slow, pending);
    return void socket.end();
  }
  if (!isBad(action)) return send(response, reply);
  const { head, body } = frame(reply, action);
  const pieces = action.slow?.headers === true ? [Buffer.concat([head, body])] : [head, body];
  const whole = await write(socket, pieces, action.slow, pending);
  if (action.reset === 'mid-body' && (await pending.sleep(BEFORE_RESET_MS)))
    return void socket.resetAndDestroy();
  if (whole) socket.end();
  else socket.destroy();
}

function isBad(action: FaultAction): boolean {
  return (
    action.reset !== undefined ||
    action.close !== undefined ||
    action.truncate !== undefined ||
    action.framing !== undefined ||
    action.slow !== undefined
  );
}

/** Returns the head, which promises the whole body, and as much of the body as the action allows. */
function frame(reply: Reply, action: FaultAction): { head: Buffer; body: Buffer } {
  const whole = Buffer.from(reply.body);
  const framing = action.framing ?? 'length';
  const cut = action.reset === 'mid-body' || action.close === 'mid-body' || action.truncate !== undefined;
  const kept = cut ? whole.subarray(0, action.truncate ?? Math.floor(whole.length / 2)) : whole;
  const lines = [`HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? 'Unknown'}`];
  for (const [name, value] of Object.entries(reply.headers)) {
    for (const one of typeof value === 'string' ? [value] : value) lines.push(`${name}: ${one}`);
  }
  if (framing === 'length') lines.push(`content-length: ${whole.length}`);
  if (framing === 'chunked') lines.push('transfer-encoding: chunked');
  lines.push('connection: close', '', '');
  const head = Buffer.from(lines.join('\r\n'), 'latin1');
  return { head, body: framing === 'chunked' ? chunked(kept, !cut) : kept };
}

/** Returns one chunk with its size, and the last chunk if the body is whole. */
function chunked(bytes: Buffer, last: boolean): Buffer {
  const chunk = bytes.length === 0 ? '' : `${bytes.length.toString(16)}\r\n`;
  return Buffer.concat([
    Buffer.from(chunk),
    bytes,
    Buffer.from((bytes.length === 0 ? '' : '\r\n') + (last ? '0\r\n\r\n' : '')),
  ]);
}

/**
 * Writes all pieces. The last one is written slowly if the action says so. @returns false if the connection ended or the write was
 * cancelled.
 */
async function write(
  socket: Socket,
  pieces: readonly Buffer[],
  slow: FaultAction['slow'],
  pending: Pending,
): Promise<boolean> {
  const last = pieces.at(-1) ?? Buffer.alloc(0);
  for (const piece of pieces.slice(0, -1)) socket.write(piece);
  if (slow === undefined) return flush(socket, last);
  for (let at = 0; at < last.length; at += slow.chunkBytes) {
    if (!(await flush(socket, last.subarray(at, at + slow.chunkBytes)))) return false;
    if (!(await pending.sleep(slow.everyMs))) return false;
  }
  return true;
}

function flush(socket: Socket, bytes: Buffer): Promise<boolean> {
  if (socket.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    socket.write(bytes, (error) => resolve(error === undefined || error === null));
  });
}
