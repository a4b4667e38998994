/** The value of a parameter. A list is sent as JSON: of objects for {@link rows}, of texts for {@link amongTexts}. */
export type SqlParameter = string | number | null | Uint8Array | readonly object[] | readonly string[];
export type SqlParameters = Readonly<Record<string, SqlParameter>>;

export type EngineKind = 'postgres' | 'sqlite';
type ColumnType = 'text' | 'bigint' | 'double precision';

/**
 * A piece of SQL in both dialects. Only {@link sql}, {@link either} and {@link rows} make pieces, and a piece consists of pieces alone, so
 * no string of a running program gets into a statement. Values are parameters, written `:name`. `:platform` is always set.
 */
class Sql {
  readonly #named = new Map<EngineKind, { readonly text: string; readonly names: readonly string[] }>();

  constructor(private readonly texts: Readonly<Record<EngineKind, string>>) {}

  textFor(engine: EngineKind): string {
    return this.texts[engine];
  }

  /** Returns the text with the engine's own placeholders, and the parameters in the order of the placeholders. */
  compiledFor(engine: EngineKind): { readonly text: string; readonly names: readonly string[] } {
    let compiled = this.#named.get(engine);
    if (!compiled) {
      compiled = compile(this.texts[engine]);
      this.#named.set(engine, compiled);
    }
    return compiled;
  }

  with(parameters: SqlParameters = {}): Query {
    return { statement: this, parameters };
  }
}

export type { Sql };

export interface Query {
  readonly statement: Sql;
  readonly parameters: SqlParameters;
  /** The channel whose waiters wake after the commit of this write. */
  readonly wakes?: string;
}

/** A parameter is a colon and a name; `::` is a cast of PostgreSQL. */
const PARAMETER = /(?<!:):([a-z]\w*)/gi;

function compile(source: string) {
  const placed: string[] = [];
  const text = source.replaceAll(PARAMETER, (_, name: string) => {
    const known = placed.indexOf(name);
    return `$${known < 0 ? placed.push(name) : known + 1}`;
  });
  return { text, names: placed };
}

export function sql(strings: TemplateStringsArray, ...pieces: readonly Sql[]): Sql {
  const textFor = (engine: EngineKind) =>
    strings.map((text, at) => text + (pieces[at]?.textFor(engine) ?? '')).join('');
  return new Sql({ postgres: textFor('postgres'), sqlite: textFor('sqlite') });
}

/** Makes a piece that has a different text in each dialect. */
export function either(postgres: Sql, sqlite: Sql): Sql {
  return new Sql({ postgres: postgres.textFor('postgres'), sqlite: sqlite.textFor('sqlite') });
}

/** Columns of a table by their names in the program: the column of `createdAt` is `created_at`. */
export type Columns = Readonly<Record<string, ColumnType>>;

function listOf(columns: Columns, itemOf: (name: string, column: string) => string): string {
  const items = Object.keys(columns).map((name) => {
    if (!/^[a-z]\w*$/i.test(name)) throw new Error('names of columns are words');
    return itemOf(
      name,
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    );
  });
  return items.join(', ');
}

function ofBoth(text: string): Sql {
  return new Sql({ postgres: text, sqlite: text });
}

/** Returns the columns as a statement names them. */
export function columnNames(columns: Columns): Sql {
  return ofBoth(listOf(columns, (_, column) => column));
}

/** Returns the columns for the list of a SELECT, whose rows then have the names of the program. */
export function fields(columns: Columns): Sql {
  return ofBoth(listOf(columns, (name, column) => `${column} AS "${name}"`));
}

/** Makes a table of a list of objects that is passed as a parameter. The table has these columns and the parameter's name. */
export function rows(parameter: string, columns: Columns): Sql {
  // Sorted as the keys of the tables are, so that every statement locks rows in the same order.
  const typed = listOf(
    columns,
    (name) => `"${name}" ${columns[name]}${columns[name] === 'text' ? ' COLLATE "C"' : ''}`,
  );
  const read = listOf(columns, (name, column) => `"${name}" AS ${column}`);
  const picked = listOf(columns, (name, column) => `value ->> '${name}' AS ${column}`);
  return new Sql({
    postgres: `(SELECT ${read} FROM json_to_recordset(:${parameter}::json) AS listed(${typed})) AS ${parameter}`,
    // With the limit SQLite reads the list once and looks up its rows. Without it, SQLite reads the whole table for each row.
    sqlite: `(SELECT ${picked} FROM json_each(:${parameter}) LIMIT -1) AS ${parameter}`,
  });
}

/**
 * Tests whether the column has one of the values of a SELECT. Every statement that finds rows by a list uses this form. PostgreSQL keeps
 * the plan that it made while the table was small, and only with this form that plan uses the whole key.
 */
export function among(column: Sql, values: Sql): Sql {
  return either(sql`${column} = ANY(ARRAY(${values}))`, sql`${column} IN (${values})`);
}

/** Tests whether the column has one of the texts of a list that is passed as this parameter. */
export function amongTexts(column: Sql, list: Sql): Sql {
  return among(
    column,
    either(sql`SELECT json_array_elements_text(${list}::json)`, sql`SELECT value FROM json_each(${list})`),
  );
}

/** The time of the database in milliseconds. For SQLite it is the time of this process, which the engine passes as `:clock`. */
export const NOW = either(
  sql`(extract(epoch FROM clock_timestamp()) * 1000)::bigint`,
  sql`CAST(:clock AS INTEGER)`,
);

/** The statement that only tells the time of the database, as `now`. */
export const CLOCK = sql`SELECT ${NOW} AS now`;

/** The end of a SELECT whose rows no other transaction can change or lock before this one ends. SQLite allows one writer at a time. */
export const FOR_UPDATE = either(sql`FOR UPDATE`, sql``);
