import { hostname } from 'node:os';
import { Injectable } from '@nestjs/common';
import { type Variable, variables } from '../config/variables.ts';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import type { WaitingOrders } from '../order-ledger/write-steps.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { reportFault } from '../shared/edge.ts';
import { codeOf, type Gap, UpstreamGaps } from '../upstream/gaps.ts';
import { UnknownCodes } from '../upstream/unknown-codes.ts';
import { version } from '../shared/shipped-file.ts';
import { BudgetWatch } from '../budgets/budget-watch.ts';
import { EstateWatch } from '../estate/estate-watch.ts';
import { attentionFor } from './attention.ts';
import { ComingOrders } from './coming-orders.ts';
import { DoubtedOrders } from './doubts.ts';
import { KnownWebhooks } from './known-webhooks.ts';
import { PlatformWatch } from './platform-attention.ts';
import { RecentJobs } from './recent-jobs.ts';
import { ReplicaWatch } from './replica-attention.ts';

const DAY_MS = 24 * 3_600_000;

const NO_ORDERS: WaitingOrders = {
  inDoubt: { count: 0, oldestMs: 0 },
  accepted: { count: 0, oldestMs: 0 },
  scheduled: { count: 0, overdueMs: 0 },
};

const all = Object.entries<Variable>(variables);
const settings = {
  reread: all.flatMap(([name, { reread }]) => (reread ? [name] : [])),
  restart: all.flatMap(([name, { reread }]) => (reread ? [] : [name])),
};

/** What the sections of the console show, as JSON. */
@Injectable()
export class ConsoleData {
  // Each section of the page reads from a service of its own.
  // oxlint-disable-next-line max-params
  constructor(
    private readonly replica: ReplicaWatch,
    private readonly platform: PlatformWatch,
    private readonly doubts: DoubtedOrders,
    private readonly coming: ComingOrders,
    private readonly gaps: UpstreamGaps,
    private readonly codes: UnknownCodes,
    private readonly jobs: RecentJobs,
    private readonly webhooks: KnownWebhooks,
    private readonly maintenance: Maintenance,
    private readonly budgets: BudgetWatch,
    private readonly estate: EstateWatch,
  ) {}

  /** Returns undefined where there is no such data. Rejects where a store cannot be read. */
  read(path: string, query: URLSearchParams): Promise<object> | undefined {
    const sections = new Map<string, () => Promise<object>>([
      ['/state', () => this.#state()],
      ['/orders', () => this.doubts.list()],
      ['/scheduled', () => this.coming.list()],
      ['/jobs', () => this.jobs.list(query.get('rows'))],
      ['/webhooks', () => this.webhooks.list(query.get('deliveries'))],
      ['/budgets', async () => ({ items: await this.budgets.read() })],
      ['/settings', async () => settings],
      ['/gaps', () => this.#gaps()],
    ]);
    return sections.get(path)?.();
  }

  /** Returns what needs attention, and the size of each section. What cannot be read counts as none, and needs attention itself. */
  async #state(): Promise<object> {
    // The failures, in the order of the reads, so that the same outage always has the same title.
    const failed: (string | undefined)[] = [];
    const known = <T>(what: string, none: T, read: Promise<T>): Promise<T> => {
      const place = failed.push(undefined) - 1;
      return read.catch((error: unknown) => {
        if (!(error instanceof ProblemException)) reportFault('console', error);
        failed[place] = what;
        return none;
      });
    };
    const [orders, placedTwice, gaps, jobs, troubledWebhooks, unreadEnterprises] = await Promise.all([
      known('orders', NO_ORDERS, this.doubts.count()),
      known('results of searches for orders', 0, this.doubts.placedTwice()),
      this.gaps.list(),
      known('imports', { total: 0, stuck: 0 }, this.jobs.unfinished()),
      known('webhooks', 0, this.webhooks.troubled()),
      known('the estate', 0, this.estate.unread()),
    ]);
    if (!this.maintenance.isKnown) failed.push('the maintenance');
    if (!this.budgets.isMeasured) failed.push('budgets');
    const unknown = failed.filter((what) => what !== undefined);
    const at = Date.now();
    const isCode = ({ kind }: Gap) => kind === 'unknown-code';
    const unknownCodes = gaps.filter(isCode).length;
    const newGaps = gaps.filter((gap) => !isCode(gap) && gap.firstSeenAt > at - DAY_MS).length;
    const [maintenance, { nearlyUsed: budgets }] = [this.#maintenance(), this.budgets];
    const stored = {
      ...{ orders, placedTwice, newGaps, unknownCodes, stuckJobs: jobs.stuck, troubledWebhooks },
      ...{ unreadEnterprises, budgets, maintenance, unknown },
    };
    return {
      at,
      replica: `Replica ${hostname()}, version ${version}.`,
      attention: attentionFor(await this.replica.state(at), await this.platform.state(), stored, at),
      waiting: orders.inDoubt.count + orders.accepted.count,
      scheduled: orders.scheduled.count,
      gaps: gaps.length,
      jobs: jobs.total,
      webhooks: troubledWebhooks,
      maintenance: maintenance ?? null,
      isMaintenanceKnown: this.maintenance.isKnown,
    };
  }

  /** Returns the unknown codes that the platform's profile could teach, apart from the other gaps. */
  async #gaps(): Promise<object> {
    const [gaps, codes] = await Promise.all([this.gaps.list(), this.codes.list()]);
    const isNamed = ({ kind, path }: Gap) => kind === 'unknown-code' && codeOf(path) !== undefined;
    return { items: gaps.filter((gap) => !isNamed(gap)), codes };
  }

  #maintenance() {
    const { window, isActive } = this.maintenance;
    return window && { ...window, active: isActive };
  }
}
