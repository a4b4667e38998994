import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname, extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import { ConfigError } from '../config/config-error.ts';
import { edge } from '../shared/edge.ts';
import { type Decide, DatabaseFault, type Engine, type Fitness, type Rows, type Urgency } from './engine.ts';
import type { Query } from './sql.ts';
import { monotonicMs, type SqliteCall, SqliteConnection } from './sqlite-connection.ts';
import type { SqliteAnswer, SqliteOrder } from './sqlite-worker.ts';

function callOf({ statement, parameters }: Query, platform: string): SqliteCall {
  const values: Record<string, SqliteCall['values'][string]> = {};
  for (const name of statement.compiledFor('sqlite').names) {
    const value = name === 'platform' ? platform : name === 'clock' ? Date.now() : parameters[name];
    if (value === undefined) throw new DatabaseFault('broken', `a statement has no value for :${name}`);
    values[name] = Array.isArray(value) ? JSON.stringify(value) : (value as SqliteCall['values'][string]);
  }
  return { text: statement.textFor('sqlite'), values, calledAt: monotonicMs() };
}

/**
 * A database in the memory of this process, which is lost when the process ends. There is one connection and no thread, because nothing
 * waits for a disk.
 */
export class SqliteMemory implements Engine {
  readonly kind = 'sqlite';
  readonly lanes = 1;
  readonly askEveryMs = 1_000;
  readonly #connection = new SqliteConnection(':memory:', 'write');

  constructor(private readonly platform: string) {}

  async open(): Promise<void> {}

  async close(): Promise<void> {
    this.#connection.close();
  }

  async read(query: Query): Promise<Rows> {
    return this.#connection.read(callOf(query, this.platform));
  }

  async transact(look: readonly Query[], decide: Decide): Promise<readonly Rows[]> {
    const found = this.#connection.begin(look.map((query) => callOf(query, this.platform)));
    try {
      const writes = decide(found)?.map((query) => callOf(query, this.platform));
      return writes ? this.#connection.commit(writes) : [];
    } finally {
      this.#connection.rollback();
    }
  }

  notice(): undefined {}

  listen(): void {}

  async fitness(): Promise<Fitness> {
    return { unfit: [], weak: [] };
  }
}

/**
 * A database in a file. Writes and reads each have a thread and a connection: a long read delays no commit, and no commit delays a request.
 */
export class SqliteFile implements Engine {
  readonly kind = 'sqlite';
  readonly lanes = 1;
  readonly askEveryMs = 1_000;
  readonly #writer: SqliteThread;
  /** Runs one transaction at a time, because the watch over the trust writes on the same connection as the steps. */
  readonly #inTurn = pLimit(1);
  readonly #reader: SqliteThread;
  #file: number | undefined;

  constructor(
    private readonly path: string,
    private readonly platform: string,
  ) {
    this.#writer = new SqliteThread(path, 'write');
    this.#reader = new SqliteThread(path, 'read');
  }

