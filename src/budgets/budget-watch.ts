import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { CallerRegistry } from '../caller/caller.registry.ts';
import { type Budget, type Budgets, keptMonths, limitsOf, type MonthlyUse } from './state/budgets.ts';
import { poll } from '../kit/poll/poll.ts';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import { Metrics } from '../observability/metrics.ts';
import { UseStore } from './state/use-store.ts';

/** A caller with budgets, and its use of them, the newest month first. */
export interface CallerUse {
  readonly caller: string;
  readonly budgets: Budgets;
  readonly months: readonly MonthlyUse[];
}

export interface NearlyUsed {
  readonly caller: string;
  readonly budget: Budget;
  /** The used share, from 0 to 1. */
  readonly ratio: number;
}

/** The interval of measurements. It may be long, because alerts on budgets wait for the morning. */
const MEASURE_MS = 5_000;
/** The share from which a budget counts as nearly used. The alert BudgetNearlyUsed has the same bound. */
const NEARLY = 0.8;

type Ratio = [labels: { caller: string; budget: Budget }, ratio: number];

/** Measures how much callers have used of their budgets, for the metric and for operators. */
@Injectable()
export class BudgetWatch implements OnModuleInit, OnApplicationShutdown {
  #endPoll: (() => void) | undefined;
  #ratios: Ratio[] = [];
  #isMeasured = true;

  constructor(
    private readonly callers: CallerRegistry,
    private readonly uses: UseStore,
    private readonly metrics: Metrics,
    private readonly maintenance: Maintenance,
  ) {}

  onModuleInit(): void {
    this.metrics.follow('gateway_budget_used_ratio', () => this.#ratios);
    const measure = async () => {
      // A measurement fails while the database is away, which another log line reports. The last values stay.
      this.#isMeasured = await this.#measure().then(
        () => true,
        () => false,
      );
    };
    this.#endPoll = poll('budgets', MEASURE_MS, measure, true);
  }

  onApplicationShutdown(): void {
    this.#endPoll?.();
  }

  /** Rejects while the database is away. The last values stay. */
  async #measure(): Promise<void> {
    const all = await this.read(1);
    this.#ratios = all.flatMap(({ caller, budgets, months: [now] }) =>
      limitsOf(budgets).flatMap(([budget, limit]): Ratio[] =>
        // Nothing can be used of a limit of 0, so it has no share.
        limit === 0 ? [] : [[{ caller, budget }, (now?.used[budget] ?? 0) / limit]],
      ),
    );
  }

  /** False if the last measurement failed. */
  get isMeasured(): boolean {
    return this.#isMeasured;
  }

  /** The budgets of this month that are used up, or nearly so, the highest share first. */
  get nearlyUsed(): readonly NearlyUsed[] {
    return this.#ratios
      .flatMap(([labels, ratio]) => (ratio >= NEARLY ? [{ ...labels, ratio }] : []))
      .toSorted((one, other) => other.ratio - one.ratio);
  }

  /** Reads the use of all callers with budgets, for this number of months. */
  async read(months?: number): Promise<readonly CallerUse[]> {
    const wanted = keptMonths(this.maintenance.now).slice(0, months);
    const limited = this.callers.all.flatMap(({ name, budgets }) =>
      budgets ? [{ caller: name, budgets }] : [],
    );
    const used = await this.uses.usedBy(
      limited.map(({ caller }) => caller),
      wanted,
    );
    return limited.map((one, at) => ({ ...one, months: used[at] ?? [] }));
  }
}
