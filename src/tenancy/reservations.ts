import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { poll } from '../kit/poll/poll.ts';
import { Log } from '../observability/log.ts';
import { chunksOf } from '../shared/chunks-of.ts';
import {
  RESERVATION_MS,
  MAX_RESERVATIONS,
  type NumberUse,
  ReservationStore,
} from './state/reservation-store.ts';

/** Numbers that the database did not accept are offered to it again after this time. */
const AGAIN_MS = 5_000;
const NUMBERS_PER_STEP = 1_000;

/**
 * Asset numbers that a caller reserved and may use in a purchase before an enterprise has them. The first order with a number binds it to
 * its enterprise. From then on the number is an asset of that enterprise, and its caller may lose the grant of it.
 */
@Injectable()
export class Reservations implements OnApplicationBootstrap, OnApplicationShutdown {
  /** The end of each number that the database has not accepted yet, by caller. Only this process knows these numbers. */
  readonly #here = new Map<string, Map<string, number>>();
  #endPoll: (() => void) | undefined;

  constructor(
    private readonly store: ReservationStore,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    this.#endPoll = poll('reservations', AGAIN_MS, () => this.#share().catch(() => undefined));
  }

  onApplicationShutdown(): void {
    this.#endPoll?.();
  }

  /** Adds numbers. It never fails, because the platform has used up the numbers and the caller must get them. */
  async add(caller: string, assetNums: readonly string[]): Promise<void> {
    if (assetNums.length === 0) return;
    try {
      await this.store.add(caller, assetNums);
    } catch (error) {
      this.log.warn(
        { event: 'reservation-not-shared', reason: (error as Error).name, numbers: assetNums.length },
        'The database did not store reserved asset numbers: until it does, only this process knows their caller',
      );
      this.#addHere(caller, assetNums);
    }
  }

  /** Returns the numbers that this caller reserved and that no order has used for another enterprise. */
  async findOwn(
    caller: string,
    enterprise: string,
    assetNums: ReadonlySet<string>,
  ): Promise<ReadonlySet<string>> {
    if (assetNums.size === 0) return assetNums;
    const { reserved, boundTo } = await this.store.known(caller, [...assetNums]);
    const now = Date.now();
    const here = this.#here.get(caller);
    const own = [...assetNums].filter((each) => reserved.has(each) || (here?.get(each) ?? 0) > now);
    return new Set(own.filter((each) => (boundTo.get(each) ?? enterprise) === enterprise));
  }

  /**
   * Binds numbers before an order is sent. Resolves to false, and binds nothing, if a number was used for another enterprise before. The move of
   * an order that was not carried out frees its numbers.
   */
  bind(caller: string, order: string, uses: readonly NumberUse[]): Promise<boolean> {
    return this.store.bind(caller, order, uses);
  }

  /** Stores the numbers that the database did not accept. */
  async #share(): Promise<void> {
    for (const [caller, own] of this.#here) {
      for (const some of chunksOf([...own.keys()], NUMBERS_PER_STEP)) {
        await this.store.add(caller, some);
        for (const assetNum of some) own.delete(assetNum);
      }
      if (own.size === 0) this.#here.delete(caller);
    }
  }

  #addHere(caller: string, assetNums: readonly string[]): void {
    const endsAt = Date.now() + RESERVATION_MS;
    const own = this.#here.get(caller) ?? new Map<string, number>();
    for (const assetNum of assetNums) own.set(assetNum, endsAt);
    for (const oldest of own.keys()) {
      if (own.size <= MAX_RESERVATIONS) break;
      own.delete(oldest);
    }
    this.#here.set(caller, own);
  }
}