  async open(): Promise<void> {
    if (this.#file !== undefined) return;
    const folder = dirname(this.path);
    try {
      accessSync(folder, constants.W_OK);
    } catch {
      throw new ConfigError([
        `DATABASE_URL names a file in a folder that is not there or not writable: make the folder, and let the user of the gateway write it`,
      ]);
    }
    if (this.#fileNow()?.isFile() === false)
      throw new ConfigError(['DATABASE_URL names something that is no file: name one in a folder']);
    try {
      await this.#writer.ask('read', []);
      await this.#reader.ask('read', []);
    } catch (error) {
      if (!(error instanceof DatabaseFault)) throw error;
      if (error.reason !== 'away') throw new ConfigError([`DATABASE_URL: ${error.message}`]);
      if (this.#fileNow()) throw error;
      throw new ConfigError([
        `DATABASE_URL names a file that cannot be made or opened: name a file that the user of the gateway can make`,
      ]);
    }
    this.#file = this.#fileNow()?.ino;
  }

  async close(): Promise<void> {
    // The reader is closed first: the last connection that closes deletes the log of the file.
    await this.#reader.close();
    await this.#writer.close();
  }

  async read(query: Query, { isUrgent = false }: Urgency = {}): Promise<Rows> {
    const calls = [callOf(query, this.platform)];
    const [found = []] = await (isUrgent
      ? this.#inTurn(() => this.#writer.ask('read', calls))
      : this.#reader.ask('read', calls));
    return found;
  }

  transact(look: readonly Query[], decide: Decide): Promise<readonly Rows[]> {
    return this.#inTurn(() => this.#transact(look, decide));
  }

  async #transact(look: readonly Query[], decide: Decide): Promise<readonly Rows[]> {
    if (look.length === 0) {
      const writes = decide([])?.map((query) => callOf(query, this.platform));
      return writes ? this.#writer.ask('at once', writes) : [];
    }
    const calls = look.map((query) => callOf(query, this.platform));
    const found = await this.#writer.ask('begin', calls);
    let writes: SqliteCall[] | undefined;
    try {
      writes = decide(found)?.map((query) => callOf(query, this.platform));
    } finally {
      if (!writes) await this.#writer.ask('rollback', []);
    }
    return writes ? this.#writer.ask('commit', writes) : [];
  }

  notice(): undefined {}

  listen(): void {}

  /** Reports a file that was deleted or replaced. Such a file is still open, and all its data is lost when the process ends. */
  async fitness(): Promise<Fitness> {
    if (this.#file !== undefined && this.#fileNow()?.ino === this.#file) return { unfit: [], weak: [] };
    return {
      unfit: [
        'is a file that was deleted or replaced while the gateway runs, so nothing is written to it: stop the gateway, put the file back, and start it again',
      ],
      weak: [],
      losesWrites: true,
    };
  }

  #fileNow(): Stats | undefined {
    try {
      return statSync(this.path, { throwIfNoEntry: false });
    } catch {
      // No file can have such a name: it is too long, or a part of it is a link to itself.
      return undefined;
    }
  }
}

/** A thread with one connection. A thread that has ended is replaced at the next use. */
class SqliteThread {
  readonly #asked = new Map<number, PromiseWithResolvers<readonly Rows[]>>();
  #worker: Worker | undefined;
  #id = 0;
  #isClosed = false;

  constructor(
    private readonly path: string,
    private readonly mode: 'write' | 'read',
  ) {}

  ask(does: SqliteOrder['does'], calls: readonly SqliteCall[]): Promise<readonly Rows[]> {
    const asked = Promise.withResolvers<readonly Rows[]>();
    if (this.#isClosed) asked.reject(new DatabaseFault('away', 'the database is closed'));
    else {
      this.#worker ??= this.#start();
      const id = ++this.#id;
      this.#asked.set(id, asked);
      this.#worker.ref();
      this.#worker.postMessage({ id, does, calls } satisfies SqliteOrder, []);
    }
    return asked.promise;
  }

  async close(): Promise<void> {
    if (this.#worker) await this.ask('close', []).catch(() => undefined);
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  #start(): Worker {
    // In the build this file lies next to the bundle. From the sources Node runs it unchanged.
    const file = new URL(`./sqlite-worker${extname(import.meta.url)}`, import.meta.url);
    const { path, mode } = this;
    const worker = new Worker(file, { workerData: { path, mode }, name: `sqlite-${mode}` });
    const answered = ({ id, found, fault }: SqliteAnswer) => {
      const asked = this.#asked.get(id);
      this.#asked.delete(id);
      if (this.#asked.size === 0) worker.unref();
      if (fault) asked?.reject(new DatabaseFault(fault.reason, fault.message));
      else asked?.resolve(found ?? []);
    };
    worker.on('message', edge('answer of the database', answered));
    worker.on(
      'error',
      edge('thread of the database', (error) => this.#ended(worker, error)),
    );
    worker.on(
      'exit',
      edge('thread of the database', () => this.#ended(worker)),
    );
    worker.unref();
    return worker;
  }

  #ended(worker: Worker, error?: unknown): void {
    // A thread that fails reports first its error and then its exit. By then another thread may have its place.
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const fault = new DatabaseFault('unknown', 'the thread of the database has ended', error);
    for (const asked of this.#asked.values()) asked.reject(fault);
    this.#asked.clear();
  }
}
