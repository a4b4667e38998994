import { Injectable } from '@nestjs/common';
import { clockFrom } from '../database/clock-from.ts';
import { firstBytes } from '../database/bounded-reads.ts';
import { Database } from '../database/database.ts';
import { SealedTexts } from '../database/sealed-texts.ts';
import { among, amongTexts, NOW, rows, sql } from '../database/sql.ts';
import type { Step } from '../database/step.ts';
import { sealedHead } from '../kit/sealed-store/sealed-store.ts';
import { dueBy } from '../tasks/task-store.ts';
import type { TaskHold } from '../tasks/task-worker.ts';
import { chunksOf } from '../shared/chunks-of.ts';
import { formerHolder, idsOfHeld } from './estate-changes.ts';
import { noteWrites, untilIn, writtenOf } from './estate-events-store.ts';
import type { EstateEnterprise, EstateState, HeldAsset } from './estate-row.ts';
import {
  type Change,
  changeWith,
  ESTATE,
  FIRST_MS,
  MIN_GAP_MS,
  OF_ENTERPRISE,
  ONE_WRITTEN_MS,
  type ReadingCall,
  takeTurn,
  want,
} from './estate-steps-store.ts';
import { keysOf, openAsset } from './sealed-assets.ts';

/** What callers' entries have for all enterprises. A path may name it, too. */
export const ALL_ENTERPRISES = '*';
const MAX_READ = 1_000;
/** The number of assets for which noted writes are looked up at once. */
const ASSETS_PER_LOOK = 100;
const DUE = dueBy();

/** How often the task that reads the enterprise was added. */
const CALLS = sql`
  coalesce((SELECT calls FROM tasks WHERE tasks.platform = :platform AND tasks.kind = :kind AND tasks.name = :enterprise), 0)`;
const ONE = sql`
  SELECT state, reason, seen_at AS "seenAt", asked_at AS "askedAt", CASE WHEN abs(${NOW} - coalesce(seen_at, 0)) < :justMs THEN 1 ELSE 0 END AS just,
    ${NOW} AS now, ${CALLS} AS calls
  FROM estate_enterprises WHERE ${OF_ENTERPRISE}`;
/** A refresh is not counted: it has all products read again, so a reading that began anew for it might never end. */
const WRITTEN_SINCE = sql`
  SELECT 1 AS written FROM estate_enterprises WHERE ${OF_ENTERPRISE} AND asked_at = :askedAt AND ${CALLS} > :calls`;
const ASSETS = sql`
  SELECT id, (SELECT details FROM estate_assets WHERE ${OF_ENTERPRISE} AND asset_id = id) AS details
  FROM ${firstBytes(
    sql`SELECT asset_id AS id, octet_length(details) AS size FROM estate_assets
      WHERE ${OF_ENTERPRISE} AND asset_id > :after ORDER BY asset_id LIMIT :most`,
    sql`id`,
  )} AS first ORDER BY id`;
/** An order that was not placed may have named what does not exist. */
const PLACED = sql`orders > 0 AND state IN ('succeeded', 'accepted', 'incomplete', 'in_doubt')`;
const ORDERED = sql`
  SELECT DISTINCT enterprise AS id FROM order_groups AS own WHERE platform = :platform AND enterprise > :after
    AND EXISTS (SELECT 1 FROM order_counts AS placed
      WHERE placed.platform = :platform AND placed.enterprise_group = own.enterprise_group AND ${PLACED})
  ORDER BY enterprise LIMIT :most`;
const OWNERS = sql`
  SELECT DISTINCT enterprise AS id FROM estate_keys WHERE platform = :platform AND ${amongTexts(sql`key`, sql`:keys`)}`;
const CHANNELS = sql`
  SELECT DISTINCT channel FROM order_counts
  WHERE platform = :platform AND enterprise_group = '' AND channel > '' AND ${PLACED} LIMIT :most`;
const LOOK = sql`
  INSERT INTO estate_turns (platform, next_at, version, looked_at) VALUES (:platform, 0, 0, ${NOW})
  ON CONFLICT (platform) DO UPDATE SET looked_at = ${NOW}`;
