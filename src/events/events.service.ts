import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { EstateEvents } from '../estate/estate-events-store.ts';
import { toJob } from '../jobs/dto/job.dto.ts';
import { JobStore } from '../jobs/store/job-store.ts';
import { poll } from '../kit/poll/poll.ts';
import { Log } from '../observability/log.ts';
import { toOrderRecord } from '../order/license-order.mapper.ts';
import { isVisible } from '../order/order-records.service.ts';
import { enterprisesOf, subjectOf } from '../order-ledger/ledger-record.ts';
import { EventStore } from './log/event-store.ts';
import { type LoggedMove, type Moves, MovesDropped, type WantedMove } from './log/move-log.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { MAX_READ_BYTES } from '../database/bounded-reads.ts';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { Standing } from '../caller/standing.ts';
import { type Grants, isGranted } from '../request/call-context.ts';
import type { EventDto, EventPageDto, ListEventsQuery } from './dto/event.dto.ts';
import { type EventType, eventTypeOf, movesOf } from './event-types.ts';

/** Events are kept for days, so a minute more does not matter. */
const TRIM_MS = 60_000;
/** One page looks at this number of moves at most: a caller who may see few of them goes on with `next`. */
const MAX_LOOKED_AT = 2_000;
/** The most moves of one read. */
const AT_ONCE = 200;
/** How long streams and webhooks share what was read. It is shorter than the time between two reads of one stream. */
const SHARED_MS = 100;
const MAX_SHARED = 20;

/**
 * The rights of a reader, and the enterprises and types of the events that it wants; absent: all. The reader sees an event from before a change
 * of its rights only where both its former and its present rights allow it.
 */
interface Reader extends Standing {
  readonly enterprises?: readonly string[] | undefined;
  readonly types?: readonly EventType[] | undefined;
}

/** A move of the log, as a reader sees it. */
export interface SeenMove extends Pick<LoggedMove, 'id' | 'name'> {
  readonly event: EventDto | undefined;
}

/** A move of the log with its event, which is the same for all readers that may see it. */
interface OpenedMove {
  readonly event: EventDto;
  readonly enterprises: readonly string[];
  readonly isFor: (grants: Grants) => boolean;
}

/** Events as a caller may see them: moves of orders, ends of jobs, and changes of the estate. */
@Injectable()
export class EventsService implements OnModuleInit, OnApplicationShutdown {
  #endPoll: (() => void) | undefined;
  readonly #shared = new LRUCache<string, Promise<Moves>>({ max: MAX_SHARED, ttl: SHARED_MS });
  /** The events of the moves that are shared, so that each record is opened once. */
  readonly #events = new WeakMap<LoggedMove, OpenedMove>();

  constructor(
    private readonly moves: EventStore,
    private readonly orders: ObservedOrderLedger,
    private readonly jobs: JobStore,
    private readonly estate: EstateEvents,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    // `trim` fails while the database is away. The log has said so, and the next run tries again.
    this.#endPoll = poll('events', TRIM_MS, () => this.moves.trim().catch(() => undefined), true);
  }

  onApplicationShutdown(): void {
    this.#endPoll?.();
  }

  /** Returns the cursor of the newest event, whoever may see it. */
  newest(): Promise<string> {
    return this.moves.newest();
  }

  /** Throws `events-expired` where events after this one were dropped. */
  async assertKept(after: string): Promise<void> {
    const part = await this.#read(after, 1).catch(dropped);
    if (part instanceof MovesDropped) throw expired(part);
  }

  /**
   * A page ends before `limit` where its records have {@link MAX_READ_BYTES}. `newest` is a move that is known to be there. Readers that name
   * the same one share what was read.
   */
  async page(
    { after, type, enterpriseGlobalId, limit }: ListEventsQuery,
    grants: Grants,
    newest?: string,
  ): Promise<EventPageDto> {
    const wanted = type && movesOf(type);
    const enterprises = enterpriseGlobalId === undefined ? undefined : [enterpriseGlobalId];
    const items: EventDto[] = [];
    let bytes = 0;
    const isFull = () => items.length === limit || bytes >= MAX_READ_BYTES;
    let next = after;
    // An event that is recorded after an empty read must not come before the cursor.
    const start = after ?? (await this.moves.newest());
    let count = Math.min(limit, AT_ONCE);
    for (let left = MAX_LOOKED_AT; left > 0 && !isFull(); left -= count, count = AT_ONCE) {
      const part = await this.#read(next, count, wanted, newest).catch(dropped);
      if (part instanceof MovesDropped) {
        // The next page says so. A reader without a cursor has missed nothing.
        if (items.length > 0) break;
        if (after !== undefined) throw expired(part);
        next = part.oldest;
        continue;
      }
      for (const move of part.found) {
        if (isFull()) break;
        next = move.id;
        const seen = this.#seen(move, { grants, enterprises });
        if (!seen) continue;
        items.push(seen);
        bytes += String(move.record).length;
      }
      if (!isFull()) next = part.last ?? next;
      if (part.isEnd) break;
    }
    return { items, next: next ?? start };
  }

