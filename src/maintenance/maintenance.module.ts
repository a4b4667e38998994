import { Module } from '@nestjs/common';
import { MaintenanceController } from './maintenance.controller.ts';
import { MaintenanceWatch } from './maintenance-watch.ts';
import { MaintenanceStateModule } from './state/maintenance-state.module.ts';
import { WindowStore } from './state/window-store.ts';

/** Stops calls for a while, on an operator's request. */
@Module({
  imports: [MaintenanceStateModule],
  providers: [WindowStore, MaintenanceWatch],
  controllers: [MaintenanceController],
})
export class MaintenanceModule {}
