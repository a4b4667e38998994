import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { EstateConfig } from '../config/app-config.ts';
import { poll } from '../kit/poll/poll.ts';
import { Metrics } from '../observability/metrics.ts';
import { EstateRowsStore } from './estate-rows-store.ts';

const DAY_MS = 86_400_000;
const LOOK_MS = 60_000;

/** Tells operators how many enterprises could not be read for a day, and how old the oldest part of the copy is. */
@Injectable()
export class EstateWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  #endPoll: (() => void) | undefined;

  constructor(
    private readonly config: EstateConfig,
    private readonly store: EstateRowsStore,
    private readonly metrics: Metrics,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.refreshMs === undefined) return;
    this.#endPoll = poll('estate', LOOK_MS, () => this.#look(), true);
  }

  onApplicationShutdown(): void {
    this.#endPoll?.();
  }

  /** Counts the enterprises that could not be read for a day. Rejects where the database cannot be read. */
  async unread(): Promise<number> {
    return this.config.refreshMs === undefined ? 0 : (await this.store.unread(this.#since)).unread;
  }

  /** An enterprise is read so rarely that its last reading may be older than a day. */
  get #since(): number {
    const { refreshMs = 0 } = this.config;
    return Date.now() - DAY_MS - (refreshMs < DAY_MS ? 0 : refreshMs);
  }

  /** While the database is away, the figures stay as they were. */
  async #look(): Promise<void> {
    const now = Date.now();
    const found = await this.store.unread(this.#since).catch(() => undefined);
    if (!found) return;
    const { unread, oldestAt } = found;
    this.metrics.set('gateway_estate_unread_enterprises', {}, unread);
    this.metrics.set('gateway_estate_oldest_seconds', {}, oldestAt === null ? 0 : (now - oldestAt) / 1_000);
  }
}