  /**
   * Returns the next moves of these types after the cursor `after`, or after the last move that was dropped, each with its event where the reader
   * may see it; and the cursor to go on from. Reads are shared for a moment, so the newest moves may be missing.
   */
  async after(
    after: string,
    reader: Reader,
  ): Promise<{ readonly moves: readonly SeenMove[]; readonly next: string }> {
    const wanted = reader.types && movesOf(reader.types);
    let from = after;
    const { found, last } = await this.#share(from, AT_ONCE, wanted).catch((error: unknown) => {
      if (!(error instanceof MovesDropped)) throw error;
      from = error.oldest;
      return this.#share(from, AT_ONCE, wanted);
    });
    const moves = found.map((move) => ({
      id: move.id,
      name: move.name,
      event: this.#seen(move, reader),
    }));
    return { moves, next: last ?? from };
  }

  /** Shares a read for a moment, because readers at the same cursor ask for the same moves at nearly the same time. */
  #share(after = '', count: number, wanted: readonly WantedMove[] = [], newest = ''): Promise<Moves> {
    const key = [after, count, newest, ...wanted].join(' ');
    const known = this.#shared.get(key) ?? this.moves.read(after === '' ? undefined : after, count, wanted);
    this.#shared.set(key, known, { noUpdateTTL: true });
    return known;
  }

  /** Returns one event that was shown before; undefined where it is not kept any more, or where the reader may not see it. */
  async one(id: string, reader: Reader): Promise<EventDto | undefined> {
    const move = await this.moves.one(id);
    return move && this.#seen(move, reader);
  }

  /** Returns the subjects of these events by their ids, without those that are not kept any more, or that the reader may not see. */
  async subjects(ids: readonly string[], reader: Reader): Promise<ReadonlyMap<string, string>> {
    const subjects = new Map<string, string>();
    for await (const move of this.moves.several(ids)) {
      const event = this.#seen(move, reader);
      if (event) subjects.set(move.id, event.subject);
    }
    return subjects;
  }

  #read(
    after: string | undefined,
    count: number,
    wanted?: readonly WantedMove[],
    newest?: string,
  ): Promise<Moves> {
    return newest === undefined
      ? this.moves.read(after, count, wanted)
      : this.#share(after, count, wanted, newest);
  }

  /** Returns the event; undefined where the reader may not see it, or where it belongs to none of the wanted enterprises. */
  #seen(move: LoggedMove, { grants, former, enterprises }: Reader): EventDto | undefined {
    if (former && move.at < former.until && !(former.grants && this.#seen(move, { grants: former.grants })))
      return undefined;
    const opened = this.#opened(move);
    if (!opened?.isFor(grants)) return undefined;
    const isWanted = !enterprises || opened.enterprises.some((each) => enterprises.includes(each));
    return isWanted ? opened.event : undefined;
  }

  /** Returns what a move is for all readers; undefined where no reader gets an event of it. */
  #opened(move: LoggedMove): OpenedMove | undefined {
    try {
      const opened = this.#events.get(move) ?? this.#open(move);
      if (opened) this.#events.set(move, opened);
      return opened;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || error.reason === 'ahead') throw error;
      // The record is damaged, or sealed under a key that was removed. Another log line tells the operator about the record.
      this.log.warn({ event: 'event-unreadable', id: move.id }, 'An event cannot be opened, and is left out');
      return undefined;
    }
  }

  #open(move: LoggedMove): OpenedMove | undefined {
    if (move.of === 'order') {
      const record = this.orders.recordIn(move);
      const { order } = record.details;
      if (!order) return undefined;
      const of = { source: '/v1/license-orders', subject: subjectOf(order), data: toOrderRecord(record) };
      const isFor = (grants: Grants) => isVisible(record, grants);
      return { event: eventOf(move, record.state, of), enterprises: enterprisesOf(order), isFor };
    }
    if (move.of === 'job') {
      const job = this.jobs.recordIn(move);
      if (!job) return undefined;
      const { jobId, enterpriseGlobalId } = job.definition;
      const of = { source: '/v1/jobs', subject: jobId, data: toJob(job) };
      return inEnterprise(enterpriseGlobalId, eventOf(move, job.state, of));
    }
    const row = this.estate.rowIn(move);
    if (!row) return undefined;
    const of = { source: '/v1/estate', subject: move.name, data: row };
    return inEnterprise(row.enterpriseGlobalId, eventOf(move, move.state, of));
  }
}

function dropped(error: unknown): MovesDropped {
  if (error instanceof MovesDropped) return error;
  throw error;
}

function expired({ oldest }: MovesDropped): ProblemException {
  return new ProblemException('events-expired', { oldest });
}

function inEnterprise(enterpriseGlobalId: string, event: EventDto): OpenedMove {
  const isFor = (grants: Grants) => isGranted(grants.enterprises, enterpriseGlobalId);
  return { event, enterprises: [enterpriseGlobalId], isFor };
}

function eventOf(
  { id, at, of }: LoggedMove,
  state: string,
  about: Pick<EventDto, 'source' | 'subject' | 'data'>,
): EventDto {
  return {
    specversion: '1.0',
    id,
    type: eventTypeOf(of, state),
    time: new Date(at).toISOString(),
    datacontenttype: 'application/json',
    ...about,
  };
}
