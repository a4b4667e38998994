import { hostname } from 'node:os';
import { Injectable } from '@nestjs/common';
import { UpstreamGaps } from '../upstream/gaps.ts';
import { version } from '../shared/shipped-file.ts';
import { attentionFor } from './attention.ts';
import { DoubtedOrders } from './doubts.ts';
import { RecentJobs } from './recent-jobs.ts';
import { Replica } from './replica.ts';

const DAY_MS = 24 * 3_600_000;

/** What the sections of the console show, as JSON. */
@Injectable()
export class ConsoleData {
  constructor(
    private readonly replica: Replica,
    private readonly doubts: DoubtedOrders,
    private readonly gaps: UpstreamGaps,
    private readonly jobs: RecentJobs,
  ) {}

  /** Undefined where there is no such data. Rejects where a store does not answer. */
  of(path: string, query: URLSearchParams): Promise<object> | undefined {
    switch (path) {
      case '/state':
        return this.#state();
      case '/orders':
        return this.doubts.list();
      case '/jobs':
        return this.jobs.list(query.get('rows'));
      case '/gaps':
        return this.gaps.list().then((items) => ({ items }));
      default:
        return undefined;
    }
  }

  /** What needs attention, and how much each section has. What a store does not say counts as none: the store itself is shown. */
  async #state(): Promise<object> {
    const [orders, gaps, jobs] = await Promise.all([
      this.doubts.count(),
      this.gaps.list(),
      this.jobs.unfinished(),
    ]);
    const at = Date.now();
    const newGaps = gaps.filter(({ firstSeenAt }) => firstSeenAt > at - DAY_MS).length;
    return {
      at,
      replica: `Replica ${hostname()}, version ${version}.`,
      attention: attentionFor(this.replica.state, { orders, newGaps, stuckJobs: jobs.stuck }),
      waiting: orders.inDoubt.count + orders.accepted.count,
      gaps: gaps.length,
      jobs: jobs.total,
    };
  }
}
