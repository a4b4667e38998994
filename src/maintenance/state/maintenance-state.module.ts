import { Global, Module } from '@nestjs/common';
import { Maintenance } from './maintenance.ts';

/** What this process knows of the maintenance, for everything that calls the platform. */
@Global()
@Module({ providers: [Maintenance], exports: [Maintenance] })
export class MaintenanceStateModule {}
