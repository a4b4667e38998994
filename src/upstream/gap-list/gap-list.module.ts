import { Module } from '@nestjs/common';
import { UpstreamClientModule } from '../upstream-client.module.ts';
import { GapsController } from './gaps.controller.ts';

/** What the owner of the platform reads. */
@Module({ imports: [UpstreamClientModule], controllers: [GapsController] })
export class GapListModule {}
