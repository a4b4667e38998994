import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import { Log } from '../observability/log.ts';
import type { Hindered, LedgerRecord, ScheduledOrder, State } from '../order-ledger/ledger-record.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { reasonOf } from '../order-ledger/write-outcome.ts';
import { NotDue } from '../order-ledger/write-recorder.ts';
import type { Outcome, ProblemSlug } from '../problem/catalogue.ts';
import { type ProblemBody, ProblemException } from '../problem/problem.exception.ts';
import type { CallContext } from '../request/call-context.ts';
import { cleanText, joinedIds } from '../shared/clean-text.ts';
import { mayEnd } from '../upstream/if-shown.ts';
import { asProblem, problemFrom } from '../upstream/problems/as-problem.ts';
import { validBody } from '../validation/validation.guard.ts';
import { PlaceOrderDto } from './dto/license-order.dto.ts';
import { DueCallers } from './due-callers.ts';
import { LaterOrders } from './later-orders.ts';
import { LicenseOrderService } from './license-order.service.ts';

const HOUR_MS = 3_600_000;
/** An order that another process is sending, or whose record cannot be read, is tried again after this time. */
const LOOK_AGAIN_MS = 10_000;
const MIN_PAUSE_MS = 2_000;
/** The longest pause between two attempts: an order leaves at most this long after its hindrance has ended. */
const MAX_PAUSE_MS = 30_000;
/** The longest time that an order waits for its hindrance to end, such as a platform that is down. */
const MAX_WAIT_MS = 24 * HOUR_MS;
/** How often the record of a waiting order notes that it still waits. */
const NOTE_MS = HOUR_MS;
/** The time without a note after which the wait starts again from zero, because no gateway ran or orders were stopped. */
const MAX_GAP_MS = 6 * HOUR_MS;

/**
 * Refusals by the version, the profile or the users file of this replica. The replica that accepted the order had others, which this one may
 * still get, or a task of another replica may place the order.
 */
const OF_THIS_REPLICA: ReadonlySet<ProblemSlug> = new Set(['validation-failed', 'user-required']);

/** Beyond this number, the console does not say why the order waits that was tried least recently. */
const MAX_HINDERED = 20_000;

const DOUBTFUL =
  'The database was restored after the time of the order, and lacks what became of it: it may have been sent.';

interface Hindrance {
  /** The `notBefore` of the hindered order. A later order with the same number has a later time. */
  readonly notBefore: number | undefined;
  readonly why: string;
}

/** Places a scheduled order whose time has come, or says when to try again. The order is placed by the same steps as any other. */
@Injectable()
export class DueOrders {
  /** The hindrance that this process found for each order, by the order's name. */
  readonly #hindered = new LRUCache<string, Hindrance>({ max: MAX_HINDERED });
  /** When orders were last stopped, by the clock of the database. */
  #stoppedAt = 0;

  constructor(
    private readonly ledger: ObservedOrderLedger,
    private readonly orders: LicenseOrderService,
    private readonly later: LaterOrders,
    private readonly callers: DueCallers,
    private readonly maintenance: Maintenance,
    private readonly log: Log,
  ) {}

  /**
   * Resolves to the ms until the next attempt, or to undefined when the order no longer waits. Once `over` is aborted the order does not
   * begin. An order that has begun goes on.
   */
  async place(name: string, over: AbortSignal): Promise<number | undefined> {
    try {
      const leftMs = await this.#place(name, over);
      if (leftMs === undefined) this.#hindered.delete(name);
      return leftMs;
    } catch (error) {
      if (!(asProblem(error) instanceof ProblemException)) throw error;
      return LOOK_AGAIN_MS;
    }
  }

  /** Returns why this process's last attempt did not send the order; undefined where nothing hindered it, or another process tries it. */
  hindranceOf(record: LedgerRecord): string | undefined {
    const known = this.#hindered.get(record.name);
    return known?.notBefore === record.details.order?.notBefore ? known?.why : undefined;
  }

  /** Restarts the wait of every order, because the time during which orders are stopped does not count. */
  stopped(): void {
    this.#hindered.clear();
    this.#stoppedAt = this.maintenance.now;
  }

