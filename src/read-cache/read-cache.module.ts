import { Module } from '@nestjs/common';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { ListStore } from './list-store.ts';
import { ReadCache } from './read-cache.ts';
import { Generations, ReadKeys } from './read-keys.ts';
import { ResponseCache } from './response-cache.ts';

@Module({
  imports: [UpstreamClientModule],
  providers: [Generations, ReadKeys, ListStore, ReadCache, ResponseCache],
  exports: [Generations, ReadCache, ResponseCache],
})
export class ReadCacheModule {}