/** The beginning of the `reason` of an enterprise that is not read any more; the time from when on follows. */
export const LEFT = 'No caller may see it since ';
const UNREAD = sql`
  SELECT count(CASE WHEN coalesce(substr(reason, 1, length(CAST(:left AS text))), '') <> :left AND coalesce(seen_at, added_at) <= :since THEN 1 END) AS unread,
    min(coalesce(seen_at, added_at)) AS "oldestAt" FROM estate_enterprises WHERE platform = :platform`;

const LOOKED: Step<undefined, undefined> = {
  name: 'end a look for enterprises',
  repeatable: true,
  decide: () => ({ writes: [LOOK.with()] }),
};

const LACKED = sql`
  SELECT enterprise FROM estate_assets, ${rows('lacked', { head: 'text' })}
  WHERE platform = :platform AND substr(details, 1, length(lacked.head)) = lacked.head`;
const UNREADABLE = sql`
  UPDATE estate_enterprises SET state = 'stale', reason = 'a removed encryption key sealed the copy'
  WHERE platform = :platform AND seen_at IS NOT NULL AND ${among(sql`enterprise`, LACKED)}`;
const READ_SOON = sql`
  UPDATE tasks SET due_at = ${NOW} WHERE platform = :platform AND kind = :kind AND due_at > ${NOW} AND ${among(sql`name`, LACKED)}`;
/** Makes the enterprises stale that have assets under encryption keys with these ids, which the gateway lacks, and lets them be read. */
const LOSE_KEYS: Step<readonly string[], undefined> = {
  name: 'lose keys of the estate',
  repeatable: true,
  decide: ([kids]) => {
    const lacked = kids.map((kid) => ({ head: sealedHead(kid) }));
    return { writes: [UNREADABLE.with({ lacked }), READ_SOON.with({ lacked, kind: ESTATE })] };
  },
};

/**
 * An enterprise of the copy. Times are in ms since the epoch. `askedAt` is the time of the last refresh by a caller. It is 1 if only a write has
 * named the enterprise, and 0 if neither has.
 */
export interface KnownEnterprise extends EstateEnterprise {
  readonly askedAt: number;
  /** How often a reading of it was asked for. */
  readonly calls: number;
  /** True if its last reading is too recent for a write to have it read again at once. */
  readonly isJustRead: boolean;
  /** Returns the time of the database, with which the times of readings and of noted writes are compared. */
  readonly now: () => number;
}

/** Keeps what the readings of the estate found. Calls reject with `DatabaseUnavailable` while the database is away. */
@Injectable()
export class EstateRowsStore {
  readonly #change: Step<Change & { readonly hold: TaskHold }, boolean>;

  constructor(
    private readonly database: Database,
    private readonly texts: SealedTexts,
  ) {
    this.#change = changeWith(texts);
    database.trust.keys.onLacked(async (kids) => {
      // A database that takes no writes now must not keep the gateway from starting.
      await database.step(LOSE_KEYS, kids).catch(() => undefined);
    });
  }

  async want(enterprises: Iterable<string>, why: ReadingCall['why']): Promise<void> {
    const wanted = [...enterprises].filter((each) => each !== ALL_ENTERPRISES);
    await Promise.all(wanted.map((enterprise) => this.database.step(want, { enterprise, why })));
  }

  /** Notes ids that writes named, each with the ms in which its write may still be carried out. */
  async note(named: readonly (readonly [id: string, forMs: number])[]): Promise<void> {
    const noted = new Map<string, number>();
    for (const [id, forMs] of named) {
      const key = this.keyOf(id);
      noted.set(key, Math.max(forMs, noted.get(key) ?? 0));
    }
    if (noted.size > 0) await this.database.step(noteWrites, noted);
  }

