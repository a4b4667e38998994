import type { Socket } from 'node:net';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisConfig } from '../config/app-config.ts';
import type { Certificates } from '../config/certificate-files.ts';
import { parseRedisUrl, type RedisAddress } from '../config/redis-url.ts';
import { PassingSet } from '../kit/passing-set/passing-set.ts';
import { edge } from '../shared/edge.ts';
import { lazily } from '../shared/lazily.ts';

/** The timeout of every command, including those that the client sends while it connects. Requests wait less: {@link COMMAND_MS}. */
const COMMAND_TIMEOUT_MS = 1_000;
const CONNECT_TIMEOUT_MS = 1_000;
const MAX_RECONNECT_DELAY_MS = 1_000;
/**
 * The shortest time between reconnects to a server that is configured as read-only. The client must not reconnect at each write, or at each
 * check of the rights.
 */
const READONLY_RECONNECT_MS = 5_000;
const MAX_READONLY_RECONNECT_MS = 300_000;

const SLICE_MS = 25;
/** The longest time that a request waits for Redis. */
export const COMMAND_MS = 250;

/** The address of a Redis, and the certificates of both sides. */
export interface RedisServer extends RedisAddress {
  readonly certificates: Certificates;
}

/** Returns undefined if no Redis is configured. */
export function serverOf({ url, certificates }: RedisConfig): RedisServer | undefined {
  const address = url && parseRedisUrl(url.reveal());
  return address && { ...address, certificates };
}

/**
 * Makes a client that is not connected yet. Use it only while its status is `ready`. It sends no command twice, and no command waits for
 * Redis to come back. With the client's defaults a command hangs for more than a minute while Redis is away, and a command whose reply is
 * lost is repeated. `sentAtOnce` lists the commands that do not wait for the end of the turn of the event loop. `limitMs` is the time for
 * which a request waits for a command.
 */
export function redisClient(
  address: RedisServer,
  sentAtOnce: readonly string[],
  limitMs: number,
): Redis | Cluster {
  const Client = clientClass();
  const { kind, nodes, master, sentinelUsername, sentinelPassword } = address;
  // This option is set explicitly, because an environment variable can turn Node's default off.
  const tls = address.tls && { ...address.certificates, rejectUnauthorized: true };
  const options: Omit<RedisOptions, 'replyMapping'> = {
    lazyConnect: true,
    // All commands of one turn of the event loop are sent in one write, at its end.
    enableAutoPipelining: true,
    autoPipeliningIgnoredCommands: [...sentAtOnce],
    commandTimeout: Math.max(limitMs, COMMAND_TIMEOUT_MS),
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    username: address.username,
    password: address.password,
    ...(tls && { tls }),
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Without this limit, the process needs 2 s more to stop while Redis is away.
    disconnectTimeout: 100,
    maxLoadingRetryTime: MAX_RECONNECT_DELAY_MS,
    disableClientInfo: true,
    reconnectOnError: afterReadonly(),
  };
  if (kind === 'cluster') {
    return new Cluster([...nodes], {
      lazyConnect: true,
      // The first command to a node connects to it and has to wait for that. Commands of requests still end at their timeout.
      enableOfflineQueue: true,
      // The client's own check would need the right to CLUSTER INFO. The gateway's own probe shows whether the cluster serves.
      enableReadyCheck: false,
      redisOptions: options,
      clusterRetryStrategy: reconnectDelay,
      // The client follows redirections for a slot that moved and for an old slot map. The calling code decides whether to wait.
      maxRedirections: 3,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
      // Host names are kept, so that certificates are checked against them.
      dnsLookup: (host, callback) => callback(null, host),
    });
  }
  const single: typeof options = {
    ...options,
    enableOfflineQueue: false,
    db: address.db,
    retryStrategy: reconnectDelay,
  };
  if (kind === 'single') return new Client({ ...single, ...nodes[0] });
  return new Client({
    ...single,
    sentinels: [...nodes],
    name: master,
    sentinelUsername,
    sentinelPassword,
    sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
    sentinelRetryStrategy: reconnectDelay,
    // The sentinels report a new master even if the old one still replies.
    failoverDetector: true,
    ...(tls && { sentinelTLS: tls, enableTLSForSentinelMode: true }),
  });
}

