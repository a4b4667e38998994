import { ReconciliationModule } from '../../src/reconciliation/reconciliation.module.ts';
import { ReconciliationSchedule } from '../../src/reconciliation/schedule.ts';

/** Several attempts, because a busy machine may spoil one. */
export const AGAIN = [1, 150, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 4_000, 8_000, 16_000, 30_000];

/** When gateways in this process look for an order, in ms after its submission. A test may set others before it starts a gateway. */
export const quick = { times: AGAIN };

class QuickSchedule extends ReconciliationSchedule {
  override readonly attempts = quick.times;
  override readonly scan = 200;
}

const providers = Reflect.getMetadata('providers', ReconciliationModule) as unknown[];
const provider = { provide: ReconciliationSchedule, useClass: QuickSchedule };
Reflect.defineMetadata('providers', [...providers, provider], ReconciliationModule);
