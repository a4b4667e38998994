import { rowsAs } from '../database/engine.ts';
import type { SealedTexts } from '../database/sealed-texts.ts';
import {
  among,
  amongTexts,
  type Columns,
  columnNames,
  either,
  NOW,
  type Query,
  rows,
  sql,
} from '../database/sql.ts';
import type { Step } from '../database/step.ts';
import { eventWrites } from '../events/log/event-store.ts';
import { addTasks, heldTasks, holdIn } from '../tasks/task-store.ts';
import type { TaskHold } from '../tasks/task-worker.ts';
import type { EstateChange } from './estate-changes.ts';
import { eventsOf, tellNobody, writtenOf } from './estate-events-store.ts';
import {
  earliestEnd,
  type EstateEnterprise,
  type HeldAsset,
  licencesOf,
  NO_END,
  storable,
  estateRows,
} from './estate-row.ts';
import { keysOf, sealAsset } from './sealed-assets.ts';

/** The kind of the tasks that read enterprises. The name of a task is the id of its enterprise. */
export const ESTATE = 'estate';
/** The kind of the tasks that look for enterprises and endings: they do not wait for readings. */
export const LOOKS = 'estate-looks';
/** The due time of a task that is to be first, relative to now. The task that has been due the longest is taken first. */
export const FIRST_MS = -10 * 365 * 86_400_000;
/** A second refresh within this time is the first one, unless the clock was far ahead at that one. */
const ONE_REFRESH_MS = 60_000;
/** An enterprise that is written again and again is read once in this time. */
export const ONE_WRITTEN_MS = 30_000;
/** The beginning of the name of a task that lets a written enterprise be read. The id of the enterprise follows. */
export const WRITTEN = 'written ';
/** The shortest time between two calls: two calls a second. */
export const MIN_GAP_MS = 500;

export const OF_ENTERPRISE = sql`platform = :platform AND enterprise = :enterprise`;
const KNOWN = sql`
  SELECT enterprise, asked_at AS "askedAt", coalesce(seen_at, 0) AS "seenAt" FROM estate_enterprises
  WHERE platform = :platform AND ${amongTexts(sql`enterprise`, sql`:named`)}`;
const ADD = sql`
  INSERT INTO estate_enterprises (platform, enterprise, state, added_at, asked_at)
  VALUES (:platform, :enterprise, 'unread', ${NOW}, :askedAt) ON CONFLICT DO NOTHING`;
const ASKED = sql`UPDATE estate_enterprises SET asked_at = :askedAt WHERE ${OF_ENTERPRISE}`;
/** The value of `asked_at` of an enterprise that only a write has named. A refresh has its time there. */
export const BY_WRITE = 1;

export interface ReadingCall {
  readonly enterprise: string;
  /**
   * `named`: the enterprise is read in its turn; `written`: it is read next, or 30 s after its last reading; `asked`: it is read next, but
   * not twice within a minute.
   */
  readonly why: 'named' | 'written' | 'asked';
}

/**
 * Adds an unknown enterprise with its task. A known enterprise is read again next, unless it is only `named`. If it was read a moment ago, a
 * write lets it be read a little later. The platform may not know an enterprise with `asked_at`.
 */
export const want: Step<ReadingCall, undefined> = {
  name: 'want an enterprise',
  key: ({ enterprise }) => enterprise,
  repeatable: true,
  look: (wanted) => [KNOWN.with({ named: wanted.map(({ enterprise }) => enterprise) })],
  decide: (wanted, [found = []], now) => {
    type Row = Record<'askedAt' | 'seenAt', number> & { readonly enterprise: string };
    const known = new Map(rowsAs<Row>(found).map((row) => [row.enterprise, row]));
    const isWithin = (ms: number, at = 0) => Math.abs(now - at) < ms;
    const writes = wanted.flatMap(({ enterprise, why }) => {
      const row = known.get(enterprise);
      const isWritten = why === 'written' && row !== undefined;
      if (isWritten && isWithin(ONE_WRITTEN_MS, row.seenAt))
        return addTasks(LOOKS, [{ name: WRITTEN + enterprise, dueAt: row.seenAt + ONE_WRITTEN_MS }]);
      const isAsked = why === 'asked' && !isWithin(ONE_REFRESH_MS, row?.askedAt);
      const isNext = isWritten || isAsked;
      const task = { name: enterprise, ...(isNext && { dueAt: now + FIRST_MS }) };
      return [
        ...(row ? [] : [ADD.with({ enterprise, askedAt: why === 'written' ? BY_WRITE : 0 })]),
        ...(isAsked ? [ASKED.with({ enterprise, askedAt: now })] : []),
        ...(isNext || !row ? addTasks(ESTATE, [task]) : []),
      ];
    });
    return { writes };
  },
};