  async #place(name: string, over: AbortSignal): Promise<number | undefined> {
    const record = await this.ledger.readDue(name);
    const { scheduled, notBefore } = record?.details.order ?? {};
    // The process that sends the order may schedule it again, so the task stays.
    if (record?.state === 'sending') return LOOK_AGAIN_MS;
    if (record?.state !== 'scheduled' || !scheduled) return undefined;
    // The task may belong to an earlier, cancelled order with the same number.
    if (record.leftMs > 0) return record.leftMs;
    try {
      await this.#send(record, scheduled, over);
      return undefined;
    } catch (error) {
      // The next attempt finds out what became of it, perhaps at another replica.
      if (over.aborted) return 0;
      if (error instanceof NotDue && error.left !== 'doubtful') return error.left;
      const problem =
        error instanceof NotDue
          ? new ProblemException('outcome-unknown', { detail: DOUBTFUL })
          : problemFrom(error);
      // Another replica was sending the order. It may have scheduled it again by now.
      if (problem.slug === 'request-in-progress') return LOOK_AGAIN_MS;
      const now = await this.ledger.read(name);
      if (now?.state !== 'scheduled') return now?.state === 'sending' ? LOOK_AGAIN_MS : undefined;
      // The order was cancelled in the meantime, and another order has its number.
      if (now.details.order?.notBefore !== notBefore) return 0;
      return this.#wait(now, problem);
    }
  }

  async #send(record: LedgerRecord, scheduled: ScheduledOrder, abandon: AbortSignal): Promise<void> {
    this.orders.assertOpen();
    // This version may have other rules than the version that accepted the order.
    const order = validBody(scheduled.order, PlaceOrderDto);
    const call = { ...(await this.callers.callOf(record, order, scheduled)), abandon };
    await this.later.assertSameEffects(call, order, scheduled);
    abandon.throwIfAborted();
    const { name, submittedAt, details } = record;
    this.log.info(
      { event: 'order-due', write: name, caller: details.caller, requestId: call.requestId },
      'A scheduled order is placed at its time',
    );
    const onEnd = (outcome: Outcome, status: number) => this.#audit(record, { outcome, status }, call);
    const waitsAgain = this.#mayWait(record);
    await this.orders.placeDue(call, order, { scheduled, submittedAt, waitsAgain, onEnd });
  }

  async #wait(record: LedgerRecord, problem: ProblemException): Promise<number | undefined> {
    if (problem.slug === 'outcome-unknown') return this.#end(record, 'in_doubt', problem);
    const isFinal = !mayEnd(problem);
    if (isFinal && !OF_THIS_REPLICA.has(problem.slug)) return this.#end(record, 'rejected', problem);
    const isStopped = problem.slug === 'maintenance';
    if (!isStopped && !this.#mayWait(record))
      return this.#end(record, isFinal ? 'rejected' : 'not_sent', problem);
    this.#hindered.set(record.name, {
      notBefore: record.details.order?.notBefore,
      why: reasonOf(problem),
    });
    // The time of a maintenance does not count towards the wait.
    if (isStopped) return MIN_PAUSE_MS;
    const { now } = this.maintenance;
    const { since, notedAt } = this.#waitOf(record);
    if (now - notedAt >= NOTE_MS) await this.#note(record, { since, notedAt: now });
    return Math.min(Math.max(MIN_PAUSE_MS, now - since), MAX_PAUSE_MS);
  }

  #mayWait(record: LedgerRecord): boolean {
    return this.maintenance.now - this.#waitOf(record).since < MAX_WAIT_MS;
  }

  /** Returns the wait that the record notes; a new one if it notes none, or one that does not count any more. */
  #waitOf({ details }: LedgerRecord): Hindered {
    const { now } = this.maintenance;
    const { hindered } = details.order?.scheduled ?? {};
    const isOver = !hindered || hindered.notedAt < this.#stoppedAt || now - hindered.notedAt > MAX_GAP_MS;
    return isOver ? { since: now, notedAt: -Infinity } : hindered;
  }

  /** Keeps the wait in the record, so that another process goes on with it. */
  async #note({ name, submittedAt, details }: LedgerRecord, hindered: Hindered): Promise<void> {
    const { order } = details;
    if (!order?.scheduled) return;
    const noted = { ...details, order: { ...order, scheduled: { ...order.scheduled, hindered } } };
    const move = { name, submittedAt, from: 'scheduled', to: 'scheduled', details: noted } as const;
    await this.ledger.move({ ...move, by: 'schedule' });
  }

  async #end(record: LedgerRecord, to: State, problem: ProblemException): Promise<number | undefined> {
    const { name, submittedAt, details } = record;
    const reason = reasonOf(problem);
    const answer = { status: problem.getStatus(), body: problem.body };
    const order = details.order && { ...details.order, reason };
    const changed = { ...details, order, answer };
    const { kind } = await this.ledger.move({
      name,
      by: 'schedule',
      from: 'scheduled',
      to,
      submittedAt,
      details: changed,
    });
    // The move is refused if the caller has cancelled the order, or another process tries it: the task looks again.
    if (kind !== 'moved') return 0;
    this.#audit(record, problem.body);
    this.log.warn(
      { event: 'order-due-ended', write: name, caller: details.caller, state: to, reason: problem.slug },
      'A scheduled order was not placed at its time',
    );
    return undefined;
  }

  /** Writes the same line as for the end of a request. The request id is the one that the platform sees, if the order was sent. */
  #audit(
    { details: { caller, order } }: LedgerRecord,
    { outcome, status }: Pick<ProblemBody, 'outcome' | 'status'>,
    sent?: CallContext,
  ): void {
    if (!order) return;
    this.log.audit(
      {
        event: 'audit',
        requestId: sent?.requestId,
        traceId: sent?.trace.traceId,
        caller,
        actingUser: order.scheduled?.user,
        operation: 'placeOrder',
        object: joinedIds([order.channelCode, order.channelOrderId].map((id) => cleanText(id))),
        outcome,
        status,
      },
      `placeOrder ${outcome}`,
    );
  }
}
