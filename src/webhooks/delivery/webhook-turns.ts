import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import pLimit, { type LimitFunction } from 'p-limit';
import type { EventDto } from '../../events/dto/event.dto.ts';
import { EventsService, type SeenMove } from '../../events/events.service.ts';
import type { TaskHold } from '../../tasks/task-worker.ts';
import type { Grants } from '../../request/call-context.ts';
import type {
  Deliveries,
  Delivery,
  OffReason,
  StoredWebhook,
  WantedEvents,
  Webhook,
  WebhookProgress,
} from '../store/webhook-record.ts';
import type { Kept } from '../store/webhook-steps-store.ts';
import { WebhookStore } from '../store/webhook-store.ts';
import { DeliveryReports } from './delivery-reports.ts';
import { MAX_TO_ONE, Receivers, type Sent } from './receivers.ts';
import {
  afterAttempt,
  failingSinceOf,
  isFull,
  isTaken,
  lanesOf,
  newDelivery,
  nextAttemptIn,
  progressAfter,
  typesOf,
  wants,
} from './delivery-rules.ts';
import { MAX_GAP_MS, OFF_AFTER_MS } from './schedule.ts';
import { WebhookRights } from './webhook-rights.ts';

/** The longest time of a turn. If more deliveries are due, the next turn begins at once, and other webhooks have their turns in between. */
const TURN_MS = 10_000;
/**
 * How often new events are collected while deliveries are in progress, so that events of other records do not wait for a delivery that
 * hangs.
 */
const ROUND_MS = 250;
/** The time after which deliveries of a caller without the rights are checked again. */
const WITHOUT_RIGHTS_MS = 5_000;

/** The state of one turn. No other process changes it while this process holds the task. */
interface Turn {
  webhook: Webhook;
  version: number;
  /** Returns the time of the database, because the next turn may be that of a process whose clock differs. */
  readonly now: () => number;
  readonly hold: TaskHold;
  readonly until: number;
  /** The deliveries that wait. */
  readonly deliveries: Deliveries;
  /** The moves that this turn has read, by the ids of events, with the grants under which they were read. */
  readonly read: Map<string, { readonly event: EventDto; readonly grants: Grants }>;
  /** The lanes with a delivery in progress. */
  readonly sending: Map<string, Promise<void>>;
  readonly limit: LimitFunction;
  /** The progress, with the cursor of the last collection. */
  progress: WebhookProgress;
  /** True if one of the deliveries has ended. */
  hasEnded: boolean;
  isRemoved: boolean;
  /** True if the webhook is off, if another process has it, or if a delivery failed inside the gateway. */
  isOver: boolean;
  /** Settles when all writes so far have ended. */
  written: Promise<void>;
  /** The failure of a delivery inside the gateway, such as a store that was away. */
  failure: Error | undefined;
}

/**
 * Works on one webhook at a time. It makes deliveries of the moves that the webhook has not had, and sends the due ones, each lane in
 * order.
 */
@Injectable()
export class WebhookTurns {
  constructor(
    private readonly store: WebhookStore,
    private readonly events: EventsService,
    private readonly rights: WebhookRights,
    private readonly receivers: Receivers,
    private readonly reports: DeliveryReports,
  ) {}

  /** Resolves to the ms until there is work again. Undefined if there is none before a new event. */
  async run(hold: TaskHold): Promise<number | undefined> {
    const found = await this.store.read(hold.name);
    if (!found) return undefined;
    const { webhook, version, progress, now } = found;
    const turn: Turn = {
      ...{
        webhook,
        version,
        now,
        hold,
        until: performance.now() + TURN_MS,
        isOver: false,
        isRemoved: false,
        hasEnded: false,
      },
      ...{ deliveries: await this.store.waiting(hold.name), read: new Map(), sending: new Map() },
      ...{ limit: pLimit(MAX_TO_ONE), failure: undefined, written: Promise.resolve() },
      progress: { ...progress, failingSince: await this.#failingSince(found, now()) },
    };
    let hasMore = true;
    try {
      hasMore = await this.#rounds(turn);
    } finally {
      await Promise.all(turn.sending.values());
    }
    if (turn.failure) throw turn.failure;
    if (turn.hasEnded) await this.store.trim(hold.name);
    return hasMore ? 0 : this.#nextIn(turn);
  }

  /** Returns since when the receiver has failed. The time begins again after a pause in which no gateway could send. */
  async #failingSince({ webhook, progress }: StoredWebhook, now: number): Promise<number | null> {
    const since = failingSinceOf(webhook, progress);
    if (since === null || now - since < MAX_GAP_MS) return since;
    const last = (await this.store.lastAttemptAt(webhook.webhookId)) ?? since;
    return now - last < MAX_GAP_MS ? since : null;
  }

