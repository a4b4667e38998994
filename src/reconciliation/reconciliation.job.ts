import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { OrderLedgerKeeper } from '../order-ledger/order-ledger-keeper.ts';
import type { LedgerRecord } from '../order-ledger/ledger-record.ts';
import { ReconciliationSchedule } from './schedule.ts';
import type { ReconciliationAttempt, AttemptRunner } from './runner.ts';
import { OrderReconciler } from './reconcile-order.ts';

/** The token of {@link AttemptRunner}, which has two implementations. */
export const ATTEMPTS = Symbol('looks');
const PAGE = 100;

/**
 * Has orders in doubt looked for at their times. It reads the guard store's list instead of listening to moves: whoever moved an
 * order there, and whichever replica died since, it is on the list.
 */
@Injectable()
export class ReconciliationJob implements OnApplicationBootstrap, OnApplicationShutdown {
  #asked: ReadonlyMap<string, string> = new Map();
  #scanning = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly keeper: OrderLedgerKeeper,
    private readonly evidence: OrderReconciler,
    private readonly times: ReconciliationSchedule,
    @Inject(ATTEMPTS) private readonly looks: AttemptRunner,
  ) {}

  onApplicationBootstrap(): void {
    this.looks.start((write, abandon) => this.evidence.look(write, abandon));
    this.#timer = setInterval(() => void this.#tick(), this.times.scan).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    await this.looks.close();
  }

  /** One at a time. While the store or the queue is away there is nothing to do, and that has been told. */
  async #tick(): Promise<void> {
    if (this.#scanning) return;
    this.#scanning = true;
    await this.#ask().catch(() => undefined);
    this.#scanning = false;
  }

  async #ask(): Promise<void> {
    const due = new Map<string, string>();
    for (const record of await this.#inDoubt()) {
      const look = this.times.due(Date.now() - record.submittedAt);
      // With the time of the send: the same number may be sent again after it was settled.
      if (look >= 0) due.set(record.name, `${record.name}@${record.submittedAt}@${look}`);
    }
    const looks: ReconciliationAttempt[] = [];
    for (const [write, id] of due) if (this.#asked.get(write) !== id) looks.push({ id, write });
    if (looks.length > 0) await this.looks.ask(looks);
    this.#asked = due;
  }

  /** Those young enough to be looked for; the list has the newest first. */
  async #inDoubt(): Promise<LedgerRecord[]> {
    const found: LedgerRecord[] = [];
    for (let offset = 0; ; offset += PAGE) {
      const { records, total } = await this.keeper.store.list({ states: ['in_doubt'] }, offset, PAGE);
      const young = records.filter(({ submittedAt }) => Date.now() - submittedAt <= this.times.oldest);
      found.push(...young.filter(({ details }) => details.order?.evidence));
      // A page may lack records that cannot be read, so its length does not say whether it is the last.
      if (young.length < records.length || offset + PAGE >= total) return found;
    }
  }
}
