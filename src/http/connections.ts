import type { Server, Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Metrics } from '../observability/metrics.ts';
import { edge } from '../shared/edge.ts';

/** The limit of running requests without a known caller. Beyond it the one that has waited longest loses its connection. */
const MAX_STRANGERS = 1_000;
/** The limit of requests of a stranger on one connection. Node may read 2,000 at once, which would block the process for 0.3 s. */
const MAX_PIPELINED = 16;
/** A connection of a stranger is new for the first time (ms), in which its client can send a request, and settled after the second. */
const NEW_MS = 100;
const SETTLED_MS = 250;
/** A connection that asks for the health more often than this (ms) is no probe: the probes of balancers and operators take longer. */
const PROBE_EVERY_MS = 1_000;

/**
 * All open connections. At their limit, each new connection closes an old one, so that new clients are always served: first connections
 * on which no known caller has sent a request, then idle connections of callers. A connection on which a known caller waits for its
 * response is never closed.
 *
 * Of idle strangers one goes that is neither new nor settled, else the settled one that has been idle for longest. So in a storm of
 * connections most end young: what they hold costs V8 little. When the longest idle one went first, each became as old as all the others,
 * and V8 copied what it held and collected all objects every two seconds to free it.
 */
@Injectable()
export class Connections {
  /** In each set the first is the oldest. */
  readonly #idleStrangers = new Set<Socket>();
  /** Idle strangers that have not settled, and since when they are idle. */
  readonly #youngStrangers = new Map<Socket, number>();
  readonly #busyStrangers = new Set<Socket>();
  /** Of strangers whose body is not read. They wait for a 401 only. */
  readonly #unreadStrangers = new Set<Socket>();
  readonly #idleCallers = new Set<Socket>();
  readonly #known = new WeakSet<Socket>();
  /** All connections, with the number of running requests on each. */
  readonly #underWay = new Map<Socket, number>();

  /** When a connection last asked for the health as a probe does. */
  readonly #probedAt = new WeakMap<Socket, number>();

  #now = (): number => performance.now();

  constructor(private readonly metrics: Metrics) {}

  /** Limits the connections of `server` to this number. `now` is monotonic time in ms. */
  bound(server: Server, max: number, now = (): number => performance.now()): void {
    this.#now = now;
    // One more is accepted, which closes an old one. Only while callers wait on all of them does Node close a new one at once.
    server.maxConnections = max + 1;
    server.on(
      'drop',
      edge('connections', () => this.metrics.requestRefused('connections')),
    );
    server.on(
      'connection',
      edge('connections', (socket: Socket) => {
        if (this.#underWay.size >= max) this.#makeRoom();
        this.#underWay.set(socket, 0);
        this.#youngStrangers.set(socket, this.#now());
        socket.once(
          'close',
          edge('connections', () => this.#forget(socket)),
        );
      }),
    );
  }

  /**
   * Counts a request on this connection. Call the returned function once its response is closed. Undefined where the connection is
   * closed and the request must not be served.
   */
  busy(socket: Socket): (() => void) | undefined {
    const before = this.#underWay.get(socket);
    if (before === undefined) return socket.destroyed ? undefined : () => undefined;
    if (before >= MAX_PIPELINED && !this.#known.has(socket)) {
      this.#close(socket);
      ignoreRest(socket);
      return undefined;
    }
    this.#underWay.set(socket, before + 1);
    this.#idleStrangers.delete(socket);
    this.#youngStrangers.delete(socket);
    this.#idleCallers.delete(socket);
    if (!this.#known.has(socket)) this.#addBounded(this.#busyStrangers, socket);
    return () => {
      const underWay = this.#underWay.get(socket);
      if (underWay === undefined) return;
      this.#underWay.set(socket, underWay - 1);
      if (underWay > 1) return;
      this.#busyStrangers.delete(socket);
      this.#unreadStrangers.delete(socket);
      if (this.#known.has(socket)) this.#idleCallers.add(socket);
      else this.#youngStrangers.set(socket, this.#now());
    };
  }

  /** A stranger sends a body on this connection that is not read: it must not take the place of strangers that may be let in. */
  unread(socket: Socket): void {
    if (!this.#busyStrangers.delete(socket)) return;
    this.#addBounded(this.#unreadStrangers, socket);
  }

  /** A known caller has sent a request on this connection. */
  known(socket: Socket): void {
    this.#known.add(socket);
    this.#busyStrangers.delete(socket);
  }

  /** This connection asks for the health: whether as seldom as a probe. */
  isProbe(socket: Socket, now = performance.now()): boolean {
    if (now - (this.#probedAt.get(socket) ?? -Infinity) < PROBE_EVERY_MS) return false;
    this.#probedAt.set(socket, now);
    return true;
  }

  /**
   * The server closes: ends the connections that clients have opened in advance. Node takes them for requests under way, and would wait
   * for them.
   */
  closeUnused(): void {
    for (const socket of this.#underWay.keys()) if (socket.bytesRead === 0) socket.destroy();
  }

  #makeRoom(): void {
    const young = this.#oldestYoung();
    const isNew = young !== undefined && this.#idleMs(young) < NEW_MS;
    this.#close(
      (isNew ? undefined : young) ??
        first(this.#idleStrangers) ??
        young ??
        first(this.#unreadStrangers) ??
        first(this.#busyStrangers) ??
        first(this.#idleCallers),
    );
  }

  /** After those that have settled meanwhile are no longer young. */
  #oldestYoung(): Socket | undefined {
    for (const socket of this.#youngStrangers.keys()) {
      if (this.#idleMs(socket) < SETTLED_MS) return socket;
      this.#youngStrangers.delete(socket);
      this.#idleStrangers.add(socket);
    }
    return undefined;
  }

  #idleMs(young: Socket): number {
    return this.#now() - (this.#youngStrangers.get(young) as number);
  }

  /** In place of the oldest where there are too many. */
  #addBounded(strangers: Set<Socket>, socket: Socket): void {
    if (strangers.size >= MAX_STRANGERS) this.#close(first(strangers));
    strangers.add(socket);
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
    this.#youngStrangers.delete(socket);
    this.#busyStrangers.delete(socket);
    this.#unreadStrangers.delete(socket);
    this.#idleCallers.delete(socket);
  }
}

/** Stops the parser: Node would serve the requests that it has read already, although their connection is closed. */
function ignoreRest(socket: Socket): void {
  const { parser } = socket as unknown as Readonly<Record<'parser', { onIncoming: () => number } | null>>;
  if (parser) parser.onIncoming = () => 0;
}

function first<T>(set: ReadonlySet<T>): T | undefined {
  return set.values().next().value;
}
