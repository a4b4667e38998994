import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './redis.ts';

/** `upstream`: from the client; `downstream`: from the server. */
export type Direction = 'upstream' | 'downstream';

/**
 * The faults of a connection: Toxiproxy's toxics, and `cut_reply`. Those with a direction are `downstream` by default; they apply to
 * open connections too. Times are in ms.
 */
export type Toxic =
  /** Delays every byte, in order. */
  | { toxic: 'latency'; direction?: Direction; ms: number; jitterMs?: number }
  /** The port is closed, and open connections end. */
  | { toxic: 'down' }
  | { toxic: 'bandwidth'; direction?: Direction; bytesPerSecond: number }
  /** The end of the stream comes later than its last byte. */
  | { toxic: 'slow_close'; direction?: Direction; ms: number }
  /**
   * Passes neither bytes nor the end. After `ms` the connection is closed, with 0 never. When it is removed, it closes the connections
   * that it held.
   */
  | { toxic: 'timeout'; direction?: Direction; ms: number }
  /** Swallows the first bytes, and resets both sides `ms` later. */
  | { toxic: 'reset_peer'; direction?: Direction; ms: number }
  | { toxic: 'slicer'; direction?: Direction; averageBytes: number; variation?: number; everyMs: number }
  /** Passes this many bytes, then ends. */
  | { toxic: 'limit_data'; direction?: Direction; bytes: number }
  /**
   * HTTP only: the server carries the request out. Once its whole response is at the proxy, the client is cut off after `bytes` of it.
   */
  | { toxic: 'cut_reply'; by: 'rst' | 'fin'; bytes?: number };

/** Time for the peer to read the bytes before a reset, which may overtake them. */
const BEFORE_RESET_MS = 15;
/** A slice of time for which bandwidth is handed out. */
const TICK_MS = 20;

/** A TCP proxy on a free port that damages its traffic as the test says. */
export class FaultProxy {
  connections = 0;
  readonly bytes: Record<Direction, number> = { upstream: 0, downstream: 0 };
  readonly toxics: Toxic[] = [];
  readonly #links = new Set<Link>();
  #server: Server | undefined;
  #port = 0;

  private constructor(
    private readonly targetPort: number,
    private readonly targetHost: string,
  ) {}

