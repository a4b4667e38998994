import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { whenClosed } from './socket.ts';

export interface Seen {
  readonly socket: Socket;
  /** Everything that arrived on this connection; with TLS, the decrypted bytes. */
  bytes: string;
}

/** A server of TCP or TLS; the test writes the HTTP. */
export class RawServer {
  readonly connections: Seen[] = [];
  /** Called when a whole request head has arrived. */
  respond: (socket: Socket, head: string) => void = (socket) => socket.write(ok('{}'));
  connected: (socket: Socket) => void = () => undefined;
  readonly #server: Server;

  private constructor(private readonly tls?: TlsOptions) {
    const accept = (socket: Socket) => this.#accept(socket);
    this.#server = tls ? createTlsServer(tls, accept) : createServer(accept);
  }

  static async start(tls?: TlsOptions): Promise<RawServer> {
    const server = new RawServer(tls);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `${this.tls ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  get requests(): string[] {
    return this.connections.flatMap(({ bytes }) => heads(bytes).map((head) => head.split('\r\n')[0] ?? ''));
  }

  /** Ends every connection, waits until its client has closed it too, and forgets them all. */
  async clear(): Promise<void> {
    for (const { socket } of this.connections.splice(0)) {
      if (socket.destroyed) continue;
      socket.end();
      await whenClosed(socket);
    }
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const { socket } of this.connections) socket.destroy();
    await once(this.#server, 'close');
  }

  #accept(socket: Socket): void {
    const seen: Seen = { socket, bytes: '' };
    this.connections.push(seen);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      const before = heads(seen.bytes).length;
      seen.bytes += chunk.toString('latin1');
      for (const head of heads(seen.bytes).slice(before)) this.respond(socket, head);
    });
    this.connected(socket);
  }
}

/** The heads of the requests in these bytes; bodies have no empty line. */
export function heads(bytes: string): string[] {
  return [...bytes.matchAll(/(?:GET|POST) [^\r]+\r\n(?:[^\r]+\r\n)*\r\n/g)].map(([head]) => head);
}

export function ok(body: string, headers = ''): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Writes a text, and another one again and again until the connection ends. Returns how many bytes were written so far. */
export function writeEndlessly(socket: Socket, first: string, endless: string): () => number {
  const block = Buffer.from(endless.repeat(Math.ceil(65_536 / endless.length)));
  const write = () => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on('drain', write);
  socket.write(first);
  write();
  return () => socket.bytesWritten;
}
