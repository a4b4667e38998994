import { createHash } from 'node:crypto';
import pLimit from 'p-limit';
import { ConfigError } from '../config/config-error.ts';
import { edge, inBackground } from '../shared/edge.ts';
import {
  DatabaseFault,
  type Decide,
  type Engine,
  type Fitness,
  MAX_CONFLICTS,
  type Patience,
  type Rows,
  type Urgency,
} from './engine.ts';
import { type PostgresCall, PostgresConnection, type PostgresSettings } from './postgres-connection.ts';
import { type Query, type Sql, sql } from './sql.ts';

/** The number of connections for group commits and urgent reads. The other connections read. */
const WRITERS = 2;
/** A read that waits longer for a connection is refused, so that a slow server does not hold up callers for minutes. */
const MAX_WAIT_MS = 5_000;
const CHANNEL = 'licensing_gateway';
const COMMIT: PostgresCall = { text: 'COMMIT' };
const NOTIFY = sql`SELECT pg_notify('licensing_gateway', :notice)`;

/** A client of logical replication always has a slot. Only such a slot tells it from a standby where the role may see no more. */
const SETTINGS = sql`
  SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
    pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS "readOnly",
    current_setting('synchronous_standby_names') AS names,
    (SELECT count(*) FROM pg_stat_replication WHERE NOT EXISTS
      (SELECT 1 FROM pg_replication_slots WHERE active_pid = pid AND slot_type = 'logical')) AS standbys`;

export class PostgresEngine implements Engine {
  readonly kind = 'postgres';
  readonly lanes = WRITERS;
  readonly #names = new Map<Sql, string>();
  readonly #settings: PostgresSettings;
  readonly #writers: Connections;
  readonly #readers: Connections;
  #heard: (channel: string) => void = () => undefined;
  /** The index of the host that accepted the last connection. It is tried first. */
  #host = 0;
  #isPooled = false;
  #isOpen = false;

