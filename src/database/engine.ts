import type { Query } from './sql.ts';

/** A value of a column. Both engines store true and false as 1 and 0, and JSON as text. */
export type Value = string | number | null | Uint8Array;
export type SqlRow = Readonly<Record<string, Value>>;
export type Rows = readonly SqlRow[];

/** Returns the rows that a statement found, in the type that its store knows. */
export function rowsAs<Row extends object>(found: readonly object[] | undefined): readonly Row[] {
  return (found ?? []) as readonly Row[];
}

/**
 * Why the database did not do its work. Nothing was done, except where the reason says something else.
 *
 * - `away`: there was no answer, or no connection.
 * - `unknown`: the answer to a commit did not arrive. The commit was carried out, or it was not.
 * - `still-away`: the database was away at the last look, so nothing was tried.
 * - `stopped`: the database cannot be trusted (trust.ts).
 * - `conflict`: another transaction was faster. This one may be tried again at once.
 * - `full`, `read-only`, `rights`, `unready`, `damaged`: the database accepts no writes of the gateway, and an operator has to act.
 * - `refused`: the database does not let the gateway in.
 * - `broken`: the statement or its values are wrong.
 */
export type FaultReason =
  | 'away'
  | 'unknown'
  | 'still-away'
  | 'stopped'
  | 'conflict'
  | 'full'
  | 'read-only'
  | 'rights'
  | 'unready'
  | 'damaged'
  | 'refused'
  | 'broken';

/** A read, a transaction or a change of the tables that lost against another transaction runs again up to this number of times. */
export const MAX_CONFLICTS = 8;

export class DatabaseFault extends Error {
  override readonly name = 'DatabaseFault';
  readonly reason: FaultReason;

  constructor(reason: FaultReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** The properties that forbid to trust a server or a file with orders, or that weaken its promise. */
export interface Fitness {
  /** The gateway stops orders for these reasons. Each begins with a verb: "runs with fsync = off: …". */
  readonly unfit: readonly string[];
  /** The gateway logs these reasons, and orders go on. */
  readonly weak: readonly string[];
  /** True if whatever is written now is lost when the process ends. */
  readonly losesWrites?: true;
}

export interface Patience {
  /** True if the transaction may take minutes, as a change of large tables does. */
  readonly isPatient?: boolean;
}

export interface Urgency {
  /** True for the short reads of a watch. They do not wait behind other reads, which may take long. */
  readonly isUrgent?: boolean;
}

export type Decide = (found: readonly Rows[]) => readonly Query[] | undefined;

/** A database of one kind. It knows nothing of the records in it. Every call that fails rejects with a {@link DatabaseFault}. */
export interface Engine {
  readonly kind: 'postgres' | 'sqlite';
  /** The number of transactions that run at once. */
  readonly lanes: number;
  /** Waiters have to read this often, because `listen` does not report the writes of other processes. */
  readonly askEveryMs: number;
  /** Throws {@link ConfigError} if the start is refused. Resolves if the database is only away. */
  open(): Promise<void>;
  close(): Promise<void>;
  read(query: Query, options?: Urgency): Promise<Rows>;
  /**
   * Runs one transaction in two trips. The first trip runs `look`, which may lock rows. `decide` gets the rows and returns the writes;
   * undefined rolls the transaction back. The second trip writes and commits, so no lock of a write is held while this process stands
   * still. Without `look` there is one trip.
   */
  transact(look: readonly Query[], decide: Decide, options?: Patience): Promise<readonly Rows[]>;
  /** The write that notifies other processes. Undefined if the other processes poll instead. */
  notice(channel: string): Query | undefined;
  /** Calls `heard` with the channels of notices of any process. */
  listen(heard: (channel: string) => void): void;
  fitness(): Promise<Fitness>;
}
