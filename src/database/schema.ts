import { ConfigError } from '../config/config-error.ts';
import { DatabaseFault, type Engine, MAX_CONFLICTS, type Rows } from './engine.ts';
import { either, rows, sql, type Sql } from './sql.ts';

interface Migration {
  /** The numbers have no gaps. A released migration never changes. */
  readonly number: number;
  /**
   * The statements leave tables that the previous version of the gateway can use, because both versions run at the same time in a
   * deployment.
   */
  readonly statements: readonly Sql[];
}

/**
 * Texts are compared byte by byte, as in SQLite. The order of the server's locale changes with an update of its system, and an index that is
 * sorted by it finds rows no longer.
 */
const PLAIN = either(sql`COLLATE "C"`, sql``);

const PLAIN_TEXT = sql`TYPE text COLLATE "C"`;

/** Every table has the platform's name as the first column of its key: several platforms may share a database. */
const migrations: readonly Migration[] = [
  {
    number: 1,
    statements: [
      sql`CREATE TABLE schema_versions (version bigint PRIMARY KEY, applied_at bigint NOT NULL)`,
      // trust.ts
      sql`CREATE TABLE identities (platform text PRIMARY KEY, identity text NOT NULL, confirmed_at bigint NOT NULL,
        lost_at bigint, lost_seen text, key_checks text, trial text)`,
      sql`CREATE TABLE numbers (platform text NOT NULL, name text NOT NULL, value bigint NOT NULL,
        PRIMARY KEY (platform, name))`,
      // order-ledger: a write that must not run twice, by its name. Only orders have a channel and a group of enterprises.
      sql`CREATE TABLE writes (platform text NOT NULL, name text NOT NULL, state text NOT NULL, owner text NOT NULL,
        fingerprint text NOT NULL, caller text NOT NULL, alias text, channel text, enterprise_group text,
        submitted_at bigint NOT NULL, settled_at bigint, not_before bigint, lease_until bigint NOT NULL, ends_at bigint,
        taken text, counted_on text NOT NULL, size bigint NOT NULL, details text NOT NULL, PRIMARY KEY (platform, name))`,
      sql`CREATE UNIQUE INDEX writes_by_alias ON writes (platform, alias) WHERE alias IS NOT NULL`,
      sql`CREATE INDEX writes_by_lease ON writes (platform, lease_until) WHERE state = 'sending'`,
      sql`CREATE INDEX writes_by_time ON writes (platform, not_before, name) WHERE state = 'scheduled'`,
      sql`CREATE INDEX writes_by_end ON writes (platform, ends_at) WHERE ends_at IS NOT NULL`,
      sql`CREATE INDEX orders_by_state ON writes (platform, state, submitted_at, name) WHERE channel IS NOT NULL`,
      sql`CREATE INDEX orders_by_channel ON writes (platform, channel, state, submitted_at, name)
        WHERE channel IS NOT NULL`,
      sql`CREATE INDEX orders_by_group ON writes (platform, enterprise_group, channel, state, submitted_at, name)
        WHERE channel IS NOT NULL`,
      // The enterprises that the items of an order name. An item without one has ''.
      sql`CREATE TABLE order_groups (platform text NOT NULL, enterprise text NOT NULL, enterprise_group text NOT NULL,
        members bigint NOT NULL, PRIMARY KEY (platform, enterprise, enterprise_group))`,
      // Counts of all orders ('' and ''), of a channel (its group is ''), and of a group in a channel.
      sql`CREATE TABLE order_counts (platform text NOT NULL, enterprise_group text NOT NULL, channel text NOT NULL,
        state text NOT NULL, orders bigint NOT NULL, PRIMARY KEY (platform, enterprise_group, channel, state))`,
      // The use of one caller: of a budget in a month, of its bytes on a day, and of its scheduled orders.
      sql`CREATE TABLE uses (platform text NOT NULL, caller text NOT NULL, period text NOT NULL, kind text NOT NULL,
        used bigint NOT NULL, PRIMARY KEY (platform, caller, period, kind))`,
      sql`CREATE TABLE maintenance (platform text PRIMARY KEY, stops text NOT NULL, starts_at bigint NOT NULL,
        ends_at bigint NOT NULL, reason text NOT NULL, set_by text NOT NULL)`,
      // The feed: state changes of orders, and ends of jobs.
      sql`CREATE TABLE events (platform text NOT NULL, number bigint NOT NULL, kind text NOT NULL, name text NOT NULL,
        state text NOT NULL, at bigint NOT NULL, size bigint NOT NULL, record text NOT NULL,
        PRIMARY KEY (platform, number))`,
      // Asset numbers that a caller reserved, and the order that has used one.
      sql`CREATE TABLE reservations (platform text NOT NULL, caller text NOT NULL, asset_num text NOT NULL,
        reserved_until bigint NOT NULL, bound_until bigint NOT NULL, enterprise text, order_name text,
        PRIMARY KEY (platform, caller, asset_num))`,
      // The results of the reconciliation of an order.
      sql`CREATE TABLE attempts (platform text NOT NULL, name text NOT NULL, submitted_at bigint NOT NULL, at bigint NOT NULL,
        attempt text NOT NULL, PRIMARY KEY (platform, name, submitted_at, at))`,
      sql`CREATE INDEX attempts_by_time ON attempts (platform, at)`,
      // tasks/task-store.ts
      sql`CREATE TABLE tasks (platform text NOT NULL, kind text NOT NULL, name text NOT NULL, due_at bigint NOT NULL,
        calls bigint NOT NULL, attempt text NOT NULL, lease_until bigint NOT NULL, PRIMARY KEY (platform, kind, name))`,
      sql`CREATE INDEX tasks_due ON tasks (platform, kind, due_at)`,
      // jobs/store: the space that a file has reserved, which becomes a job.
      sql`CREATE TABLE jobs (platform text NOT NULL, job_id text NOT NULL, state text NOT NULL, owner text NOT NULL,
        enterprise text NOT NULL, caller text NOT NULL, bytes bigint NOT NULL, definition text NOT NULL, problem text,
        total bigint NOT NULL, chunks bigint NOT NULL, counts text NOT NULL, prepared bigint NOT NULL, cancelled bigint NOT NULL,
        version bigint NOT NULL, created_at bigint NOT NULL, changed_at bigint NOT NULL, started_at bigint, finished_at bigint,
        PRIMARY KEY (platform, job_id))`,
      sql`CREATE INDEX jobs_by_time ON jobs (platform, created_at)`,
      sql`CREATE INDEX jobs_by_enterprise ON jobs (platform, enterprise, created_at)`,
      sql`CREATE INDEX jobs_unfinished ON jobs (platform, created_at) WHERE finished_at IS NULL`,
      sql`CREATE TABLE job_chunks (platform text NOT NULL, job_id text NOT NULL, chunk bigint NOT NULL, results bytea NOT NULL,
        waiting bytea, counts text NOT NULL, calls bigint NOT NULL, PRIMARY KEY (platform, job_id, chunk))`,
      sql`CREATE INDEX job_chunks_waiting ON job_chunks (platform, job_id) WHERE waiting IS NOT NULL`,
      // webhooks/store: a receiver of events, and the progress of its deliveries.
      sql`CREATE TABLE webhooks (platform text NOT NULL, webhook_id text NOT NULL, caller text NOT NULL, definition text NOT NULL,
        version bigint NOT NULL, cursor text NOT NULL, last_delivered_at bigint, failing_since bigint, pending bigint NOT NULL,
        PRIMARY KEY (platform, webhook_id))`,
      sql`CREATE INDEX webhooks_by_caller ON webhooks (platform, caller)`,
      // One event for one webhook. Its content stays in the feed.
      sql`CREATE TABLE deliveries (platform text NOT NULL, webhook_id text NOT NULL, event_id text NOT NULL, type text NOT NULL,
        lane text NOT NULL, state text NOT NULL, attempts bigint NOT NULL, postponed bigint NOT NULL, last_status bigint,
        last_error text, first_attempt_at bigint, last_attempt_at bigint, next_attempt_at bigint, made_at bigint NOT NULL,
        PRIMARY KEY (platform, webhook_id, event_id))`,
      sql`CREATE INDEX deliveries_pending ON deliveries (platform, webhook_id, event_id) WHERE state = 'pending'`,
      sql`CREATE INDEX deliveries_by_time ON deliveries (platform, made_at)`,
    ],
  },
  {
    number: 2,
    statements: [
      // estate: the enterprises that are read, and how the last reading of each ended.
      sql`CREATE TABLE estate_enterprises (platform text NOT NULL, enterprise text ${PLAIN} NOT NULL, state text NOT NULL, reason text,
        seen_at bigint, added_at bigint NOT NULL, asked_at bigint NOT NULL, PRIMARY KEY (platform, enterprise))`,
      // When any replica may make the next call, and a number that every change of the rows raises.
      sql`CREATE TABLE estate_turns (platform text PRIMARY KEY, next_at bigint NOT NULL, version bigint NOT NULL)`,
      sql`CREATE TABLE estate_assets (platform text NOT NULL, enterprise text ${PLAIN} NOT NULL, asset_id text ${PLAIN} NOT NULL, details text NOT NULL,
        PRIMARY KEY (platform, enterprise, asset_id))`,
      // What is filtered and sorted of a product on an asset, or of an asset without products. They are narrow: counting reads all of them.
      sql`CREATE TABLE estate_rows (platform text NOT NULL, enterprise text ${PLAIN} NOT NULL, asset_id text ${PLAIN} NOT NULL,
        row_key text ${PLAIN} NOT NULL, product_uri text ${PLAIN} NOT NULL, product_name text NOT NULL, license_type text NOT NULL,
        member text NOT NULL, crm_product text NOT NULL, ends_at bigint NOT NULL, month bigint NOT NULL, seen_at bigint NOT NULL, licences bigint NOT NULL, unassigned bigint NOT NULL, in_use bigint NOT NULL,
        is_first bigint NOT NULL, is_first_of_product bigint NOT NULL, PRIMARY KEY (platform, enterprise, asset_id, row_key))`,
      // One for each filter or order of a list. Each ends in what makes its order stable, so that a page is read from the index alone.
      sql`CREATE INDEX estate_by_end ON estate_rows (platform, ends_at, enterprise, asset_id, row_key)`,
      sql`CREATE INDEX estate_by_enterprise ON estate_rows (platform, enterprise, ends_at, asset_id, row_key)`,
      sql`CREATE INDEX estate_by_seen ON estate_rows (platform, seen_at, ends_at, enterprise, asset_id, row_key)`,
      sql`CREATE INDEX estate_by_type ON estate_rows (platform, license_type, ends_at, enterprise, asset_id, row_key)`,
      sql`CREATE INDEX estate_by_product ON estate_rows (platform, product_uri, ends_at, enterprise, asset_id, row_key)`,
      sql`CREATE INDEX estate_by_member ON estate_rows (platform, member, ends_at, enterprise, asset_id, row_key)`,
      sql`CREATE INDEX estate_by_assignment ON estate_rows (platform, unassigned, ends_at, enterprise, asset_id, row_key)`,
      sql`CREATE INDEX estate_by_crm_product ON estate_rows (platform, crm_product, ends_at, enterprise, asset_id, row_key)`,
      // Keyed hashes of what finds a row, or with an empty row_key an asset: numbers, ids, accounts.
      sql`CREATE TABLE estate_keys (platform text NOT NULL, key text NOT NULL, enterprise text ${PLAIN} NOT NULL, asset_id text ${PLAIN} NOT NULL,
        row_key text ${PLAIN} NOT NULL, PRIMARY KEY (platform, key, enterprise, asset_id, row_key))`,
      sql`CREATE INDEX estate_keys_by_asset ON estate_keys (platform, enterprise, asset_id)`,
      // The endings that events have told, and keyed hashes of the ids that writes through the gateway named.
      sql`CREATE TABLE estate_told (platform text NOT NULL, enterprise text ${PLAIN} NOT NULL, asset_id text ${PLAIN} NOT NULL, row_key text ${PLAIN} NOT NULL,
        ends_at bigint NOT NULL, days bigint NOT NULL, PRIMARY KEY (platform, enterprise, asset_id, row_key, ends_at, days))`,
      sql`CREATE INDEX estate_told_by_end ON estate_told (platform, ends_at)`,
      sql`CREATE TABLE estate_written (platform text NOT NULL, key text NOT NULL, until_at bigint NOT NULL, PRIMARY KEY (platform, key))`,
      sql`CREATE INDEX estate_written_by_time ON estate_written (platform, until_at)`,
    ],
  },
  {
    number: 3,
    statements: [
      // When the enterprises of a caller of all were last looked for to the end.
      sql`ALTER TABLE estate_turns ADD COLUMN looked_at bigint`,
      // When endings were last told.
      sql`ALTER TABLE estate_turns ADD COLUMN told_at bigint`,
    ],
  },
  {
    number: 4,
    statements: [
      // An order that was not placed frees its numbers.
      sql`CREATE INDEX reservations_by_order ON reservations (platform, order_name) WHERE order_name IS NOT NULL`,
    ],
  },
  {
    number: 5,
    // PostgreSQL builds the indexes of these keys anew, and changes no row. The tables are in the order in which most steps use them, so that
    // few steps of a running gateway and this change wait for each other.
    statements: [
      sql`ALTER TABLE webhooks ALTER platform ${PLAIN_TEXT}, ALTER webhook_id ${PLAIN_TEXT}, ALTER caller ${PLAIN_TEXT}`,
      sql`ALTER TABLE maintenance ALTER platform ${PLAIN_TEXT}`,
      sql`ALTER TABLE writes ALTER platform ${PLAIN_TEXT}, ALTER name ${PLAIN_TEXT}, ALTER alias ${PLAIN_TEXT},
        ALTER state ${PLAIN_TEXT}, ALTER channel ${PLAIN_TEXT}, ALTER enterprise_group ${PLAIN_TEXT}`,
      sql`ALTER TABLE reservations ALTER platform ${PLAIN_TEXT}, ALTER caller ${PLAIN_TEXT},
        ALTER asset_num ${PLAIN_TEXT}, ALTER order_name ${PLAIN_TEXT}`,
      sql`ALTER TABLE uses ALTER platform ${PLAIN_TEXT}, ALTER caller ${PLAIN_TEXT}, ALTER period ${PLAIN_TEXT}, ALTER kind ${PLAIN_TEXT}`,
      sql`ALTER TABLE estate_enterprises ALTER platform ${PLAIN_TEXT}`,
      sql`ALTER TABLE estate_assets ALTER platform ${PLAIN_TEXT}`,
      sql`ALTER TABLE tasks ALTER platform ${PLAIN_TEXT}, ALTER kind ${PLAIN_TEXT}, ALTER name ${PLAIN_TEXT}`,
      sql`ALTER TABLE jobs ALTER platform ${PLAIN_TEXT}, ALTER job_id ${PLAIN_TEXT}, ALTER enterprise ${PLAIN_TEXT}`,
      sql`ALTER TABLE job_chunks ALTER platform ${PLAIN_TEXT}, ALTER job_id ${PLAIN_TEXT}`,
      sql`ALTER TABLE deliveries ALTER platform ${PLAIN_TEXT}, ALTER webhook_id ${PLAIN_TEXT},
        ALTER event_id ${PLAIN_TEXT}, ALTER state ${PLAIN_TEXT}`,
      sql`ALTER TABLE attempts ALTER platform ${PLAIN_TEXT}, ALTER name ${PLAIN_TEXT}`,
      sql`ALTER TABLE estate_written ALTER platform ${PLAIN_TEXT}, ALTER key ${PLAIN_TEXT}`,
      sql`ALTER TABLE estate_turns ALTER platform ${PLAIN_TEXT}`,
      sql`ALTER TABLE estate_rows ALTER platform ${PLAIN_TEXT}, ALTER license_type ${PLAIN_TEXT},
        ALTER member ${PLAIN_TEXT}, ALTER crm_product ${PLAIN_TEXT}`,
      sql`ALTER TABLE estate_keys ALTER platform ${PLAIN_TEXT}, ALTER key ${PLAIN_TEXT}`,
      sql`ALTER TABLE estate_told ALTER platform ${PLAIN_TEXT}`,
      sql`ALTER TABLE identities ALTER platform ${PLAIN_TEXT}`,
      sql`ALTER TABLE numbers ALTER platform ${PLAIN_TEXT}, ALTER name ${PLAIN_TEXT}`,
      sql`ALTER TABLE events ALTER platform ${PLAIN_TEXT}`,
      sql`ALTER TABLE order_groups ALTER platform ${PLAIN_TEXT}, ALTER enterprise ${PLAIN_TEXT}, ALTER enterprise_group ${PLAIN_TEXT}`,
      sql`ALTER TABLE order_counts ALTER platform ${PLAIN_TEXT}, ALTER enterprise_group ${PLAIN_TEXT},
        ALTER channel ${PLAIN_TEXT}, ALTER state ${PLAIN_TEXT}`,
    ].map((each) => either(each, sql`SELECT 1`)),
  },
  {
    number: 6,
    statements: [
      // Sealed texts cannot be compressed, and a text of 2 to 8 KB is cheaper to write in its row than in pieces beside the table.
      sql`ALTER TABLE writes SET (toast_tuple_target = 8160), ALTER details SET STORAGE EXTERNAL`,
      sql`ALTER TABLE events SET (toast_tuple_target = 8160), ALTER record SET STORAGE EXTERNAL`,
    ].map((each) => either(each, sql`SELECT 1`)),
  },
];

