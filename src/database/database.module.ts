import { Global, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { DatabaseConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { Database } from './database.ts';
import { LongReads } from './long-reads.ts';
import { SealedTexts } from './sealed-texts.ts';
import { inRedis } from './seen-memory.ts';
import { trustReasons } from './trust.ts';

@Global()
@Module({
  providers: [
    LongReads,
    {
      provide: Database,
      inject: [DatabaseConfig, Log, SharedRedis],
      useFactory: (config: DatabaseConfig, log: Log, redis: SharedRedis) =>
        new Database(
          config,
          log,
          redis.configured ? inRedis(redis.environment, (command) => redis.run(command)) : undefined,
        ),
    },
    {
      provide: SealedTexts,
      inject: [DatabaseConfig, Database],
      useFactory: ({ encryptionKeys, platform }: DatabaseConfig, { trust }: Database) =>
        new SealedTexts(encryptionKeys, platform, () => trust.keys.removed),
    },
  ],
  exports: [Database, LongReads, SealedTexts],
})
export class DatabaseModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly database: Database,
    private readonly config: DatabaseConfig,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {}

  async onModuleInit(): Promise<void> {
    const { trust } = this.database;
    this.metrics.follow('gateway_database_stopped', () =>
      trustReasons.map((reason) => [{ reason }, Number(reason === trust.trouble.stopped)]),
    );
    this.metrics.follow('gateway_database_weak', () => [[{}, Number(trust.isWeak)]]);
    await this.database.open();
    if (this.config.address.kind === 'memory')
      this.log.warn(
        { event: 'database-in-memory' },
        'DATABASE_URL names no database: orders, imports, webhooks and events are kept in this process only, and are forgotten with it',
      );
  }

  onApplicationShutdown(): Promise<void> {
    return this.database.close();
  }
}
