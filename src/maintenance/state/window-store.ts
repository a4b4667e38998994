import { Injectable } from '@nestjs/common';
import type { MaintenanceWindow } from './maintenance.ts';
import { Database } from '../../database/database.ts';
import type { Urgency } from '../../database/engine.ts';
import { NOW, sql } from '../../database/sql.ts';
import { locked, type Step } from '../../database/step.ts';

/** A window to set. Without `from` it begins now, by the clock of the database. */
export type NewWindow = Omit<MaintenanceWindow, 'from'> & { readonly from: number | undefined };

export interface StoredMaintenance {
  /** The stored window. Undefined if there is none. */
  readonly window: MaintenanceWindow | undefined;
  /** The time of the database, in ms since the epoch. */
  readonly now: number;
}

/** The name of the lock. Orders that begin share it, and a change of the window takes it alone. */
export const MAINTENANCE = 'maintenance';

const FIELDS = sql`stops, starts_at AS "from", ends_at AS "until", reason, set_by AS "by"`;
/** The window, read in the look of a step that begins orders, after the lock. */
export const WINDOW = sql`SELECT ${FIELDS} FROM maintenance WHERE platform = :platform`;
const WINDOW_NOW = sql`
  SELECT ${NOW} AS now, ${FIELDS} FROM (SELECT 1 AS one) AS one LEFT JOIN maintenance ON platform = :platform`;
const SET = sql`
  INSERT INTO maintenance (platform, stops, starts_at, ends_at, reason, set_by)
  VALUES (:platform, :stops, :from, :until, :reason, :by)
  ON CONFLICT (platform) DO UPDATE SET stops = excluded.stops, starts_at = excluded.starts_at,
    ends_at = excluded.ends_at, reason = excluded.reason, set_by = excluded.set_by`;
const END = sql`DELETE FROM maintenance WHERE platform = :platform`;

const setWindow: Step<NewWindow, StoredMaintenance> = {
  name: 'set maintenance',
  look: () => [locked(MAINTENANCE, 'alone')],
  decide: ([given], _, now) => {
    const window = { ...given, from: given.from ?? now };
    return { writes: [SET.with({ ...window })], results: () => [{ window, now }] };
  },
  repeatable: true,
};
const endWindow: Step<undefined, undefined> = {
  name: 'end maintenance',
  look: () => [locked(MAINTENANCE, 'alone')],
  decide: () => ({ writes: [END.with()] }),
  repeatable: true,
};

/**
 * One window for all replicas. The step that begins an order reads it under a lock. Calls reject with `DatabaseUnavailable` while the
 * database is away.
 */
@Injectable()
export class WindowStore {
  constructor(private readonly database: Database) {}

  async read(options?: Urgency): Promise<StoredMaintenance> {
    type Row = { readonly now: number } & (MaintenanceWindow | { readonly stops: null });
    const [{ now, ...window }] = (await this.database.read(WINDOW_NOW.with(), options)) as readonly [Row];
    return { window: window.stops === null ? undefined : window, now };
  }

  /**
   * Replaces the last window. After it has resolved, no order begins on any replica within the window, even if that replica does not know
   * the window yet.
   */
  set(window: NewWindow): Promise<StoredMaintenance> {
    return this.database.step(setWindow, window);
  }

  async end(): Promise<void> {
    await this.database.step(endWindow, undefined);
  }
}
