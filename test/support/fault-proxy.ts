import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './redis.ts';
import { whenClosed } from './socket.ts';

/** `upstream`: from the client; `downstream`: from the server. */
export type Direction = 'upstream' | 'downstream';

/**
 * The faults of a connection: some of Toxiproxy's toxics, `cut_reply` and `lose_reply`. Those with a direction are `downstream` by default; they apply
 * to open connections too. Times are in ms.
 */
export type Toxic =
  /** Delays every byte, in order. */
  | { toxic: 'latency'; direction?: Direction; ms: number }
  /** The port is closed, and open connections end. */
  | { toxic: 'down' }
  /** Passes neither bytes nor the end, without a time limit. When it is removed, it closes the connections that it held. */
  | { toxic: 'timeout'; direction?: Direction; ms: 0 }
  /** Swallows the first bytes, and resets both sides at once. */
  | { toxic: 'reset_peer'; direction?: Direction; ms: 0 }
  /** HTTP only: passes the head of the response and the first line of its body, and holds the rest until it is removed. */
  | { toxic: 'hold_rest' }
  /** HTTP only: the server carries the request out. Once its whole response is at the proxy, the client is cut off without it. */
  | { toxic: 'cut_reply'; by: 'rst' | 'fin' }
  /**
   * Once only: the server carries out the request that has these texts. From then on nothing reaches the client, who is cut off when the reply
   * with that text has come.
   */
  | { toxic: 'lose_reply'; request: readonly string[]; reply: string };

/** A TCP proxy on a free port that damages its traffic as the test says. */
export class FaultProxy {
  connections = 0;
  readonly toxics: Toxic[] = [];
  readonly #links = new Set<Link>();
  #server: Server | undefined;
  #port = 0;

  private readonly targetPort: number;
  private readonly targetHost: string;

  private constructor(targetPort: number, targetHost: string) {
    this.targetPort = targetPort;
    this.targetHost = targetHost;
  }

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

