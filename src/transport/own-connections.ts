import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher, errors } from 'undici';
import { FairQueue } from '../kit/fair-queue/fair-queue.ts';
import type { Exchange } from './exchange.ts';
import { edge } from '../shared/edge.ts';

/** The most late responses for which the gateway waits at once. Beyond that it abandons the oldest one, because each holds a connection. */
const MAX_LATE = 256;

/** An error of this class, which the client does not treat as a failure. */
const COMPLETE = new errors.InformationalError('the response is complete');

interface Limits {
  /** The number of exchanges whose callers wait. More exchanges queue, each until its own deadline, and callers take turns. */
  readonly connections: number;
  readonly connect: buildConnector.connector;
  readonly maxHeaderSize: number;
}

/**
 * Opens a new connection for each request, and never reuses or replaces it. An idle connection that closes during the send would leave the
 * outcome of an order unknown, and a second attempt by the HTTP client would place it twice. `confirm` is the last step before the first
 * byte.
 */
export class OwnConnections {
  readonly #target: buildConnector.Options;
  readonly #queue = new FairQueue<() => void>();
  readonly #late = new Set<Exchange>();
  #open = 0;
  #closed: (() => void) | undefined;

  constructor(
    private readonly origin: URL,
    private readonly limits: Limits,
  ) {
    const { hostname, host, protocol, port } = origin;
    this.#target = { hostname: hostname.replace(/^\[|\]$/g, ''), host, protocol, port };
  }

  dispatch(request: Dispatcher.DispatchOptions, exchange: Exchange): void {
    if (this.#closed) return exchange.unconnected(new Error('no more connections'));
    const open = () => this.#begin(request, exchange);
    if (this.#open < this.limits.connections) return open();
    exchange.onResult = this.#queue.add(exchange.config.caller ?? '', open);
  }

  /** Refuses new exchanges, ends late ones, and waits for the exchanges of waiting callers. */
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
    exchange.onResult = (how) => {
      exchange.onResult = () => this.#late.delete(exchange);
      if (exchange.isLate) this.#keep(exchange);
      // After the send, the client owns the connection and ends it with the exchange. After a response it would create an error for that,
      // which no code reads and which costs as much as the rest of the connection. So the connection is closed here, with one error for
      // all.
      if (!isSent) own?.destroy();
      else if (how === 'response') own?.destroy(COMPLETE);
      this.#leave();
    };
    const begin = async (socket: Socket): Promise<void> => {
      own = socket;
      await confirm(exchange);
      if (exchange.isOver) return;
      isSent = true;
      const { maxHeaderSize } = this.limits;
      const client = new Client(this.origin, { pipelining: 0, maxHeaderSize, connect: onlyOnce(socket) });
      client.dispatch(request, exchange);
    };
    const send = edge('order connection', begin, (socket) => {
      exchange.unconnected(new Error('the request could not be handed over'));
      socket.destroy();
    });
    this.limits.connect(this.#target, (error, socket) => {
      if (error) exchange.unconnected(error);
      else if (exchange.isOver) socket.destroy();
      else send(socket);
    });
  }

  #keep(exchange: Exchange): void {
    this.#late.add(exchange);
    const [oldest] = this.#late;
    if (this.#late.size > MAX_LATE) oldest?.timeUp();
  }

  #leave(): void {
    this.#open--;
    const next = this.#queue.next();
    if (next) next();
    else if (this.#open === 0) this.#closed?.();
  }
}

async function confirm(exchange: Exchange): Promise<void> {
  try {
    exchange.confirmed(await exchange.config.confirm?.());
  } catch (error) {
    exchange.refused(error);
  }
}

/** Returns this socket once and never another one, because a client that lost its connection would open the next one by itself. */
function onlyOnce(socket: Socket): buildConnector.connector {
  let isTaken = false;
  return (_, callback) => {
    // Bytes that arrived before the request was sent cannot be its response.
    const isSpoilt = socket.destroyed || socket.readableEnded || socket.readableLength > 0;
    const failure = isTaken || isSpoilt ? new Error('the connection is gone') : undefined;
    isTaken = true;
    if (failure) socket.destroy();
    // This is deferred, because the client does not look at its requests during this call.
    const reply = () => (failure ? callback(failure, null) : callback(null, socket));
    queueMicrotask(edge('order connection', reply));
  };
}