  /**
   * Returns the assets that writes through the gateway named, by their own ids, those of their products, or the member who had them before. Each
   * has the time until which the last of these writes may be carried out.
   */
  async written(
    enterprise: string,
    assets: readonly HeldAsset[],
    before: ReadonlyMap<string, HeldAsset | undefined> = new Map(),
  ): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>();
    for (const some of chunksOf(assets, ASSETS_PER_LOOK)) {
      const ids = some.map((held) => {
        const named = [...idsOfHeld(enterprise, held), ...formerHolder(before, held)];
        return [held.asset.assetId, named] as const;
      });
      const all = ids.flatMap(([, own]) => own);
      const noted = await this.database.read<object>(writtenOf(this.texts, all));
      if (noted.length === 0) continue;
      const untilOf = untilIn(this.texts, noted);
      for (const [assetId, own] of ids) {
        const last = Math.max(...own.map(untilOf));
        if (last > -Infinity) found.set(assetId, last);
      }
    }
    return found;
  }

  keyOf(text: string): string {
    return keysOf(this.texts, text)[0];
  }

  /** Resolves to the ms until this process may make one call. For `gapMs` after that, no replica makes another call. */
  turn(gapMs: number): Promise<number> {
    return this.database.step(takeTurn, Math.max(MIN_GAP_MS, Math.round(gapMs)));
  }

  /** Resolves to whether the process still has the task. */
  async change(hold: TaskHold, change: Change): Promise<boolean> {
    let isHeld: boolean;
    do isHeld = await this.database.step(this.#change, { ...change, hold });
    while (isHeld && change.isForgotten && (await this.enterprise(hold.name)));
    return isHeld;
  }

  async enterprise(enterpriseGlobalId: string): Promise<KnownEnterprise | undefined> {
    type Row = Record<'seenAt' | 'askedAt' | 'just' | 'now' | 'calls', number> & {
      state: EstateState;
      reason: string | null;
    };
    const one = ONE.with({ enterprise: enterpriseGlobalId, justMs: ONE_WRITTEN_MS, kind: ESTATE });
    const [row] = await this.database.read<Row>(one);
    if (!row) return undefined;
    const { just, now: then, ...known } = row;
    return { ...known, enterpriseGlobalId, isJustRead: just === 1, now: clockFrom(then) };
  }

  /** Whether an enterprise waits that is to be read before others. */
  async isAsked(): Promise<boolean> {
    return (await this.database.read(DUE(ESTATE, { forMs: -FIRST_MS }))).length > 0;
  }

  /** Whether a write has named the enterprise since it was looked up, and no caller has asked for a refresh. */
  async isWritten({ enterpriseGlobalId: enterprise, askedAt, calls }: KnownEnterprise): Promise<boolean> {
    const query = WRITTEN_SINCE.with({ enterprise, askedAt, calls, kind: ESTATE });
    return (await this.database.read(query)).length > 0;
  }

  /** Returns all assets of an enterprise. Undefined stands for an asset that no key of the gateway opens. */
  async assets(enterprise: string): Promise<Map<string, HeldAsset | undefined>> {
    const found = new Map<string, HeldAsset | undefined>();
    for (let after = ''; ;) {
      const query = ASSETS.with({ enterprise, after, most: MAX_READ });
      const part = await this.database.read<{ id: string; details: string }>(query);
      for (const { id, details } of part) {
        found.set(id, openAsset(this.texts, enterprise, details));
        after = id;
      }
      if (part.length === 0) return found;
    }
  }

  /** Notes that the enterprises of callers of all were looked for to the end. */
  async looked(): Promise<void> {
    await this.database.step(LOOKED, undefined);
  }

  /** The enterprises that orders named which were placed, or may have been. */
  async *ordered(): AsyncGenerator<readonly string[]> {
    for (let after = ''; ;) {
      const part = await this.database.read<{ id: string }>(ORDERED.with({ after, most: MAX_READ }));
      yield part.map(({ id }) => id);
      if (part.length < MAX_READ) return;
      after = part.at(-1)?.id ?? '';
    }
  }

  /** The channels of such orders. */
  async channels(): Promise<readonly string[]> {
    const found = await this.database.read<{ channel: string }>(CHANNELS.with({ most: MAX_READ }));
    return found.map(({ channel }) => channel);
  }

  /** The enterprises of which the copy has assets of these customers. */
  async ownersOf(customers: readonly string[]): Promise<readonly string[]> {
    if (customers.length === 0) return [];
    const keys = customers.flatMap((each) => keysOf(this.texts, each));
    return (await this.database.read<{ id: string }>(OWNERS.with({ keys }))).map(({ id }) => id);
  }

  /** Returns the number of enterprises that were not read after `since`, and the time of the oldest reading; null: there is no enterprise. */
  async unread(since: number): Promise<{ readonly unread: number; readonly oldestAt: number | null }> {
    type Found = { readonly unread: number; readonly oldestAt: number | null };
    const [found] = await this.database.read<Found>(UNREAD.with({ since, left: LEFT }));
    return found ?? { unread: 0, oldestAt: null };
  }
}
