import { Injectable } from '@nestjs/common';
import { Log } from '../observability/log.ts';
import type { LedgerRecord } from '../order-ledger/ledger-record.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { endOfDoubt } from '../order-ledger/write-outcome.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { AttemptStore } from './attempt-store.ts';
import { ReconciliationSchedule } from './schedule.ts';

const PAGE = 100;

/**
 * Settles orders that are in doubt by a code of the platform, once the platform's profile teaches that the code means a refusal. An order of
 * which a search has found something stays in doubt: what was found contradicts the profile. Every replica looks, and one of them moves the
 * record.
 */
@Injectable()
export class TaughtOrders {
  /** The codes with which all orders in doubt were last compared, and the time of that. */
  #lookedWith: unknown;
  #lookedAt = -Infinity;

  constructor(
    private readonly ledger: ObservedOrderLedger,
    private readonly history: AttemptStore,
    private readonly readings: PlatformReadings,
    private readonly times: ReconciliationSchedule,
    private readonly log: Log,
  ) {}

  /** Compares the orders in doubt with the codes, if the codes have changed or the last comparison is a while ago. */
  async settleAll(): Promise<void> {
    const { codes } = this.readings;
    const at = performance.now();
    // A replica that has not read the profile yet may still leave an order in doubt.
    const isDue = codes !== this.#lookedWith || at - this.#lookedAt >= this.times.scanOfAll;
    if (!isDue || Object.keys(codes.order ?? {}).length === 0) return;
    for (const record of await this.#doubted()) await this.#settle(record);
    this.#lookedWith = codes;
    this.#lookedAt = at;
  }

  async #settle({ name, submittedAt }: LedgerRecord): Promise<void> {
    // The list may be a while old, and an operator may have settled the order.
    const record = await this.ledger.read(name);
    if (record?.state !== 'in_doubt' || record.submittedAt !== submittedAt) return;
    const end = endOfDoubt(record, (code) => this.readings.taught('order', code));
    if (!end) return;
    const attempts = await this.history.attemptsFor(record).catch(() => undefined);
    if (!attempts || attempts.some(({ licenseOrders }) => licenseOrders.length > 0)) {
      this.log.warn(
        { event: 'order-not-settled-by-code', write: name, upstreamCode: end.code, isUnread: !attempts },
        'The profile says that the platform refused an order, and a search has found it or cannot be read',
      );
      return;
    }
    const { state, details } = end;
    const moved = await this.ledger.move({
      name,
      by: 'reconciliation',
      from: 'in_doubt',
      to: state,
      submittedAt,
      details,
    });
    if (moved.kind === 'moved')
      this.log.warn(
        { event: 'order-settled-by-code', write: name, state, upstreamCode: end.code },
        'An order in doubt was settled by the meaning of its code',
      );
  }

  /** Reads all orders in doubt before one is settled, because each settled order would shift the pages that follow. */
  async #doubted(): Promise<LedgerRecord[]> {
    const query = { states: ['in_doubt'] } as const;
    const found: LedgerRecord[] = [];
    for (let offset = 0, total = 1; offset < total; offset += PAGE) {
      const page = await this.ledger.list(query, offset, PAGE);
      found.push(...page.records);
      total = page.total;
    }
    return found;
  }
}
