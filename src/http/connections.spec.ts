import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectTls, type TlsOptions } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeCertificates, type TestCertificates } from '../../test/support/certificates.ts';
import { Metrics } from '../observability/metrics.ts';
import { Connections } from './connections.ts';
import { maxConnections } from './server-limits.ts';

let server: Server;
let connections: Connections;
let clients: Socket[];
/** Requests that wait for their response, by path. Requests under /known belong to a known caller. */
let waiting: Map<string, ServerResponse>;

async function start(max: number, tls?: TlsOptions): Promise<void> {
  waiting = new Map();
  clients = [];
  connections = new Connections(new Metrics());
  const heard = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket, url = '' } = request;
    const left = connections.busy(socket);
    if (!left) return;
    response.once('close', left);
    if (url.startsWith('/known')) connections.known(socket);
    waiting.set(url, response);
    server.emit('heard');
  };
  server = tls ? createTlsServer(tls, heard) : createServer(heard);
  connections.bound(server, max);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

/** Opens a connection and sends these requests on it. Resolves when the server has received all of them. */
async function open(...paths: readonly string[]): Promise<Socket> {
  const accepted = once(server, 'connection');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  clients.push(client);
  client.resume();
  await accepted;
  if (paths.length > 0) client.write(requests(paths));
  while (!paths.every((path) => waiting.has(path))) await once(server, 'heard');
  return client;
}

const requests = (paths: readonly string[]) =>
  paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join('');

async function respond(path: string): Promise<void> {
  const response = waiting.get(path) as ServerResponse;
  response.end();
  await once(response, 'close');
}

afterEach(() => {
  for (const client of clients) client.destroy();
  server.close();
});

describe('K21 the connection that makes room for a new one', () => {
  beforeEach(() => start(4));

  it('is one of a stranger that is idle, the first of them, before one that waits for its response', async () => {
    const busy = await open('/busy');
    const first = await open();
    const second = await open();
    await open('/known');
    const gone = once(first, 'close');
    await open();
    await gone;
    expect([busy, second].map(({ closed }) => closed)).toEqual([false, false]);
  });

  it('is then one of a stranger that waits, and only then an idle one of a known caller', async () => {
    const idle = await open('/known/idle');
    await respond('/known/idle');
    const busy = await open('/busy');
    const waits = await open('/known/waits');
    await open('/known/too');
    const busyGone = once(busy, 'close');
    await open('/known/third');
    await busyGone;
    expect(idle.closed).toBe(false);
    const idleGone = once(idle, 'close');
    await open('/known/fourth');
    await idleGone;
    expect(waits.closed).toBe(false);
  });

  it('is none on which a known caller waits: then the new one is for nothing', async () => {
    const callers = await Promise.all([1, 2, 3, 4].map((each) => open(`/known/${each}`)));
    await open('/known/5');
    const refused = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    await once(refused, 'close');
    expect(callers.map(({ closed }) => closed)).toEqual([false, false, false, false]);
  });
});

describe('K21 with TLS, the connection that makes room for a new one', () => {
  let certificates: TestCertificates;
  beforeEach(async () => {
    certificates = await makeCertificates();
    await start(3, certificates.good);
  });

  async function openSecure(...paths: readonly string[]): Promise<Socket> {
    const { port } = server.address() as AddressInfo;
    const client = connectTls({ port, host: '127.0.0.1', ca: certificates.ca }).on('error', () => undefined);
    clients.push(client);
    const accepted = once(server, 'secureConnection');
    await Promise.all([accepted, once(client, 'secureConnect')]);
    client.resume();
    if (paths.length > 0) client.write(requests(paths));
    while (!paths.every((path) => waiting.has(path))) await once(server, 'heard');
    return client;
  }

  it('is one without a handshake, then an idle one, and each counts once', async () => {
    const silent = await open();
    const idle = await openSecure();
    const busy = await openSecure('/known');
    const silentGone = once(silent, 'close');
    await openSecure('/known/too');
    await silentGone;
    expect([idle, busy].map(({ destroyed }) => destroyed)).toEqual([false, false]);
    const idleGone = once(idle, 'close');
    await openSecure('/known/third');
    await idleGone;
    expect(busy.destroyed).toBe(false);
  });

  it('K61 is never one that has gone: whoever hangs up in the midst of a handshake is forgotten', async () => {
    for (let count = 0; count < 20; count++) {
      const gone = await open();
      const closed = once(gone, 'close');
      gone.end('no TLS');
      await closed;
    }
    const all = [await openSecure('/known/1'), await openSecure('/known/2'), await openSecure('/known/3')];
    expect(all.map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  });
});

it('K21 the limit of connections leaves most of a small memory for requests', () => {
  expect(maxConnections(512 * 1024 * 1024)).toBeLessThan(6_000);
});

it('P20 a connection closes after its last response, also if that had begun before the end', async () => {
  await start(4);
  const client = await open('/known');
  const response = waiting.get('/known') as ServerResponse;
  const { socket } = response;
  response.write('a part');
  connections.closeUnused();
  const closed = once(client, 'close');
  await respond('/known');
  expect(socket?.writableEnded).toBe(true);
  await closed;
});

describe('K42 requests at once on one connection', () => {
  beforeEach(() => start(10));
  const many = Array.from({ length: 2_000 }, (_, index) => `/${index}`);

  it('are sixteen at most of a stranger: one more closes it, and none of the rest is heard', async () => {
    const client = await open();
    const closed = once(client, 'close');
    client.write(requests(many));
    await closed;
    expect([...waiting.keys()]).toEqual(many.slice(0, 16));
  });

  it('may be more when those before have their response, and a hundred of a known caller', async () => {
    const paths = many.slice(0, 16);
    const client = await open(...paths);
    for (const path of paths) await respond(path);
    waiting.clear();
    client.write(requests(paths));
    while (waiting.size < 16) await once(server, 'heard');
    const caller = await open('/known', ...many.slice(100, 199));
    expect([client.closed, caller.closed]).toEqual([false, false]);
    const closed = once(caller, 'close');
    caller.write(requests(['/more']));
    await closed;
    expect(waiting.has('/more')).toBe(false);
  });
});
