import { Body, Controller, Get, Param, Post, UseFilters } from '@nestjs/common';
import { LicensingHealthIndicator } from '@licensing-gateway/client/nestjs';
import { LicensingErrorFilter } from './licensing-error.filter.ts';
import { type Receipt, type Sale, SalesService } from './sales.service.ts';

@Controller()
@UseFilters(LicensingErrorFilter)
export class SalesController {
  constructor(
    private readonly sales: SalesService,
    private readonly health: LicensingHealthIndicator,
  ) {}

  @Post('sales')
  sell(@Body() sale: Sale): Promise<Receipt> {
    return this.sales.sell(sale);
  }

  @Get('sales/:invoice')
  receipt(@Param('invoice') invoice: string): Promise<Receipt> {
    return this.sales.receipt(invoice);
  }

  @Get('enterprises/:id/accounts')
  accounts(@Param('id') id: string): Promise<readonly string[]> {
    return this.sales.accounts(id);
  }

  @Get('health')
  state(): Promise<object> {
    return this.health.isHealthy('licensing');
  }
}
