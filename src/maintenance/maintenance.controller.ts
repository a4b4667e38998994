import { Body, Controller, Delete, Get, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Maintenance } from './state/maintenance.ts';
import { Operation } from '../operation/operation.decorator.ts';
import { Call } from '../request/request-stages.ts';
import { MaintenanceWatch } from './maintenance-watch.ts';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import type { CallContext } from '../request/call-context.ts';
import { MaintenanceDto, SetMaintenanceDto, toMaintenance } from './maintenance.dto.ts';

const MAX_MS = 7 * 24 * 3_600_000;

@ApiTags('Gateway')
@Controller('v1/maintenance')
export class MaintenanceController {
  constructor(
    private readonly maintenance: Maintenance,
    private readonly watch: MaintenanceWatch,
  ) {}

  @Operation({
    id: 'getMaintenance',
    summary: 'What an operator has stopped, and until when',
    effect: 'read',
    scope: 'none',
    success: [{ status: 200, description: 'The maintenance that is there or to come', type: MaintenanceDto }],
  })
  @Get()
  async getMaintenance(): Promise<MaintenanceDto> {
    // Another replica may have set the maintenance a moment ago. While the store is away, the last known window is good enough.
    await this.watch.look().catch(() => undefined);
    return toMaintenance(this.maintenance);
  }

  @Operation({
    id: 'setMaintenance',
    summary: 'Stop orders, writes or all calls of the platform for a while',
    description:
      'Replaces what was set before. `orders` stops `placeOrder`; `writes` everything that changes something at the platform, while imports are ' +
      'accepted and wait; `all` everything that calls the platform: what is cached is still served. What was begun before is finished. Once ' +
      'this has answered no order begins on any replica; all else stops within a second. Stopped requests get 503 `maintenance` with ' +
      '`Retry-After`.',
    effect: 'write',
    scope: 'operate',
    success: [{ status: 200, description: 'The maintenance', type: MaintenanceDto }],
    body: SetMaintenanceDto,
  })
  @Put()
  async setMaintenance(
    @Call() { caller }: CallContext,
    @Body() terms: SetMaintenanceDto,
  ): Promise<MaintenanceDto> {
    const { stops, reason } = terms;
    const from = terms.from === undefined ? undefined : Date.parse(terms.from);
    const until = Date.parse(terms.until);
    const errors = faultsOf(from, until, this.maintenance.now);
    if (errors.length > 0) throw new ProblemException('validation-failed', { errors });
    await this.watch.set({ stops, from, until, reason, by: caller.name });
    return toMaintenance(this.maintenance);
  }

  @Operation({
    id: 'endMaintenance',
    summary: 'End the maintenance, also one that is to come',
    effect: 'write',
    scope: 'operate',
    success: [{ status: 204, description: 'There is none' }],
  })
  @Delete()
  async endMaintenance(): Promise<void> {
    return this.watch.end();
  }
}

function faultsOf(from: number | undefined, until: number, now: number): RequestFault[] {
  const errors: RequestFault[] = [];
  if (until <= now) errors.push({ pointer: '/until', detail: 'must be in the future' });
  else if (until > now + MAX_MS)
    errors.push({ pointer: '/until', detail: 'must be at most 7 days from now' });
  if (from !== undefined && from >= until)
    errors.push({ pointer: '/from', detail: 'must be before `until`' });
  return errors;
}
