import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Caller } from '../../request/caller.ts';
import { type BudgetDto, BudgetMonthsDto, toBudgets, toMonthlyUse } from '../../budgets/budget.dto.ts';
import { type Budgets, keptMonths, monthOf } from '../../budgets/state/budgets.ts';
import { UseStore } from '../../budgets/state/use-store.ts';
import { Maintenance } from '../../maintenance/state/maintenance.ts';
import { Operation } from '../../operation/operation.decorator.ts';
import { CurrentCaller } from '../../request/request-stages.ts';
import { CallerDto } from './caller.dto.ts';
import { toMaintenance } from '../../maintenance/maintenance.dto.ts';

@ApiTags('Gateway')
@Controller('v1/callers')
export class CallersController {
  constructor(
    private readonly maintenance: Maintenance,
    private readonly uses: UseStore,
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

  @Operation({
    id: 'getBudgets',
    summary: 'What this caller has had of its budgets, month by month',
    effect: 'read',
    scope: 'none',
    success: [{ status: 200, description: 'The months', type: BudgetMonthsDto }],
  })
  @Get('me/budgets')
  async getBudgets(@CurrentCaller() { name, budgets }: Caller): Promise<BudgetMonthsDto> {
    if (!budgets) return { months: [] };
    const months = await this.uses.used(name, keptMonths(this.maintenance.now));
    return { months: months.map((use) => toMonthlyUse(budgets, use)) };
  }

  async #budgets(caller: string, budgets: Budgets): Promise<Record<string, BudgetDto>> {
    const [use] = await this.uses.used(caller, [monthOf(this.maintenance.now)]);
    return use ? toBudgets(budgets, use) : {};
  }
}
