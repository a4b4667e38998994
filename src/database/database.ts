import type { DatabaseConfig } from '../config/app-config.ts';
import type { Log } from '../observability/log.ts';
import { edge, reportFault } from '../shared/edge.ts';
import { clockFrom } from './clock-from.ts';
import { DatabaseUnavailable } from './database-unavailable.ts';
import { DatabaseFault, type Engine, type Urgency } from './engine.ts';
import { GroupCommit } from './group-commit.ts';
import { PostgresEngine } from './postgres-engine.ts';
import { besideFile, SeenMemory, type SeenPlace } from './seen-memory.ts';
import { CLOCK, type Query } from './sql.ts';
import { SqliteFile, SqliteMemory } from './sqlite-engine.ts';
import type { Step } from './step.ts';
import { Trust } from './trust.ts';

/**
 * Keeps all data that must not be lost. A store knows this class and SQL, and nothing of engines. A read or a step that the database cannot
 * do rejects with {@link DatabaseUnavailable}.
 */
export class Database {
  readonly trust: Trust;
  readonly #engine: Engine;
  readonly #memory: SeenMemory | undefined;
  readonly #steps: GroupCommit;
  readonly #waiting = new Map<string, Set<() => void>>();

  /** `shared` is the place where all gateways of a PostgreSQL remember what they have seen of it. */
  constructor(config: DatabaseConfig, log: Log, shared?: SeenPlace) {
    this.#engine = engineOf(config);
    const { address } = config;
    const init = address.kind === 'memory' ? 'auto' : config.init;
    const place = address.kind === 'file' ? besideFile(address.path, config.platform) : shared;
    this.#memory = address.kind !== 'memory' && place ? new SeenMemory(place) : undefined;
    this.trust = new Trust(this.#engine, { init, keys: config.encryptionKeys }, this.#memory, log);
    this.#steps = new GroupCommit(this.#engine, this.trust, (channels) => this.#wake(channels));
    this.#engine.listen((channel) => this.#wake([channel]));
  }

  /** Throws {@link ConfigError} if the start is refused. Resolves if the database is only away. */
  async open(): Promise<void> {
    try {
      await this.trust.start();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.trust.stop();
    await this.#engine.close();
    await this.#memory?.flush();
  }

  /** Runs one statement that changes nothing, on a connection of its own. The statement has to bound its rows in number and in bytes. */
  async read<R>(query: Query, options?: Urgency): Promise<readonly R[]> {
    return (await told(this.#engine.read(query, options))) as readonly R[];
  }

  /** Returns the clock of the database, as {@link clockFrom} does. */
  async clock(): Promise<() => number> {
    const [found] = await this.read<{ readonly now: number }>(CLOCK.with());
    return clockFrom(found?.now ?? Date.now());
  }

  step<Input, Output>(step: Step<Input, Output>, input: Input): Promise<Output> {
    return told(this.#steps.run(step, input));
  }

  /**
   * Resolves when a step of any process has woken the channel, or when it is time to read without a wake-up. Call it before the read: a
   * commit after the call then still wakes the caller.
   */
  async woken(channel: string, signal?: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(channel) ?? new Set();
    this.#waiting.set(channel, waiting);
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.add(resolve);
    const abandon = edge('waiter of the database', () => resolve());
    const timer = setTimeout(abandon, this.#engine.askEveryMs).unref();
    signal?.addEventListener('abort', abandon, { once: true });
    if (signal?.aborted) resolve();
    await promise;
    signal?.removeEventListener('abort', abandon);
    clearTimeout(timer);
    waiting.delete(resolve);
    if (waiting.size === 0 && this.#waiting.get(channel) === waiting) this.#waiting.delete(channel);
  }

  #wake(channels: readonly string[]): void {
    for (const resolve of channels.flatMap((channel) => [...(this.#waiting.get(channel) ?? [])])) resolve();
  }
}

async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DatabaseFault)) throw error;
    // The statement is wrong, which is a fault of this program.
    if (error.reason === 'broken') reportFault('database', error);
    throw new DatabaseUnavailable(error.reason, error);
  }
}

export function engineOf({ address, ca, poolMax, platform }: DatabaseConfig): Engine {
  if (address.kind === 'memory') return new SqliteMemory(platform);
  if (address.kind === 'file') return new SqliteFile(address.path, platform);
  return new PostgresEngine({ address, ca }, poolMax, platform);
}
