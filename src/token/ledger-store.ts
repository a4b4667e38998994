import { atomicStep, type KeptValue } from '../kit/compare-and-set/compare-and-set.ts';
import type { RunCommand } from '../kit/redis-script/redis-script.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';

/** The keys of one principal's token. All principals of the application share `endpoint` and `probe`. */
export type TokenKeys = Readonly<ReturnType<typeof tokenKeys>>;

export function tokenKeys(token: string, endpoint: string) {
  return {
    token,
    /** The owner that is calling the endpoint now. */
    lock: `${token}:lock`,
    /** Why the last request failed, and the time until which no owner calls the endpoint again. */
    failure: `${token}:failure`,
    /** Present while a forced renewal would not help. */
    hold: `${token}:hold`,
    /** The last failure of the endpoint itself, in the form of `failure`. */
    endpoint,
    /** The owner that calls a failed endpoint first. */
    probe: `${endpoint}:probe`,
  };
}

/** The values of the keys. `endsInMs` is negative if the entry never expires. */
export type Entries = Partial<Record<keyof TokenKeys, KeptValue>>;

/** The changes of a step to the keys. Null deletes. */
export type Changes = Partial<
  Record<keyof TokenKeys, { readonly value: string; readonly lifeMs: number } | null>
>;

/** `now` is in ms, by the clock of the store. */
type Step<T> = (entries: Entries, now: number) => { readonly result: T; readonly changes?: Changes };

export interface LedgerStore {
  /** Takes one atomic step. If another owner has changed an entry since the read, the step runs again, so it must have no other effect. */
  change<T>(keys: TokenKeys, step: Step<T>): Promise<T>;
}

/** A ledger in the memory of one process, by its monotonic clock. */
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

/** A ledger in the Redis of all replicas. Calls reject if Redis is not available. */
export class RedisLedgerStore implements LedgerStore {
  constructor(private readonly redis: SharedRedis) {}

  change<T>(keys: TokenKeys, step: Step<T>): Promise<T> {
    const names = namesOf(keys);
    const run: RunCommand = (command) => this.redis.run(command);
    return atomicStep(run, Object.values(keys), (kept, now) => {
      const entries: Entries = Object.fromEntries(
        names.flatMap((name, index) => (kept[index] ? [[name, kept[index]]] : [])),
      );
      const { result, changes = {} } = step(entries, now);
      const changed = namesOf(changes).map((name) => {
        const { value = '', lifeMs = 0 } = changes[name] ?? {};
        return { index: names.indexOf(name), value, lifeMs };
      });
      return { result, changes: changed };
    });
  }
}

function namesOf(named: Partial<Record<keyof TokenKeys, unknown>>): (keyof TokenKeys)[] {
  return Object.keys(named) as (keyof TokenKeys)[];
}