  constructor(
    settings: Omit<PostgresSettings, 'heard'>,
    poolMax: number,
    private readonly platform: string,
  ) {
    this.#settings = { ...settings, heard: (payload) => this.#hear(payload) };
    this.#writers = new Connections(WRITERS, () => this.#connect());
    this.#readers = new Connections(Math.max(1, poolMax - WRITERS), async () => {
      const connection = await this.#connect();
      try {
        if (!connection.isPooled) await connection.trip([{ text: `LISTEN ${CHANNEL}` }]);
        return connection;
      } catch (error) {
        connection.destroy();
        throw error;
      }
    });
  }

  get askEveryMs(): number {
    return this.#isPooled ? 250 : 1_000;
  }

  async open(): Promise<void> {
    if (this.#isOpen) return;
    await this.#readers.use(async () => undefined);
    this.#isOpen = true;
  }

  async close(): Promise<void> {
    await Promise.all([this.#writers.close(), this.#readers.close()]);
  }

  async read(query: Query, { isUrgent = false }: Urgency = {}): Promise<Rows> {
    const work = async (connection: PostgresConnection) => {
      const [found = []] = await connection.trip([this.#callOf(query)]);
      return found;
    };
    const connections = isUrgent ? this.#writers : this.#readers;
    for (let conflicts = 0; ;) {
      try {
        return await connections.use(work, isUrgent ? undefined : MAX_WAIT_MS);
      } catch (error) {
        if (!(error instanceof DatabaseFault && error.reason === 'conflict') || ++conflicts > MAX_CONFLICTS)
          throw error;
        // A gateway of another version has changed the table, and each connection may have a plan of the table before.
        connections.destroyIdle();
      }
    }
  }

  async transact(
    look: readonly Query[],
    decide: Decide,
    { isPatient }: Patience = {},
  ): Promise<readonly Rows[]> {
    return this.#writers.use(async (connection) => {
      try {
        let found: readonly Rows[] = [];
        if (look.length > 0) {
          const calls = look.map((query) => this.#callOf(query));
          found = (await connection.trip([connection.begin, ...calls], { isPatient })).slice(1);
        }
        const writes = decide(found)?.map((query) => this.#callOf(query)) ?? [];
        if (writes.length === 0) return [];
        // One statement alone is a transaction.
        const isAlone = look.length === 0 && writes.length === 1 && !connection.isPooled;
        if (isAlone) return await connection.trip(writes, { isCommit: true });
        const before = look.length === 0 ? [connection.begin] : [];
        return (await connection.trip([...before, ...writes, COMMIT], { isCommit: true, isPatient })).slice(
          before.length,
        );
      } finally {
        await connection.rollback();
      }
    });
  }

  notice(channel: string): Query {
    return NOTIFY.with({ notice: `${this.platform} ${channel}` });
  }

  listen(heard: (channel: string) => void): void {
    this.#heard = heard;
  }

  async fitness(): Promise<Fitness> {
    const [found] = await this.read(SETTINGS.with(), { isUrgent: true });
    const unfit: string[] = [];
    const weak: string[] = [];
    if (found?.['fsync'] === 'off')
      unfit.push('runs with fsync = off, so it loses what it has acknowledged: switch it on');
    if (found?.['pages'] === 'off')
      unfit.push('runs with full_page_writes = off, so a crash can damage what it keeps: switch it on');
    if (found?.['readOnly'] === 1)
      unfit.push('only reads: name the server that takes writes, or let this one take them');
    if (Number(found?.['standbys']) > 0 && found?.['names'] === '')
      weak.push(
        'has standbys that are not synchronous (synchronous_standby_names is empty): a failover may lose commits, and then orders stop until `npm run database-init` is run',
      );
    return { unfit, weak };
  }

  #hear(payload: string): void {
    const [platform, channel] = payload.split(/ (.*)/s);
    if (platform === this.platform && channel !== undefined) this.#heard(channel);
  }

  /** Returns a connection to the first host that accepts writes. If no host does, it is the first host that answers. */
  async #connect(): Promise<PostgresConnection> {
    const { hosts } = this.#settings.address;
    let readOnly: PostgresConnection | undefined;
    let fault: Error = new DatabaseFault('away', 'no server of DATABASE_URL answers');
    for (let tried = 0; tried < hosts.length; tried++) {
      const at = (this.#host + tried) % hosts.length;
      try {
        const connection = await PostgresConnection.open(this.#settings, hosts[at] as (typeof hosts)[number]);
        this.#isPooled = connection.isPooled;
        if (!connection.isReadOnly || (hosts.length === 1 && !readOnly)) {
          readOnly?.destroy();
          this.#host = at;
          return connection;
        }
        if (readOnly) connection.destroy();
        else readOnly = connection;
      } catch (error) {
        if (error instanceof ConfigError && hosts.length === 1) throw error;
        if (error instanceof Error) fault = error;
      }
    }
    if (readOnly) return readOnly;
    throw fault;
  }

  #callOf({ statement, parameters }: Query): PostgresCall {
    const { text, names } = statement.compiledFor('postgres');
    const values = names.map((name) => {
      const value = name === 'platform' ? this.platform : parameters[name];
      if (value === undefined) throw new DatabaseFault('broken', `a statement has no value for :${name}`);
      if (value === null || typeof value === 'string') return value;
      if (value instanceof Uint8Array) return Buffer.from(value);
      return typeof value === 'number' ? String(value) : JSON.stringify(value);
    });
    return { name: this.#nameOf(statement, text), text, values };
  }

  /** The name is made of the text, so two versions of the gateway never use one name for different statements. */
  #nameOf(statement: Sql, text: string): string {
    let name = this.#names.get(statement);
    if (name === undefined) {
      name = createHash('sha256').update(text).digest('base64url').slice(0, 22);
      this.#names.set(statement, name);
    }
    return name;
  }
}

/** A pool that opens connections when they are needed, up to a maximum. */
class Connections {
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #idle: PostgresConnection[] = [];
  #isClosed = false;

  constructor(
    max: number,
    private readonly open: () => Promise<PostgresConnection>,
  ) {
    this.#limit = pLimit(max);
  }

  /** Rejects if the work has to wait longer than `withinMs` for its connection. */
  use<T>(work: (connection: PostgresConnection) => Promise<T>, withinMs?: number): Promise<T> {
    const { activeCount, pendingCount, concurrency } = this.#limit;
    if (withinMs === undefined || activeCount + pendingCount < concurrency)
      return this.#limit(() => this.#run(work));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let isLate = false;
    const giveUp = () => {
      isLate = true;
      reject(new DatabaseFault('away', 'the database had no time for it'));
    };
    const timer = setTimeout(edge('wait for the database', giveUp), withinMs);
    inBackground('use of the database', () =>
      this.#limit(async () => {
        clearTimeout(timer);
        if (!isLate) await this.#run(work).then(resolve, reject);
      }),
    );
    return promise;
  }

  async #run<T>(work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new DatabaseFault('away', 'the database is closed');
    let connection = this.#idle.pop();
    while (connection && !connection.isUsable) connection = this.#idle.pop();
    connection ??= await this.open();
    try {
      return await work(connection);
    } finally {
      // A read-only connection is destroyed, because another server may accept writes by now.
      if (this.#isClosed) await connection.close();
      else if (connection.isReadOnly) connection.destroy();
      else if (connection.isUsable) this.#idle.push(connection);
    }
  }

  destroyIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  /** Closes the idle connections at once, and those in use after their use. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close()));
  }
}
