import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/**
 * Sends HTTP/1.1 over plain sockets, one request at a time on each. It is cheap, so that two cores suffice for the load, the measured
 * process and the platform. It checks the status of every response, and bodies if the caller asks for that.
 */

export interface Ask {
  /** Returns the whole request with this number for the connection with this place, ASCII only. */
  readonly request: (index: number, place: number) => string;
  readonly status: number;
  /** Throws if a response is not the expected one. */
  readonly check: (body: string) => void;
}

/** The response was wrong, so the measurement has no meaning. */
export class WrongAnswer extends Error {
  override readonly name = 'WrongAnswer';
}

/** The gateway refused with "try later" and did nothing: correct under overload, but no measurement. */
class Refused extends Error {}

const BACKOFF_MS = 50;
const MAX_REFUSALS = 100;
const backoff = () => new Promise((resolve) => setTimeout(resolve, BACKOFF_MS));

interface Pending {
  readonly resolve: (body: string | undefined) => void;
  readonly reject: (error: Error) => void;
  readonly status: number;
  readonly keep: boolean;
}

const HEAD_END = '\r\n\r\n';
const REFUSAL = /^HTTP\/1\.1 503 [\s\S]*"outcome":"not_processed"/;

/** A connection that carries one request after the other. */
export class Connection {
  /** The index among all open connections to a contender. */
  readonly place: number;
  readonly #socket: Socket;
  #pending: Pending | undefined;
  /** State of the current response: an incomplete head or a wrong status, the kept part of the body, the bytes still to come. */
  #head: Buffer | undefined;
  #unwanted: string | undefined;
  #kept: Buffer[] = [];
  #left = -1;

  private constructor(socket: Socket, place: number) {
    this.#socket = socket;
    this.place = place;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new WrongAnswer('the connection was closed')));
  }

  static async open(port: number, place = 0): Promise<Connection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new Connection(socket, place);
  }

  /** Resolves to the body if the caller wants it. */
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
      if (length === undefined) {
        this.#fail(new WrongAnswer(head));
        return;
      }
      this.#left = Number(length);
      this.#unwanted = Number(head.slice(9, 12)) === pending.status ? undefined : head;
      this.#kept = [];
    }
    this.#left -= body.length;
    const keep = pending.keep || this.#unwanted !== undefined;
    if (keep) this.#kept.push(body);
    if (this.#left > 0) return;
    this.#left = -1;
    const text = keep ? Buffer.concat(this.#kept).toString() : undefined;
    if (this.#unwanted === undefined) {
      this.#pending = undefined;
      pending.resolve(text);
    } else if (REFUSAL.test(this.#unwanted + text)) this.#fail(new Refused());
    else this.#fail(new WrongAnswer(`${this.#unwanted}${HEAD_END}${text?.slice(0, 500)}`));
  }

  #fail(error: Error): void {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.reject(error);
  }
}

/** Opens connections to each port in turn, each with one checked request. */
export async function openChecked(
  ports: readonly number[],
  count: number,
  ask: Ask,
  next: () => number,
): Promise<Connection[]> {
  const portOf = (index: number) => ports[index % ports.length] as number;
  const opened = await Promise.all(
    Array.from({ length: count }, (_, index) => Connection.open(portOf(index), index)),
  );
  await Promise.all(opened.map((connection) => check(connection, ask, next, MAX_REFUSALS)));
  return opened;
}

async function check(connection: Connection, ask: Ask, next: () => number, tries: number): Promise<void> {
  try {
    ask.check((await connection.send(ask.request(next(), connection.place), ask.status, true)) ?? '');
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (tries === 0) throw new WrongAnswer('refused every time');
    await backoff();
    await check(connection, ask, next, tries - 1);
  }
}

export interface Answered {
  readonly seconds: number;
  /** The number of refusals with "try later". */
  readonly refused: number;
  /** The time of each response, in ms. */
  readonly latencies: readonly number[];
}

/** Sends again on every connection as soon as its response has arrived. */
export async function flood(
  connections: readonly Connection[],
  ask: Ask,
  next: () => number,
  seconds: number,
): Promise<Answered> {
  const latencies: number[] = [];
  let refused = 0;
  const started = performance.now();
  const until = started + seconds * 1_000;
  await Promise.all(
    connections.map(async (connection) => {
      for (let now = performance.now(); now < until;) {
        try {
          await connection.send(ask.request(next(), connection.place), ask.status);
          latencies.push(performance.now() - now);
        } catch (error) {
          if (!(error instanceof Refused)) throw error;
          refused++;
          await backoff();
        }
        now = performance.now();
      }
    }),
  );
  return { seconds: (performance.now() - started) / 1_000, refused, latencies };
}

/**
 * Sends a fixed number of requests a second, independent of the responses. A request that finds no free connection waits, and the wait
 * counts.
 */
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
  let refused = 0;
  await new Promise<void>((resolve, reject) => {
    const begin = (connection: Connection, dueAt: number) => {
      connection
        .send(ask.request(next(), connection.place), ask.status)
        .then(
          () => void latencies.push(performance.now() - dueAt),
          (error: unknown) => {
            if (!(error instanceof Refused)) throw error;
            refused++;
          },
        )
        .then(() => {
          const longest = waiting.shift();
          if (longest === undefined) free.push(connection);
          else begin(connection, longest);
          if (latencies.length + refused === total) resolve();
        })
        .catch(reject);
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
  return { seconds: (performance.now() - started) / 1_000, refused, latencies };
}
