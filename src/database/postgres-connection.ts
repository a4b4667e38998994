import { Client, type CustomTypesConfig } from 'pg';
import { ConfigError } from '../config/config-error.ts';
import type { PostgresAddress } from '../config/database-url.ts';
import { edge } from '../shared/edge.ts';
import { DatabaseFault, type SqlRow, type Rows } from './engine.ts';
import { faultOfPostgres, faultOfVersion } from './postgres-faults.ts';

const CONNECT_MS = 2_000;
/** The server ends a statement that takes longer. If the server does not, this process ends its connection. */
const MAX_STATEMENT_MS = 4_000;
const MAX_LOCK_MS = 2_000;
/** A transaction of a gateway that stands still may hold its locks for this time. */
const MAX_IDLE_MS = 2_000;
const MAX_TRIP_MS = MAX_STATEMENT_MS + 2_000;
const MAX_PATIENCE_MS = 30 * 60_000;
const SESSION = {
  statement_timeout: MAX_STATEMENT_MS,
  lock_timeout: MAX_LOCK_MS,
  idle_in_transaction_session_timeout: MAX_IDLE_MS,
};

const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED';
/** The start of a transaction behind a pooler. It contains the settings, because there the session is shared with other processes. */
const beginPooled = [
  begin,
  'SET LOCAL synchronous_commit = on',
  'SET LOCAL enable_seqscan = off',
  ...Object.entries(SESSION).map(([name, value]) => `SET LOCAL ${name} = ${value}`),
].join('; ');

const HELLO = `
  SELECT pg_backend_pid() AS pid, current_setting('server_version_num')::int / 10000 AS version,
    pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS "readOnly"`;

/** The parsers by the number of the type. All other types stay text. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => (text === 't' ? 1 : 0),
  17: (text) => Buffer.from(text.slice(2), 'hex'),
  20: Number,
  21: Number,
  23: Number,
  26: Number,
  700: Number,
  701: Number,
  1700: Number,
};
const asText = (text: string) => text;
const types: CustomTypesConfig = { getTypeParser: (oid: number) => PARSERS[oid] ?? asText };

export interface PostgresCall {
  /** The name under which the statement is prepared, if the session belongs to this process alone. */
  readonly name?: string;
  readonly text: string;
  readonly values?: (string | Buffer | null)[];
}

export interface PostgresSettings {
  readonly address: PostgresAddress;
  readonly ca: string | undefined;
  readonly heard: (payload: string) => void;
}

/** One connection. The statements of one call make one trip: all are written at once, without waiting for answers in between. */
export class PostgresConnection {
  /** True if a pooler is in between. The pooler gives each transaction another session. */
  isPooled = false;
  isReadOnly = false;
  #isUsable = true;

  private constructor(private readonly client: Client) {
    const ended = edge('connection to the database', () => {
      this.#isUsable = false;
    });
    client.on('error', ended);
    client.on('end', ended);
  }

  /** Throws {@link ConfigError} for a server that the gateway does not know how to use. */
  static async open(
    settings: PostgresSettings,
    host: { readonly host: string; readonly port: number },
    isPooled = false,
  ): Promise<PostgresConnection> {
    const { address, ca, heard } = settings;
    const client = new Client({
      ...host,
      user: address.user,
      database: address.database,
      // The password never comes from files and variables of PostgreSQL's own tools.
      password: () => address.password?.reveal() ?? '',
      ssl:
        address.sslMode === 'disable' ? false : { ...(ca !== undefined && { ca }), rejectUnauthorized: true },
      application_name: 'licensing-gateway',
      // A pooler refuses a connection with settings that it does not know.
      ...(!isPooled && { ...SESSION, options: '-c synchronous_commit=on -c enable_seqscan=off' }),
      pipeline: true,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
      types,
    });
    const connection = new PostgresConnection(client);
    let ownPid = 0;
    const told = ({ processID }: { processID: number }) => {
      ownPid = processID;
    };
    client.connection.on('backendKeyData', edge('process of the database', told));
    client.on(
      'notification',
      edge('notice of the database', ({ payload = '' }) => heard(payload)),
    );
    try {
      await client.connect();
      const [[hello] = []] = await connection.trip([{ text: HELLO }]);
      connection.#meet(hello ?? {}, ownPid);
      return connection;
    } catch (error) {
      connection.destroy();
      const { code, message = '' } = error as { code?: string; message?: string };
      if (!isPooled && code === '08P01' && message.includes('startup parameter'))
        return PostgresConnection.open(settings, host, true);
      throw error instanceof ConfigError ? error : faultOfPostgres(error, false);
    }
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  get begin(): PostgresCall {
    return { text: this.isPooled ? beginPooled : begin };
  }

  /** Returns the rows of each call. Rejects with the first fault. The other statements were then not carried out, or are rolled back. */
  async trip(
    calls: readonly PostgresCall[],
    { isCommit = false, isPatient = false }: { isCommit?: boolean; isPatient?: boolean | undefined } = {},
  ): Promise<readonly Rows[]> {
    // Nothing is sent, so nothing is done.
    if (!this.#isUsable) throw new DatabaseFault('away', 'the connection to DATABASE_URL has ended');
    const { stream } = this.client.connection;
    // A server that disappeared without closing the connection would otherwise keep the caller waiting for minutes.
    const impatience = setTimeout(
      edge('database trip', () => this.destroy()),
      isPatient ? MAX_PATIENCE_MS : MAX_TRIP_MS,
    );
    stream.cork();
    const sent = calls.map(({ name, text, values }) =>
      this.client.query<SqlRow>({ text, ...(values && { values }), ...(name && !this.isPooled && { name }) }),
    );
    stream.uncork();
    const settled = await Promise.allSettled(sent);
    clearTimeout(impatience);
    const failed = settled.find((each) => each.status === 'rejected');
    if (!failed) return settled.map((each) => (each.status === 'fulfilled' ? (each.value.rows ?? []) : []));
    const fault = faultOfPostgres(failed.reason, isCommit);
    // The prepared statements belong to another session, or to a table that has changed since.
    if (['0A000', '26000', '42P05'].includes((failed.reason as { code?: string }).code ?? '')) this.destroy();
    throw fault;
  }

  /** Ends the transaction that a failed trip has left open. */
  async rollback(): Promise<void> {
    if (this.#isUsable && this.client.getTransactionStatus() !== 'I')
      await this.trip([{ text: 'ROLLBACK' }]).catch(() => this.destroy());
  }

  destroy(): void {
    this.#isUsable = false;
    this.client.connection.stream.destroy();
  }

  async close(): Promise<void> {
    const impatience = setTimeout(
      edge('end of the database', () => this.destroy()),
      CONNECT_MS,
    );
    await this.client.end().catch(() => undefined);
    clearTimeout(impatience);
  }

  #meet(hello: SqlRow, ownPid: number): void {
    const fault = faultOfVersion(Number(hello['version']));
    if (fault) throw fault;
    this.isPooled = hello['pid'] !== ownPid;
    this.isReadOnly = hello['readOnly'] === 1;
  }
}
