import type { TestGateway } from './gateway.ts';

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
