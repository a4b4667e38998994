import { hostname } from 'node:os';
import { Injectable } from '@nestjs/common';
import { type Variable, variables } from '../config/variables.ts';
import { Maintenance } from '../control/maintenance.ts';
import { type Gap, UpstreamGaps } from '../upstream/gaps.ts';
import { UnknownCodes } from '../upstream/unknown-codes.ts';
import { version } from '../shared/shipped-file.ts';
import { Admission } from '../http/admission.ts';
import { BudgetWatch } from '../order-store/budget-watch.ts';
import { StoreWatch } from '../order-store/watch.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { TokenManager } from '../token/token.manager.ts';
import { OperationGroups } from '../upstream/resilience/operation-groups.ts';
import { attentionFor, type ReplicaState } from './attention.ts';
import { DoubtedOrders } from './doubts.ts';
import { KnownWebhooks } from './known-webhooks.ts';
import { RecentJobs } from './recent-jobs.ts';

const DAY_MS = 24 * 3_600_000;

const all = Object.entries<Variable>(variables);
const settings = {
  reread: all.flatMap(([name, { reread }]) => (reread ? [name] : [])),
  restart: all.flatMap(([name, { reread }]) => (reread ? [] : [name])),
};

/** What the sections of the console show, as JSON. */
@Injectable()
export class ConsoleData {
  constructor(
    private readonly admission: Admission,
    private readonly redis: SharedRedis,
    private readonly orderStore: StoreWatch,
    private readonly tokens: TokenManager,
    private readonly upstream: OperationGroups,
    private readonly doubts: DoubtedOrders,
    private readonly gaps: UpstreamGaps,
    private readonly codes: UnknownCodes,
    private readonly jobs: RecentJobs,
    private readonly webhooks: KnownWebhooks,
    private readonly maintenance: Maintenance,
    private readonly budgets: BudgetWatch,
  ) {}

  /** Returns undefined where there is no such data. Rejects where a store cannot be read. */
  read(path: string, query: URLSearchParams): Promise<object> | undefined {
    const sections = new Map<string, () => Promise<object>>([
      ['/state', () => this.#state()],
      ['/orders', () => this.doubts.list()],
      ['/jobs', () => this.jobs.list(query.get('rows'))],
      ['/webhooks', () => this.webhooks.list(query.get('deliveries'))],
      ['/budgets', async () => ({ items: await this.budgets.read() })],
      ['/settings', async () => settings],
      ['/gaps', () => this.#gaps()],
    ]);
    return sections.get(path)?.();
  }

  /** What needs attention, and how much each section has. A store that cannot be read counts as empty: it needs attention itself. */
  async #state(): Promise<object> {
    const [orders, gaps, jobs, troubledWebhooks] = await Promise.all([
      this.doubts.count(),
      this.gaps.list(),
      this.jobs.unfinished(),
      this.webhooks.troubled(),
    ]);
    const at = Date.now();
    const isCode = ({ kind }: Gap) => kind === 'unknown-code';
    const unknownCodes = gaps.filter(isCode).length;
    const newGaps = gaps.filter((gap) => !isCode(gap) && gap.firstSeenAt > at - DAY_MS).length;
    return {
      at,
      replica: `Replica ${hostname()}, version ${version}.`,
      attention: attentionFor(this.#replica(), {
        ...{ orders, newGaps, unknownCodes, stuckJobs: jobs.stuck, troubledWebhooks },
      }),
      waiting: orders.inDoubt.count + orders.accepted.count,
      gaps: gaps.length,
      jobs: jobs.total,
      webhooks: troubledWebhooks,
      maintenance: this.#maintenance() ?? null,
    };
  }

  /** Codes that the platform's profile could teach stand apart, with the platform's words. */
  async #gaps(): Promise<object> {
    const [gaps, codes] = await Promise.all([this.gaps.list(), this.codes.list()]);
    return { items: gaps.filter(({ kind }) => kind !== 'unknown-code'), codes };
  }

  #maintenance() {
    const { window, isActive } = this.maintenance;
    return window && { ...window, active: isActive };
  }

  #replica(): ReplicaState {
    return {
      draining: this.admission.draining,
      overload: this.admission.overload,
      redis: this.redis,
      orders: this.orderStore.trouble,
      tokenFailure: this.tokens.failure,
      openCircuits: this.upstream.open,
      maintenance: this.#maintenance(),
    };
  }
}
