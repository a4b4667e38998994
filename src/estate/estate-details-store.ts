import { firstBytes } from '../database/bounded-reads.ts';
import type { Database } from '../database/database.ts';
import type { SealedTexts } from '../database/sealed-texts.ts';
import { rows, sql } from '../database/sql.ts';
import { type EstateRow, estateRows } from './estate-row.ts';
import { openAsset } from './sealed-assets.ts';

/** A row of a page: the columns of its sort order, which name it. */
export interface PageRow {
  readonly enterprise: string;
  readonly asset_id: string;
  readonly row_key: string;
}
interface AssetDetails {
  readonly place: number;
  readonly enterprise: string;
  readonly details: string | null;
}
const WANTED = rows('wanted', { enterprise: 'text', assetId: 'text', place: 'bigint' });
const IS_WANTED = sql`
  own.platform = :platform AND own.enterprise = wanted.enterprise AND own.asset_id = wanted.asset_id`;
/** Reads the sealed details of the first of these assets, as many as one read may return. */
const DETAILS = sql`
  SELECT place, enterprise, (SELECT details FROM estate_assets AS own WHERE ${IS_WANTED}) AS details
  FROM ${firstBytes(
    sql`SELECT wanted.*, (SELECT octet_length(details) FROM estate_assets AS own WHERE ${IS_WANTED}) AS size FROM ${WANTED}`,
    sql`place`,
  )} AS wanted ORDER BY place`;

/** Opens each asset of these rows once, in reads of a bounded size. Leaves out the rows of assets that no key opens. */
export async function openedRows(
  database: Database,
  texts: SealedTexts,
  listed: readonly PageRow[],
): Promise<EstateRow[]> {
  const assets = [...Map.groupBy(listed, (row) => JSON.stringify([row.enterprise, row.asset_id])).values()];
  const names = assets.flatMap(([row], place) =>
    row ? { enterprise: row.enterprise, assetId: row.asset_id, place } : [],
  );
  const found = new Map<PageRow, EstateRow | undefined>();
  for (let from = 0; from < names.length;) {
    const read = await database.read<AssetDetails>(DETAILS.with({ wanted: names.slice(from) }));
    for (const { place, enterprise, details } of read) {
      const held = details === null ? undefined : openAsset(texts, enterprise, details);
      const own = held ? estateRows(enterprise, held) : [];
      for (const row of assets[place] ?? [])
        found.set(
          row,
          own.find(({ rowKey }) => rowKey === row.row_key),
        );
    }
    from += read.length;
  }
  return listed.flatMap((row) => found.get(row) ?? []);
}