  static async start(targetPort: number, targetHost = '127.0.0.1'): Promise<FaultProxy> {
    const proxy = new FaultProxy(targetPort, targetHost);
    for (;;) {
      // The system gives it to no other connection while the proxy is down.
      proxy.#port = await freePort();
      try {
        await proxy.#listen();
        return proxy;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      }
    }
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Connections that their client still holds open. */
  get open(): number {
    return [...this.#links].filter((link) => link.isHeld).length;
  }

  async add(toxic: Toxic): Promise<void> {
    this.toxics.push(toxic);
    if (toxic.toxic === 'down') await this.#stop();
    for (const link of this.#links) link.toxicsChanged();
  }

  /** Without faults again, on the same port. */
  async clear(): Promise<void> {
    this.toxics.length = 0;
    for (const link of this.#links) link.toxicsChanged();
    if (!this.#server) await this.#listen();
  }

  async close(): Promise<void> {
    this.toxics.length = 0;
    await this.#stop();
  }

  async #listen(): Promise<void> {
    // Without delay: the system would join pieces that the proxy has cut.
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      this.connections++;
      const target = connect({
        host: this.targetHost,
        port: this.targetPort,
        allowHalfOpen: true,
        noDelay: true,
      });
      const link = new Link(client, target, this);
      this.#links.add(link);
      client.once('close', () => this.#links.delete(link));
    });
    this.#server = server;
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
  }

  async #stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = server && once(server, 'close');
    server?.close();
    for (const link of this.#links) link.destroy();
    await closed;
  }
}

type ToxicNamed<Name extends Toxic['toxic']> = Extract<Toxic, { toxic: Name }>;

/** A client's connection and the matching one to the server. */
class Link {
  readonly #pipes: readonly [Pipe, Pipe];

  constructor(
    private readonly client: Socket,
    private readonly target: Socket,
    private readonly proxy: FaultProxy,
  ) {
    this.#pipes = [new Pipe('upstream', client, target, this), new Pipe('downstream', target, client, this)];
    client.on('error', () => target.destroy());
    target.on('error', () => this.reset());
    client.once('close', () => target.destroy());
  }

  find<Name extends Toxic['toxic']>(name: Name, direction?: Direction): ToxicNamed<Name> | undefined {
    return this.proxy.toxics.find((each): each is ToxicNamed<Name> => {
      if (each.toxic !== name) return false;
      const own = 'direction' in each ? each.direction : undefined;
      return direction === undefined || (own ?? 'downstream') === direction;
    });
  }

  count(direction: Direction, bytes: number): void {
    this.proxy.bytes[direction] += bytes;
  }

  get isHeld(): boolean {
    return !this.client.readableEnded && !this.client.destroyed;
  }

  toxicsChanged(): void {
    for (const pipe of this.#pipes) pipe.toxicsChanged();
  }

  destroy(): void {
    this.client.destroy();
    this.target.destroy();
  }

  reset(): void {
    this.client.resetAndDestroy();
    this.target.resetAndDestroy();
  }
}

/** One direction of a link. Pieces are passed on in order, one after the other. */
class Pipe {
  #work: Promise<unknown> = Promise.resolve();
  #passed = 0;
  #robbed = false;
  #timeout: NodeJS.Timeout | undefined;
  /** Part of a response that is held back until it is complete. */
  #held = Buffer.alloc(0);

  constructor(
    private readonly direction: Direction,
    private readonly from: Socket,
    private readonly to: Socket,
    private readonly link: Link,
  ) {
    from.on('data', (chunk) => {
      link.count(direction, chunk.length);
      const due = this.#due();
      this.#then(() => this.#pass(chunk, due));
    });
    from.on('end', () => {
      const due = this.#due();
      this.#then(() => this.#end(due));
    });
    from.once('close', () => clearTimeout(this.#timeout));
    this.toxicsChanged();
  }

  toxicsChanged(): void {
    clearTimeout(this.#timeout);
    const timeout = this.link.find('timeout', this.direction);
    if (timeout && timeout.ms > 0) this.#timeout = setTimeout(() => this.link.destroy(), timeout.ms);
    // A stream with a missing part is useless.
    if (!timeout && this.#robbed) this.link.destroy();
  }

  #then(step: () => Promise<void>): void {
    this.#work = this.#work.then(step).catch(() => this.link.destroy());
  }

  /** When the arriving piece may be passed on, in ms of performance.now(). */
  #due(): number {
    const latency = this.link.find('latency', this.direction);
    if (!latency) return 0;
    const jitter = (latency.jitterMs ?? 0) * (2 * Math.random() - 1);
    return performance.now() + latency.ms + jitter;
  }

  async #pass(chunk: Buffer, due: number): Promise<void> {
    if (this.link.find('timeout', this.direction)) {
      this.#robbed = true;
      return;
    }
    const reset = this.link.find('reset_peer', this.direction);
    if (reset) {
      await sleep(reset.ms);
      return this.link.reset();
    }
    const wait = due - performance.now();
    if (wait > 0) await sleep(wait);
    const cut = this.direction === 'downstream' && this.link.find('cut_reply');
    if (cut) return this.#hold(chunk, cut);
    const limit = this.link.find('limit_data', this.direction);
    const allowed = limit ? chunk.subarray(0, Math.max(0, limit.bytes - this.#passed)) : chunk;
    for (const { piece, pauseMs } of this.#pieces(allowed)) {
      await this.#write(piece);
      if (pauseMs > 0) await sleep(pauseMs);
    }
    if (limit && this.#passed >= limit.bytes) this.#hangUp();
  }

  *#pieces(chunk: Buffer): Generator<{ piece: Buffer; pauseMs: number }> {
    const bandwidth = this.link.find('bandwidth', this.direction);
    const slicer = this.link.find('slicer', this.direction);
    for (let at = 0; at < chunk.length;) {
      let size = chunk.length;
      let pauseMs = 0;
      if (slicer) {
        const { averageBytes, variation = 0 } = slicer;
        size = Math.max(1, Math.round(averageBytes + variation * (2 * Math.random() - 1)));
        pauseMs = slicer.everyMs;
      }
      if (bandwidth) {
        size = Math.min(size, Math.max(1, Math.floor((bandwidth.bytesPerSecond * TICK_MS) / 1000)));
        pauseMs += (Math.min(size, chunk.length - at) * 1000) / bandwidth.bytesPerSecond;
      }
      yield { piece: chunk.subarray(at, at + size), pauseMs };
      at += size;
    }
  }

  async #hold(chunk: Buffer, { by, bytes = 0 }: ToxicNamed<'cut_reply'>): Promise<void> {
    this.#held = Buffer.concat([this.#held, chunk]);
    if (!isWholeAnswer(this.#held)) return;
    if (bytes > 0) await this.#write(this.#held.subarray(0, bytes));
    if (by === 'fin') return this.#hangUp();
    if (bytes > 0) await sleep(BEFORE_RESET_MS);
    this.link.reset();
  }

  async #end(due: number): Promise<void> {
    if (this.link.find('timeout', this.direction)) {
      this.#robbed = true;
      return;
    }
    await sleep(
      Math.max(0, due - performance.now()) + (this.link.find('slow_close', this.direction)?.ms ?? 0),
    );
    this.to.end();
  }

  /** Sends FIN to the reader and discards later pieces. */
  #hangUp(): void {
    this.to.end();
    this.from.destroy();
  }

  async #write(piece: Buffer): Promise<void> {
    if (this.to.destroyed) return;
    this.#passed += piece.length;
    await new Promise<void>((resolve) => this.to.write(piece, () => resolve()));
  }
}

/** Whether these bytes are a whole HTTP/1.1 response, by its length or its last chunk. */
function isWholeAnswer(bytes: Buffer): boolean {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return false;
  const head = bytes.toString('latin1', 0, headEnd);
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (length !== undefined) return bytes.length >= headEnd + 4 + Number(length);
  return bytes.subarray(-5).equals(Buffer.from('0\r\n\r\n'));
}

/** Whether this machine has the loopback address ::1. */
export const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
);

/** A port that neither accepts nor refuses a connection attempt: its queue is full, so the kernel drops every SYN. */
export class Blackhole {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly fillers: readonly Socket[],
  ) {}

  /** `port` 0 is a free one. */
  static async start(host = '127.0.0.1', port = 0): Promise<Blackhole> {
    const child = spawn(process.execPath, ['-e', LISTEN_AND_SLEEP, host, String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const printed = await Promise.race([
      once(child.stdout, 'data').then(([chunk]) => chunk as Buffer),
      once(child, 'exit').then(() => Promise.reject(new Error(`cannot listen on ${host} ${port}`))),
    ]);
    const taken = Number(String(printed));
    // The kernel completes the first connections by itself, one more than the backlog; the server never accepts them.
    const fillers = Array.from({ length: 8 }, () =>
      connect({ host, port: taken }).on('error', () => undefined),
    );
    await Promise.race(fillers.map((socket) => once(socket, 'connect')));
    return new Blackhole(taken, child, fillers);
  }

  async close(): Promise<void> {
    for (const socket of this.fillers) socket.destroy();
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }
}

/** Listens with a backlog of 1 and then blocks; it ends by itself when its parent is gone. */
const LISTEN_AND_SLEEP = `
const [host, port] = process.argv.slice(1);
const server = require('node:net').createServer();
server.listen(Number(port), host, 1, () => {
  require('node:fs').writeSync(1, String(server.address().port));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300_000);
  process.exit();
});`;
