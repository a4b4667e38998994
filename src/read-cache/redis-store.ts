import { Cluster } from 'ioredis';
import { Batcher } from '../kit/batcher/batcher.ts';
import { emptyIfForeign } from '../kit/sealed-store/sealed-store.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';

/** The value of a list in Redis. */
export interface SharedList {
  /** The time of the call in ms since the epoch. */
  readonly askedAt: number;
  readonly generation: string;
  readonly text: string;
}

interface Entry {
  readonly key: string;
  readonly sealed: string;
  readonly lifeMs: number;
}

/**
 * Stores several lists with one command, because one command for each list made a miss a sixth more expensive. The script replicates its
 * writes to replicas but not to the append-only file, as that of the rates does. KEYS: of the lists. ARGV: for each list its sealed text
 * and its life in ms.
 */
const STORE = new Script(`
redis.set_repl(redis.REPL_REPLICA)
for i = 1, #KEYS do
  redis.call('SET', KEYS[i], ARGV[2 * i - 1], 'PX', ARGV[2 * i])
end
`);
/** The most characters of one command, because Redis serves no other client while it runs. */
const MAX_COMMAND = 256 * 1024;

/** The lists in Redis. Calls fail while Redis is away. */
export interface RedisStore {
  get(key: string): Promise<SharedList | undefined>;
  /** Stores a list that expires. A list without a life is not stored. */
  set(key: string, list: SharedList, lifeMs: number): Promise<void>;
}

/**
 * Returns the second level of the cache, in Redis. Undefined if none is configured. Lists are sealed, because they contain personal data.
 * Reads bypass Nest's `Cache`: the work of Cache and Keyv for each value costs more than the value (decision 8).
 */
export function redisStore(redis: SharedRedis): RedisStore | undefined {
  const entries = redis.sealed('cache');
  if (!entries) return undefined;
  const stores = new Batcher<Entry, void>(
    'cache',
    (all) =>
      redis.run(async (client) => {
        // In a cluster the keys of a script must have one slot.
        const groups = client instanceof Cluster ? all.map((one) => [one]) : grouped(all);
        await Promise.all(groups.map((group) => STORE.run(client, ...argumentsOf(group))));
        return all.map(() => undefined);
      }),
    (send) => redis.atEndOfTurn(send),
  );
  // The lookups share one write with the generation, if it is requested in the same turn of the event loop.
  const lookups = new Batcher<string, string | null>(
    'cache',
    (keys) =>
      redis.run((client) =>
        client instanceof Cluster
          ? Promise.all(keys.map((key) => client.get(key).catch(emptyIfForeign)))
          : client.mget([...keys]),
      ),
    (send) => redis.atEndOfTurn(send),
  );
  return {
    async get(key) {
      const stored = entries.open(await lookups.add(key), key);
      return stored === undefined ? undefined : fromText(stored);
    },
    async set(key, list, lifeMs) {
      if (lifeMs < 1) return;
      await stores.add({ key, sealed: entries.seal(toText(list), key), lifeMs: Math.floor(lifeMs) });
    },
  };
}

function grouped(entries: readonly Entry[]): Entry[][] {
  const groups: Entry[][] = [];
  let length = Infinity;
  for (const entry of entries) {
    length += entry.sealed.length;
    if (length <= MAX_COMMAND) groups.at(-1)?.push(entry);
    else {
      groups.push([entry]);
      length = entry.sealed.length;
    }
  }
  return groups;
}

function argumentsOf(entries: readonly Entry[]): [keys: string[], values: (string | number)[]] {
  return [entries.map(({ key }) => key), entries.flatMap(({ sealed, lifeMs }) => [sealed, lifeMs])];
}

/**
 * Returns time and generation of the list, then its text unchanged. As JSON, every quote in it would have to be escaped and parsed again.
 */
function toText({ text, askedAt, generation }: SharedList): string {
  return `${askedAt} ${generation}\n${text}`;
}

function fromText(stored: string): SharedList {
  const end = stored.indexOf('\n');
  const [askedAt, generation = ''] = stored.slice(0, end).split(' ');
  return { askedAt: Number(askedAt), generation, text: stored.slice(end + 1) };
}
