import { Script } from '../redis/script.ts';
import type { State } from './ledger-record.ts';
import type { OrderLedgerRedis } from './order-ledger-redis.ts';
import { stateKey } from './redis-order-ledger.ts';

interface Faults {
  /** With these no order is safe. */
  readonly refuse: readonly string[];
  /** With these the promise is weaker. */
  readonly warn: readonly string[];
}

/** What is wrong with the store's settings, in words that say what to set (faults R12, R15). Rejects while it is away. */
export async function storeFaults(redis: OrderLedgerRedis): Promise<Faults> {
  const info = await redis.run((client) => client.info());
  const value = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  const refuse: string[] = [];
  const warn: string[] = [];
  const policy = value('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction')
    refuse.push(`evicts what it should keep: set maxmemory-policy noeviction, now ${policy}`);
  if (value('role') === 'slave') refuse.push('is a replica, which takes no writes: name the master');
  if (value('aof_enabled') === '0')
    warn.push(
      'writes no log to disk and forgets orders when it restarts: set appendonly yes, appendfsync always',
    );
  else if ((await fsyncPolicy(redis)) !== 'always')
    warn.push('may lose the last second of orders in a crash: set appendfsync always');
  return { refuse, warn };
}

/** Not every server tells: then the weaker is assumed. */
async function fsyncPolicy(redis: OrderLedgerRedis): Promise<string | undefined> {
  const answer = (await redis
    .run((client) => client.config('GET', 'appendfsync'))
    .catch(() => [])) as string[];
  return answer[1];
}

/** In these a record is still needed, whatever its age. */
const OPEN: readonly State[] = ['sending', 'in_doubt', 'incomplete'];
/** KEYS: sets of records. ARGV: ids of keys. How many records are sealed under another key. */
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

/** How many orders that nobody has settled cannot be read with these keys (fault O2). */
export async function unreadableOrders(
  redis: OrderLedgerRedis,
  environment: string,
  kids: readonly string[],
): Promise<number> {
  const sets = OPEN.map((state) => stateKey(environment, state));
  return redis.run((client) => SEALED_UNDER_OTHERS.run<number>(client, sets, kids));
}
