import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Blackhole, type Direction, FaultProxy, hasIpv6, type Toxic } from './fault-proxy.ts';

/** Answers every line with an HTTP response that has the line as its body, and records what arrived. */
let server: Server;
let arrived: string;
/** How many reads the server needed. */
let serverPieces: number;
let proxy: FaultProxy;
const clients: Client[] = [];

beforeEach(async () => {
  arrived = '';
  serverPieces = 0;
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      serverPieces++;
      arrived += chunk.toString('latin1');
    });
    createInterface({ input: socket })
      .on('line', (line) => socket.write(answerOf(line)))
      .on('error', () => undefined);
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

const answerOf = (request: string) =>
  `HTTP/1.1 200 OK\r\ncontent-length: ${request.length}\r\n\r\n${request}`;

/** A connection to the proxy; `received` grows, `over` settles with the way it ended. */
class Client {
  received = '';
  readonly pieces: number[] = [];
  readonly over: Promise<'fin' | 'reset'>;
  readonly #changed: (() => void)[] = [];

  constructor(readonly socket: Socket) {
    clients.push(this);
    const { promise, resolve } = Promise.withResolvers<'fin' | 'reset'>();
    this.over = promise;
    socket.on('error', () => resolve('reset'));
    socket.on('end', () => resolve('fin'));
    socket.on('close', () => resolve('fin'));
    socket.on('data', (chunk) => {
      this.received += chunk.toString('latin1');
      this.pieces.push(chunk.length);
      for (const wake of this.#changed.splice(0)) wake();
    });
  }

  async has(text: string): Promise<void> {
    while (!this.received.endsWith(text)) await new Promise<void>((resolve) => this.#changed.push(resolve));
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}

async function dial(): Promise<Client> {
  const socket = connect({ host: '127.0.0.1', port: proxy.port });
  await once(socket, 'connect');
  return new Client(socket);
}

/** ms that an exchange of `request` takes. */
async function exchange(client: Client, request = 'ping'): Promise<number> {
  const started = performance.now();
  client.received = '';
  client.socket.write(`${request}\n`);
  await client.has(answerOf(request));
  return performance.now() - started;
}

describe('without a toxic', () => {
  it('passes all bytes, and counts connections and bytes', async () => {
    const client = await dial();
    await exchange(client, 'a'.repeat(100_000));
    await exchange(client, 'ping');
    expect(arrived).toHaveLength(100_006);
    expect(proxy.connections).toBe(1);
    expect(proxy.bytes.upstream).toBe(100_006);
    expect(proxy.bytes.downstream).toBeGreaterThan(100_006);
    client.socket.end();
    expect(await client.over).toBe('fin');
  });
});

describe.each<Direction>(['upstream', 'downstream'])('%s', (direction) => {
  it('latency delays every byte, on open connections too, until the proxy is cleared', async () => {
    const client = await dial();
    await exchange(client);
    await proxy.add({ toxic: 'latency', direction, ms: 150, jitterMs: 20 });
    expect(await exchange(client)).toBeGreaterThan(125);
    await proxy.clear();
    await exchange(client, 'still whole');
  });

  it('bandwidth limits the rate', async () => {
    const client = await dial();
    await proxy.add({ toxic: 'bandwidth', direction, bytesPerSecond: 50_000 });
    expect(await exchange(client, 'a'.repeat(10_000))).toBeGreaterThan(180);
  });

  it('slicer cuts the bytes into small pieces', async () => {
    const client = await dial();
    await proxy.add({ toxic: 'slicer', direction, averageBytes: 10, variation: 3, everyMs: 2 });
    const pieces = () => (direction === 'downstream' ? client.pieces.length : serverPieces);
    const before = pieces();
    await exchange(client, 'x'.repeat(200));
    expect(pieces() - before).toBeGreaterThan(3);
  });

  it('limit_data passes the given number of bytes and ends', async () => {
    await proxy.add({ toxic: 'limit_data', direction, bytes: 30 });
    const client = await dial();
    client.socket.write(`${'z'.repeat(100)}\n`);
    await client.over;
    if (direction === 'upstream') await until(() => arrived.length >= 30);
    expect(client.received).toBe(direction === 'upstream' ? '' : answerOf('z'.repeat(100)).slice(0, 30));
    expect(arrived).toBe(direction === 'upstream' ? 'z'.repeat(30) : `${'z'.repeat(100)}\n`);
  });

  it('reset_peer swallows the first bytes and resets', async () => {
    const client = await dial();
    await exchange(client);
    await proxy.add({ toxic: 'reset_peer', direction, ms: 10 });
    client.received = '';
    client.socket.write('lost\n');
    expect(await client.over).toBe('reset');
    expect(client.received).toBe('');
    expect(arrived).toBe(direction === 'upstream' ? 'ping\n' : 'ping\nlost\n');
  });

  it('timeout passes no byte and then closes', async () => {
    const client = await dial();
    await exchange(client);
    client.received = '';
    const started = performance.now();
    await proxy.add({ toxic: 'timeout', direction, ms: 150 });
    client.socket.write('lost\n');
    await client.over;
    expect(performance.now() - started).toBeGreaterThan(140);
    expect(client.received).toBe('');
  });

  it('timeout of 0 never closes, until it is removed', async () => {
    const client = await dial();
    await proxy.add({ toxic: 'timeout', direction, ms: 0 });
    client.socket.write('lost\n');
    expect(await Promise.race([client.over, sleep(100, 'open')])).toBe('open');
    await proxy.clear();
    await client.over;
    await exchange(await dial());
  });

  it('slow_close delays the end, not the bytes', async () => {
    const client = await dial();
    await proxy.add({ toxic: 'slow_close', direction, ms: 150 });
    await exchange(client);
    const started = performance.now();
    client.socket.end();
    await client.over;
    expect(performance.now() - started).toBeGreaterThan(140);
  });
});

it('down: connections end, new ones are refused, and the cleared proxy listens on the same port', async () => {
  const client = await dial();
  await exchange(client);
  await proxy.add({ toxic: 'down' });
  await client.over;
  await expect(dial()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await proxy.clear();
  await exchange(await dial());
  expect(proxy.connections).toBe(2);
});

describe('cut_reply', () => {
  it.each<[Toxic & { toxic: 'cut_reply' }, 'fin' | 'reset', string]>([
    [{ toxic: 'cut_reply', by: 'rst' }, 'reset', ''],
    [{ toxic: 'cut_reply', by: 'fin' }, 'fin', ''],
    [{ toxic: 'cut_reply', by: 'fin', bytes: 20 }, 'fin', answerOf('order').slice(0, 20)],
    [{ toxic: 'cut_reply', by: 'rst', bytes: 20 }, 'reset', answerOf('order').slice(0, 20)],
  ])(
    '%j: the server carries the request out, its response is complete at the proxy, and the client is cut off',
    async (toxic, end, text) => {
      const client = await dial();
      await exchange(client);
      const before = proxy.bytes.downstream;
      client.received = '';
      await proxy.add(toxic);
      client.socket.write('order\n');
      expect(await client.over).toBe(end);
      expect(client.received).toBe(text);
      expect(arrived).toBe('ping\norder\n');
      expect(proxy.bytes.downstream - before).toBe(answerOf('order').length);
    },
  );

  it('waits for the last byte of a response that comes in pieces', async () => {
    server.removeAllListeners('connection');
    server.on('connection', (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n');
        setTimeout(() => socket.write('0\r\n\r\n'), 100);
      });
    });
    await proxy.add({ toxic: 'cut_reply', by: 'fin' });
    const client = await dial();
    const started = performance.now();
    client.socket.write('order\n');
    await client.over;
    expect(performance.now() - started).toBeGreaterThan(90);
    expect(client.received).toBe('');
  });
});

it.each(['127.0.0.1', ...(hasIpv6 ? ['::1'] : [])])(
  'a black hole at %s accepts no connection attempt',
  async (host) => {
    const hole = await Blackhole.start(host);
    const socket = connect({ host, port: hole.port });
    const word = await Promise.race([
      once(socket, 'connect').then(
        () => 'connected',
        (error: { code: string }) => error.code,
      ),
      sleep(300, 'silence'),
    ]);
    socket.destroy();
    await hole.close();
    expect(word).toBe('silence');
  },
);
