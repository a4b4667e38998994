import { ReconciliationModule } from '../../src/reconciliation/reconciliation.module.ts';
import { ReconciliationSchedule } from '../../src/reconciliation/schedule.ts';
import type { TestGateway } from './gateway.ts';

/** Several attempts, because a busy machine may spoil one. */
export const AGAIN = [1, 300, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000];

/** When gateways in this process look for an order, in ms after its submission. A test may set others before it starts a gateway. */
export const quick = { times: AGAIN };

class QuickSchedule extends ReconciliationSchedule {
  override readonly attempts = quick.times;
  override readonly scan = 200;
}

const providers = Reflect.getMetadata('providers', ReconciliationModule) as unknown[];
const provider = { provide: ReconciliationSchedule, useClass: QuickSchedule };
Reflect.defineMetadata('providers', [...providers, provider], ReconciliationModule);

/** How many attempts to find an order these gateways have made, by result. */
export async function attemptsOf(...gateways: TestGateway[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const gateway of gateways) {
    for (const [, result, count] of (await gateway.metrics()).matchAll(
      /^gateway_order_reconciliation_attempts_total\{result="(\w+)"\} ([1-9]\d*)$/gm,
    ))
      counts[result as string] = (counts[result as string] ?? 0) + Number(count);
  }
  return counts;
}
