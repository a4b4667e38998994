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
  /** New connections a second, for all purposes together; without a limit, as many as the gateway accepts. */
  readonly opens?: number | undefined;
  /** Connections that ask for /health/live once and then say nothing. */
  readonly idle?: number;
  /** Bodies of 1 MiB without a key that lack their last byte. */
  readonly bodies?: number;
  /** Connections that ask for what is public, again and again. */
  readonly floods?: number;
  /** The key of a caller that is granted one enterprise. */
  readonly key?: string;
  /** Its connections that list orders. */
  readonly pages?: number;
  /** Its connections that send writes with a new key and a body that is wrong. */
  readonly writes?: number;
}

export interface StrainReport {
  /** How long each response to a flood took (ms). */
  readonly floodMs: readonly number[];
  /** What the attackers reached: connections that were opened for each purpose, and responses by purpose and status. */
  readonly reached: Readonly<Record<string, number>>;
}

const AGAIN_MS = 1_000;
const MIB = 1024 * 1024;

const {
  port,
  seconds,
  opens = Infinity,
  idle = 0,
  bodies = 0,
  floods = 0,
  key = '',
  pages = 0,
  writes = 0,
  paths,
} = JSON.parse(process.env['STRAIN'] ?? '') as Strain & { readonly paths: readonly string[] };
const end = performance.now() + seconds * 1_000;

const reached: Record<string, number> = {};
const count = (what: string): void => {
  reached[what] = (reached[what] ?? 0) + 1;
};

let nextOpen = 0;
/** Resolves when the next connection may be opened. */
async function turn(): Promise<void> {
  if (opens === Infinity) return;
  nextOpen = Math.max(nextOpen, performance.now()) + 1_000 / opens;
  await sleep(nextOpen - performance.now());
}

/** Again and again, a moment after it was closed. */
async function keepOpen(purpose: string, begin: (socket: Socket) => void): Promise<void> {
  await turn();
  if (performance.now() >= end) return;
  const socket = connect(port, '127.0.0.1', () => {
    count(`${purpose} connections`);
    begin(socket);
  });
  socket
    .on('error', () => undefined)
    .resume()
    .once('close', () => setTimeout(() => void keepOpen(purpose, begin), AGAIN_MS));
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
  socket.once('data', (chunk: Buffer) => count(`bodies ${chunk.toString('latin1', 9, 12)}`)).write(head);
  more();
}

const floodMs: number[] = [];
for (let each = 0; each < floods; each++) {
  const path = paths[each % paths.length] as string;
  const request = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  void keepOpen('floods', (socket) =>
    askAgain(
      socket,
      () => request,
      (status, ms) => {
        count(`${path} ${status}`);
        floodMs.push(ms);
      },
    ),
  );
}

const from = `HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\n`;
const page = (): string => `GET /v1/license-orders?pageSize=100 ${from}\r\n`;
const wrongWrite = (): string =>
  `POST /v1/enterprises/ent-harbour/locks/disable ${from}Idempotency-Key: ${randomUUID()}\r\n` +
  'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
for (const [purpose, connections, request] of [
  ['pages', pages, page],
  ['writes', writes, wrongWrite],
] as const)
  for (let each = 0; each < connections; each++)
    void keepOpen(purpose, (socket) => askAgain(socket, request, (status) => count(`${purpose} ${status}`)));

for (let each = 0; each < Math.max(idle, bodies); each++) {
  if (each < bodies) void keepOpen('bodies', sendBody);
  if (each < idle)
    void keepOpen('idle', (socket) => {
      socket.once('data', (chunk: Buffer) => count(`idle ${chunk.toString('latin1', 9, 12)}`));
      socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n');
    });
  if (each % 200 === 199) await sleep(50);
}
await sleep(Math.max(0, end - performance.now()));
const report: StrainReport = { floodMs, reached };
process.stdout.write(JSON.stringify(report), () => process.exit(0));
