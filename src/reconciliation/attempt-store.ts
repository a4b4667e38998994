import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.ts';
import { SealedTexts } from '../database/sealed-texts.ts';
import { NOW, sql } from '../database/sql.ts';
import type { Step } from '../database/step.ts';
import type { AttemptOutcome } from '../observability/metric-tables.ts';
import type { LedgerRecord } from '../order-ledger/ledger-record.ts';

export interface PastAttempt {
  /** The time in ms since the epoch, by the clock of the database. */
  readonly at: number;
  readonly result: AttemptOutcome;
  readonly licenseOrders: readonly string[];
  readonly failure?: string;
  /** No list of assets has come, so the attempt says nothing of what is gone. */
  readonly isBlind?: true;
}

type Submission = Pick<LedgerRecord, 'name' | 'submittedAt'>;

/** How long an attempt is kept, by both clocks, for the operator who settles the order. */
const KEPT_MS = 30 * 24 * 3_600_000;
/** Each attempt deletes this number of old ones at most. */
const MAX_DELETED = 1_000;
/** The most attempts that are read. An order has a few dozen. */
const MAX_READ = 1_000;

const INSERT = sql`
  INSERT INTO attempts (platform, name, submitted_at, at, attempt)
  VALUES (:platform, :name, :submittedAt, :at, :attempt) ON CONFLICT DO NOTHING`;
const FORGET = sql`
  DELETE FROM attempts WHERE platform = :platform AND at < :before AND at < (SELECT ${NOW}) - CAST(:keptMs AS bigint)
    AND at <= (SELECT max(at) FROM (SELECT at FROM attempts WHERE platform = :platform ORDER BY at LIMIT :most) AS oldest)`;
const OF_ORDER = sql`
  SELECT attempt FROM attempts
  WHERE platform = :platform AND name = :name AND submitted_at = :submittedAt ORDER BY at LIMIT :most`;

interface NewAttempt extends Submission {
  readonly at: number;
  readonly sealed: string;
}

const add: Step<NewAttempt, undefined> = {
  name: 'note attempts',
  key: ({ name, submittedAt, at }) => `${name} ${submittedAt} ${at}`,
  repeatable: true,
  decide: (attempts) => ({
    writes: [
      ...attempts.map(({ name, submittedAt, at, sealed }) =>
        INSERT.with({ name, submittedAt, at, attempt: sealed }),
      ),
      FORGET.with({
        before: Date.now() - KEPT_MS,
        keptMs: KEPT_MS,
        most: MAX_DELETED,
      }),
    ],
  }),
};

/**
 * The results of the searches for orders, for the operator who has to settle them. Those that found nothing may be lost. An order is identified by its name and its time of submission, because its number may be sent again after a settlement.
 */
@Injectable()
export class AttemptStore {
  constructor(
    private readonly database: Database,
    private readonly texts: SealedTexts,
  ) {}

  /** Rejects if a finding was not kept: without it, the profile's meaning of a code could settle the order as refused. */
  async add({ name, submittedAt }: Submission, attempt: PastAttempt): Promise<void> {
    const sealed = this.texts.seal(JSON.stringify(attempt), `attempt ${name}`);
    const kept = this.database.step(add, { name, submittedAt, at: attempt.at, sealed });
    await (attempt.licenseOrders.length > 0 ? kept : kept.catch(() => undefined));
  }

  /** Returns the oldest attempt first. Rejects where the database cannot be read. */
  async attemptsFor({ name, submittedAt }: Submission): Promise<readonly PastAttempt[]> {
    const query = OF_ORDER.with({ name, submittedAt, most: MAX_READ });
    const found = await this.database.read<{ attempt: string }>(query);
    return found
      .flatMap(({ attempt }) => this.texts.open(attempt, `attempt ${name}`) ?? [])
      .map((text) => JSON.parse(text) as PastAttempt);
  }
}
