import { among, type Columns, either, fields, FOR_UPDATE, rows, sql, type Sql } from '../database/sql.ts';

/*
 * Statements on the rows of `writes` that a list names. PostgreSQL keeps a plan that it made while the table was small, and that plan may read all
 * rows of a platform for a list of names. A subquery for each name forces PostgreSQL to look up each row by its whole key.
 */

/** The columns of a `WriteRow`, without the details, which may be large. */
export const WRITE_COLUMNS: Columns = {
  ...{ name: 'text', state: 'text', owner: 'text', fingerprint: 'text', caller: 'text', channel: 'text' },
  ...{ enterpriseGroup: 'text', submittedAt: 'bigint', settledAt: 'bigint', leaseUntil: 'bigint' },
  ...{ notBefore: 'bigint' },
  ...{ taken: 'text', countedOn: 'text', size: 'bigint' },
};
export const WRITE_FIELDS = fields({ ...WRITE_COLUMNS, details: 'text' });
export const FIELDS_BUT_DETAILS = fields(WRITE_COLUMNS);

const WANTED = rows('wanted', { wantedName: 'text' });
const IN_WANTED = among(sql`writes.name`, sql`SELECT wanted_name FROM ${WANTED}`);

/** The parameter `wanted` of these statements. */
export function wanted(names: readonly string[]) {
  return { wanted: names.map((wantedName) => ({ wantedName })) };
}

function selected(columns: Sql, key: Sql, lock: Sql): Sql {
  return either(
    sql`SELECT ${columns} FROM ${WANTED} CROSS JOIN LATERAL (
      SELECT * FROM writes WHERE writes.platform = :platform AND ${key} = wanted_name LIMIT 1 ${lock}) AS writes`,
    sql`SELECT ${columns} FROM writes WHERE platform = :platform AND ${among(key, sql`SELECT wanted_name FROM ${WANTED}`)}`,
  );
}

export function namedRows(columns: Sql): Sql {
  return selected(columns, sql`writes.name`, sql``);
}

/** Locks the rows until the transaction has ended. The names are sorted, so that no two transactions wait for each other. */
export function lockedRows(columns: Sql): Sql {
  return selected(columns, sql`writes.name`, FOR_UPDATE);
}

export const ROWS_OF_ALIASES = selected(sql`alias, name`, sql`writes.alias`, sql``);

export const DELETE_NAMED = either(
  sql`DELETE FROM writes USING ${WANTED} CROSS JOIN LATERAL (
    SELECT ctid AS place FROM writes AS row WHERE row.platform = :platform AND row.name = wanted_name LIMIT 1) AS found
    WHERE writes.ctid = found.place`,
  sql`DELETE FROM writes WHERE platform = :platform AND ${IN_WANTED}`,
);

/** The `list` must be the parameter `moves`, and have a column `name`. */
export function updatedRows(assignments: Sql, list: Sql): Sql {
  return either(
    sql`UPDATE writes SET ${assignments} FROM ${list} CROSS JOIN LATERAL (
      SELECT ctid AS place FROM writes AS row WHERE row.platform = :platform AND row.name = moves.name LIMIT 1) AS found
      WHERE writes.ctid = found.place`,
    sql`UPDATE writes SET ${assignments} FROM ${list} WHERE platform = :platform AND writes.name = moves.name
      AND ${among(sql`writes.name`, sql`SELECT name FROM ${list}`)}`,
  );
}
