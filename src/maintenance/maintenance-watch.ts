import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Maintenance, stopWords } from './state/maintenance.ts';
import { poll } from '../kit/poll/poll.ts';
import type { Urgency } from '../database/engine.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { type NewWindow, type StoredMaintenance, WindowStore } from './state/window-store.ts';

const LOOK_MS = 500;
/** Clocks that differ by more than this delay what is due, and may hide the evidence of orders. */
const MAX_APART_MS = 30_000;

/** Sets and ends the maintenance, and reads twice a second the window that other replicas have set. */
@Injectable()
export class MaintenanceWatch implements OnModuleInit, OnApplicationShutdown {
  #endPoll: (() => void) | undefined;
  #told = '';
  #areApart = false;

  constructor(
    private readonly store: WindowStore,
    private readonly maintenance: Maintenance,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {}

  async onModuleInit(): Promise<void> {
    this.metrics.follow('gateway_maintenance', () =>
      stopWords.words.map((stops) => [
        { stops },
        Number(this.maintenance.isActive && this.maintenance.window?.stops === stops),
      ]),
    );
    await this.#lookAgain();
    this.#endPoll = poll('maintenance', LOOK_MS, () => this.#lookAgain());
  }

  onApplicationShutdown(): void {
    this.#endPoll?.();
  }

  async set(window: NewWindow): Promise<void> {
    await this.#learn(() => this.store.set(window));
  }

  async end(): Promise<void> {
    await this.store.end();
    await this.look({ isUrgent: true });
  }

  /** Reads the window. While the store cannot be read, the last known window stays. */
  async look(options?: Urgency): Promise<void> {
    await this.#learn(() => this.store.read(options));
  }

  /** Reads the window again. It never fails: if the database is away, another log line has reported it, and the next poll tries again. */
  async #lookAgain(): Promise<void> {
    await this.look({ isUrgent: true }).catch(() => undefined);
  }

  async #learn(read: () => Promise<StoredMaintenance>): Promise<void> {
    const before = Date.now();
    const { window, now } = await read().catch((error: unknown) => {
      this.maintenance.missed(error);
      throw error;
    });
    this.maintenance.learn(window, now);
    this.#compare(now, before);
    const current = this.maintenance.window;
    const { isActive } = this.maintenance;
    const told = current ? JSON.stringify({ ...current, isActive }) : '';
    if (told === this.#told) return;
    this.#told = told;
    if (!current) return this.log.info({ event: 'maintenance', active: false }, 'No maintenance any more');
    const { stops, from, until, by } = current;
    const times = { from: new Date(from).toISOString(), until: new Date(until).toISOString() };
    this.log.warn(
      { event: 'maintenance', active: isActive, stops, ...times, by },
      isActive ? 'Maintenance has begun' : 'Maintenance is to come',
    );
  }

  /**
   * Tells the operator if the clock of the database is not that of this gateway: `aheadMs` is below 0 if the database is behind. The database read its
   * clock after the time `before`, perhaps long ago if this process had to pause.
   */
  #compare(now: number, before: number): void {
    const aheadMs = now < before ? now - before : Math.max(0, now - Date.now());
    const areApart = Math.abs(aheadMs) > MAX_APART_MS;
    if (areApart === this.#areApart) return;
    this.#areApart = areApart;
    if (areApart)
      this.log.warn(
        { event: 'clocks-differ', aheadMs },
        'The clocks of the database and of this gateway differ: searches for orders may miss what they look for, until the clocks are set',
      );
    else this.log.info({ event: 'clocks-agree' }, 'The clocks of the database and of this gateway agree');
  }
}
