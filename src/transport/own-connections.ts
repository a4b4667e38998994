import type { Socket } from 'node:net';
import { buildConnector, Client, type Dispatcher } from 'undici';
import type { Ending, Exchange } from './exchange.ts';

/** Answers after their deadline that are waited for at once. Beyond that the oldest is given up: each holds a connection. */
const MAX_LATE = 256;

interface Limits {
  /** Exchanges whose callers wait; more have to queue, each until its own deadline. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly maxHeaderSize: number;
}

/**
 * A connection for each request, opened before anything else, never used for another, never replaced by another: an idle
 * connection that closes as we send, or a second attempt that nobody asked for, would leave the outcome of an order unknown or
 * place it twice. What `confirm` of a request decides is the last thing before its first byte.
 */
export class OwnConnections {
  readonly #connect: buildConnector.connector;
  readonly #target: buildConnector.Options;
  readonly #queue = new Set<() => void>();
  readonly #late = new Set<Ending>();
  #open = 0;
  #closed: (() => void) | undefined;

  constructor(
    private readonly origin: URL,
    private readonly limits: Limits,
  ) {
    const { hostname, host, protocol, port } = origin;
    this.#connect = buildConnector({
      timeout: limits.connectTimeoutMs,
      rejectUnauthorized: true,
      allowH2: false,
    });
    this.#target = { hostname: hostname.replace(/^\[|\]$/g, ''), host, protocol, port };
  }

  dispatch(request: Dispatcher.DispatchOptions, exchange: Exchange): void {
    if (this.#closed) {
      exchange.unconnected(new Error('no more connections'));
      return;
    }
    const open = () => this.#begin(request, exchange);
    if (this.#open < this.limits.connections) {
      open();
      return;
    }
    exchange.told = () => this.#queue.delete(open);
    this.#queue.add(open);
  }

  /** Nothing new; ends late exchanges, and waits for those that callers wait for. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#closed = resolve;
      if (this.#open === 0) resolve();
    });
    for (const each of this.#late) each.timeUp();
  }

  #begin(request: Dispatcher.DispatchOptions, exchange: Exchange): void {
    let own: Socket | undefined;
    let isSent = false;
    this.#open++;
    exchange.told = (how) => {
      exchange.told = () => this.#late.delete(exchange);
      if (exchange.isLate) this.#keep(exchange);
      // Sent, it is the client's, which ends it with the exchange; after an answer by an error that nobody reads, and that costs
      // as much as the rest of a connection unless it is closed already.
      if (!isSent || how === 'answer') own?.destroy();
      this.#leave();
    };
    const send = async (socket: Socket): Promise<void> => {
      own = socket;
      await confirm(exchange);
      if (exchange.isOver) return;
      isSent = true;
      const { maxHeaderSize } = this.limits;
      const client = new Client(this.origin, { pipelining: 0, maxHeaderSize, connect: onlyOnce(socket) });
      client.dispatch(request, exchange);
    };
    this.#connect(this.#target, (error, socket) => {
      if (error) exchange.unconnected(error);
      else if (exchange.isOver) socket.destroy();
      else void send(socket);
    });
  }

  #keep(exchange: Exchange): void {
    this.#late.add(exchange);
    const [oldest] = this.#late;
    if (this.#late.size > MAX_LATE) oldest?.timeUp();
  }

  #leave(): void {
    this.#open--;
    const [next] = this.#queue;
    if (next) {
      this.#queue.delete(next);
      next();
    } else if (this.#open === 0) this.#closed?.();
  }
}

async function confirm(exchange: Exchange): Promise<void> {
  try {
    // The time is taken first of all that may follow.
    exchange.confirmed(await exchange.config.confirm?.().then(() => performance.now()));
  } catch (error) {
    exchange.refused(error);
  }
}

/** Hands out that socket and then no other: a client that lost its connection would open the next by itself. */
function onlyOnce(socket: Socket): buildConnector.connector {
  let isTaken = false;
  return (_, callback) => {
    // What came before the request was sent cannot be its answer.
    const isSpoilt = socket.destroyed || socket.readableEnded || socket.readableLength > 0;
    const failure = isTaken || isSpoilt ? new Error('the connection is gone') : undefined;
    isTaken = true;
    if (failure) socket.destroy();
    // Not at once: the client does not look at its requests then.
    queueMicrotask(() => (failure ? callback(failure, null) : callback(null, socket)));
  };
}
