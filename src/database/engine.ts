import type { Query } from './sql.ts';

/** Columns that are true or false are 1 or 0, and JSON is text, with both engines. */
export type Value = string | number | null | Uint8Array;
export type SqlRow = Readonly<Record<string, Value>>;
export type Rows = readonly SqlRow[];

/** The rows that a statement found, as its store knows them. */
export function rowsAs<Row extends object>(found: readonly object[] | undefined): readonly Row[] {
  return (found ?? []) as readonly Row[];
}

/**
 * - `away`: there was no answer, or no connection; nothing was done.
 * - `unknown`: the answer to a commit did not come; it was carried out, or it was not.
 * - `stopped`: the database cannot be trusted (trust.ts); nothing was done.
 * - `conflict`: another transaction was faster; nothing was done, and it may be tried again at once.
 * - `full`, `read-only`, `rights`, `unready`, `damaged`: the database takes no writes of the gateway, and an operator has to act; nothing was done.
 * - `refused`: the database does not let the gateway in.
 * - `broken`: the statement or its values are wrong; nothing was done.
 */
export type FaultReason =
  | 'away'
  | 'unknown'
  | 'stopped'
  | 'conflict'
  | 'full'
  | 'read-only'
  | 'rights'
  | 'unready'
  | 'damaged'
  | 'refused'
  | 'broken';

export class DatabaseFault extends Error {
  override readonly name = 'DatabaseFault';
  readonly reason: FaultReason;

  constructor(reason: FaultReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** What keeps a server or a file from being trusted with orders, or weakens its promise. */
export interface Fitness {
  /** Orders stop. Each begins with a verb: "runs with fsync = off: …". */
  readonly unfit: readonly string[];
  /** Orders go on, and the log has a line. */
  readonly weak: readonly string[];
}

export interface Patience {
  /** It may take minutes, as a change of large tables does. */
  readonly isPatient?: boolean;
}

export type Decide = (found: readonly Rows[]) => readonly Query[] | undefined;

/** A database, of one kind. It knows nothing of what is kept in it. Every call rejects with a {@link DatabaseFault} where it fails. */
export interface Engine {
  readonly kind: 'postgres' | 'sqlite';
  /** The number of transactions that run at once. */
  readonly lanes: number;
  /** Another process may write, and `listen` does not hear of it: waiters have to ask this often. */
  readonly askEveryMs: number;
  /** Throws {@link ConfigError} where the start is refused, and resolves where the database is only away. */
  open(): Promise<void>;
  close(): Promise<void>;
  read(query: Query): Promise<Rows>;
  /**
   * One transaction in two trips. The first runs `look`, which may lock rows. `decide` gets what was found and gives what is to be written,
   * or undefined: nothing, and the transaction is rolled back. The second trip writes and commits, so no lock that a write takes is held
   * while this process stands still. Without `look` there is one trip.
   */
  transact(look: readonly Query[], decide: Decide, options?: Patience): Promise<readonly Rows[]>;
  /** What to write so that other processes hear of it; undefined: they ask. */
  notice(channel: string): Query | undefined;
  /** `heard` gets the channels of notices of any process. */
  listen(heard: (channel: string) => void): void;
  fitness(): Promise<Fitness>;
}