/** The version that this build needs. */
export const SCHEMA_VERSION = migrations.at(-1)?.number ?? 0;

const IS_THERE = either(
  sql`SELECT to_regclass('schema_versions') IS NOT NULL AS there`,
  sql`SELECT count(*) AS there FROM sqlite_master WHERE name = 'schema_versions'`,
);
const VERSION = sql`SELECT max(version) AS version FROM schema_versions`;
/** A statement begins with the limits of the ones before it, so this one cannot take the lock as well. */
const WITHOUT_LIMITS = either(
  sql`SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`,
  sql`SELECT 1`,
);
/** Locks the migration for one gateway at a time. */
const LOCK = either(sql`SELECT pg_advisory_xact_lock(5454365402)`, sql`SELECT 1`);
const APPLIED = sql`INSERT INTO schema_versions (version, applied_at) VALUES (:version, :at)`;
/** The tables of the gateway. Its schema may also have tables of others. */
const TABLES = migrations
  .flatMap(({ statements }) => statements)
  .flatMap((statement) => /^CREATE TABLE (\w+)/.exec(statement.textFor('postgres'))?.[1] ?? [])
  .map((name) => ({ name }));
const MISSING_RIGHTS = sql`
  SELECT needed AS needs, relname AS of, current_user AS role FROM pg_class, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
  WHERE relkind = 'r' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('schema_versions'))
    AND relname IN (SELECT name FROM ${rows('tables', { name: 'text' })})
    AND NOT has_table_privilege(pg_class.oid, needed) ORDER BY relname, needed`;
