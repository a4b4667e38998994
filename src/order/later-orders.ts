import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { CallerRegistry } from '../caller/caller.registry.ts';
import type { Scope } from '../request/scopes.ts';
import { orderName, type ScheduledOrder } from '../order-ledger/ledger-record.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext } from '../request/call-context.ts';
import { isAway } from '../upstream/if-shown.ts';
import { violation } from '../upstream/problems/violation.ts';
import { comparedEffects, type Effects, shortTextOf } from './compared-effects.ts';
import { DeletionEffects, type DeletionReading, type FoundEffects } from './deletion-effects.ts';
import type { PlaceOrderDto } from './dto/license-order.dto.ts';
import { deletes } from './order-content.ts';

const NOT_SHOWN =
  'The platform does not show what the order deletes, so the gateway cannot tell whether it has changed since the order was accepted.';

/** The most orders whose reading can go on, because the contents of a thousand assets take a megabyte. */
const MAX_UNFINISHED = 10;
/** How old a reading may be with which the next attempt goes on. A repeat of the request, or the next attempt at a due order, comes within this time. */
const UNFINISHED_MS = 120_000;

/** The scopes that an order needs. */
export function orderScopes(order: PlaceOrderDto): readonly Scope[] {
  return deletes(order) ? ['orders:write', 'orders:revoke'] : ['orders:write'];
}

/** Collects what a scheduled order needs later, and checks at its time that its deletions would still have the same effects. */
@Injectable()
export class LaterOrders {
  /** What was read for an order before the time was over, or the platform failed. The next attempt goes on with it. */
  readonly #unfinished = new LRUCache<string, DeletionReading>({ max: MAX_UNFINISHED, ttl: UNFINISHED_MS });

  constructor(
    private readonly callers: CallerRegistry,
    private readonly effects: DeletionEffects,
  ) {}

  /** Throws where the platform cannot be asked for the effects. They are left out of an order that is not new: it is only compared with its record. */
  async scheduled(
    call: CallContext,
    order: PlaceOrderDto,
    idempotencyKey: string | undefined,
    isNew: boolean,
  ): Promise<ScheduledOrder> {
    const caller = call.caller.name;
    return {
      order,
      idempotencyKey,
      user: call.user?.alias,
      byToken: orderScopes(order).filter(
        (scope) => !this.callers.standingOf({ caller, scope, byToken: false }),
      ),
      effects: isNew && isCompared(order) ? (await this.#effectsOf(call, order)).effects : [],
    };
  }

  /** Throws if a deletion has other effects now than when it was accepted, or if the platform no longer shows some of them. */
  async assertSameEffects(
    call: CallContext,
    order: PlaceOrderDto,
    { effects: before }: ScheduledOrder,
  ): Promise<void> {
    if (!isCompared(order)) return;
    let read = await this.#effectsOf(call, order);
    // A list may lack something for a moment, so a change has to show twice.
    if (verdictOn(before, read) === 'changed') read = await this.#effectsOf(call, order);
    switch (verdictOn(before, read)) {
      case 'same':
        return;
      case 'hidden':
        throw violation([NOT_SHOWN, ...new Set(read.unshown.values())].join(' '));
      case 'changed':
        throw new ProblemException('effects-changed', {
          detail: `effects-changed: it would have taken away ${shortTextOf(before)}, and would take away ${shortTextOf(read.effects)} now`,
        });
    }
  }

  /** Returns what the deletions of an order would take away now. */
  async #effectsOf(call: CallContext, order: PlaceOrderDto): Promise<FoundEffects> {
    const key = `${call.caller.name} ${orderName(order.channelCode, order.channelOrderId)}`;
    const reading: DeletionReading = this.#unfinished.get(key) ?? new Map();
    // Its age counts from the first attempt.
    if (!this.#unfinished.has(key)) this.#unfinished.set(key, reading);
    const found = await this.effects.find(call, order, isAway, reading);
    this.#unfinished.delete(key);
    return found;
  }
}

/** Returns whether the effects of the order count at its time. */
function isCompared(order: PlaceOrderDto): boolean {
  return order.ifEffectsChanged !== 'send' && deletes(order);
}

function verdictOn(before: Effects, { effects, unshown }: FoundEffects) {
  return comparedEffects(before, effects, new Set(unshown.keys()));
}
