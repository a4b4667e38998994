import { Global, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { DatabaseConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Database } from './database.ts';

/** The database for every module. */
@Global()
@Module({
  providers: [
    {
      provide: Database,
      inject: [DatabaseConfig, Log],
      useFactory: (config: DatabaseConfig, log: Log) => new Database(config, log),
    },
  ],
  exports: [Database],
})
export class DatabaseModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly database: Database,
    private readonly config: DatabaseConfig,
    private readonly log: Log,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.database.open();
    if (this.config.address.kind === 'memory')
      this.log.warn(
        { event: 'database-in-memory' },
        'DATABASE_URL names no database: imports run in this process only, and are forgotten with it',
      );
  }

  onApplicationShutdown(): Promise<void> {
    return this.database.close();
  }
}
