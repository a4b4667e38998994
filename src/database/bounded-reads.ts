import { sql, type Sql } from './sql.ts';

/** One read returns rows of at most this size together, or a single larger row. So a reader of large rows delays nobody. */
export const MAX_READ_BYTES = 1024 * 1024;

/**
 * Makes a table of the first rows of a list, up to {@link MAX_READ_BYTES}. The list has a column `size`, and `by` is its order. The sizes are
 * added up before the texts are read, so a text that does not fit is not read from the disk.
 */
export function firstBytes(list: Sql, by: Sql): Sql {
  return sql`(
    SELECT * FROM (SELECT listed.*, coalesce(sum(size) OVER (ORDER BY ${by} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
      FROM (${list}) AS listed) AS summed WHERE before < ${MAX_BYTES})`;
}
const MAX_BYTES = sql`1048576`;

/** Cuts a list into parts of at most `most` rows and {@link MAX_READ_BYTES}, each of which one read may return. */
export function* readableParts<Row extends { readonly size: number }>(
  found: readonly Row[],
  most: number,
): Generator<Row[]> {
  let part: Row[] = [];
  let bytes = 0;
  for (const row of found) {
    if (part.length >= most || (part.length > 0 && bytes + row.size > MAX_READ_BYTES)) {
      yield part;
      [part, bytes] = [[], 0];
    }
    part.push(row);
    bytes += row.size;
  }
  if (part.length > 0) yield part;
}
