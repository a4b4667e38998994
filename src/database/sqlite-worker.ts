import { parentPort, workerData } from 'node:worker_threads';
import { edge } from '../shared/edge.ts';
import { DatabaseFault, type Rows } from './engine.ts';
import { type SqliteCall, SqliteConnection } from './sqlite-connection.ts';

/** The thread of one connection to a file. It handles its messages one by one, in their order. */

export interface SqliteOrder {
  readonly id: number;
  readonly does: 'read' | 'begin' | 'commit' | 'at once' | 'rollback' | 'close';
  readonly calls: readonly SqliteCall[];
}

export interface SqliteAnswer {
  readonly id: number;
  readonly found?: readonly Rows[];
  readonly fault?: { readonly reason: DatabaseFault['reason']; readonly message: string };
}

const IDLE_MS = 1_000;

const { path, mode } = workerData as { path: string; mode: 'write' | 'read' };
let connection: SqliteConnection | undefined;
let idle: NodeJS.Timeout | undefined;

function work({ does, calls }: SqliteOrder): readonly Rows[] {
  if (does === 'close') {
    connection?.close();
    return [];
  }
  connection ??= new SqliteConnection(path, mode);
  if (does === 'read') return calls.map((call) => (connection as SqliteConnection).read(call));
  if (does === 'begin') return connection.begin(calls);
  if (does === 'commit') return connection.commit(calls);
  if (does === 'at once') {
    connection.begin([]);
    return connection.commit(calls);
  }
  connection.rollback();
  return [];
}

function obey(order: SqliteOrder): void {
  clearTimeout(idle);
  let answer: SqliteAnswer;
  try {
    answer = { id: order.id, found: work(order) };
  } catch (error) {
    const { reason, message } =
      error instanceof DatabaseFault ? error : { reason: 'broken' as const, message: String(error) };
    answer = { id: order.id, fault: { reason, message } };
  }
  parentPort?.postMessage(answer, []);
  if (order.does === 'close') parentPort?.close();
  else if (mode === 'write') idle = setTimeout(edge('checkpoint', checkpoint), IDLE_MS).unref();
}

function checkpoint(): void {
  try {
    connection?.checkpoint();
  } catch {
    // The next commit reports the fault of the disk.
  }
}

parentPort?.on('message', edge('order to the database', obey));