  /** Removes all faults and goes on, on the same port. */
  async clear(): Promise<void> {
    this.toxics.length = 0;
    for (const link of this.#links) link.toxicsChanged();
    if (!this.#server) await this.#listen();
  }

  /** Ends every connection, and resolves once its client has closed it too: the next request opens another. */
  async drop(): Promise<void> {
    await Promise.all([...this.#links].map((link) => link.end()));
  }

  async close(): Promise<void> {
    this.toxics.length = 0;
    await this.#stop();
  }

  async #listen(): Promise<void> {
    // The sockets send without delay: the system would join pieces that the proxy has cut.
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
  /** What the reply has that is withheld from the client, with all before it. */
  withheld: string | undefined;

  private readonly client: Socket;
  private readonly target: Socket;
  private readonly proxy: FaultProxy;

  constructor(client: Socket, target: Socket, proxy: FaultProxy) {
    this.client = client;
    this.target = target;
    this.proxy = proxy;
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

  /** A request has passed to the server. */
  passed(chunk: Buffer): void {
    const lost = this.find('lose_reply');
    if (!lost?.request.every((piece) => chunk.includes(piece))) return;
    this.proxy.toxics.splice(this.proxy.toxics.indexOf(lost), 1);
    this.withheld = lost.reply;
  }

  get isHeld(): boolean {
    return !this.client.readableEnded && !this.client.destroyed;
  }

  toxicsChanged(): void {
    for (const pipe of this.#pipes) pipe.toxicsChanged();
  }

  async end(): Promise<void> {
    this.client.end();
    await whenClosed(this.client);
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
  #robbed = false;
  /** Part of a response that is held back until it is complete, or until its first line is. */
  #held = Buffer.alloc(0);
  #release: () => void = () => undefined;

  private readonly direction: Direction;
  private readonly from: Socket;
  private readonly to: Socket;
  private readonly link: Link;

  constructor(direction: Direction, from: Socket, to: Socket, link: Link) {
    this.direction = direction;
    this.from = from;
    this.to = to;
    this.link = link;
    from.on('data', (chunk) => {
      const due = this.#due();
      this.#then(() => this.#pass(chunk, due));
    });
    from.on('end', () => {
      const due = this.#due();
      this.#then(() => this.#end(due));
    });
  }

  toxicsChanged(): void {
    if (!this.link.find('hold_rest')) this.#release();
    // A stream with a missing part is useless.
    if (this.#robbed && !this.link.find('timeout', this.direction)) this.link.destroy();
  }

  #then(step: () => Promise<void>): void {
    this.#work = this.#work.then(step).catch(() => this.link.destroy());
  }

  /** When the arriving piece may be passed on, in ms of performance.now(). */
  #due(): number {
    const latency = this.link.find('latency', this.direction);
    return latency ? performance.now() + latency.ms : 0;
  }

  async #pass(chunk: Buffer, due: number): Promise<void> {
    if (this.link.find('timeout', this.direction)) {
      this.#robbed = true;
      return;
    }
    if (this.link.find('reset_peer', this.direction)) return this.link.reset();
    await sleepUntil(due);
    if (this.direction === 'upstream') this.link.passed(chunk);
    else if (this.link.withheld !== undefined) {
      if (chunk.includes(this.link.withheld)) this.link.destroy();
      return;
    }
    const cut = this.direction === 'downstream' && this.link.find('cut_reply');
    if (cut) return this.#hold(chunk, cut);
    const holds = this.direction === 'downstream' && this.link.find('hold_rest');
    if (holds) await this.#firstLine(chunk);
    else await this.#write(chunk);
  }

  async #write(bytes: Buffer): Promise<void> {
    if (!this.to.destroyed) await new Promise<void>((resolve) => this.to.write(bytes, () => resolve()));
  }

  async #firstLine(chunk: Buffer): Promise<void> {
    this.#held = Buffer.concat([this.#held, chunk]);
    const end = endOfFirstLine(this.#held);
    if (end === 0) return;
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    await this.#write(held.subarray(0, end));
    await new Promise<void>((resolve) => {
      this.#release = resolve;
      this.toxicsChanged();
    });
    await this.#write(held.subarray(end));
  }

  #hold(chunk: Buffer, { by }: ToxicNamed<'cut_reply'>): void {
    this.#held = Buffer.concat([this.#held, chunk]);
    if (!isWholeAnswer(this.#held)) return;
    if (by === 'rst') return this.link.reset();
    this.to.end();
    this.from.destroy();
  }

  async #end(due: number): Promise<void> {
    if (this.link.find('timeout', this.direction)) {
      this.#robbed = true;
      return;
    }
    await sleepUntil(due);
    this.to.end();
  }
}

async function sleepUntil(due: number): Promise<void> {
  const wait = due - performance.now();
  if (wait > 0) await sleep(wait);
}

/** How many of these bytes are the head of a response and the first line of its body; 0 where the line has not come yet. */
function endOfFirstLine(bytes: Buffer): number {
  const headEnd = bytes.indexOf('\r\n\r\n') + 4;
  if (headEnd < 4) return 0;
  const isChunked = /^transfer-encoding: *chunked/im.test(bytes.toString('latin1', 0, headEnd));
  const body = isChunked ? bytes.indexOf('\n', headEnd) + 1 : headEnd;
  return body === 0 ? 0 : bytes.indexOf('\n', body) + 1;
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
  readonly port: number;
  private readonly child: ChildProcess;
  private readonly fillers: readonly Socket[];

  private constructor(port: number, child: ChildProcess, fillers: readonly Socket[]) {
    this.port = port;
    this.child = child;
    this.fillers = fillers;
  }

  /** The same port of each of these addresses; 0 is a free one. */
  static async start(hosts: readonly string[] = ['127.0.0.1'], port = 0): Promise<Blackhole> {
    const child = spawn(process.execPath, ['-e', LISTEN_AND_SLEEP, String(port), ...hosts], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const printed = await Promise.race([
      once(child.stdout, 'data').then(([chunk]) => chunk as Buffer),
      once(child, 'exit').then(() =>
        Promise.reject(new Error(`cannot listen on ${hosts.join(' ')} ${port}`)),
      ),
    ]);
    const taken = Number(String(printed));
    // The kernel completes the first connections by itself, one more than the backlog; the server never accepts them.
    const fill = (host: string) =>
      Array.from({ length: 8 }, () => connect({ host, port: taken }).on('error', () => undefined));
    const fillers = hosts.map(fill);
    for (const sockets of fillers) await Promise.race(sockets.map((socket) => once(socket, 'connect')));
    return new Blackhole(taken, child, fillers.flat());
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
const { once } = require('node:events');
const [port, ...hosts] = process.argv.slice(1);
(async () => {
  let taken = Number(port);
  for (const host of hosts) {
    const server = require('node:net').createServer().listen(taken, host, 1);
    await once(server, 'listening');
    taken = server.address().port;
  }
  require('node:fs').writeSync(1, String(taken));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300_000);
  process.exit();
})();`;
