import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Database } from '../database/database.ts';
import { SealedTexts } from '../database/sealed-texts.ts';
import { amongTexts, either, sql, type Sql, type SqlParameters } from '../database/sql.ts';
import type { EstateSummaryDto, ProductSumDto } from './estate.dto.ts';
import type { EstateEnterprise, EstateRow } from './estate-row.ts';
import { openedRows, type PageRow } from './estate-details-store.ts';
import {
  type Condition,
  conditionOf,
  type EstateOrder,
  type EstateQuery,
  type FoundKey,
  orderOf,
  statement,
} from './estate-filters-store.ts';
import { keysOf } from './sealed-assets.ts';

const FOUND = sql`
  SELECT enterprise, asset_id AS "assetId", row_key AS "rowKey" FROM estate_keys
  WHERE platform = :platform AND ${amongTexts(sql`key`, sql`:keys`)} LIMIT :most`;

const OF_STATES = sql`SELECT enterprise, state, reason, seen_at AS "seenAt" FROM estate_enterprises`;
const COUNTED = sql`
  SELECT count(*) AS known, count(CASE WHEN state = 'whole' THEN 1 END) AS whole FROM estate_enterprises`;

type ProductSum = Omit<ProductSumDto, 'nextEndsAt'> & { readonly nextEndsAt: number | null };

type EstateSums = Pick<EstateSummaryDto, 'assets' | 'products' | 'unassigned' | 'endingByMonth'> & {
  readonly byProduct: readonly ProductSum[];
};

type Scope = Pick<EstateQuery, 'granted' | 'enterprise'>;

/** The conditions of a list, with `find` as the caller wrote it. */
export type WantedRows = Omit<EstateQuery, 'find'> & { readonly find?: string | undefined };

/** The sums for one product and one month in which rows end. The product is '' for assets without products, and the month is 0 for rows without an end. */
const GROUPS = sql`
  product_uri AS "productUri", month, max(product_name) AS "productName", CAST(sum(is_first_of_product) AS bigint) AS assets,
  CAST(sum(licences) AS bigint) AS licences, CAST(sum(is_first_of_product * unassigned) AS bigint) AS unassigned, count(CASE WHEN row_key <> '' THEN 1 END) AS products,
  CAST(sum(is_first) AS bigint) AS "allAssets", CAST(sum(is_first * unassigned) AS bigint) AS "allUnassigned",
  min(CASE WHEN month <> 0 AND ends_at >= :now THEN ends_at END) AS "nextEndsAt"`;
/** Reading the table once is quicker than looking up each row of an index. */
const EVERYTHING = either(sql`platform = :platform`, sql`+platform = :platform`);
type Sum = 'assets' | 'licences' | 'unassigned' | 'products' | 'allAssets' | 'allUnassigned';
type Group = Readonly<Record<Sum | 'month', number>> &
  Pick<ProductSum, 'productUri' | 'productName' | 'nextEndsAt'>;

const LOOKED = sql`SELECT 1 AS looked FROM estate_turns WHERE platform = :platform AND looked_at IS NOT NULL`;
const VERSION = sql`SELECT version FROM estate_turns WHERE platform = :platform`;
const MINUTE_MS = 60_000;
const MAX_KEPT = 1_000;
/** The most enterprises that one read returns. */
const MAX_READ = 1_000;
const MAX_KEPT_SUMS = 50;
const MAX_FOUND = 100_000;

/** Lists and sums of the copy. Rejects with `DatabaseUnavailable` while the database cannot do it. */
@Injectable()
export class EstateListStore {
  // Counting reads every row, so totals and sums are kept until a reading changes the copy. So are the positions at which next pages begin.
  readonly #totals = new LRUCache<string, Promise<number>>({ max: MAX_KEPT });
  readonly #groups = new LRUCache<string, Promise<readonly Group[]>>({ max: MAX_KEPT_SUMS });
  readonly #places = new LRUCache<string, SqlParameters>({ max: MAX_KEPT });
  #hasLooked = false;

  constructor(
    private readonly database: Database,
    private readonly texts: SealedTexts,
  ) {}

