import type { OrderStoreRedis } from './order-store-redis.ts';

export interface StoreState {
  /** With one of these no order is safe: the gateway does not start, or stops sending orders. */
  readonly refuse: readonly string[];
  /** With these the promise is weaker. */
  readonly warn: readonly string[];
  /** The log keeps less than it did, so what the store promised is not true any more. In words that say what to set. */
  readonly weakened: string | undefined;
  readonly replicas: number;
  /** A write begins only with the acknowledgement of a replica. */
  readonly replicated: boolean;
  /** The store had replicas and has none: it may have been left behind by a failover. */
  readonly isAlone: boolean;
  /** The largest number of replicas that the store has noted until now, connected to one server. */
  readonly maxReplicas: number;
  /** Identifies the history of the server's data: another one after a failover, and after the server has started again. */
  readonly history: string;
  /** For a server that was promoted, the history of the server whose replica it was. */
  readonly formerHistory: string;
}

/** What the server's log keeps through a crash, from nothing on: `none` without a log, else `appendfsync`. */
const durabilities = ['none', 'no', 'everysec', 'always'];

/**
 * The settings and replicas of the store, with faults in words that say what to set (faults R12, R15). Rejects while the store is away.
 * One pipeline reads all, so that a cluster sends it to the node that has the records.
 */
export async function readStoreState(redis: OrderStoreRedis): Promise<StoreState> {
  const { replicas: key, durability } = redis.keys;
  const replies = await redis.run((client) =>
    client
      .pipeline()
      .get(key)
      .info()
      .config('GET', 'appendfsync')
      .config('GET', 'min-replicas-to-write')
      .get(durability)
      .exec(),
  );
  const [noted, info, fsync, least, safest] = replies ?? [];
  if (!info || info[0] || noted?.[0]) throw info?.[0] ?? noted?.[0] ?? new Error('Connection is closed');
  const value = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(String(info[1]))?.[1];
  // Some servers do not allow CONFIG: then the weaker setting is assumed.
  const setting = (reply: typeof fsync) => (reply?.[1] as string[] | undefined)?.[1];

  const warn = warningsOf(value, setting(fsync));
  // Undefined where the server does not say.
  const kept = value('aof_enabled') === '0' ? 'none' : setting(fsync);
  const was = typeof safest?.[1] === 'string' ? safest[1] : 'none';
  const change = kept === undefined ? 0 : durabilities.indexOf(kept) - durabilities.indexOf(was);
  if (kept !== undefined && change > 0) await redis.run((client) => client.set(durability, kept));

  const replicas = Number(value('connected_slaves') ?? 0);
  const id = value('master_replid') ?? '';
  const formerHistory = value('master_replid2') ?? '';
  const [server = '', max = '0'] = typeof noted?.[1] === 'string' ? noted[1].split(' ') : [];
  if (replicas > 0) {
    if (setting(least) === '0')
      warn.push('takes writes without its replicas: set min-replicas-to-write 1, so that it stops by itself');
    const now = `${id} ${Math.max(replicas, Number(max))}`;
    if (now !== noted?.[1]) await redis.run((client) => client.set(key, now));
  }
  // This server was the only replica of the noted server, which can begin no write without it. So it may continue alone.
  const tookOver = server !== '' && server === formerHistory && max === '1';
  const isAlone = replicas === 0 && server !== '' && !tookOver;
  return {
    refuse: refusalsOf(value),
    warn,
    weakened:
      change < 0
        ? `keeps less of its log than it did (${inWords(was)}, now ${inWords(kept)}): set it back, or say with \`npm run order-store-init\` that it is meant`
        : undefined,
    replicas,
    replicated: replicas > 0 || isAlone,
    isAlone,
    maxReplicas: Number(max),
    history: id,
    formerHistory,
  };
}

type Value = (name: string) => string | undefined;

function refusalsOf(value: Value): string[] {
  const refuse: string[] = [];
  const policy = value('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction')
    refuse.push(`evicts what it should keep: set maxmemory-policy noeviction, now ${policy}`);
  if (value('role') === 'slave') refuse.push('is a replica, which takes no writes: name the master');
  return refuse;
}

function warningsOf(value: Value, fsync: string | undefined): string[] {
  if (value('aof_enabled') === '0')
    return [
      'writes no log to disk and forgets orders when it restarts: set appendonly yes, appendfsync always',
    ];
  return fsync === 'always' ? [] : ['may lose the last second of orders in a crash: set appendfsync always'];
}

function inWords(durability: string | undefined): string {
  return durability === 'none' ? 'appendonly no' : `appendonly yes, appendfsync ${durability}`;
}