/** The longest wait for a turn. A clock of the database that was ahead and went back leaves a later time. */
const MAX_WAIT_MS = 600_000;
const LATER = either(sql`GREATEST(estate_turns.next_at, ${NOW})`, sql`max(estate_turns.next_at, ${NOW})`);
const NEXT = sql`CASE WHEN estate_turns.next_at > ${NOW} + :most THEN ${NOW} ELSE ${LATER} END`;
const TURN = sql`
  INSERT INTO estate_turns (platform, next_at, version) VALUES (:platform, ${NOW} + :gap, 0)
  ON CONFLICT (platform) DO UPDATE SET next_at = ${NEXT} + :gap RETURNING next_at - :gap - ${NOW} AS wait`;

/** Takes the next turn of all replicas. Resolves to the ms until it comes. */
export const takeTurn: Step<number, number> = {
  name: 'take a turn of the estate',
  key: () => '',
  decide: ([gap]) => ({
    writes: [TURN.with({ gap, most: MAX_WAIT_MS })],
    results: ([taken]) => [Number(taken?.[0]?.['wait'] ?? gap)],
  }),
};

const CHANGED = sql`
  INSERT INTO estate_turns (platform, next_at, version) VALUES (:platform, 0, 1)
  ON CONFLICT (platform) DO UPDATE SET version = estate_turns.version + 1`;
const ASSET: Columns = { assetId: 'text', details: 'text' };
const ROW: Columns = {
  assetId: 'text',
  rowKey: 'text',
  productUri: 'text',
  productName: 'text',
  licenseType: 'text',
  member: 'text',
  crmProduct: 'text',
  endsAt: 'bigint',
  month: 'bigint',
  seenAt: 'bigint',
  licences: 'bigint',
  unassigned: 'bigint',
  inUse: 'bigint',
  isFirst: 'bigint',
  isFirstOfProduct: 'bigint',
};
const KEY: Columns = { assetId: 'text', rowKey: 'text', key: 'text' };
const ADD_ASSETS = sql`
  INSERT INTO estate_assets (platform, enterprise, ${columnNames(ASSET)})
  SELECT CAST(:platform AS text), CAST(:enterprise AS text), ${columnNames(ASSET)} FROM ${rows('assets', ASSET)}`;
const ADD_ROWS = sql`
  INSERT INTO estate_rows (platform, enterprise, ${columnNames(ROW)})
  SELECT CAST(:platform AS text), CAST(:enterprise AS text), ${columnNames(ROW)} FROM ${rows('added', ROW)}`;
const ADD_KEYS = sql`
  INSERT INTO estate_keys (platform, enterprise, ${columnNames(KEY)})
  SELECT CAST(:platform AS text), CAST(:enterprise AS text), ${columnNames(KEY)} FROM ${rows('keys', KEY)} WHERE true
  ORDER BY ${columnNames(KEY)} ON CONFLICT DO NOTHING`;
const THESE = sql`
  ${OF_ENTERPRISE} AND ${amongTexts(sql`asset_id`, sql`:old`)}`;
const DROP = [
  sql`DELETE FROM estate_assets WHERE ${THESE}`,
  sql`DELETE FROM estate_rows WHERE ${THESE}`,
  sql`DELETE FROM estate_keys WHERE ${THESE}`,
];
const STATE = sql`UPDATE estate_enterprises SET state = :state, reason = :reason, seen_at = :seenAt WHERE ${OF_ENTERPRISE}`;
/** One transaction deletes this number of assets of an enterprise that is forgotten, with what belongs to them. */
const MAX_FORGOTTEN = 200;
const OF_SOME = sql`${OF_ENTERPRISE} AND ${among(
  sql`asset_id`,
  sql`SELECT asset_id FROM estate_assets WHERE ${OF_ENTERPRISE} ORDER BY asset_id LIMIT :most`,
)}`;
const IS_EMPTY = sql`${OF_ENTERPRISE} AND NOT EXISTS (SELECT 1 FROM estate_assets WHERE ${OF_ENTERPRISE})`;
/** The rows of the assets go last, because the other rows are found by them. */
const FORGET_SOME = [
  sql`DELETE FROM estate_rows WHERE ${OF_SOME}`,
  sql`DELETE FROM estate_keys WHERE ${OF_SOME}`,
  sql`DELETE FROM estate_told WHERE ${OF_SOME}`,
  sql`DELETE FROM estate_assets WHERE ${OF_SOME}`,
];
const FORGET_EMPTY = [
  sql`DELETE FROM estate_told WHERE ${IS_EMPTY}`,
  sql`DELETE FROM estate_enterprises WHERE ${IS_EMPTY}`,
];

export interface Change {
  /** The assets that have other rows from now on. */
  readonly kept?: readonly HeldAsset[];
  /** The ids of assets that are gone. */
  readonly gone?: readonly string[];
  /** The changes that events tell. */
  readonly changes?: readonly EstateChange[];
  readonly state?: Omit<EstateEnterprise, 'enterpriseGlobalId'>;
  /** The first reading of the enterprise has ended. */
  readonly isFirst?: boolean;
  /** Nothing of the enterprise is to be kept any more. One step deletes a piece, and the enterprise itself with the last one. */
  readonly isForgotten?: true;
}

