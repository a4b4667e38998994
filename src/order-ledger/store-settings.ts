import { createHmac } from 'node:crypto';
import { Script } from '../kit/redis-script/redis-script.ts';
import type { EncryptionKey } from '../kit/sealed-store/sealer.ts';
import { unsettled } from './ledger-record.ts';
import type { OrderLedgerRedis } from './order-ledger-redis.ts';
import { stateKey, storeKeys } from './store-keys.ts';

export interface StoreState {
  /** With one of these no order is safe: the gateway does not start, or stops sending orders. */
  readonly refuse: readonly string[];
  /** With these the promise is weaker. */
  readonly warn: readonly string[];
  /** The log keeps less than it did, in words that say what to set: what the store promised is not true any more. */
  readonly weakened: string | undefined;
  /** The number of replicas that are connected now. */
  readonly replicas: number;
  /** A write begins only with the acknowledgement of a replica. */
  readonly replicated: boolean;
  /** The most replicas that the store has noted until now, connected to one server. */
  readonly mostReplicas: number;
  /** Identifies the history of the server's data: after a failover, and after the server has started again, it is another one. */
  readonly history: string;
  /** Of a server that was promoted: the history of the server whose replica it was. */
  readonly formerHistory: string;
}

/** What the server's log keeps through a crash, from nothing on: `none` without a log, else `appendfsync`. */
const durabilities = ['none', 'no', 'everysec', 'always'];

/**
 * The settings and replicas of the store, with faults in words that say what to set (faults R12, R15). Rejects while the store is away.
 * One pipeline reads all, so that a cluster sends it to the node that has the records.
 */
export async function readStoreState(redis: OrderLedgerRedis, environment: string): Promise<StoreState> {
  const { replicas: key, durability } = storeKeys(environment);
  const answers = await redis.run((client) =>
    client
      .pipeline()
      .get(key)
      .info()
      .config('GET', 'appendfsync')
      .config('GET', 'min-replicas-to-write')
      .get(durability)
      .exec(),
  );
  const [noted, info, fsync, least, safest] = answers ?? [];
  if (!info || info[0] || noted?.[0]) throw info?.[0] ?? noted?.[0] ?? new Error('Connection is closed');
  const value = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(String(info[1]))?.[1];
  // Some servers do not allow CONFIG: then the weaker setting is assumed.
  const setting = (answer: typeof fsync) => (answer?.[1] as string[] | undefined)?.[1];

  const warn = warningsOf(value, setting(fsync));
  // Undefined where the server does not say.
  const kept = value('aof_enabled') === '0' ? 'none' : setting(fsync);
  const was = typeof safest?.[1] === 'string' ? safest[1] : 'none';
  const change = kept === undefined ? 0 : durabilities.indexOf(kept) - durabilities.indexOf(was);
  if (kept !== undefined && change > 0) await redis.run((client) => client.set(durability, kept));

  const replicas = Number(value('connected_slaves') ?? 0);
  const id = value('master_replid') ?? '';
  const formerHistory = value('master_replid2') ?? '';
  const [of = '', most = '0'] = typeof noted?.[1] === 'string' ? noted[1].split(' ') : [];
  if (replicas > 0) {
    if (setting(least) === '0')
      warn.push('takes writes without its replicas: set min-replicas-to-write 1, so that it stops by itself');
    const now = `${id} ${Math.max(replicas, Number(most))}`;
    if (now !== noted?.[1]) await redis.run((client) => client.set(key, now));
  }
  // This server was the only replica of the noted server, which can begin no write without it. So it may continue alone.
  const tookOver = of !== '' && of === formerHistory && most === '1';
  return {
    refuse: refusalsOf(value),
    warn,
    weakened:
      change < 0
        ? `keeps less of its log than it did (${inWords(was)}, now ${inWords(kept)}): set it back, or say with \`npm run order-store-init\` that it is meant`
        : undefined,
    replicas,
    replicated: replicas > 0 || (of !== '' && !tookOver),
    mostReplicas: Number(most),
    history: id,
    formerHistory,
  };
}

/** Reads a field of INFO. */
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

/** An operator confirms that the replicas were removed, or that the log was made weaker, on purpose. */
export async function forget(
  redis: OrderLedgerRedis,
  environment: string,
  what: 'replicas' | 'durability',
): Promise<void> {
  await redis.run((client) => client.del(storeKeys(environment)[what]));
}

/** KEYS: sets of records. ARGV: ids of keys. Returns the number of records that are sealed under another key. */
const SEALED_UNDER_OTHERS = new Script(`
local known, others = {}, 0
for _, kid in ipairs(ARGV) do known[kid] = true end
for _, set in ipairs(KEYS) do
  for _, record in ipairs(redis.call('ZRANGE', set, 0, -1)) do
    local details = redis.pcall('HGET', record, 'details')
    local kid = type(details) == 'string' and string.match(details, '^[^.]*%.([^.]*)%.')
    if kid and not known[kid] then others = others + 1 end
  end
end
return others`);

/** The number of unsettled orders that cannot be read with these keys (fault O2). */
export async function unreadableOrders(
  redis: OrderLedgerRedis,
  environment: string,
  kids: readonly string[],
): Promise<number> {
  const sets = unsettled.map((state) => stateKey(environment, state));
  return redis.run((client) => SEALED_UNDER_OTHERS.run<number>(client, sets, kids));
}

/** KEYS: the check values. ARGV: id and check value of each key. Returns the ids under which the store has another key. */
const CHECK_KEYS = new Script(`
local others = {}
for i = 1, #ARGV, 2 do
  redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[i + 1])
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then table.insert(others, ARGV[i]) end
end
return others`);

/** The ids under which the store knows another key than this gateway (fault O10). The store keeps new ids. */
export async function exchangedKeys(
  redis: OrderLedgerRedis,
  environment: string,
  keys: readonly EncryptionKey[],
): Promise<readonly string[]> {
  const values = keys.flatMap(({ kid, key }) => [kid, checkValue(key)]);
  return redis.run((client) => CHECK_KEYS.run<string[]>(client, [storeKeys(environment).keys], values));
}

/** Differs for different keys and reveals nothing of them. */
function checkValue(key: EncryptionKey['key']): string {
  return createHmac('sha256', key)
    .update('gateway order ledger: check value')
    .digest('base64url')
    .slice(0, 22);
}
