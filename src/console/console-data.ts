import { Injectable } from '@nestjs/common';
import { UpstreamGaps } from '../upstream/gaps.ts';
import { attentionFor } from './attention.ts';
import { DoubtedOrders } from './doubts.ts';
import { RecentJobs } from './recent-jobs.ts';
import { Replicas, SILENT_MS } from './replicas.ts';
import { viewOf } from './view.ts';

/** What the sections of the console show, as JSON. */
@Injectable()
export class ConsoleData {
  constructor(
    private readonly replicas: Replicas,
    private readonly doubts: DoubtedOrders,
    private readonly gaps: UpstreamGaps,
    private readonly jobs: RecentJobs,
  ) {}

  /** Undefined where there is no such data. Rejects where a store does not answer. */
  of(path: string, query: URLSearchParams): Promise<object> | undefined {
    switch (path) {
      case '/state':
        return this.#state(query.get('replica'));
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

  /** Of all replicas together, or of one. */
  async #state(replica: string | null): Promise<object> {
    const [seen, doubts, gaps, jobs] = await Promise.all([
      this.replicas.all(),
      this.doubts.count(),
      this.gaps.list(),
      this.jobs.running(),
    ]);
    const now = Date.now();
    const { states, others } = seen;
    const one = states.filter(({ id }) => id === replica);
    // What a silent replica did is over.
    const reporting = states.filter(({ at }) => now - at <= SILENT_MS);
    return {
      ...{ at: now, self: states[0]?.id, others },
      attention: attentionFor(seen, doubts, now),
      waiting:
        doubts.inDoubt.count === undefined ? null : doubts.inDoubt.count + (doubts.accepted.count ?? 0),
      gaps: gaps.length,
      jobs: jobs ?? null,
      replicas: states.map((state) => {
        const { id, version, startedAt, at, draining, overload, inFlight, memoryBytes, redis, orders } =
          state;
        const tokens = state.tokens.failure ?? null;
        return {
          id,
          version,
          startedAt,
          at,
          draining,
          overload,
          inFlight,
          memoryBytes,
          redis,
          orders,
          tokens,
        };
      }),
      view: viewOf(one.length > 0 ? one : reporting, now),
    };
  }
}
