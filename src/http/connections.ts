import type { ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Metrics } from '../observability/metrics.ts';

/** The limit of running requests without a known caller. Beyond it the one that has waited longest loses its connection. */
const MAX_STRANGERS = 1_000;

/**
 * The connections there are. When there is room for no more, one of them is closed for each new one, so that who connects is always
 * served: first those of strangers, on which no known caller has been heard, then those of callers that are idle. A connection on which a
 * known caller waits for its response is never closed.
 */
@Injectable()
export class Connections {
  /** In each, the first has been there for longest. */
  readonly #idleStrangers = new Set<Socket>();
  readonly #busyStrangers = new Set<Socket>();
  readonly #idleCallers = new Set<Socket>();
  readonly #known = new WeakSet<Socket>();
  /** All of them, and how many requests of each are under way. */
  readonly #underWay = new Map<Socket, number>();

  constructor(private readonly metrics: Metrics) {}

  /** Keeps the connections of `server` to so many. */
  bound(server: Server, max: number): void {
    // One more is accepted, and makes room for itself. Node closes the next at once, which needs callers that all wait for a response.
    server.maxConnections = max + 1;
    server.on('drop', () => this.metrics.requestRefused('connections'));
    server.on('connection', (socket: Socket) => {
      if (this.#underWay.size >= max) this.#makeRoom();
      this.#underWay.set(socket, 0);
      this.#idleStrangers.add(socket);
      socket.once('close', () => this.#forget(socket));
    });
  }

  /** A request has begun on this connection. */
  busy(socket: Socket, response: ServerResponse): void {
    const before = this.#underWay.get(socket);
    if (before === undefined) return;
    this.#underWay.set(socket, before + 1);
    this.#idleStrangers.delete(socket);
    this.#idleCallers.delete(socket);
    if (!this.#known.has(socket)) {
      if (this.#busyStrangers.size >= MAX_STRANGERS) this.#close(first(this.#busyStrangers));
      this.#busyStrangers.add(socket);
    }
    response.once('close', () => {
      const underWay = this.#underWay.get(socket);
      if (underWay === undefined) return;
      this.#underWay.set(socket, underWay - 1);
      if (underWay > 1) return;
      this.#busyStrangers.delete(socket);
      (this.#known.has(socket) ? this.#idleCallers : this.#idleStrangers).add(socket);
    });
  }

  /** A known caller was heard on this connection. */
  known(socket: Socket): void {
    this.#known.add(socket);
    this.#busyStrangers.delete(socket);
  }

  #makeRoom(): void {
    this.#close(first(this.#idleStrangers) ?? first(this.#busyStrangers) ?? first(this.#idleCallers));
  }

  #close(socket: Socket | undefined): void {
    if (!socket) return;
    this.#forget(socket);
    this.metrics.connectionClosed();
    socket.destroy();
  }

  #forget(socket: Socket): void {
    this.#underWay.delete(socket);
    this.#idleStrangers.delete(socket);
    this.#busyStrangers.delete(socket);
    this.#idleCallers.delete(socket);
  }
}

function first<T>(set: ReadonlySet<T>): T | undefined {
  return set.values().next().value;
}
