import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { GuardRecord, State } from '../../src/guard/guard-record.ts';
import type { Moved } from '../../src/guard/guard-store.ts';

/** A module of the built gateway, with the types of its source. */
export function built<T>(path: string): Promise<T> {
  return import(pathToFileURL(resolve('dist', path)).href) as Promise<T>;
}

/** The guard's records, read beside the gateways and by the same code. */
export class Records {
  private readonly store: import('../../src/guard/redis-guard.ts').RedisGuard;
  private readonly redis: import('../../src/guard/guard-redis.ts').GuardRedis;
  private readonly nameOf: (channelCode: string, channelOrderId: string) => string;

  private constructor(store: Records['store'], redis: Records['redis'], nameOf: Records['nameOf']) {
    this.store = store;
    this.redis = redis;
    this.nameOf = nameOf;
  }

  /** `environment` is a gateway's; its store has a canary. */
  static async open(environment: Record<string, string>): Promise<Records> {
    await import('reflect-metadata');
    const { loadConfig } =
      await built<typeof import('../../src/config/app-config.ts')>('config/app-config.js');
    const { GuardRedis } =
      await built<typeof import('../../src/guard/guard-redis.ts')>('guard/guard-redis.js');
    const { RedisGuard, canaryKey } =
      await built<typeof import('../../src/guard/redis-guard.ts')>('guard/redis-guard.js');
    const { orderName } =
      await built<typeof import('../../src/guard/guard-store.ts')>('guard/guard-store.js');
    const { environmentName } =
      await built<typeof import('../../src/redis/key-names.ts')>('redis/key-names.js');
    const { createLog } =
      await built<typeof import('../../src/observability/log.ts')>('observability/log.js');
    const { Metrics } =
      await built<typeof import('../../src/observability/metrics.ts')>('observability/metrics.js');
    const config = loadConfig(environment);
    const redis = new GuardRedis(config.guard, createLog('silent'), new Metrics());
    await redis.onModuleInit();
    const name = environmentName(config.upstream.baseUrl);
    const canary = await redis.run((client) => client.get(canaryKey(name)));
    const store = new RedisGuard(redis, name, () => canary ?? undefined);
    return new Records(store, redis, orderName);
  }

  get up(): boolean {
    return this.redis.status === 'up';
  }

  find(channelOrderId: string): Promise<GuardRecord | undefined> {
    return this.store.read(this.nameOf(CHANNEL, channelOrderId));
  }

  async count(state: State): Promise<number> {
    return (await this.store.list(state, 0, 1)).total;
  }

  /** As an operator does who has made sure, without the wait that the API asks of one. */
  settle(channelOrderId: string, to: 'succeeded' | 'not_placed'): Promise<Moved> {
    return this.store.move({ name: this.nameOf(CHANNEL, channelOrderId), by: 'operator', to });
  }

  close(): void {
    this.redis.onApplicationShutdown();
  }
}

export const CHANNEL = 'crm';
