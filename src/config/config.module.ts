import { type DynamicModule, Global, Module } from '@nestjs/common';
import { type AppConfig, type SliceName, slices } from './app-config.ts';

/** Provides each part of the configuration under its class, so that no code asks for a setting by a string, and without `@nestjs/config` (decision 6). */
@Global()
@Module({})
export class ConfigModule {
  static with(config: AppConfig): DynamicModule {
    const parts = (Object.keys(slices) as SliceName[]).map((name) => ({
      provide: slices[name],
      useValue: config[name],
    }));
    return { module: ConfigModule, providers: parts, exports: parts };
  }
}
