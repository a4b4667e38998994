import { Global, Module } from '@nestjs/common';
import { Maintenance } from './maintenance.ts';

/** Provides this process's knowledge of the maintenance to all code that calls the platform. */
@Global()
@Module({ providers: [Maintenance], exports: [Maintenance] })
export class MaintenanceStateModule {}