  async page(
    query: WantedRows,
    order: EstateOrder,
    offset: number,
    count: number,
  ): Promise<{ readonly found: readonly EstateRow[]; readonly total: number }> {
    const condition = await this.#conditionOf(query);
    const version = await this.#version();
    const list = `${version} ${idOf(condition.parameters)}`;
    const last = this.#places.get(`${offset} ${order} ${list}`);
    // One read runs after the other, so that a page never uses two of the few connections.
    const total = await this.#total(condition, list);
    if (offset >= total) return { found: [], total };
    if (!last && offset > count) {
      // A page of the second half is read from the end, which is nearer.
      const isFar = offset > total / 2;
      const from = { count: Math.min(count, total - offset), offset: Math.max(0, total - offset - count) };
      const back = order.startsWith('-') ? (order.slice(1) as EstateOrder) : (`-${order}` as EstateOrder);
      if (isFar) return { found: (await this.#part(condition, back, from)).found.toReversed(), total };
    }
    const { found, last: end } = await this.#part(condition, order, { count, ...(last ?? { offset }) });
    if (end) this.#places.set(`${offset + count} ${order} ${list}`, end);
    return { found, total };
  }

  /** Yields every row, `count` at a time. A row that moves in the order meanwhile may come twice or not at all; every other row comes once. */
  async *all(query: WantedRows, order: EstateOrder, count: number): AsyncGenerator<readonly EstateRow[]> {
    const condition = await this.#conditionOf(query);
    for (let place: SqlParameters = { offset: 0 }; ;) {
      const { found: part, last } = await this.#part(condition, order, { count, ...place });
      yield part;
      if (!last) return;
      place = last;
    }
  }

  /** Reads the rows from an offset, or after the last row of the part before. `last` is undefined at the end of the list. */
  async #part(
    { source, where, parameters, names }: Condition,
    order: EstateOrder,
    place: SqlParameters & { readonly count: number },
  ): Promise<{ readonly found: readonly EstateRow[]; readonly last: SqlParameters | undefined }> {
    const { columns, by, after } = orderOf(order);
    const isFrom = 'offset' in place;
    const part = statement(
      `part ${isFrom} ${order} ${names}`,
      () => sql`
      SELECT ${columns} FROM ${source} WHERE ${where} ${isFrom ? sql`` : sql`AND ${after}`}
      ORDER BY ${by} LIMIT :count ${isFrom ? sql`OFFSET :offset` : sql``}`,
    );
    const read = await this.#read<SqlParameters & PageRow>(part, { ...parameters, ...place });
    const found = await openedRows(this.database, this.texts, read);
    const end = read.at(-1);
    if (!end || read.length < place.count) return { found, last: undefined };
    const { enterprise, ...last } = end;
    return { found, last: { ...last, at_enterprise: enterprise } };
  }

  async #version(): Promise<number> {
    return (await this.#read<{ version: number }>(VERSION, {}))[0]?.version ?? 0;
  }

  #total({ source, where, parameters, names }: Condition, list: string): Promise<number> {
    const total = statement(
      `total ${names}`,
      () => sql`SELECT count(*) AS total FROM ${source} WHERE ${where}`,
    );
    return this.#once(list, this.#totals, async () => {
      const [counted] = await this.#read<{ total: number }>(total, parameters);
      return counted?.total ?? 0;
    });
  }

  #once<T>(key: string, kept: LRUCache<string, Promise<T>>, read: () => Promise<T>): Promise<T> {
    const known = kept.get(key) ?? read();
    kept.set(key, known);
    known.catch(() => kept.delete(key));
    return known;
  }

  /** Returns the enterprises that the reader may see, or the one that is wanted. */
  async enterprises({ granted, enterprise }: Scope): Promise<readonly EstateEnterprise[]> {
    const { where, parameters, names } = conditionOf({ granted, enterprise });
    const some = statement(
      `states ${names}`,
      () => sql`${OF_STATES} WHERE ${where} AND enterprise > :after ORDER BY enterprise LIMIT :most`,
    );
    const found: EstateEnterprise[] = [];
    for (let after = ''; ;) {
      type Row = Omit<EstateEnterprise, 'enterpriseGlobalId'> & { readonly enterprise: string };
      const part = await this.#read<Row>(some, { ...parameters, after, most: MAX_READ });
      for (const { enterprise: enterpriseGlobalId, ...row } of part)
        found.push({ enterpriseGlobalId, ...row });
      if (part.length < MAX_READ) return found;
      after = part.at(-1)?.enterprise ?? '';
    }
  }

  /** Counts the enterprises that the reader may see, or the one that is wanted, and those of them that are whole. */
  async counted({ granted, enterprise }: Scope): Promise<{ readonly known: number; readonly whole: number }> {
    const { where, parameters, names } = conditionOf({ granted, enterprise });
    const counted = statement(`counted ${names}`, () => sql`${COUNTED} WHERE ${where}`);
    type Counts = { readonly known: number; readonly whole: number };
    return (await this.#read<Counts>(counted, parameters))[0] ?? { known: 0, whole: 0 };
  }

  /** Resolves to true once the gateway has searched for the enterprises of a caller with all enterprises. Before that, some may be unknown. */
  async hasLooked(): Promise<boolean> {
    this.#hasLooked ||= (await this.#read(LOOKED, {})).length > 0;
    return this.#hasLooked;
  }

  async sums({ granted, enterprise }: Scope): Promise<EstateSums> {
    const { source, where, parameters, names } = conditionOf({ granted, enterprise });
    const groups = statement(
      `groups ${names}`,
      () => sql`
      SELECT ${GROUPS} FROM ${source} WHERE ${granted || enterprise !== undefined ? where : EVERYTHING} GROUP BY product_uri, month ORDER BY product_uri, month`,
    );
    // The sums are kept for a minute at most: once the next end of a product has passed, another end is the next.
    const now = Date.now();
    const key = `${await this.#version()} ${Math.floor(now / MINUTE_MS)} ${idOf(parameters)}`;
    const found = await this.#once(key, this.#groups, () =>
      this.#read<Group>(groups, { ...parameters, now }),
    );
    const sum = (of: readonly Group[], name: Sum) => of.reduce((all, each) => all + each[name], 0);
    const products = found.filter(({ productUri }) => productUri !== '');
    const byMonth = [...Map.groupBy(found, ({ month }) => month)].filter(([month]) => month > 0);
    const byProduct = [...Map.groupBy(products, ({ productUri }) => productUri)].map(([productUri, own]) => {
      const ends = own.flatMap(({ nextEndsAt }) => nextEndsAt ?? []);
      return {
        productUri,
        productName: own.find(({ productName }) => productName)?.productName ?? null,
        assets: sum(own, 'assets'),
        licences: sum(own, 'licences'),
        unassigned: sum(own, 'unassigned'),
        nextEndsAt: ends.length > 0 ? Math.min(...ends) : null,
      };
    });
    return {
      assets: sum(found, 'allAssets'),
      products: sum(found, 'products'),
      unassigned: sum(found, 'allUnassigned'),
      endingByMonth: byMonth
        .map(([month, own]) => ({
          month: monthName(month),
          products: sum(own, 'products'),
          licences: sum(own, 'licences'),
        }))
        .filter(({ products: count }) => count > 0)
        .toSorted((one, other) => (one.month < other.month ? -1 : 1)),
      byProduct: byProduct.toSorted((one, other) => other.licences - one.licences),
    };
  }

  async #conditionOf({ find, ...query }: WantedRows): Promise<Condition> {
    if (find === undefined) return conditionOf(query);
    // The copy has the ids as the platform sends them, and a keyboard makes the letters with marks of one form.
    const forms = new Set([find, find.normalize('NFC'), find.normalize('NFD')]);
    const hashes = [...forms].flatMap((form) => keysOf(this.texts, form));
    const found = await this.#read<FoundKey>(FOUND, {
      keys: hashes,
      most: MAX_FOUND,
    });
    return conditionOf({ ...query, find: { keys: found, hashes } });
  }

  #read<R>(wanted: Sql, parameters: SqlParameters): Promise<readonly R[]> {
    return this.database.read<R>(wanted.with(parameters));
  }
}

/** Names a list in the caches. Its parameters may be large: they have every asset that a search has found. */
function idOf(parameters: SqlParameters): string {
  return hash('sha256', JSON.stringify(parameters), 'base64url');
}

function monthName(months: number): string {
  const [year, month] = [Math.floor(months / 12), (months % 12) + 1];
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`;
}