  /**
   * Returns the ms until the next delivery is due. For a webhook that is off nothing is due: the change that switches the webhook on adds
   * its task again.
   */
  #nextIn({ webhook, deliveries, now }: Turn): number | undefined {
    const nextAt = nextAttemptIn(deliveries);
    if (nextAt === null || webhook.offReason !== null) return undefined;
    const isAllowed = this.rights.standingOf(webhook) !== undefined;
    return Math.max(nextAt - now(), isAllowed ? 0 : WITHOUT_RIGHTS_MS);
  }

  /** Works until nothing is left to do or the time is over. Resolves to true if there may be moves that the webhook has not had. */
  async #rounds(turn: Turn): Promise<boolean> {
    for (;;) {
      const hasMore = await this.#collect(turn);
      this.#send(turn);
      if (isAtEnd(turn) || (!hasMore && turn.sending.size === 0)) return hasMore;
      await Promise.race([Promise.all(turn.sending.values()), sleep(ROUND_MS, undefined, { ref: false })]);
      await this.#readAgain(turn);
      if (turn.isRemoved) return false;
    }
  }

  async #readAgain(turn: Turn): Promise<void> {
    const found = await this.store.read(turn.webhook.webhookId);
    if (found) [turn.webhook, turn.version] = [found.webhook, found.version];
    else turn.isRemoved = true;
  }

  /** Resolves to true if there were moves that the webhook has not had. Moves of no interest are skipped. */
  async #collect(turn: Turn): Promise<boolean> {
    const { webhook, version, progress } = turn;
    const standing = this.rights.standingOf(webhook);
    if (!standing) {
      if (!this.rights.hasLost(webhook)) return false;
      // Events that happen while the caller lacks the rights are not sent later.
      const cursor = await this.events.newest();
      await this.#keep(turn, { ...turn.progress, cursor }, { cursor, version });
      return false;
    }
    if (isFull(progress)) return false;
    const { grants } = standing;
    const types = typesOf(webhook);
    const after = (from: string, { enterprises }: WantedEvents) =>
      this.events.after(from, { ...standing, enterprises, types });
    const { before = [] } = webhook;
    // An event is for the webhook as it was when the event was recorded.
    const wishOf = ({ id }: SeenMove) => before.find(({ until }) => id <= until) ?? webhook;
    const now = turn.now();
    const made = new Map<string, Delivery>();
    const roundEnds = performance.now() + ROUND_MS;
    let { cursor } = progress;
    // Pages without a wanted event are passed over together, and kept in one step.
    while (made.size === 0 && performance.now() < roundEnds && !isAtEnd(turn)) {
      const from = cursor;
      const { moves, next } = await after(from, webhook);
      if (next === from) break;
      cursor = next;
      for (const wish of new Set(moves.map(wishOf)))
        for (const move of wish === webhook ? moves : (await after(from, wish)).moves) {
          const { id, name, event } = move;
          if (wishOf(move) !== wish || id > next || !event || !wants(wish, event.type)) continue;
          turn.read.set(id, { event, grants });
          made.set(id, newDelivery(event.type, name, now));
        }
    }
    if (cursor === progress.cursor) return false;
    await this.#keep(turn, { ...turn.progress, cursor }, { changed: made, cursor, version });
    return true;
  }

  /** Starts the due deliveries of the lanes that have none in progress. */
  #send(turn: Turn): void {
    const { webhook, deliveries, sending, limit, progress } = turn;
    if (webhook.offReason !== null || !this.rights.standingOf(webhook)) return;
    // A receiver that fails gets one lane after the other, so that other receivers can use its places.
    limit.concurrency = progress.failingSince === null ? MAX_TO_ONE : 1;
    const now = turn.now();
    for (const ids of lanesOf(deliveries)) {
      const { lane = '', nextAttemptAt = null } = deliveries.get(ids[0] ?? '') ?? {};
      if (sending.has(lane) || (nextAttemptAt ?? 0) > now) continue;
      const sent = limit(() => this.#sendLane(turn, ids)).catch((error: Error) => {
        turn.failure = error;
        turn.isOver = true;
      });
      sending.set(
        lane,
        sent.finally(() => sending.delete(lane)),
      );
    }
  }

  /** Sends the deliveries of a lane one after the other, up to the first that is not due or fails. */
  async #sendLane(turn: Turn, lane: readonly string[]): Promise<void> {
    for (const eventId of lane) {
      const delivery = turn.deliveries.get(eventId);
      const { grants } = this.rights.standingOf(turn.webhook) ?? {};
      if (turn.webhook.offReason !== null || isAtEnd(turn)) return;
      if (!delivery || !grants || (delivery.nextAttemptAt ?? 0) > turn.now()) return;
      const { webhook } = turn;
      const known = turn.read.get(eventId);
      // The event is shown as the caller may see it now. The wanted enterprises were checked when the delivery was made.
      const event = known?.grants === grants ? known.event : await this.events.one(eventId, { grants });
      let { version } = turn;
      const wanted = async () => {
        await this.#readAgain(turn);
        ({ version } = turn);
        const { offReason, url } = turn.webhook;
        const isSame = offReason === null && url === webhook.url && !turn.isRemoved;
        return isSame && this.rights.standingOf(turn.webhook)?.grants === grants ? turn.webhook : undefined;
      };
      const sent =
        event && (await this.receivers.post(webhook, event, { over: turn.hold.over, wanted, now: turn.now }));
      if (turn.hold.over.aborted || (event && !sent)) return;
      const now = turn.now();
      const progress = sent ? progressAfter(turn.progress, sent, now) : turn.progress;
      const after = sent && afterAttempt(delivery, sent, now);
      // A failure says nothing about a webhook that was changed since, for example to another URL: the event is sent again at once.
      const isOfVersion = sent && !isTaken(sent);
      const changed = new Map([[eventId, after]]);
      const isKept = await this.#keep(turn, progress, {
        changed,
        version: isOfVersion ? version : undefined,
      });
      turn.read.delete(eventId);
      if (!sent) continue;
      const named = { webhook: webhook.webhookId, id: eventId };
      this.reports.attempted(named, sent, progress.failingSince === now, after?.state === 'failed');
      if (!isKept) return;
      if (!isTaken(sent)) return this.#judge(turn, webhook, sent);
    }
  }

  /** Switches the webhook off if further deliveries make no sense. `asked` is the webhook as it was when its receiver was called. */
  async #judge(turn: Turn, asked: Webhook, { status, failure }: Sent): Promise<void> {
    const { failingSince } = turn.progress;
    const { webhookId, url, enabledAt } = asked;
    const isHopeless = failingSince !== null && turn.now() - failingSince > OFF_AFTER_MS;
    if (status !== 410 && !isHopeless) return;
    const ofFailure: OffReason = failure === 'address-refused' ? failure : 'failing';
    const reason = status === 410 ? 'gone' : ofFailure;
    let isOff = false;
    const changed = await this.store.change(webhookId, (webhook) => {
      // The owner may have changed or switched the webhook since. The response then says nothing about it.
      isOff = webhook.url === url && webhook.enabledAt === enabledAt && webhook.offReason === null;
      return isOff ? { ...webhook, offReason: reason } : webhook;
    });
    if (changed) [turn.webhook, turn.version] = [changed.webhook, changed.version];
    if (!isOff) return;
    this.reports.switchedOff(webhookId, reason);
    turn.isOver = true;
  }

  /**
   * Resolves to false if another process has the webhook now, or if the webhook was changed after this version. The turn is over then. The
   * next one reads everything again.
   */
  async #keep(
    turn: Turn,
    progress: WebhookProgress,
    { changed = new Map(), cursor, version }: Partial<Pick<Kept, 'changed' | 'cursor' | 'version'>>,
  ): Promise<boolean> {
    for (const [id, delivery] of changed)
      if (delivery?.state === 'pending') turn.deliveries.set(id, delivery);
      else {
        turn.deliveries.delete(id);
        turn.hasEnded = true;
      }
    const waiting = { ...progress, pending: turn.deliveries.size };
    const after = { ...waiting, failingSince: failingSinceOf(turn.webhook, waiting) };
    turn.progress = after;
    const { hold } = turn;
    // The writes run one after the other, and none after a failed one: the cursor must not move on without the deliveries before it.
    const kept = turn.written.then(() =>
      this.store.keep(hold.name, { attempt: hold.attempt, progress: after, changed, cursor, version }),
    );
    turn.written = kept.then((isKept) => {
      turn.isOver ||= !isKept;
    });
    await turn.written;
    return kept;
  }
}

function isAtEnd({ isOver, hold, until }: Turn): boolean {
  return isOver || hold.over.aborted || performance.now() > until;
}
