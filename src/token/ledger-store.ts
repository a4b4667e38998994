import { Script } from '../kit/redis-script/redis-script.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';

/** The keys of one principal's token. All principals of the application share `endpoint` and `probe`. */
export type TokenKeys = Readonly<ReturnType<typeof tokenKeys>>;

export function tokenKeys(token: string, endpoint: string) {
  return {
    token,
    /** The owner that asks the endpoint now. */
    lock: `${token}:lock`,
    /** Why the last request failed, and until when no owner asks again. */
    failure: `${token}:failure`,
    /** Present while a forced renewal would not help. */
    hold: `${token}:hold`,
    /** The same as `failure`, for failures of the endpoint itself. */
    endpoint,
    /** The owner that asks a failed endpoint first. */
    probe: `${endpoint}:probe`,
  };
}

/** What the keys have. `endsInMs` is negative where the entry has no end of its life. */
export type Entries = Partial<Record<keyof TokenKeys, { readonly value: string; readonly endsInMs: number }>>;

/** What a step does to the keys; null deletes. */
export type Changes = Partial<
  Record<keyof TokenKeys, { readonly value: string; readonly lifeMs: number } | null>
>;

/** `now` is in ms, by the clock of the store. */
type Step<T> = (entries: Entries, now: number) => { readonly result: T; readonly changes?: Changes };

/** Where a token ledger keeps its entries. */
export interface LedgerStore {
  /** Takes one atomic step. It is taken anew where another owner has changed an entry meanwhile, so it must have no other effect. */
  change<T>(keys: TokenKeys, step: Step<T>): Promise<T>;
}

/** The memory of one process, by its monotonic clock. */
export class MemoryLedgerStore implements LedgerStore {
  readonly #kept = new Map<string, { readonly value: string; readonly until: number }>();

  change<T>(keys: TokenKeys, step: Step<T>): Promise<T> {
    const now = Math.floor(performance.now());
    const entries: Entries = {};
    for (const name of namesOf(keys)) {
      const kept = this.#kept.get(keys[name]);
      if (kept && kept.until > now) entries[name] = { value: kept.value, endsInMs: kept.until - now };
    }
    const { result, changes = {} } = step(entries, now);
    for (const name of namesOf(changes)) {
      const change = changes[name];
      if (change) this.#kept.set(keys[name], { value: change.value, until: now + change.lifeMs });
      else this.#kept.delete(keys[name]);
    }
    return Promise.resolve(result);
  }
}

/**
 * KEYS: those of a token. ARGV: the mark of the entries by which a step was decided, then for each change the number of its key, the
 * value and its life in ms (0 deletes). Where the entries still have that mark, it makes the changes and returns nothing. Else it
 * returns the mark, the time, and for each key its value and the rest of its life. The time is that of Redis' own clock, since
 * replicas' clocks differ. A value of another type counts as missing.
 */
const CHANGE = new Script(`
local values = {}
for i, key in ipairs(KEYS) do
  local value = redis.pcall('GET', key)
  values[i] = type(value) == 'string' and value or ''
end
local mark = redis.sha1hex(table.concat(values, ' '))
if ARGV[1] == mark then
  for i = 2, #ARGV, 3 do
    local key, value, lifeMs = KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2]
    if lifeMs == '0' then redis.call('DEL', key) else redis.call('SET', key, value, 'PX', lifeMs) end
  end
  return {}
end
local clock = redis.call('TIME')
local found = {mark, clock[1] * 1000 + math.floor(clock[2] / 1000)}
for i, key in ipairs(KEYS) do
  found[2 * i + 1] = values[i]
  found[2 * i + 2] = redis.call('PTTL', key)
end
return found
`);

/** The Redis of all replicas. Rejects where it is not available. */
export class RedisLedgerStore implements LedgerStore {
  constructor(private readonly redis: SharedRedis) {}

  async change<T>(keys: TokenKeys, step: Step<T>): Promise<T> {
    const names = namesOf(keys);
    const run = (...values: (string | number)[]) =>
      this.redis.run((client) => CHANGE.run<(string | number)[]>(client, Object.values(keys), values));
    let found = await run('');
    for (;;) {
      const [mark = '', now, ...kept] = found;
      const entries: Entries = {};
      for (const [index, name] of names.entries()) {
        const value = String(kept[2 * index]);
        if (value !== '') entries[name] = { value, endsInMs: Number(kept[2 * index + 1]) };
      }
      const { result, changes = {} } = step(entries, Number(now));
      if (namesOf(changes).length === 0) return result;
      const values = namesOf(changes).flatMap((name) => [
        names.indexOf(name) + 1,
        changes[name]?.value ?? '',
        changes[name]?.lifeMs ?? 0,
      ]);
      found = await run(mark, ...values);
      if (found.length === 0) return result;
    }
  }
}

function namesOf(named: Partial<Record<keyof TokenKeys, unknown>>): (keyof TokenKeys)[] {
  return Object.keys(named) as (keyof TokenKeys)[];
}
