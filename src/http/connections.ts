import type { Server, Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Metrics } from '../observability/metrics.ts';
import { edge } from '../shared/edge.ts';

/**
 * The most requests that a client may have on one connection: an unknown one, and a known caller. Node may read 2,000 at once, and keeps each
 * of them until its response is sent, which may be after a stream without an end.
 */
const MAX_PIPELINED = 16;
const MAX_PIPELINED_OF_CALLER = 100;

/**
 * All open connections. At their limit, each new connection closes an old one, so that new clients are always served. Connections on which
 * no known caller has sent a request are closed first, then idle connections of callers; of each kind the one that has been idle for
 * longest. A connection on which a known caller waits for its response is never closed for a new one.
 */
@Injectable()
export class Connections {
  /** The idle connections of each kind. In each set the first is the oldest. */
  readonly #idleStrangers = new Set<Socket>();
  readonly #busyStrangers = new Set<Socket>();
  readonly #idleCallers = new Set<Socket>();
  readonly #known = new WeakSet<Socket>();
  /** All connections, with the number of running requests on each. */
  readonly #underWay = new Map<Socket, number>();
  /** Connections that are still in their TLS handshake, by the client's address and port. */
  readonly #handshakes = new Map<string, Socket>();
  #isClosing = false;

  constructor(private readonly metrics: Metrics) {}

  bound(server: Server, max: number): void {
    // One more connection is accepted, and it closes an old one. Only while callers wait on all of them does Node close a new connection at
    // once.
    server.maxConnections = max + 1;
    const dropped = edge('connections', () =>
      this.metrics.count('gateway_requests_refused_total', { reason: 'connections' }),
    );
    server.on('drop', dropped);
    const opened = (socket: Socket): void => {
      if (this.#underWay.size >= max) this.#makeRoom();
      this.#underWay.set(socket, 0);
      this.#idleStrangers.add(socket);
      const closed = edge('connections', () => this.#forget(socket));
      socket.once('close', closed);
    };
    if (!('setSecureContext' in server)) {
      server.on('connection', edge('connections', opened));
      return;
    }
    const begun = edge('connections', (socket: Socket) => {
      const end = clientEndOf(socket);
      this.#handshakes.set(end, socket);
      const ended = edge(
        'connections',
        () => this.#handshakes.get(end) === socket && this.#handshakes.delete(end),
      );
      socket.once('close', ended);
      opened(socket);
    });
    // The requests of a TLS connection arrive on a second socket, which replaces the first one.
    const secured = edge('connections', (socket: Socket) => {
      const end = clientEndOf(socket);
      const carrier = this.#handshakes.get(end);
      this.#handshakes.delete(end);
      if (carrier) this.#forget(carrier);
      if (!socket.destroyed) opened(socket);
    });
    server.on('connection', begun).on('secureConnection', secured);
  }

  /**
   * Counts a request on this connection. Call the returned function once its response is closed. Returns undefined if the connection is
   * closed and the request must not be served.
   */
  busy(socket: Socket): (() => void) | undefined {
    const before = this.#underWay.get(socket);
    if (before === undefined) return socket.destroyed ? undefined : () => undefined;
    if (before >= (this.#known.has(socket) ? MAX_PIPELINED_OF_CALLER : MAX_PIPELINED)) {
      this.#close(socket);
      return undefined;
    }
    this.#underWay.set(socket, before + 1);
    this.#idleStrangers.delete(socket);
    this.#idleCallers.delete(socket);
    if (!this.#known.has(socket)) this.#busyStrangers.add(socket);
    return () => {
      const underWay = this.#underWay.get(socket);
      if (underWay === undefined) return;
      this.#underWay.set(socket, underWay - 1);
      if (underWay > 1) return;
      // The last response of this connection has told the client to keep it, because it began before the end of the process.
      if (this.#isClosing) return socket.destroySoon();
      this.#busyStrangers.delete(socket);
      (this.#known.has(socket) ? this.#idleCallers : this.#idleStrangers).add(socket);
    };
  }

  known(socket: Socket): void {
    this.#known.add(socket);
    this.#busyStrangers.delete(socket);
  }

  /**
   * Ends the unused connections when the server closes, and each other one after its last response. Clients have opened the unused ones in
   * advance. Node counts them as requests in progress, and would wait for them.
   */
  closeUnused(): void {
    this.#isClosing = true;
    for (const socket of this.#handshakes.values()) socket.destroy();
    for (const socket of this.#underWay.keys()) if (socket.bytesRead === 0) socket.destroy();
  }

  #makeRoom(): void {
    this.#close(first(this.#idleStrangers) ?? first(this.#busyStrangers) ?? first(this.#idleCallers));
  }

  #close(socket: Socket | undefined): void {
    if (!socket) return;
    this.#forget(socket);
    this.metrics.count('gateway_connections_closed_total', {});
    socket.destroy();
  }

  #forget(socket: Socket): void {
    this.#underWay.delete(socket);
    this.#idleStrangers.delete(socket);
    this.#busyStrangers.delete(socket);
    this.#idleCallers.delete(socket);
  }
}

/** Returns the client's end of a connection. Node does not say on which connection a TLS socket is. */
export function clientEndOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

function first<T>(set: ReadonlySet<T>): T | undefined {
  return set.values().next().value;
}