const MAY_CREATE = sql`
  SELECT coalesce(current_schema(), '') AS of, current_user AS role,
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may, current_setting('server_encoding') AS encoding`;

/** The tables in a database: their version, and the migrations to the version of this build. Migrations only go forward. */
export class DatabaseSchema {
  constructor(private readonly engine: Engine) {}

  /** Returns 0 if there are no tables. */
  async version(): Promise<number> {
    const [row] = await this.engine.read(IS_THERE.with());
    return row?.['there'] ? versionIn(await this.engine.read(VERSION.with())) : 0;
  }

  /** Returns the version before the migration. Rejects with `rights` if the role may not change tables. */
  async migrate(): Promise<number> {
    for (let conflicts = 0; ;) {
      const before = await this.version();
      if (before >= SCHEMA_VERSION) return before;
      await this.#mayCreate(before === 0);
      // Another gateway may have made the tables before this one got the lock.
      let isOver = false;
      const decide = ([, , found]: readonly Rows[]) => {
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
      const look = [WITHOUT_LIMITS.with(), LOCK.with(), before > 0 ? VERSION.with() : IS_THERE.with()];
      try {
        await this.engine.transact(look, decide, { isPatient: true });
      } catch (error) {
        // Steps of a running gateway may lock the tables in another order.
        const isAgain = error instanceof DatabaseFault && error.reason === 'conflict';
        if (!isAgain || ++conflicts > MAX_CONFLICTS) throw error;
        continue;
      }
      if (isOver) return before;
    }
  }

  /** Describes the rights that the role of a running gateway lacks. Undefined if it lacks none. */
  async missingRights(): Promise<string | undefined> {
    if (this.engine.kind === 'sqlite') return undefined;
    const found = await this.engine.read(MISSING_RIGHTS.with({ tables: TABLES }));
    const [first] = found;
    if (!first) return undefined;
    const missing = found.map((row) => `${String(row['needs'])} on ${String(row['of'])}`).join(', ');
    const role = String(first['role']);
    return `gives the role ${role} of DATABASE_URL no right to ${missing}: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … TO ${role}`;
  }

  async #mayCreate(isNew: boolean): Promise<void> {
    if (this.engine.kind === 'sqlite') return;
    const [found] = await this.engine.read(MAY_CREATE.with());
    const encoding = String(found?.['encoding']);
    // Every other encoding lacks characters.
    if (isNew && !['UTF8', 'SQL_ASCII'].includes(encoding))
      throw new ConfigError([
        `DATABASE_URL names a database with the encoding ${encoding}: make one with ENCODING 'UTF8' TEMPLATE template0`,
      ]);
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
