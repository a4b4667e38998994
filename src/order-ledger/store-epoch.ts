import { Script } from '../redis/script.ts';
import type { OrderLedgerRedis } from './order-ledger-redis.ts';
import { storeKeys } from './redis-order-ledger.ts';

/*
 * Epoch and count are written by one script, so that they share one fate: Redis logs what a script writes as one transaction. Redis 7.0
 * leaves out every transaction of its log when its user `default` may do nothing (fault R23): an epoch that was set by itself would
 * stay, and vouch for records that are gone.
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

/** Gives a store that has no epoch this one. */
export async function makeEpoch(redis: OrderLedgerRedis, environment: string, made: string): Promise<void> {
  const { epoch, count } = storeKeys(environment);
  await redis.run((client) => MAKE.run(client, [epoch, count], [made]));
}

/** Replaces the epoch; writes are counted on from `from`, and nothing is lost any more. */
export async function confirmEpoch(
  redis: OrderLedgerRedis,
  environment: string,
  { made, from }: { readonly made: string; readonly from: number },
): Promise<void> {
  const { epoch, count, lost } = storeKeys(environment);
  await redis.run((client) => CONFIRM.run(client, [epoch, count, lost], [made, from]));
}
