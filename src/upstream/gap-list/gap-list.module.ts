import { Module } from '@nestjs/common';
import { UpstreamClientModule } from '../upstream-client.module.ts';
import { GapsController } from './gaps.controller.ts';

/** Serves the list of gaps to the owner of the platform. */
@Module({ imports: [UpstreamClientModule], controllers: [GapsController] })
export class GapListModule {}
