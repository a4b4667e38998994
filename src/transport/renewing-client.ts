import type { Socket } from 'node:net';
import { Agent, type buildConnector, Client, type Dispatcher, errors, Pool } from 'undici';

/** The time for which a connection accepts requests. It is up to half longer for some, so that not all connections are renewed at once. */
const LIFE_MS = 2 * 60_000;
const JITTER = 0.5;

interface Options extends Omit<Pool.Options, 'connect' | 'factory'> {
  readonly connect: buildConnector.connector;
}

/**
 * Makes a pool whose connections live for a few minutes. The name of the server is resolved for each connection, because the server may
 * have moved.
 */
export function renewingPool(origin: string | URL, options: Options): Pool {
  return new Pool(origin, {
    ...options,
    factory: (of, own) => new RenewingClient(of, own as Options),
  });
}

/** Makes an agent with such a pool for each of several servers. */
export function renewingAgent({ connect, ...options }: Options): Agent {
  return new Agent({ ...options, factory: (origin, own) => renewingPool(origin, { ...own, connect }) });
}

interface Connection {
  socket: Socket | undefined;
  endsAt: number;
}

class RenewingClient extends Client {
  readonly #current: Connection;

  constructor(origin: URL | string, { connect, ...options }: Options) {
    const current: Connection = { socket: undefined, endsAt: Infinity };
    super(origin, { ...options, connect: remembering(connect, current) });
    this.#current = current;
  }

  /** Ends a connection that is too old and has no request. The client then opens the next one for this request. */
  override dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { socket, endsAt } = this.#current;
    if (performance.now() >= endsAt && this.stats.running === 0) {
      this.#current.endsAt = Infinity;
      socket?.destroy(new errors.InformationalError('the connection is to be renewed'));
    }
    return super.dispatch(request, handler);
  }
}

function remembering(connect: buildConnector.connector, current: Connection): buildConnector.connector {
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error) return callback(error, null);
      current.socket = socket;
      current.endsAt = performance.now() + LIFE_MS * (1 + JITTER * Math.random());
      callback(null, socket);
    });
}
