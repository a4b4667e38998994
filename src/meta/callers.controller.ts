import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Caller } from '../caller/callers-file.ts';
import { type Budgets, endOfMonth, limitsOf, monthOf } from '../control/budgets.ts';
import { Maintenance } from '../control/maintenance.ts';
import { Operation } from '../operation/operation.decorator.ts';
import { CurrentCaller } from '../operation/request-stages.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { type BudgetDto, CallerDto } from './caller.dto.ts';
import { toMaintenance } from './maintenance.dto.ts';

@ApiTags('Gateway')
@Controller('v1/callers')
export class CallersController {
  constructor(
    private readonly maintenance: Maintenance,
    private readonly ledger: ObservedOrderLedger,
  ) {}

  @Operation({
    id: 'getCaller',
    summary: 'What this key or token may do',
    effect: 'read',
    scope: 'none',
    success: [{ status: 200, description: 'The caller', type: CallerDto }],
  })
  @Get('me')
  async getCaller(@CurrentCaller() { name, scopes, grants, rateLimit, budgets }: Caller): Promise<CallerDto> {
    return {
      name,
      scopes: [...scopes],
      enterprises: [...grants.enterprises],
      channels: [...grants.channels],
      users: [...grants.users],
      rateLimit: rateLimit ?? null,
      budgets: budgets ? await this.#budgets(name, budgets) : {},
      maintenance: toMaintenance(this.maintenance),
    };
  }

  async #budgets(caller: string, budgets: Budgets): Promise<Record<string, BudgetDto>> {
    const month = monthOf(Date.now());
    const [use] = await this.ledger.used(caller, [month]);
    const resetsAt = new Date(endOfMonth(month)).toISOString();
    return Object.fromEntries(
      limitsOf(budgets).map(([budget, limit]) => [budget, { limit, used: use?.used[budget] ?? 0, resetsAt }]),
    );
  }
}
