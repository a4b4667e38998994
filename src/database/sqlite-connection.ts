import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { DatabaseFault, type FaultReason, type SqlRow, type Rows } from './engine.ts';

/** A statement in the form that the thread of a file receives. */
export interface SqliteCall {
  readonly text: string;
  readonly values: Readonly<Record<string, string | number | null | Uint8Array>>;
  /** When `:clock` was read, by {@link monotonicMs}. The statement may wait for the lock of the file, and that time is added. */
  readonly calledAt: number;
}

/** Returns the time of a clock that all threads share and that never jumps. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1_000_000;
}

/** Another process may hold the lock of the file for this long. */
const BUSY_MS = 2_000;
/**
 * The most pages of the log before the commit that fills it writes it back (16 MiB). A shorter log is written back while the database is
 * idle.
 */
const MAX_LOG_PAGES = 4_096;

const IO_ERROR = 10;

/** What an error of SQLite means, by its primary code. */
const REASONS: Readonly<Record<number, FaultReason>> = {
  3: 'rights',
  5: 'away',
  6: 'away',
  8: 'read-only',
  [IO_ERROR]: 'full',
  11: 'damaged',
  13: 'full',
  14: 'away',
  23: 'rights',
  26: 'damaged',
};
const MESSAGES: Partial<Record<FaultReason, string>> = {
  away: 'another process holds the lock of the file of DATABASE_URL, or the file cannot be opened',
  'read-only':
    'the file of DATABASE_URL can only be read: let the user of the gateway write it, and its folder',
  full: 'the disk of DATABASE_URL is full or fails: make room, or see the log of the system',
  damaged: 'the file of DATABASE_URL is damaged, or no database of SQLite: restore a backup',
  rights:
    'the file of DATABASE_URL does not let the gateway in: let the user of the gateway read and write it',
};

/** One connection. Every call is synchronous. The connection to a file runs in a thread of its own, so that no request waits for a disk. */
export class SqliteConnection {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();
  readonly #mode: 'write' | 'read';

  constructor(path: string, mode: 'write' | 'read') {
    this.#mode = mode;
    try {
      this.#database = new DatabaseSync(path, { timeout: BUSY_MS, enableForeignKeyConstraints: true });
      if (mode === 'write') {
        // A commit returns only after its data is on the disk.
        this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
        this.#database.exec(`PRAGMA wal_autocheckpoint = ${MAX_LOG_PAGES}`);
      } else this.#database.exec('PRAGMA query_only = ON');
    } catch (error) {
      throw faultOf(error);
    }
  }

  read(call: SqliteCall): Rows {
    try {
      return this.#run(call);
    } catch (error) {
      throw faultOf(error);
    }
  }

  /** Begins a transaction. No other transaction of any process can write until it ends. */
  begin(look: readonly SqliteCall[]): readonly Rows[] {
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      return look.map((call) => this.#run(call));
    } catch (error) {
      this.rollback();
      throw faultOf(error);
    }
  }

  commit(writes: readonly SqliteCall[]): readonly Rows[] {
    // The thread that began the transaction has ended.
    if (!this.#database.isTransaction) throw new DatabaseFault('away', 'the transaction is gone');
    let isCommitting = false;
    try {
      const written = writes.map((call) => this.#run(call));
      isCommitting = true;
      this.#database.exec('COMMIT');
      return written;
    } catch (error) {
      this.rollback();
      const fault = faultOf(error);
      // If the disk fails, the last frame of the commit may be in the log of the file. If the disk is only full, the frame is not there.
      throw isCommitting && codeOf(error) === IO_ERROR
        ? new DatabaseFault('unknown', fault.message, error)
        : fault;
    }
  }

  rollback(): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  /** Writes the log back into the file. */
  checkpoint(): void {
    if (this.#mode === 'write' && !this.#database.isTransaction)
      this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  }

  close(): void {
    this.#prepared.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #run({ text, values, calledAt }: SqliteCall): Rows {
    let statement = this.#prepared.get(text);
    if (!statement) {
      statement = this.#database.prepare(text);
      this.#prepared.set(text, statement);
    }
    const { clock } = values;
    const now = typeof clock === 'number' && { clock: clock + Math.floor(monotonicMs() - calledAt) };
    return statement.all({ ...values, ...now }) as SqlRow[];
  }
}

/** Returns the primary code of SQLite's error. Undefined for any other error. */
function codeOf(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number };
  return errcode === undefined ? undefined : errcode & 0xff;
}

function faultOf(error: unknown): DatabaseFault {
  const { message } = error as { message?: string };
  const code = codeOf(error);
  if (code === undefined) return new DatabaseFault('broken', String(message), error);
  const reason = REASONS[code];
  if (reason) return new DatabaseFault(reason, MESSAGES[reason] ?? String(message), error);
  if (message?.includes('no such table')) return new DatabaseFault('unready', message, error);
  return new DatabaseFault('broken', String(message), error);
}
