import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Callers that want the gateway to be of no use, in a process of their own: `startStrain` of strain-process.ts starts it, with a
 * {@link Strain} in its environment. What is closed is opened again.
 */
export interface Strain {
  readonly port: number;
  readonly seconds: number;
  /** Connections that ask for /health/live once and then say nothing. */
  readonly idle: number;
  /** Bodies of 1 MiB without a key that lack their last byte. */
  readonly bodies: number;
  /** Connections that ask for what is public, again and again. */
  readonly floods: number;
  /** Connections of a caller that is granted one enterprise: pages of orders, and writes with a new key and a body that is wrong. */
  readonly bounded: { readonly key: string; readonly pages: number; readonly writes: number };
}

export interface StrainReport {
  /** How long each response to a flood took (ms). */
  readonly floodMs: readonly number[];
  /** How many responses of each status the bounded caller got. */
  readonly bounded: Readonly<Record<string, number>>;
}

const AGAIN_MS = 1_000;
const PUBLIC = ['/openapi.json', '/problems', '/health/live', '/docs'];
const MIB = 1024 * 1024;

const { port, seconds, idle, bodies, floods, bounded } = JSON.parse(process.env['STRAIN'] ?? '') as Strain;
const end = performance.now() + seconds * 1_000;

/** Again and again, a moment after it was closed. */
function keepOpen(begin: (socket: Socket) => void): void {
  if (performance.now() >= end) return;
  const socket = connect(port, '127.0.0.1', () => begin(socket));
  socket
    .on('error', () => undefined)
    .resume()
    .once('close', () => setTimeout(() => keepOpen(begin), AGAIN_MS));
}

/** Asks again when the response is there. */
function askAgain(socket: Socket, request: () => string, heard: (status: string, ms: number) => void): void {
  let left = 0;
  let status = '';
  let sentAt = 0;
  const ask = (): void => {
    sentAt = performance.now();
    socket.write(request());
  };
  socket.on('data', (chunk: Buffer) => {
    if (left > 0) left -= chunk.length;
    else {
      const head = chunk.toString('latin1', 0, chunk.indexOf('\r\n\r\n') + 4);
      status = head.slice(9, 12);
      left = head.length + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0) - chunk.length;
    }
    if (left > 0) return;
    heard(status, performance.now() - sentAt);
    ask();
  });
  ask();
}

// In pieces, as long as nothing is answered: what both ends of a connection hold is memory of this machine.
const piece = Buffer.alloc(64 * 1024, ' ');
const head = `POST /v1/license-orders HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${MIB}\r\n\r\n`;
function sendBody(socket: Socket): void {
  let left = MIB - 1;
  const more = (): void => {
    if (left === 0 || socket.destroyed || socket.bytesRead > 0) return;
    const next = piece.subarray(0, Math.min(left, piece.length));
    left -= next.length;
    socket.write(next, () => setTimeout(more, 20));
  };
  socket.write(head);
  more();
}

const floodMs: number[] = [];
const noteFlood = (_status: string, ms: number): unknown => floodMs.push(ms);
for (let each = 0; each < floods; each++) {
  const request = `GET ${PUBLIC[each % PUBLIC.length]} HTTP/1.1\r\nHost: a\r\n\r\n`;
  keepOpen((socket) => askAgain(socket, () => request, noteFlood));
}

const statuses: Record<string, number> = {};
const count = (status: string): void => {
  statuses[status] = (statuses[status] ?? 0) + 1;
};
const from = `HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${bounded.key}\r\n`;
const page = (): string => `GET /v1/license-orders?pageSize=100 ${from}\r\n`;
const wrongWrite = (): string =>
  `POST /v1/enterprises/ent-harbour/locks/disable ${from}Idempotency-Key: ${randomUUID()}\r\n` +
  'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
for (let each = 0; each < bounded.pages; each++) keepOpen((socket) => askAgain(socket, page, count));
for (let each = 0; each < bounded.writes; each++) keepOpen((socket) => askAgain(socket, wrongWrite, count));

for (let each = 0; each < Math.max(idle, bodies); each++) {
  if (each < bodies) keepOpen(sendBody);
  if (each < idle) keepOpen((socket) => socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'));
  if (each % 200 === 199) await sleep(50);
}
await sleep(Math.max(0, end - performance.now()));
const report: StrainReport = { floodMs, bounded: statuses };
process.stdout.write(JSON.stringify(report), () => process.exit(0));
