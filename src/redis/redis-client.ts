import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisAddress } from '../config/redis-url.ts';

/** Also for what the client sends itself while it connects. Requests wait less, see in-time.ts. */
const COMMAND_TIMEOUT_MS = 1_000;
const CONNECT_TIMEOUT_MS = 1_000;
/** Said outright: Node's default follows an environment variable that turns the check off. */
const TLS = { rejectUnauthorized: true };
const MAX_RECONNECT_DELAY_MS = 1_000;
/** A server that is read-only by its configuration must not cost a connection for each write. */
const READONLY_RECONNECT_MS = 5_000;

/**
 * A client that does not connect yet, to be used while its status is `ready` only. Nothing is sent twice or waits for Redis to
 * come back: with the defaults a command hangs for more than a minute while it is away, and one whose reply is lost is repeated.
 */
export function redisClient(address: RedisAddress): Redis | Cluster {
  const options: RedisOptions = {
    lazyConnect: true,
    // What is asked in one turn of the event loop goes out in one write.
    enableAutoPipelining: true,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
  };
  return newClient(address, options, { enableOfflineQueue: false });
}

/**
 * For a queue of jobs, which does the opposite: its workers wait in commands that block, and what it sends may wait for Redis and be
 * repeated. It connects at once; whoever made it disconnects it, or the process does not end.
 */
export function queueClient(address: RedisAddress): Redis | Cluster {
  return newClient(address, { maxRetriesPerRequest: null }, {});
}

/** `ofOne` is for a single server alone: of a cluster, a node is connected by its first command, which has to wait for that. */
function newClient(address: RedisAddress, own: RedisOptions, ofOne: RedisOptions): Redis | Cluster {
  const { kind, nodes, tls, master, sentinelUsername, sentinelPassword } = address;
  // A private authority comes from NODE_EXTRA_CA_CERTS.
  const options: RedisOptions = {
    ...own,
    username: address.username,
    password: address.password,
    ...(tls && { tls: TLS }),
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Otherwise the process lives on for 2 s when it stops while Redis is away.
    disconnectTimeout: 100,
    maxLoadingRetryTime: MAX_RECONNECT_DELAY_MS,
    disableClientInfo: true,
    reconnectOnError: afterReadonly(),
  };
  if (kind === 'cluster') {
    return new Cluster([...nodes], {
      lazyConnect: own.lazyConnect ?? false,
      // Commands of requests end by their timeout all the same.
      enableOfflineQueue: true,
      redisOptions: options,
      clusterRetryStrategy: reconnectDelay,
      // One for a slot that moved, one more for a map that was old. Waiting is the caller's to decide.
      maxRedirections: 3,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
      // Names stay names, so that certificates are checked against them.
      dnsLookup: (host, callback) => callback(null, host),
    });
  }
  const single: RedisOptions = {
    ...options,
    ...ofOne,
    db: address.db,
    retryStrategy: reconnectDelay,
  };
  if (kind === 'single') return new Redis({ ...single, ...nodes[0] });
  return new Redis({
    ...single,
    sentinels: [...nodes],
    name: master,
    sentinelUsername,
    sentinelPassword,
    sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
    sentinelRetryStrategy: reconnectDelay,
    // Hears from the sentinels that there is another master, also where the old one still answers.
    failoverDetector: true,
    ...(tls && { sentinelTLS: TLS, enableTLSForSentinelMode: true }),
  });
}

/** With full jitter: replicas do not come back all at once. */
function reconnectDelay(attempt: number): number {
  return Math.random() * Math.min(100 * 2 ** attempt, MAX_RECONNECT_DELAY_MS);
}

/** READONLY is what a master says that was made a replica: the address may lead to another by now. */
function afterReadonly(): (error: Error) => boolean {
  let last = -Infinity;
  return ({ message }) => {
    if (!message.startsWith('READONLY') || performance.now() - last < READONLY_RECONNECT_MS) return false;
    last = performance.now();
    return true;
  };
}
