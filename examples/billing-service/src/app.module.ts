import { type DynamicModule, Module } from '@nestjs/common';
import { LicensingModule } from '@licensing-gateway/client/nestjs';
import { LicensingEventsController, Outcomes } from './licensing-events.ts';
import { SalesController } from './sales.controller.ts';
import { SalesService } from './sales.service.ts';

export interface Settings {
  readonly licensingUrl: string;
  readonly licensingKey: string;
}

@Module({})
export class AppModule {
  static with({ licensingUrl, licensingKey }: Settings): DynamicModule {
    return {
      module: AppModule,
      imports: [LicensingModule.forRoot({ baseUrl: licensingUrl, apiKey: licensingKey, timeoutMs: 40_000 })],
      controllers: [SalesController, LicensingEventsController],
      providers: [SalesService, Outcomes],
    };
  }
}
