import { type DynamicModule, Global, Module } from '@nestjs/common';
import {
  type AppConfig,
  CacheConfig,
  CallersConfig,
  DatabaseConfig,
  EstateConfig,
  ImportConfig,
  OrderConfig,
  JwtConfig,
  ListenConfig,
  RedisConfig,
  UpstreamConfig,
  UsersConfig,
  WebhookConfig,
} from './app-config.ts';

/** Provides each part of the configuration under its class, so that no code asks for a setting by a string, and without `@nestjs/config` (decision 6). */
@Global()
@Module({})
export class ConfigModule {
  static with(config: AppConfig): DynamicModule {
    const slices = [
      { provide: ListenConfig, useValue: config.listen },
      { provide: UpstreamConfig, useValue: config.upstream },
      { provide: RedisConfig, useValue: config.redis },
      { provide: OrderConfig, useValue: config.orders },
      { provide: DatabaseConfig, useValue: config.database },
      { provide: CallersConfig, useValue: config.callers },
      { provide: JwtConfig, useValue: config.jwt },
      { provide: UsersConfig, useValue: config.users },
      { provide: CacheConfig, useValue: config.cache },
      { provide: EstateConfig, useValue: config.estate },
      { provide: ImportConfig, useValue: config.imports },
      { provide: WebhookConfig, useValue: config.webhooks },
    ];
    return { module: ConfigModule, providers: slices, exports: slices };
  }
}
