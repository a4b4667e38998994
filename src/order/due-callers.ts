import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { CallerRegistry } from '../caller/caller.registry.ts';
import { newTrace } from '../observability/tracing.ts';
import type { LedgerRecord, ScheduledOrder } from '../order-ledger/ledger-record.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { TenancyGuard } from '../tenancy/tenancy.guard.ts';
import { AliasUsers } from '../upstream/alias-users.ts';
import { type CallContext, isGranted, Progress } from '../request/call-context.ts';
import type { PlaceOrderDto } from './dto/license-order.dto.ts';
import { orderScopes } from './later-orders.ts';

/** Builds the caller of a scheduled order that is due: it has the rights of its entry now, and the ids in the order are looked up again. */
@Injectable()
export class DueCallers {
  constructor(
    private readonly callers: CallerRegistry,
    private readonly users: AliasUsers,
    private readonly tenancy: TenancyGuard,
  ) {}

  /** Throws a problem where the caller may no longer place the order. */
  async callOf(record: LedgerRecord, order: PlaceOrderDto, scheduled: ScheduledOrder): Promise<CallContext> {
    const { caller } = record.details;
    this.#assertScopes(record, order, scheduled);
    const entry = this.callers.byName(caller);
    if (!entry) throw lost();
    const { name, grants, appKey, budgets } = entry;
    const { call, lookUp } = this.tenancy.reach(
      {
        requestId: `scheduled-${randomUUID()}`,
        trace: newTrace(),
        caller: { name, grants, ...(appKey !== undefined && { appKey }), ...(budgets && { budgets }) },
        user: this.#userOf(scheduled.user, grants.users),
        progress: new Progress(),
      },
      { actsAsUser: false, answersRepeats: false },
      { parameters: [], body: order },
    );
    await lookUp?.();
    return call;
  }

  #assertScopes(
    { details, submittedAt }: LedgerRecord,
    order: PlaceOrderDto,
    scheduled: ScheduledOrder,
  ): void {
    for (const scope of orderScopes(order)) {
      const onBehalf = { caller: details.caller, scope, byToken: scheduled.byToken.includes(scope) };
      if (this.callers.standingOf(onBehalf)) continue;
      if (this.callers.hasLost(onBehalf, submittedAt)) throw lost();
      throw new ProblemException('overloaded', {
        detail: 'This replica has not read the callers file since the order was accepted.',
      });
    }
  }

  #userOf(alias: string | undefined, granted: ReadonlySet<string>) {
    if (alias === undefined) return undefined;
    const user = isGranted(granted, alias) ? this.users.find(alias) : undefined;
    if (user) return user;
    throw new ProblemException('forbidden', {
      detail: 'The user that the order named is not there any more, or not granted to the caller.',
    });
  }
}

function lost(): ProblemException {
  return new ProblemException('forbidden', {
    detail: 'The caller is not there any more, or has lost the scopes that the order needs.',
  });
}
