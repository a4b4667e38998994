/** Preloaded into a gateway (`--import`): at its end it writes what its sockets did, as JSON, to the file that this module's URL has in `into`. */
import { subscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';

/** The clock of `process.hrtime` in µs, what happened, and the port of the server that the socket leads to; 0 for one of a client. */
export type SocketTime = readonly [
  at: number,
  what: 'request read' | 'response ended' | 'reads' | 'begins to write' | 'has written',
  port: number,
];

/** Node's own, beneath both a plain write and one that was held back. */
const WRITE = '_writeGeneric';

interface Internals {
  readonly server?: unknown;
  readonly remotePort?: number;
  push(this: Internals, chunk: unknown, encoding?: BufferEncoding): boolean;
  [WRITE](this: Internals, ...all: unknown[]): unknown;
}

const times: SocketTime[] = [];
const note = (what: SocketTime[1], port: number) =>
  void times.push([Number(process.hrtime.bigint()) / 1_000, what, port]);
const portOf = ({ server, remotePort = 0 }: Internals) => (server ? 0 : remotePort);

const sockets = Socket.prototype as unknown as Internals;
// eslint-disable-next-line @typescript-eslint/unbound-method -- each is given its socket below
const { push, [WRITE]: write } = sockets;
sockets.push = function (chunk, encoding) {
  if (chunk !== null) note('reads', portOf(this));
  return push.call(this, chunk, encoding);
};
sockets[WRITE] = function (...all) {
  const port = portOf(this);
  note('begins to write', port);
  const result = write.apply(this, all);
  note('has written', port);
  return result;
};
subscribe('http.server.request.start', () => note('request read', 0));
subscribe('http.server.response.finish', () => note('response ended', 0));

const into = new URL(import.meta.url).searchParams.get('into') ?? '';
process.on('exit', () => writeFileSync(into, JSON.stringify(times)));
