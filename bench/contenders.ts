import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Fleet } from '../test/support/fleet.ts';
import { pidOf, type Running, startPeer } from './processes.ts';
import { type Asked, gatewayAsked, platformAsked } from './tasks.ts';

export interface Contender {
  readonly running: Running;
  readonly asked: Asked;
}

/** Everybody has the same one. */
export class Platform {
  readonly #running: Running;

  private constructor(running: Running) {
    this.#running = running;
  }

  static async start(): Promise<Platform> {
    return new Platform(await startPeer('upstream.ts'));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#running.port}`;
  }

  /** How many reads and orders it has been asked for. */
  async asked(): Promise<number> {
    return ((await (await fetch(`${this.url}/asked`)).json()) as { asked: number }).asked;
  }

  stop(): Promise<void> {
    return this.#running.stop();
  }
}

/** As an operator would set it: a log on disk of every order before it is sent, and nothing thrown away. */
const GUARD_REDIS = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'];
const SHIPPED = { NODE_ENV: 'production', GUARD_INIT: 'auto', CACHE_TTL_MS: '5000', LOG_LEVEL: 'info' };
/** The guard in the process: there is no Redis, which production refuses. */
const EMBEDDED = { ...SHIPPED, NODE_ENV: 'development', DOCS: 'off', REDIS_URL: '', ENCRYPTION_KEYS: '' };

/** The gateway as shipped: callers, request log, metrics, guard and Redis on. */
export async function gateway(platform: Platform, redis: 'redis' | 'embedded' = 'redis'): Promise<Contender> {
  const canned = { tokenUrl: `${platform.url}/oauth/token`, appKey: 'bench', seedPassword: secret() };
  const fleet = await Fleet.start({ url: platform.url, appSecret: secret(), ...canned }, 0, {
    redis: GUARD_REDIS,
    caller: { rateLimit: { requests: 1_000_000_000, perSeconds: 1 } },
  });
  try {
    const process = await fleet.launch(redis === 'redis' ? SHIPPED : EMBEDDED, {
      logFile: join(fleet.folder, 'gateway.log'),
    });
    const running = {
      port: Number(new URL(process.url).port),
      pid: pidOf(process.child),
      stop: () => fleet.stop(),
    };
    return { running, asked: gatewayAsked(fleet.key) };
  } catch (error) {
    await fleet.stop();
    throw error;
  }
}

export async function bare(platform: Platform): Promise<Contender> {
  return {
    running: await startPeer('bare.ts', { UPSTREAM: platform.url }),
    asked: platformAsked((data) => data),
  };
}

function secret(): string {
  return randomBytes(16).toString('base64url');
}
