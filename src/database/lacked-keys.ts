import { ConfigError } from '../config/config-error.ts';
import { sealedHead } from '../kit/sealed-store/sealed-store.ts';
import type { Database } from './database.ts';
import { either, rows, type Sql, sql } from './sql.ts';

/**
 * Counts the rows of a table that are sealed under keys that the gateway lacks, by key. `column` is the sealed text, and `isSealed` tests
 * for other texts of the row that are.
 */
export function sealedUnderLacked(table: Sql, column: Sql, isNeeded: Sql, isSealed = sql`1 = 0`): Sql {
  return sql`
    SELECT lacked.kid AS kid, count(*) AS number FROM ${table}, ${rows('lacked', { kid: 'text', head: 'text' })}
    WHERE platform = :platform AND ${isNeeded}
      AND (substr(${column}, 1, length(lacked.head)) = lacked.head OR ${isSealed})
    GROUP BY lacked.kid ORDER BY lacked.kid`;
}

/** Tests, within {@link sealedUnderLacked}, whether sealed bytes are under the key. */
export function areUnderLacked(bytes: Sql): Sql {
  const head = either(sql`convert_to(lacked.head, 'UTF8')`, sql`CAST(lacked.head AS BLOB)`);
  return sql`substr(${bytes}, 1, length(lacked.head)) = ${head}`;
}

/**
 * Refuses the start where a key is missing that something needed is sealed under. If the database was away at the start, orders stop when it
 * is back. `what` names what is sealed, after its number.
 */
export function needKeysOf(
  database: Database,
  what: string,
  sealed: Sql,
  values: Parameters<Sql['with']>[0] = {},
): void {
  database.trust.keys.onLacked(async (kids) => {
    const lacked = kids.map((kid) => ({ kid, head: sealedHead(kid) }));
    const found = await database.read<{ kid: string; number: number }>(sealed.with({ ...values, lacked }));
    if (found.length > 0)
      throw new ConfigError(
        found.map(
          ({ kid, number }) =>
            `ENCRYPTION_KEYS lacks the key ${kid}, under which ${number} ${what}: add it at the end`,
        ),
      );
  });
}
