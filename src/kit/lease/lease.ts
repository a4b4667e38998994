import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type RunCommand, Script } from '../redis-script/redis-script.ts';

/**
 * Returns whether an owner may take the lease with this entry. {@link underLease} decides the same way in Redis. `endsInMs` is negative if
 * the entry never expires.
 */
export function isLeaseFree(
  entry: { readonly value: string; readonly endsInMs: number } | undefined,
  owner: string,
): boolean {
  return entry === undefined || entry.endsInMs < 0 || entry.value === owner;
}

/**
 * KEYS: lease. ARGV: owner, life in ms. The gateway did not write a key of another type, or one without an expiry. Such a key does not keep
 * an owner from the lease.
 */
const TAKE = new Script(`
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] and redis.call('PTTL', KEYS[1]) >= 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`);
/** KEYS: lease. ARGV: owner, life in ms. */
const KEEP = new Script(`
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`);
/** KEYS: lease. ARGV: owner. */
const RELEASE = new Script(`
if redis.pcall('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`);

const POLL_MS = 30;

/**
 * Runs `work` while it holds the lease, a key with the name of its owner that expires by Redis' clock. An owner that was suspended may have
 * lost its lease, so `work` writes protected data only where nobody has changed it since the read.
 *
 * Returns undefined if another owner kept the lease until `giveUpAt` (performance.now()). `owner` is a name that no other run has at that
 * time. A process that uses the same name again also gets a lease whose reply was lost.
 */
export async function underLease<T>(
  run: RunCommand,
  key: string,
  {
    lifeMs,
    giveUpAt,
    owner = randomBytes(16).toString('hex'),
  }: { readonly lifeMs: number; readonly giveUpAt: number; readonly owner?: string },
  work: () => Promise<T>,
): Promise<T | undefined> {
  while ((await run((client) => TAKE.run<number>(client, [key], [owner, lifeMs]))) !== 1) {
    if (performance.now() >= giveUpAt) return undefined;
    await wait(POLL_MS);
  }
  try {
    return await work();
  } finally {
    // While Redis is away, the lease expires by itself.
    await run((client) => RELEASE.run(client, [key], [owner])).catch(() => undefined);
  }
}

/** Renews the lease. Returns false if it has ended, even if nobody else has it now: another owner may have had it in between. */
export async function keepLease(
  run: RunCommand,
  key: string,
  { lifeMs, owner }: { readonly lifeMs: number; readonly owner: string },
): Promise<boolean> {
  return (await run((client) => KEEP.run<number>(client, [key], [owner, lifeMs]))) === 1;
}
