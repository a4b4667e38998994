import { Script } from '../kit/redis-script/redis-script.ts';
import type { State } from './ledger-record.ts';
import type { OrderLedgerRedis } from './order-ledger-redis.ts';

export function prefixOf(environment: string): string {
  return `{${environment}:guard}:`;
}

/** Keys that are not records: they show whether the store can be trusted. */
export function storeKeys(environment: string) {
  const prefix = prefixOf(environment);
  return {
    /** While it is there, the store has not been emptied. */
    epoch: `${prefix}epoch`,
    count: `${prefix}count`,
    seen: `${prefix}seen`,
    lost: `${prefix}lost`,
    /** The server, and the largest number of replicas that it has had. */
    replicas: `${prefix}replicas`,
    /** The safest log that the server has kept: one of `durabilities`. */
    durability: `${prefix}durability`,
    /** Check values of encryption keys, by their ids. */
    keys: `${prefix}keys`,
  } as const;
}

/** The set of all orders in that state, by the time of their submission. */
export function stateKey(environment: string, state: State): string {
  return `${prefixOf(environment)}orders:${state}`;
}

/*
 * One script writes epoch and count, so that both survive or both are lost: Redis logs the writes of a script as one transaction. When
 * its user `default` has no permissions, Redis 7.0 skips every transaction as it reads its log (fault R23). An epoch that was set alone
 * would survive that, and the gateway would trust a store whose records are gone.
 */

/** KEYS: epoch, count. ARGV: epoch. */
const MAKE = new Script(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('INCRBY', KEYS[2], 0)
redis.call('SET', KEYS[1], ARGV[1])
return 1`);

/** KEYS: epoch, count, lost. ARGV: epoch, count. */
const CONFIRM = new Script(`
redis.call('SET', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[3])
redis.call('SET', KEYS[1], ARGV[1])
return 1`);

/** Sets the epoch of a store that has none. */
export async function makeEpoch(redis: OrderLedgerRedis, environment: string, made: string): Promise<void> {
  const { epoch, count } = storeKeys(environment);
  await redis.run((client) => MAKE.run(client, [epoch, count], [made]));
}

/** Replaces the epoch, counts on from `from`, and deletes the note of lost writes. */
export async function confirmEpoch(
  redis: OrderLedgerRedis,
  environment: string,
  { made, from }: { readonly made: string; readonly from: number },
): Promise<void> {
  const { epoch, count, lost } = storeKeys(environment);
  await redis.run((client) => CONFIRM.run(client, [epoch, count, lost], [made, from]));
}
