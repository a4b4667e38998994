import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type RunCommand, Script } from '../redis-script/redis-script.ts';

/**
 * Lua functions of a lease, for a script that takes or checks one in the same step as the data that it protects. A lease is a key with the
 * name of its owner. It expires by Redis' clock. An owner that was suspended may have lost its lease, so a script that writes protected
 * data calls `lease.holds` first (a fence). Only the owner releases the lease.
 *
 * The gateway did not write a key of another type, or one without an expiry. Such a key does not keep an owner from the lease.
 */
export const LEASE = `
local lease = {}
function lease.holds(key, owner)
  return redis.pcall('GET', key) == owner
end
function lease.is_free(key, owner)
  return redis.call('PTTL', key) < 0 or lease.holds(key, owner)
end
function lease.take(key, owner, ms)
  if not lease.is_free(key, owner) then return false end
  redis.call('SET', key, owner, 'PX', ms)
  return true
end
function lease.release(key, owner)
  if lease.holds(key, owner) then redis.call('DEL', key) end
end
`;

/** Decides as `lease.is_free` does, for a step that is decided in the process. `endsInMs` is negative if the entry never expires. */
export function isLeaseFree(
  entry: { readonly value: string; readonly endsInMs: number } | undefined,
  owner: string,
): boolean {
  return entry === undefined || entry.endsInMs < 0 || entry.value === owner;
}

/** KEYS: lease. ARGV: owner, life in ms. */
const TAKE = new Script(`${LEASE} return lease.take(KEYS[1], ARGV[1], ARGV[2]) and 1 or 0`);
/** KEYS: lease. ARGV: owner. */
const RELEASE = new Script(`${LEASE} lease.release(KEYS[1], ARGV[1]) return 1`);

/** A lease that this process holds, for the scripts that it fences. */
export interface Lease {
  readonly key: string;
  readonly owner: string;
}

const POLL_MS = 30;

/**
 * Runs `work` while it holds the lease. Returns undefined if another owner kept the lease until `giveUpAt` (performance.now()). `owner` is a
 * name that no other run has at that time. A process that uses the same name again also gets a lease whose reply was lost.
 */
export async function underLease<T>(
  run: RunCommand,
  key: string,
  {
    lifeMs,
    giveUpAt,
    owner = randomBytes(16).toString('hex'),
  }: { readonly lifeMs: number; readonly giveUpAt: number; readonly owner?: string },
  work: (lease: Lease) => Promise<T>,
): Promise<T | undefined> {
  const lease = { key, owner };
  while ((await run((client) => TAKE.run<number>(client, [key], [lease.owner, lifeMs]))) !== 1) {
    if (performance.now() >= giveUpAt) return undefined;
    await wait(POLL_MS);
  }
  try {
    return await work(lease);
  } finally {
    // While Redis is away, the lease expires by itself.
    await run((client) => RELEASE.run(client, [key], [lease.owner])).catch(() => undefined);
  }
}
