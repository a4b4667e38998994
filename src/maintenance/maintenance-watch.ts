import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Maintenance, type MaintenanceWindow, stopWords } from './state/maintenance.ts';
import { poll } from '../kit/poll/poll.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { type NewWindow, WindowStore } from './state/window-store.ts';

const LOOK_MS = 500;

/** Sets and ends the maintenance, and reads twice a second the window that other replicas have set. */
@Injectable()
export class MaintenanceWatch implements OnModuleInit, OnApplicationShutdown {
  #endPoll: (() => void) | undefined;
  #told = '';

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
    const stored = await this.store.set(window);
    this.#learn(stored.window, stored.now);
  }

  async end(): Promise<void> {
    await this.store.end();
    await this.look();
  }

  /** Reads the window. While the store cannot be read, the last known window stays. */
  async look(): Promise<void> {
    const stored = await this.store.read();
    this.#learn(stored.window, stored.now);
  }

  /** Reads the window again. It never fails: if the database is away, another log line has reported it, and the next poll tries again. */
  async #lookAgain(): Promise<void> {
    await this.look().catch(() => undefined);
  }

  #learn(window: MaintenanceWindow | undefined, now: number): void {
    this.maintenance.learn(window, now);
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
}
