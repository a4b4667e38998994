import { DatabaseFault, type Engine, type Rows } from './engine.ts';
import { either, sql, type Sql } from './sql.ts';

interface Migration {
  /** They have no gaps, and what is released never changes. */
  readonly number: number;
  /** The version of the gateway before goes on with the tables as they are afterwards: both run beside each other in a deployment. */
  readonly statements: readonly Sql[];
}

/** Every table has the platform's name as the first column of its key: several platforms may share a database. */
const migrations: readonly Migration[] = [
  {
    number: 1,
    statements: [
      sql`CREATE TABLE schema_versions (version bigint PRIMARY KEY, applied_at bigint NOT NULL)`,
      // trust.ts
      sql`CREATE TABLE identities (platform text PRIMARY KEY, identity text NOT NULL, confirmed_at bigint NOT NULL,
        lost_at bigint, lost_seen text)`,
      sql`CREATE TABLE numbers (platform text NOT NULL, name text NOT NULL, value bigint NOT NULL,
        PRIMARY KEY (platform, name))`,
    ],
  },
];

/** The version that this build needs. */
export const SCHEMA_VERSION = migrations.at(-1)?.number ?? 0;

const IS_THERE = either(
  sql`SELECT to_regclass('schema_versions') IS NOT NULL AS there`,
  sql`SELECT count(*) AS there FROM sqlite_master WHERE name = 'schema_versions'`,
);
const VERSION = sql`SELECT max(version) AS version FROM schema_versions`;
/** One gateway at a time, and with all the time that it needs. */
const LOCK = either(
  sql`SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true), pg_advisory_xact_lock(5454365402)`,
  sql`SELECT 1`,
);
const APPLIED = sql`INSERT INTO schema_versions (version, applied_at) VALUES (:version, :at)`;
const MISSING_RIGHTS = sql`
  SELECT needed AS needs, relname AS of, current_user AS role FROM pg_class, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
  WHERE relkind = 'r' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('schema_versions'))
    AND NOT has_table_privilege(pg_class.oid, needed) ORDER BY relname, needed`;
const MAY_CREATE = sql`
  SELECT coalesce(current_schema(), '') AS of, current_user AS role,
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may`;

/** The tables in a database: which version of them it has, and how they get to that of this build. Forward only. */
export class DatabaseSchema {
  constructor(private readonly engine: Engine) {}

  /** 0 where there are none. */
  async version(): Promise<number> {
    const [row] = await this.engine.read(IS_THERE.with());
    return row?.['there'] ? versionIn(await this.engine.read(VERSION.with())) : 0;
  }

  /** The version before. Rejects with `rights` where the role may not. */
  async migrate(): Promise<number> {
    for (;;) {
      const before = await this.version();
      if (before >= SCHEMA_VERSION) return before;
      await this.#mayCreate();
      // Another gateway may have made the tables before this one had the lock.
      let isOver = false;
      const decide = ([, found]: readonly Rows[]) => {
        const version = before > 0 ? versionIn(found) : 0;
        if (before === 0 && found?.[0]?.['there']) return undefined;
        isOver = true;
        return migrations
          .filter(({ number }) => number > version)
          .flatMap(({ number, statements }) => [
            ...statements.map((statement) => statement.with()),
            APPLIED.with({ version: number, at: Date.now() }),
          ]);
      };
      const look = [LOCK.with(), before > 0 ? VERSION.with() : IS_THERE.with()];
      await this.engine.transact(look, decide, { isPatient: true });
      if (isOver) return before;
    }
  }

  /** What the role of a running gateway lacks, in words; undefined: nothing. */
  async missingRights(): Promise<string | undefined> {
    if (this.engine.kind === 'sqlite') return undefined;
    const found = await this.engine.read(MISSING_RIGHTS.with());
    const [first] = found;
    if (!first) return undefined;
    const missing = found.map((row) => `${String(row['needs'])} on ${String(row['of'])}`).join(', ');
    const role = String(first['role']);
    return `gives the role ${role} of DATABASE_URL no right to ${missing}: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … TO ${role}`;
  }

  async #mayCreate(): Promise<void> {
    if (this.engine.kind === 'sqlite') return;
    const [found] = await this.engine.read(MAY_CREATE.with());
    if (found?.['may']) return;
    const [role, schema] = [String(found?.['role']), String(found?.['of'] || 'of its search_path')];
    throw new DatabaseFault(
      'rights',
      `the role ${role} of DATABASE_URL lacks CREATE on the schema ${schema}, which the tables need: GRANT CREATE ON SCHEMA ${schema} TO ${role}, or run \`npm run database-init\` as a role that has it`,
    );
  }
}

function versionIn(found: Rows | undefined): number {
  return Number(found?.[0]?.['version'] ?? 0);
}
