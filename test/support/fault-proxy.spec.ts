import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Blackhole, type Direction, FaultProxy, hasIpv6 } from './fault-proxy.ts';
import { until } from './redis.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}';
const DIRECTIONS: readonly Direction[] = ['upstream', 'downstream'];

let server: Server;
/** What the server read, and how it answers each piece. */
let arrived: string;
let respond: (socket: Socket) => void;
let proxy: FaultProxy;
const clients: Client[] = [];

beforeEach(async () => {
  arrived = '';
  respond = (socket) => socket.write(ANSWER);
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      arrived += chunk.toString('latin1');
      respond(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await FaultProxy.start((server.address() as AddressInfo).port);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy();
  await proxy.close();
  server.close();
});

/** A connection to the proxy; `over` settles with the way it ended. */
class Client {
  received = '';
  readonly over: Promise<'fin' | 'reset'>;

  private constructor(readonly socket: Socket) {
    clients.push(this);
    const { promise, resolve } = Promise.withResolvers<'fin' | 'reset'>();
    this.over = promise;
    socket.on('error', () => resolve('reset'));
    for (const end of ['end', 'close']) socket.on(end, () => resolve('fin'));
    socket.on('data', (chunk) => (this.received += chunk.toString('latin1')));
  }

  static async dial(): Promise<Client> {
    const socket = connect({ host: '127.0.0.1', port: proxy.port });
    await once(socket, 'connect');
    return new Client(socket);
  }

  /** The ms that a request takes to its answer. */
  async exchange(request: string): Promise<number> {
    const started = performance.now();
    this.received = '';
    this.socket.write(request);
    while (this.received !== ANSWER) await once(this.socket, 'data');
    return performance.now() - started;
  }
}

it('passes all bytes, counts connections, and ends with its client', async () => {
  const client = await Client.dial();
  await client.exchange('ping');
  await client.exchange('pong');
  expect([arrived, proxy.connections, proxy.open]).toEqual(['pingpong', 1, 1]);
  client.socket.end();
  expect(await client.over).toBe('fin');
});

it.each(DIRECTIONS)('latency %s delays every byte of open connections, until it is cleared', async (to) => {
  const client = await Client.dial();
  await client.exchange('ping');
  await proxy.add({ toxic: 'latency', direction: to, ms: 150 });
  expect(await client.exchange('ping')).toBeGreaterThan(140);
  await proxy.clear();
  await client.exchange('still whole');
});

it.each(DIRECTIONS)('reset_peer %s swallows the first bytes and resets', async (to) => {
  const client = await Client.dial();
  await proxy.add({ toxic: 'reset_peer', direction: to, ms: 0 });
  client.socket.write('lost');
  expect(await client.over).toBe('reset');
  expect([client.received, arrived]).toEqual(['', to === 'upstream' ? '' : 'lost']);
});

it.each(DIRECTIONS)('timeout %s passes nothing and does not end, until it is cleared', async (to) => {
  const client = await Client.dial();
  await proxy.add({ toxic: 'timeout', direction: to, ms: 0 });
  client.socket.write('lost');
  await until('the bytes arrive', () => to === 'upstream' || arrived === 'lost');
  expect(await Promise.race([client.over, sleep(100, 'open')])).toBe('open');
  expect([client.received, arrived]).toEqual(['', to === 'upstream' ? '' : 'lost']);
  await proxy.clear();
  await client.over;
  await (await Client.dial()).exchange('ping');
});

it('down: connections end, new ones are refused, and the cleared proxy listens on the same port', async () => {
  const client = await Client.dial();
  await proxy.add({ toxic: 'down' });
  await client.over;
  await expect(Client.dial()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await proxy.clear();
  await (await Client.dial()).exchange('ping');
});

it('drops connections, and waits for their clients', async () => {
  const client = await Client.dial();
  await client.exchange('ping');
  await proxy.drop();
  expect([await client.over, proxy.open]).toEqual(['fin', 0]);
  await (await Client.dial()).exchange('ping');
});

it.each([
  ['rst', 'reset'],
  ['fin', 'fin'],
] as const)('cut_reply by %s: the server answers in pieces, and nothing of it arrives', async (by, end) => {
  const whole = Promise.withResolvers<void>();
  respond = (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n');
    void whole.promise.then(() => socket.write('0\r\n\r\n'));
  };
  await proxy.add({ toxic: 'cut_reply', by });
  const client = await Client.dial();
  client.socket.write('order');
  expect(await Promise.race([client.over, sleep(100, 'open')])).toBe('open');
  whole.resolve();
  expect([await client.over, client.received, arrived]).toEqual([end, '', 'order']);
});

it.each(['127.0.0.1', ...(hasIpv6 ? ['::1'] : [])])('a black hole at %s accepts nothing', async (host) => {
  const hole = await Blackhole.start([host]);
  const socket = connect({ host, port: hole.port });
  const connected = once(socket, 'connect').then(
    () => 'connected',
    (error: { code: string }) => error.code,
  );
  expect(await Promise.race([connected, sleep(300, 'silence')])).toBe('silence');
  socket.destroy();
  await hole.close();
});
