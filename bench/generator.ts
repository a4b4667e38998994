import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/**
 * HTTP/1.1 over plain sockets, one request at a time on each: cheap, so that two cores are enough for the load, what is measured
 * and the platform. Statuses are checked on every answer, bodies where the caller asks.
 */

export interface Ask {
  /** The whole request of that number, ASCII only. */
  readonly request: (index: number) => string;
  readonly status: number;
  /** Throws where an answer is not what was asked for. */
  readonly check: (body: string) => void;
}

/** The answer was wrong: what was measured means nothing. */
export class WrongAnswer extends Error {
  override readonly name = 'WrongAnswer';
}

interface Pending {
  readonly resolve: (body: string | undefined) => void;
  readonly reject: (error: Error) => void;
  readonly status: number;
  readonly keep: boolean;
}

const HEAD_END = '\r\n\r\n';

/** A connection that carries one request after the other. */
export class Connection {
  readonly #socket: Socket;
  #pending: Pending | undefined;
  /** Of the answer under way: a head that is not whole yet, what is kept of its body, and how much of that is to come. */
  #head: Buffer | undefined;
  #kept: Buffer[] = [];
  #left = -1;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new WrongAnswer('the connection was closed')));
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new Connection(socket);
  }

  /** Resolves with the body where it is to be kept. */
  send(request: string, status: number, keep = false): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject, status, keep };
      this.#socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.#pending = undefined;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    const pending = this.#pending;
    if (!pending) return;
    let body = chunk;
    if (this.#left < 0) {
      const bytes = this.#head ? Buffer.concat([this.#head, chunk]) : chunk;
      const end = bytes.indexOf(HEAD_END);
      if (end < 0) {
        this.#head = bytes;
        return;
      }
      this.#head = undefined;
      const head = bytes.toString('latin1', 0, end);
      body = bytes.subarray(end + HEAD_END.length);
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      if (Number(head.slice(9, 12)) !== pending.status || length === undefined) {
        this.#fail(new WrongAnswer(`${head}${HEAD_END}${body.toString().slice(0, 500)}`));
        return;
      }
      this.#left = Number(length);
      this.#kept = [];
    }
    this.#left -= body.length;
    if (pending.keep) this.#kept.push(body);
    if (this.#left > 0) return;
    this.#left = -1;
    this.#pending = undefined;
    pending.resolve(pending.keep ? Buffer.concat(this.#kept).toString() : undefined);
  }

  #fail(error: Error): void {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.reject(error);
  }
}

/** Connections, in turns to each port, with one checked request each behind them. */
export async function openChecked(
  ports: readonly number[],
  count: number,
  ask: Ask,
  next: () => number,
): Promise<Connection[]> {
  const portOf = (index: number) => ports[index % ports.length] as number;
  const opened = await Promise.all(
    Array.from({ length: count }, (_, index) => Connection.open(portOf(index))),
  );
  await Promise.all(
    opened.map(async (connection) => {
      const body = await connection.send(ask.request(next()), ask.status, true);
      ask.check(body ?? '');
    }),
  );
  return opened;
}

export interface Answered {
  readonly seconds: number;
  /** Of each answer, in ms. */
  readonly latencies: readonly number[];
}

/** Every connection asks again as soon as it is answered. */
export async function flood(
  connections: readonly Connection[],
  ask: Ask,
  next: () => number,
  seconds: number,
): Promise<Answered> {
  const latencies: number[] = [];
  const started = performance.now();
  const until = started + seconds * 1_000;
  await Promise.all(
    connections.map(async (connection) => {
      for (let now = performance.now(); now < until;) {
        await connection.send(ask.request(next()), ask.status);
        const answered = performance.now();
        latencies.push(answered - now);
        now = answered;
      }
    }),
  );
  return { seconds: (performance.now() - started) / 1_000, latencies };
}

/** So many requests a second, whatever the answers do; one that finds no connection free waits for it, and that counts. */
export async function pace(
  connections: readonly Connection[],
  ask: Ask,
  next: () => number,
  seconds: number,
  rate: number,
): Promise<Answered> {
  const latencies: number[] = [];
  const free = [...connections];
  const waiting: number[] = [];
  const total = Math.floor(seconds * rate);
  const started = performance.now();
  let due = 0;
  await new Promise<void>((resolve, reject) => {
    const begin = (connection: Connection, dueAt: number) => {
      connection.send(ask.request(next()), ask.status).then(() => {
        const now = performance.now();
        latencies.push(now - dueAt);
        const longest = waiting.shift();
        if (longest === undefined) free.push(connection);
        else begin(connection, longest);
        if (latencies.length === total) resolve();
      }, reject);
    };
    const tick = () => {
      const now = performance.now();
      for (; due < total && now - started >= (due * 1_000) / rate; due++) {
        const connection = free.pop();
        if (connection) begin(connection, now);
        else waiting.push(now);
      }
      if (due < total) setTimeout(tick, 1);
    };
    tick();
  });
  return { seconds: (performance.now() - started) / 1_000, latencies };
}
