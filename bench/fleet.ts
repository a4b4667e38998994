import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { Fleet } from '../test/support/fleet.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { family, pidOf, type Running, startPeer } from './processes.ts';

/** The platform with fixed responses, the same for all contenders. */
export class Platform {
  readonly running: Running;

  private constructor(running: Running) {
    this.running = running;
  }

  static async start(): Promise<Platform> {
    return new Platform(await startPeer('upstream'));
  }

  get url(): string {
    return `http://127.0.0.1:${this.running.ports[0]}`;
  }

  /** Returns the number of reads and orders that it has received. */
  async asked(): Promise<number> {
    return ((await (await fetch(`${this.url}/asked`)).json()) as { asked: number }).asked;
  }
}

/** The scopes that older gateways know too. */
export const SCOPES = ['orders:read', 'orders:write', 'members:read'];

/** The number of callers. Each may have 256 MiB of orders. */
const CALLERS = 20;

/**
 * Opens the parts of a fleet before its processes: PostgreSQL with its files on a disk, a Redis, and callers whose limits are out of reach.
 */
export async function openFleet(
  { url }: Platform,
  { scopes = SCOPES, redis = [] }: { scopes?: readonly string[]; redis?: readonly string[] } = {},
): Promise<{ fleet: Fleet; serverPids: () => number[]; stop: () => Promise<void> }> {
  const platform = { url, tokenUrl: `${url}/oauth/token`, appKey: 'bench', appSecret: secret() };
  const postgres = await startPostgres([], undefined, tmpdir());
  const caller = { rateLimit: { requests: 1_000_000_000, perSeconds: 1 }, scopes: [...scopes] };
  const fleet = await Fleet.start({ ...platform, seedPassword: secret() }, 0, {
    redis,
    caller,
    callers: Array.from({ length: CALLERS - 1 }, (_, index) => ({ name: `caller-${index}`, ...caller })),
    databaseUrl: await postgres.newUrl(),
  });
  const stop = async () => {
    await fleet.stop();
    await postgres.stop();
  };
  const serverPids = () => [pidOf(fleet.redis.process), ...family(pidOf(postgres.process))];
  return { fleet, serverPids, stop };
}

export function secret(): string {
  return randomBytes(16).toString('base64url');
}