interface Work extends Change {
  readonly hold: TaskHold;
}

/** Changes the copy of an enterprise, unless another process has its task. Resolves to whether it did. */
export const changeWith = (texts: SealedTexts): Step<Work, boolean> => ({
  name: 'change the estate',
  key: ({ hold }) => hold.name,
  pastLoss: true,
  bytes: ({ kept = [] }) =>
    kept.reduce((sum, { products }) => sum + 1_000 + 1_000 * Math.max(1, products.length), 0),
  look: (works) => [
    heldTasks(
      ESTATE,
      works.map(({ hold }) => hold.name),
    ),
    writtenOf(
      texts,
      works.flatMap(({ changes = [] }) => changes.flatMap(({ ids }) => ids)),
    ),
  ],
  decide: (works, [found, written], now) => {
    const isHeld = works.map(({ hold }) => holdIn(found, hold.name, hold.attempt) === 'live');
    const held = works.filter((_, at) => isHeld[at]);
    const events = held.flatMap(({ changes = [] }) => eventsOf(texts, changes, written, now));
    return {
      writes: [CHANGED.with(), ...held.flatMap((work) => writesOf(texts, work)), ...eventWrites(events)],
      results: () => isHeld,
    };
  },
});

function writesOf(texts: SealedTexts, work: Work): Query[] {
  const { hold, kept = [], gone = [], state, isFirst = false, isForgotten } = work;
  const enterprise = hold.name;
  if (isForgotten)
    return [
      ...FORGET_SOME.map((each) => each.with({ enterprise, most: MAX_FORGOTTEN })),
      ...FORGET_EMPTY.map((each) => each.with({ enterprise })),
    ];
  const old = [...kept.map(({ asset }) => asset.assetId), ...gone].map(storable);
  const listed = kept.map((each) => {
    const assetId = storable(each.asset.assetId);
    return { assetId, details: sealAsset(texts, enterprise, each) };
  });
  return [
    ...(old.length > 0 ? DROP.map((each) => each.with({ enterprise, old })) : []),
    ...(kept.length > 0
      ? [
          ADD_ASSETS.with({ enterprise, assets: listed }),
          ADD_ROWS.with({ enterprise, added: kept.flatMap((each) => columnsOf(texts, enterprise, each)) }),
          ADD_KEYS.with({ enterprise, keys: kept.flatMap((each) => findable(texts, enterprise, each)) }),
        ]
      : []),
    ...(state ? [STATE.with({ enterprise, ...state })] : []),
    ...(isFirst ? [tellNobody(enterprise)] : []),
  ];
}

function columnsOf(texts: SealedTexts, enterprise: string, held: HeldAsset) {
  const { asset, products } = held;
  return estateRows(enterprise, held).map(({ product, rowKey, ...row }, at) => ({
    crmProduct: product?.crmProductId == null ? '' : keysOf(texts, product.crmProductId)[0],
    productName: storable(product?.productName ?? ''),
    month: monthOf(earliestEnd({ ...row, product })),
    assetId: storable(asset.assetId),
    rowKey,
    productUri: storable(product?.productUri ?? ''),
    licenseType: storable(asset.licenseType ?? ''),
    member: storable(asset.memberGlobalId ?? ''),
    endsAt: earliestEnd({ ...row, product }),
    seenAt: row.seenAt,
    licences: licencesOf(product),
    unassigned: Number(asset.isUnassigned),
    // No event tells the end of an asset whose products are still to be read, since it would lack them.
    inUse: Number(!held.isNew && (asset.memberGlobalId !== null || asset.lent === true)),
    isFirst: Number(at === 0),
    isFirstOfProduct: Number(products.findIndex((each) => each.productUri === product?.productUri) === at),
  }));
}

/** Returns the months since the year 0, or 0 if there is no end. */
function monthOf(endsAt: number): number {
  const end = new Date(endsAt);
  return endsAt === NO_END ? 0 : end.getUTCFullYear() * 12 + end.getUTCMonth();
}

/** Returns the keys by which the asset is found, and those with a `rowKey`, by which one of its rows is found. */
function findable(texts: SealedTexts, enterprise: string, held: HeldAsset) {
  const { assetId, assetNum, customerId } = held.asset;
  const hashed = (ids: readonly (string | null | undefined)[]) =>
    ids.flatMap((id) => (id == null ? [] : keysOf(texts, id)[0]));
  const ofRows = estateRows(enterprise, held).flatMap(({ rowKey, product }) => {
    const { licenseOrderId, channelOrderId } = product ?? {};
    return hashed([licenseOrderId, channelOrderId]).map((key) => ({ rowKey, key }));
  });
  const ofAsset = [...hashed([assetId, assetNum, customerId]), ...held.accounts];
  return [...ofAsset.map((key) => ({ rowKey: '', key })), ...ofRows].map((each) => ({
    ...each,
    assetId: storable(assetId),
  }));
}
