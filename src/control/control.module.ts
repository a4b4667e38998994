import { Global, Module } from '@nestjs/common';
import { Maintenance } from './maintenance.ts';

/** What operators have decided about the whole gateway, for everything that calls the platform. */
@Global()
@Module({ providers: [Maintenance], exports: [Maintenance] })
export class ControlModule {}
