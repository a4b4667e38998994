import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Callers that ask for what is public, again and again on each connection, in a process of their own: `startStrain` of strain-process.ts
 * starts it, with a {@link Strain} in its environment. What is closed is opened again.
 */
export interface Strain {
  readonly port: number;
  readonly seconds: number;
  readonly connections: number;
}

export interface StrainReport {
  /** How long each response took (ms). */
  readonly floodMs: readonly number[];
  /** How often the attackers got each response, by path and status. */
  readonly reached: Readonly<Record<string, number>>;
}

/** It needs no key. */
const PUBLIC = ['/openapi.json', '/problems', '/health/live', '/docs'];
const AGAIN_MS = 1_000;

const { port, seconds, connections } = JSON.parse(process.env['STRAIN'] ?? '') as Strain;
const end = performance.now() + seconds * 1_000;
const floodMs: number[] = [];
const reached: Record<string, number> = {};

/** Again and again, a moment after it was closed. */
function keepOpen(path: string): void {
  if (performance.now() >= end) return;
  const socket = connect(port, '127.0.0.1', () => askAgain(socket, path));
  socket.on('error', () => undefined).once('close', () => setTimeout(() => keepOpen(path), AGAIN_MS));
}

/** Asks again when the response is there. */
function askAgain(socket: Socket, path: string): void {
  let left = 0;
  let status = '';
  let sentAt = 0;
  const ask = (): void => {
    sentAt = performance.now();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  };
  socket.on('data', (chunk: Buffer) => {
    if (left > 0) left -= chunk.length;
    else {
      const head = chunk.toString('latin1', 0, chunk.indexOf('\r\n\r\n') + 4);
      status = head.slice(9, 12);
      left = head.length + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0) - chunk.length;
    }
    if (left > 0) return;
    const response = `${path} ${status}`;
    reached[response] = (reached[response] ?? 0) + 1;
    floodMs.push(performance.now() - sentAt);
    ask();
  });
  ask();
}

for (let each = 0; each < connections; each++) keepOpen(PUBLIC[each % PUBLIC.length] as string);
await sleep(Math.max(0, end - performance.now()));
const report: StrainReport = { floodMs, reached };
process.stdout.write(JSON.stringify(report), () => process.exit(0));
