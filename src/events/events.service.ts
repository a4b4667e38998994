import { Inject, Injectable } from '@nestjs/common';
import { toJob } from '../jobs/dto/job.dto.ts';
import { JOB_STORE, type JobStore } from '../jobs/store/job-store.ts';
import { Log } from '../observability/log.ts';
import { toOrderRecord } from '../order/license-order.mapper.ts';
import { isVisible } from '../order/order-records.service.ts';
import { enterprisesOf } from '../order-ledger/ledger-record.ts';
import { type LoggedMove, MOVE_LOG, type MoveLog, MovesDropped } from '../order-ledger/move-log.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { OrderLedgerUnavailable } from '../order-ledger/order-ledger-store.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { type Grants, isGranted } from '../upstream/call-context.ts';
import type { EventDto, EventPageDto, ListEventsQuery } from './dto/event.dto.ts';
import { eventTypeOf } from './event-types.ts';

/** One page looks at this number of moves at most: a caller who may see few of them goes on with `next`. */
const MAX_LOOKED_AT = 2_000;
/** Of one script: others do not wait for it. */
const AT_ONCE = 200;

/** Events as a caller may see them: moves of orders and ends of jobs. */
@Injectable()
export class EventsService {
  constructor(
    @Inject(MOVE_LOG) private readonly moves: MoveLog,
    private readonly orders: ObservedOrderLedger,
    @Inject(JOB_STORE) private readonly jobs: JobStore,
    private readonly log: Log,
  ) {}

  /** The cursor of the newest event, whoever may see it. */
  newest(): Promise<string> {
    return this.moves.newest();
  }

  /** Throws `events-expired` where events after this one were dropped. */
  async assertKept(after: string): Promise<void> {
    await this.#read(after, 1);
  }

  async page(
    { after, type, enterpriseGlobalId, limit }: ListEventsQuery,
    grants: Grants,
  ): Promise<EventPageDto> {
    const items: EventDto[] = [];
    let next = after;
    let count = Math.min(limit, AT_ONCE);
    for (let left = MAX_LOOKED_AT; left > 0 && items.length < limit; left -= count, count = AT_ONCE) {
      const moves = await this.#read(next, count);
      for (const move of moves) {
        if (items.length === limit) break;
        next = move.id;
        const seen = this.#seen(move, grants, enterpriseGlobalId);
        if (seen && (!type || type.includes(seen.type))) items.push(seen);
      }
      if (moves.length < count) break;
    }
    return { items, next: next ?? (await this.moves.newest()) };
  }

  async #read(after: string | undefined, count: number): Promise<readonly LoggedMove[]> {
    try {
      return await this.moves.read(after, count);
    } catch (error) {
      if (!(error instanceof MovesDropped)) throw error;
      throw new ProblemException('events-expired', { oldest: error.oldest });
    }
  }

  /** The event, or undefined where the caller may not see it, or where it is of another enterprise than this one. */
  #seen(move: LoggedMove, grants: Grants, enterprise: string | undefined): EventDto | undefined {
    try {
      return move.of === 'order'
        ? this.#ofOrder(move, grants, enterprise)
        : this.#ofJob(move, grants, enterprise);
    } catch (error) {
      if (!(error instanceof OrderLedgerUnavailable)) throw error;
      // Sealed under a key that this gateway does not have: the operator knows it from the record itself.
      this.log.warn({ event: 'event-unreadable', id: move.id }, 'An event cannot be opened, and is left out');
      return undefined;
    }
  }

  #ofOrder(move: LoggedMove, grants: Grants, enterprise: string | undefined): EventDto | undefined {
    const record = this.orders.recordIn(move);
    const { order } = record.details;
    if (!order || !isVisible(record, grants)) return undefined;
    if (enterprise !== undefined && !enterprisesOf(order).includes(enterprise)) return undefined;
    return {
      ...common(move, eventTypeOf('order', record.state)),
      source: '/v1/license-orders',
      subject: `${order.channelCode}/${order.channelOrderId}`,
      data: toOrderRecord(record),
    };
  }

  #ofJob(move: LoggedMove, grants: Grants, enterprise: string | undefined): EventDto | undefined {
    const job = this.jobs.recordIn(move);
    if (!job) return undefined;
    const { jobId, enterpriseGlobalId } = job.definition;
    if (!isGranted(grants.enterprises, enterpriseGlobalId)) return undefined;
    if (enterprise !== undefined && enterprise !== enterpriseGlobalId) return undefined;
    return {
      ...common(move, eventTypeOf('job', job.state)),
      source: '/v1/jobs',
      subject: jobId,
      data: toJob(job),
    };
  }
}

function common({ id, at }: LoggedMove, type: EventDto['type']) {
  return {
    specversion: '1.0',
    id,
    type,
    time: new Date(at).toISOString(),
    datacontenttype: 'application/json',
  } as const;
}
