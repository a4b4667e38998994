import { Cluster, type Redis } from 'ioredis';
import { Batcher } from '../kit/batcher/batcher.ts';
import { emptyIfForeign, type StoreSealer } from '../kit/sealed-store/sealed-store.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';

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

/**
 * The second level of the cache, in Redis. Lists are sealed, because they contain personal data. Calls fail while Redis is away. Reads
 * bypass Nest's `Cache`: the work of Cache and Keyv for each value costs more than the value (decision 8).
 */
export class RedisLists {
  readonly #stores: Batcher<Entry, void>;
  readonly #lookups: Batcher<string, string | null>;

  constructor(
    redis: SharedRedis,
    private readonly sealer: StoreSealer,
  ) {
    // A lookup shares one write with the generation, if both are requested in the same turn of the event loop.
    const atEndOfTurn = (send: () => void) => redis.atEndOfTurn(send);
    this.#stores = new Batcher('cache', (all) => redis.run((client) => store(client, all)), atEndOfTurn);
    this.#lookups = new Batcher('cache', (keys) => redis.run((client) => lookUp(client, keys)), atEndOfTurn);
  }

  async get(key: string): Promise<SharedList | undefined> {
    const stored = this.sealer.open(await this.#lookups.add(key), key);
    return stored === undefined ? undefined : fromText(stored);
  }

  /** Stores a list that expires. A list without a life is not stored. */
  async set(key: string, list: SharedList, lifeMs: number): Promise<void> {
    if (lifeMs < 1) return;
    await this.#stores.add({ key, sealed: this.sealer.seal(toText(list), key), lifeMs: Math.floor(lifeMs) });
  }
}

async function store(client: Redis | Cluster, entries: readonly Entry[]): Promise<void[]> {
  // In a cluster the keys of a script must have one slot.
  const groups = client instanceof Cluster ? entries.map((one) => [one]) : grouped(entries);
  await Promise.all(groups.map((group) => STORE.run(client, ...argumentsOf(group))));
  return entries.map(() => undefined);
}

function lookUp(client: Redis | Cluster, keys: readonly string[]): Promise<(string | null)[]> {
  return client instanceof Cluster
    ? Promise.all(keys.map((key) => client.get(key).catch(emptyIfForeign)))
    : client.mget([...keys]);
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
