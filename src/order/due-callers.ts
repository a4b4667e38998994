import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { CallerRegistry } from '../caller/caller.registry.ts';
import { missingRight } from '../caller/standing.ts';
import { newTrace } from '../observability/tracing.ts';
import type { LedgerRecord, ScheduledOrder } from '../order-ledger/ledger-record.ts';
import { reasonOf } from '../order-ledger/write-outcome.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { TenancyGuard } from '../tenancy/tenancy.guard.ts';
import { AliasUsers } from '../upstream/alias-users.ts';
import { mayEnd } from '../upstream/if-shown.ts';
import { type CallContext, isGranted, Progress } from '../request/call-context.ts';
import type { PlaceOrderDto } from './dto/license-order.dto.ts';
import { orderScopes } from './later-orders.ts';
import { unlimitedProblem } from './order-budget.ts';

/** Builds the caller of a scheduled order that is due: it has the rights of its entry now, and the ids in the order are looked up again. */
@Injectable()
export class DueCallers {
  constructor(
    private readonly callers: CallerRegistry,
    private readonly users: AliasUsers,
    private readonly tenancy: TenancyGuard,
  ) {}

  /** Throws a problem where the caller may no longer place the order, or where this replica may not have read yet that it may. */
  async callOf(record: LedgerRecord, order: PlaceOrderDto, scheduled: ScheduledOrder): Promise<CallContext> {
    const { details, submittedAt } = record;
    const hasRead = this.callers.hasReadSince(submittedAt);
    const entry = this.callers.byName(details.caller);
    if (!entry || !this.#hasScopes(details.caller, order, scheduled)) throw missingRight(LOST, hasRead);
    const { name, grants, appKey, budgets } = entry;
    const unlimited = unlimitedProblem(order, budgets);
    if (unlimited && !hasRead) throw missingRight(reasonOf(unlimited), hasRead);
    const context: CallContext = {
      requestId: `scheduled-${randomUUID()}`,
      trace: newTrace(),
      caller: { name, grants, ...(appKey !== undefined && { appKey }), ...(budgets && { budgets }) },
      user: this.#userOf(scheduled.user, grants.users, submittedAt),
      progress: new Progress(),
    };
    const { call, lookUp } = this.#reach(context, order, hasRead);
    try {
      await lookUp?.();
    } catch (error) {
      throw this.#withoutUser(context, order, error);
    }
    return call;
  }

  /** A replica without a user cannot look up all ids, so it does not know whether one that it did not find is there. */
  #withoutUser({ user }: CallContext, { items }: PlaceOrderDto, error: unknown): unknown {
    if (!(error instanceof ProblemException) || mayEnd(error)) return error;
    const lacksUser = items.some(({ customer: { enterpriseGlobalId } }) => {
      return enterpriseGlobalId !== undefined && !this.users.forEnterprise(enterpriseGlobalId);
    });
    if (user || !lacksUser) return error;
    return new ProblemException('user-required', { detail: `${NO_USER} ${reasonOf(error)}`, cause: error });
  }

  #hasScopes(caller: string, order: PlaceOrderDto, { byToken }: ScheduledOrder): boolean {
    return orderScopes(order).every((scope) =>
      this.callers.standingOf({ caller, scope, byToken: byToken.includes(scope) }),
    );
  }

  #reach(context: CallContext, order: PlaceOrderDto, hasRead: boolean) {
    try {
      return this.tenancy.reach(
        context,
        { actsAsUser: false, answersRepeats: false },
        { parameters: [], body: order },
      );
    } catch (error) {
      // What the caller may not name by this replica's callers file, it could name where the order was accepted.
      if (!hasRead && error instanceof ProblemException && error.slug === 'forbidden')
        throw missingRight(error.body.detail ?? '', hasRead);
      throw error;
    }
  }

  #userOf(alias: string | undefined, granted: ReadonlySet<string>, submittedAt: number) {
    if (alias === undefined) return undefined;
    const detail = 'The user that the order named is not there any more, or not granted to the caller.';
    if (!isGranted(granted, alias)) throw missingRight(detail, this.callers.hasReadSince(submittedAt));
    const user = this.users.find(alias);
    if (!user) throw missingRight(detail, this.users.hasReadSince(submittedAt));
    return user;
  }
}

const NO_USER = 'This replica has no user to look up what the order names with.';
const LOST = 'The caller is not there any more, or has lost the scopes that the order needs.';
