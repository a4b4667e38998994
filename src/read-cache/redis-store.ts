import { Cluster } from 'ioredis';
import { Batcher } from '../kit/batcher/batcher.ts';
import { emptyIfForeign } from '../kit/sealed-store/sealed-store.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';

/** What Redis has of a list of the cache. */
export interface SharedList {
  /** In ms since the epoch. */
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
 * Stores lists together: with a command for each, a read that is not in the cache took a sixth more. They go to replicas and not into the log on
 * disk, as the rates do. KEYS: of the lists. ARGV: for each of them its sealed text and its life in ms.
 */
const STORE = new Script(`
redis.set_repl(redis.REPL_REPLICA)
for i = 1, #KEYS do
  redis.call('SET', KEYS[i], ARGV[2 * i - 1], 'PX', ARGV[2 * i])
end
`);
/** Redis serves no other client while a command runs. In characters. */
const MAX_COMMAND = 256 * 1024;

/** Fails where Redis is away. */
export interface RedisStore {
  get(key: string): Promise<SharedList | undefined>;
  /** Stores nothing that has no end of its life. */
  set(key: string, list: SharedList, lifeMs: number): Promise<void>;
}

/**
 * The second level of the cache, in Redis; undefined where none is configured. Lists are sealed, because they have personal data. Nest's
 * `Cache` is not on the way of a read: what it and Keyv do around each value costs more than the value (decision 8).
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
  // In one write with the generation, where that is asked for in this turn too.
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

/** Time and generation of the list, then its text unchanged: in JSON, every quote of it would have to be escaped and parsed again. */
function toText({ text, askedAt, generation }: SharedList): string {
  return `${askedAt} ${generation}\n${text}`;
}

function fromText(stored: string): SharedList {
  const end = stored.indexOf('\n');
  const [askedAt, generation = ''] = stored.slice(0, end).split(' ');
  return { askedAt: Number(askedAt), generation, text: stored.slice(end + 1) };
}
