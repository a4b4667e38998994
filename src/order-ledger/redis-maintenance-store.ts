import type { MaintenanceWindow, Stops } from '../control/maintenance.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import { AcknowledgedScripts } from '../redis/acknowledged-scripts.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import type { MaintenanceStore, NewWindow, StoredMaintenance } from './maintenance-store.ts';
import { type KnownStore, OrderLedgerUnavailable } from './order-ledger-store.ts';
import { storeKeys } from './store-keys.ts';

/** The fields of the hash, for every script that reads it. */
export const WINDOW_FIELDS = `'stops', 'from', 'until', 'reason', 'by'`;

/** As a script gives it back: the fields in their order; no `stops` where there is none. */
export type WindowReply = readonly (string | null)[];

/** KEYS of each script: epoch, maintenance. ARGV begin with: epoch. */
const SAME_EPOCH = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'stopped'} end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
`;

const READ = new Script(`${SAME_EPOCH}
return {'there', now, redis.call('HMGET', KEYS[2], ${WINDOW_FIELDS})}
`);

/** ARGV: stops, from or empty for now, until, reason, by. */
const SET = new Script(`${SAME_EPOCH}
local from = ARGV[3] == '' and now or ARGV[3]
redis.call('HSET', KEYS[2], 'stops', ARGV[2], 'from', from, 'until', ARGV[4], 'reason', ARGV[5], 'by', ARGV[6])
return {'there', now, redis.call('HMGET', KEYS[2], ${WINDOW_FIELDS})}
`);

const END = new Script(`${SAME_EPOCH}
redis.call('DEL', KEYS[2])
return {'there', now}
`);

export function windowIn([stops, from, until, reason, by]: WindowReply): MaintenanceWindow | undefined {
  if (!stops) return undefined;
  return {
    stops: stops as Stops,
    from: Number(from),
    until: Number(until),
    reason: reason ?? '',
    by: by ?? '',
  };
}

/** The window of all replicas, in the order store, where the script that begins an order reads it. */
export class RedisMaintenanceStore implements MaintenanceStore {
  readonly #keys: readonly string[];
  readonly #acknowledged: AcknowledgedScripts;

  constructor(
    private readonly redis: SharedRedis,
    environment: string,
    private readonly known: KnownStore,
  ) {
    const { epoch, maintenance } = storeKeys(environment);
    this.#keys = [epoch, maintenance];
    this.#acknowledged = new AcknowledgedScripts(redis, () => known.server.acknowledgements);
  }

  read(): Promise<StoredMaintenance> {
    return this.#run(READ, []);
  }

  set({ stops, from, until, reason, by }: NewWindow): Promise<StoredMaintenance> {
    return this.#run(SET, [stops, from ?? '', until, reason, by], true);
  }

  async end(): Promise<void> {
    await this.#run(END, [], true);
  }

  /** `isConfirmed`: replicas have to have it too, so that a failover does not lose it. */
  async #run(
    script: Script,
    values: readonly (string | number)[],
    isConfirmed = false,
  ): Promise<StoredMaintenance> {
    const { epoch, server } = this.known;
    if (epoch === undefined) throw new OrderLedgerUnavailable('stopped');
    const run = { script, keys: this.#keys, values: [epoch, ...values] };
    const { reply, acknowledged } = await (
      isConfirmed && server.replicated
        ? this.#acknowledged.run(run)
        : this.redis
            .run((client) => script.run<unknown[]>(client, run.keys, run.values))
            .then((found) => ({ reply: found, acknowledged: true }))
    ).catch((error: unknown) => {
      throw new OrderLedgerUnavailable('away', error);
    });
    const [kind, now, fields = []] = reply as [string, number?, WindowReply?];
    if (kind === 'stopped') throw new OrderLedgerUnavailable('stopped');
    if (!acknowledged) throw new OrderLedgerUnavailable('unacknowledged');
    return { window: windowIn(fields), now: Number(now) };
  }
}
