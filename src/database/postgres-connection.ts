import { Client, type CustomTypesConfig } from 'pg';
import { ConfigError } from '../config/config-error.ts';
import type { PostgresAddress } from '../config/database-url.ts';
import { edge } from '../shared/edge.ts';
import { DatabaseFault, type SqlRow, type Rows } from './engine.ts';
import { faultOfPostgres, faultOfVersion } from './postgres-faults.ts';

const CONNECT_MS = 2_000;
/** The server ends what takes longer, and then this process its connection. */
const MAX_STATEMENT_MS = 4_000;
const MAX_LOCK_MS = 2_000;
/** How long a transaction of a gateway that stands still may hold its locks. */
const MAX_IDLE_MS = 2_000;
const MAX_TRIP_MS = MAX_STATEMENT_MS + 2_000;
const MAX_PATIENCE_MS = 30 * 60_000;
const SESSION = {
  statement_timeout: MAX_STATEMENT_MS,
  lock_timeout: MAX_LOCK_MS,
  idle_in_transaction_session_timeout: MAX_IDLE_MS,
};

const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED';
/** Behind a pooler a session is not this process's own: each transaction brings its settings. */
const beginPooled = [
  begin,
  'SET LOCAL synchronous_commit = on',
  'SET LOCAL enable_seqscan = off',
  ...Object.entries(SESSION).map(([name, value]) => `SET LOCAL ${name} = ${value}`),
].join('; ');

const HELLO = `
  SELECT pg_backend_pid() AS pid, current_setting('server_version_num')::int / 10000 AS version,
    pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS "readOnly"`;

/** By the type's number. All other types are text as they come. */
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
  /** Prepared under this name, where the session is this process's own. */
  readonly name?: string;
  readonly text: string;
  readonly values?: (string | Buffer | null)[];
}

export interface PostgresSettings {
  readonly address: PostgresAddress;
  readonly ca: string | undefined;
  readonly heard: (payload: string) => void;
}

/** One connection. What is sent together is one trip: it is written at once, and no answer is waited for between its statements. */
export class PostgresConnection {
  /** A pooler is in between: it gives each transaction another session. */
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
      // Not from files and variables of PostgreSQL's own tools.
      password: () => address.password?.reveal() ?? '',
      ssl:
        address.sslMode === 'disable' ? false : { ...(ca !== undefined && { ca }), rejectUnauthorized: true },
      application_name: 'licensing-gateway',
      // Of what a pooler does not know it lets nobody in.
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

  /** The rows of each call. Rejects with the first fault; then the others were not carried out, or are rolled back. */
  async trip(
    calls: readonly PostgresCall[],
    { isCommit = false, isPatient = false }: { isCommit?: boolean; isPatient?: boolean | undefined } = {},
  ): Promise<readonly Rows[]> {
    // Nothing is sent, so nothing is done.
    if (!this.#isUsable) throw new DatabaseFault('away', 'the connection to DATABASE_URL has ended');
    const { stream } = this.client.connection;
    // A server that has gone without a word answers nothing for minutes.
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
    // Prepared statements of another session, or of a table that has changed since.
    if (['0A000', '26000', '42P05'].includes((failed.reason as { code?: string }).code ?? '')) this.destroy();
    throw fault;
  }

  /** Ends what a failed trip has left open. */
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