/**
 * Prepares the library, and returns the class of a client. It is called for the first client, because a gateway without Redis does not load
 * the library.
 *
 * Each connection gets a listener for further errors, because the library listens to the first error only. Node may emit a second one: the
 * client refuses the certificate, and then an alert of the server arrives. An error without a listener ends the process. Every client of
 * the library sets its connection here, also those of cluster nodes and sentinels.
 *
 * The client reports the reason of a refused connection. The library considers each error reply to HELLO that contains "no password is set"
 * harmless: it prints a warning of its own and hides the reason. In protected mode, Redis refuses every connection with such a text.
 */
const clientClass = lazily(() => {
  const heard = edge('redis', () => undefined);
  const connections = new WeakMap<object, Socket>();
  Object.defineProperty(Redis.prototype, 'stream', {
    configurable: true,
    get(this: Redis) {
      return connections.get(this);
    },
    set(this: Redis, connection: Socket) {
      connections.set(this, connection.on('error', heard));
    },
  });
  return class Client extends Redis {
    override hello(...all: unknown[]): Promise<unknown[]> {
      const reply = (super.hello as (...some: unknown[]) => Promise<unknown[]>)(...all);
      return reply.catch((error: Error) => {
        // The rest of the text is advice for a shell on the server.
        if (error.message.startsWith('DENIED ')) error.message = error.message.replace(/ because .*/s, '');
        throw error;
      });
    }
  };
});

/** Returns the delay of a reconnect. It has full jitter, so that replicas do not all reconnect at once. */
function reconnectDelay(attempt: number): number {
  return Math.random() * Math.min(100 * 2 ** attempt, MAX_RECONNECT_DELAY_MS);
}

/**
 * Decides about a reconnect after READONLY, the reply of a master that became a replica. The address may lead to the new master by now. If
 * the server stays read-only, the client reconnects less and less often.
 */
function afterReadonly(): (error: Error) => boolean {
  let [lastTry, lastSeen, pauseMs] = [-Infinity, -Infinity, READONLY_RECONNECT_MS];
  return ({ message }) => {
    if (!message.startsWith('READONLY')) return false;
    const now = performance.now();
    const isNew = now - lastSeen > 2 * READONLY_RECONNECT_MS;
    lastSeen = now;
    if (!isNew && now - lastTry < pauseMs) return false;
    pauseMs = isNew ? READONLY_RECONNECT_MS : Math.min(2 * pauseMs, MAX_READONLY_RECONNECT_MS);
    lastTry = now;
    return true;
  };
}

interface Waiting {
  slices: number;
  readonly timeOut: () => void;
}

const waiting = new PassingSet<Waiting>();
let timer: NodeJS.Timeout | undefined;

/**
 * Returns the command's reply, or fails with the client's own timeout error. Only time in which this process was not blocked counts. With a
 * timer for each command, a process that was busy for 250 ms would time out before it reads a reply that has already arrived. A thousand
 * callers at a cold start would make it believe that Redis is away.
 */
export function inTime<T>(command: Promise<T>, limitMs = COMMAND_MS): Promise<T> {
  return new Promise((resolve, reject) => {
    // The slice in which a command begins is shorter than a whole one.
    const slices = Math.ceil(limitMs / SLICE_MS) + 1;
    const timeOut = () => {
      leave();
      reject(new Error('Command timed out'));
    };
    const leave = waiting.add({ slices, timeOut });
    timer ??= setInterval(edge('redis timeouts', passSlice), SLICE_MS);
    command.then(
      (reply) => {
        leave();
        resolve(reply);
      },
      (error: unknown) => {
        leave();
        reject(error as Error);
      },
    );
  });
}

/** Counts one slice for all commands, with one timer. The timer stops when no command waits. */
function passSlice(): void {
  if (waiting.size === 0) {
    clearInterval(timer);
    timer = undefined;
  }
  for (const entry of waiting) if (--entry.slices <= 0) entry.timeOut();
}
