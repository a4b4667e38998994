import { Module } from '@nestjs/common';
import { UpstreamClientModule } from '../upstream/upstream-client.module.ts';
import { CustomersController } from './customers.controller.ts';
import { EnterprisesController } from './enterprises.controller.ts';
import { LicenseOrderService } from './license-order.service.ts';
import { LicenseOrdersController } from './license-orders.controller.ts';
import { LocksController } from './locks.controller.ts';
import { OrderService } from './order.service.ts';

/** Public area 1: enterprises, customers, licence orders, locks, asset numbers. */
@Module({
  imports: [UpstreamClientModule],
  controllers: [CustomersController, EnterprisesController, LicenseOrdersController, LocksController],
  providers: [OrderService, LicenseOrderService],
})
export class OrderModule {}
