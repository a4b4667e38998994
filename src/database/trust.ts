import { randomBytes } from 'node:crypto';
import { ConfigError } from '../config/config-error.ts';
import type { EncryptionKey } from '../kit/sealed-store/sealed-store.ts';
import type { Log } from '../observability/log.ts';
import { edge } from '../shared/edge.ts';
import { DatabaseUnavailable } from './database-unavailable.ts';
import { DatabaseFault, type Engine, type FaultReason, type Rows } from './engine.ts';
import {
  identityIn,
  isBehind,
  LOOK,
  lossIn,
  lossWrites,
  make,
  otherPlatforms,
  recordLoss,
  TRY,
} from './identity.ts';
import { DatabaseSchema, SCHEMA_VERSION } from './schema.ts';
import { KeyChecks } from './key-checks.ts';
import { highest, joined, type Seen, type SeenMemory } from './seen-memory.ts';
import type { Query } from './sql.ts';

const CHECK_MS = 1_000;
const CHECK_STOPPED_MS = 250;
/** How often a trial write runs while there are no other writes. Only a write discovers a full disk. */
const TRIAL_MS = 5_000;
const TRIAL_BYTES = 64 * 1024;
/** How often the gateway compares what it has seen with what other gateways have seen. Their memory may be emptied at any time. */
const SHARE_MS = 5_000;

/** Why orders are refused. `none` means that orders are accepted. */
export const trustReasons = ['none', 'away', 'unready', 'identity', 'numbers', 'settings', 'writes'] as const;
export type TrustReason = (typeof trustReasons)[number];
/** The faults that end with the next successful write. All other faults end only when an operator or the server acts. */
const FAULTS_OF_WRITES: ReadonlySet<FaultReason> = new Set(['full', 'read-only', 'rights', 'damaged']);
/** A database that stopped orders for one of these reasons may lack records, so a missing record proves nothing. */
const LACKING: ReadonlySet<TrustReason> = new Set(['unready', 'identity', 'numbers']);
const CONFIRM = 'orders are refused until an operator confirms it with `npm run database-init`';

interface Watched {
  /** The rows of the query also have the clock of the database, as `now`. */
  readonly query: Query;
  /** Returns the fault for which nothing may be written. */
  readonly check: (found: Rows) => DatabaseFault | undefined;
  /** Returns the writes that record a loss before the step writes anything. */
  readonly lossWrites: (found: Rows) => readonly Query[];
}

/**
 * Watches whether the database still has what was committed, keeps what it commits, and accepts writes. If not, no order is placed, and one
 * log line says why.
 */
export class Trust {
  readonly keys: KeyChecks;
  readonly #schema: DatabaseSchema;
  #seen: Seen | undefined;
  #stopped: TrustReason = 'away';
  #message = 'The database has not answered yet';
  #reported = '';
  #weak = '';
  #losesWrites = false;
  #isPrepared = false;
  #wroteAt = -Infinity;
  #sharedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(
    private readonly engine: Engine,
    private readonly settings: {
      readonly init: 'auto' | 'manual';
      readonly keys: readonly EncryptionKey[];
    },
    private readonly memory: SeenMemory | undefined,
    private readonly log: Log,
  ) {
    this.keys = new KeyChecks(engine, settings.keys);
    this.#schema = new DatabaseSchema(engine);
  }

  /** Throws {@link ConfigError} if the start is refused. If the database is away, it resolves and keeps trying to reach it. */
  async start(): Promise<void> {
    await this.check(true);
    this.#plan();
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  get status(): 'up' | 'down' {
    return this.#stopped === 'none' ? 'up' : 'down';
  }

  /** True if a failover may lose commits. */
  get isWeak(): boolean {
    return this.#weak !== '';
  }

  /** The reason for an operator to read. */
  get trouble(): { readonly stopped: TrustReason; readonly reason: string | undefined } {
    return { stopped: this.#stopped, reason: this.#stopped === 'none' ? undefined : this.#message };
  }

  /** The fault with which every step is rejected, because its writes would be lost when the process ends. */
  get refusalOfAll(): DatabaseFault | undefined {
    return this.#losesWrites ? this.refusal : undefined;
  }

  /** The fault with which a guarded step is rejected before it begins. */
  get refusal(): DatabaseFault | undefined {
    if (this.#stopped === 'none') return undefined;
    return new DatabaseFault(this.#stopped === 'away' ? 'still-away' : 'stopped', this.#message);
  }

  /** Throws while the database is known to lack commits: a record that it does not have may have been there. */
  assertWhole(): void {
    if (LACKING.has(this.#stopped)) throw new DatabaseUnavailable('stopped');
  }

  /** Returns the query that a new transaction adds to its reads, and what the rows of the query show. */
  watch(): Watched {
    // The check uses the numbers of this moment, because other transactions commit while it runs.
    const expected = this.#seen;
    return {
      query: LOOK.with(),
      check: (found) => this.#compare(expected, found),
      lossWrites: (found) => (expected ? lossWrites(found, expected) : []),
    };
  }

  /** Call it when a commit has raised these numbers. */
  raised(found: Rows): void {
    const [row] = found;
    if (row && this.#seen)
      this.#remember({ ...this.#seen, numbers: { [String(row['name'])]: Number(row['value']) } });
  }

  /** Call it when a write has failed, or without a fault when it has succeeded. */
  wrote(fault: DatabaseFault | undefined): void {
    if (!fault) this.#wroteAt = performance.now();
    if (!fault && this.#stopped === 'writes' && this.#isPrepared) this.#goOn();
    // Writes to other tables may succeed, so the rights are checked again before orders go on.
    if (fault?.reason === 'rights') this.#isPrepared = false;
    // A more serious reason stays.
    if (fault && FAULTS_OF_WRITES.has(fault.reason) && ['none', 'writes'].includes(this.#stopped))
      this.#stop('writes', `Orders are refused: ${fault.message}`);
  }

  /** Rejects only during the start. */
  async check(isStart = false): Promise<void> {
    try {
      await this.engine.open();
      await this.#share();
      if (!this.#isPrepared) this.#isPrepared = await this.#prepare();
      if (!this.#isPrepared) return;
      const { unfit, weak, losesWrites = false } = await this.engine.fitness();
      this.#losesWrites = losesWrites;
      this.#warn(weak);
      if (unfit.length > 0) {
        this.#stop('settings', `The database ${unfit.join(', and ')}; orders are refused until then`);
        return;
      }
      const watched = this.watch();
      if (watched.check(await this.engine.read(watched.query, { isUrgent: true }))) return;
      const stopped = this.#stopped;
      // A server may answer reads while every commit waits, so orders go on only after a write.
      if (stopped !== 'none' || performance.now() - this.#wroteAt >= TRIAL_MS) await this.#try();
      // A step may have stopped orders for another reason meanwhile.
      if (this.#stopped === stopped && this.#isPrepared) this.#goOn();
    } catch (error) {
      if (isStart && error instanceof ConfigError) throw error;
      this.#fail(error);
    }
  }

  /** Learns what other gateways have seen. While their memory does not answer, each check asks it again, and orders go on. */
  async #share(): Promise<void> {
    if (!this.memory || performance.now() - this.#sharedAt < SHARE_MS) return;
    try {
      const all = await this.memory.share();
      this.#sharedAt = performance.now();
      this.#seen = joined(this.#seen, all);
    } catch {
      // Redis is away, which is logged.
    }
  }

  #fail(error: unknown): void {
    if (error instanceof ConfigError) {
      this.#stop('settings', `Orders are refused: ${error.faults.join('; ')}`);
      return;
    }
    const { reason, message } =
      error instanceof DatabaseFault ? error : { reason: 'away', message: String(error) };
    const stopped =
      reason === 'unready' ? 'unready' : FAULTS_OF_WRITES.has(reason as FaultReason) ? 'writes' : 'away';
    if (reason === 'unready') this.#isPrepared = false;
    this.#stop(stopped, `Orders are refused: ${message}`);
  }

  /** Makes the database ready as far as the gateway is allowed to. Returns whether the database is ready. */
  async #prepare(): Promise<boolean> {
    const version = await this.#schema.version();
    if (version > SCHEMA_VERSION)
      throw new ConfigError([
        `DATABASE_URL leads to a database of version ${version}, and this build knows ${SCHEMA_VERSION}: start the build that made it, or a newer one`,
      ]);
    const isKnown = version > 0 && identityIn(await this.engine.read(LOOK.with())) !== undefined;
    if (!isKnown && (this.#seen || this.settings.init === 'manual')) {
      const others = version > 0 ? await otherPlatforms(this.engine) : '';
      const isOther = `has records of ${others}, and none of the platform of UPSTREAM_BASE_URL, which may be wrong`;
      const isNew = others ? isOther : 'was never made ready';
      const what = this.#seen ? 'was emptied while orders were kept in it' : isNew;
      this.#stop(
        'unready',
        `The database ${what}: orders are refused until \`npm run database-init\` is run`,
      );
      return false;
    }
    if (version < SCHEMA_VERSION) await this.#schema.migrate();
    if (!isKnown) await make(this.engine, randomBytes(16).toString('base64url'));
    const lacks = await this.#schema.missingRights();
    if (lacks) this.#stop('writes', `The database ${lacks}; orders are refused until then`);
    else await this.keys.check();
    return lacks === undefined;
  }

  #compare(expected: Seen | undefined, found: Rows): DatabaseFault | undefined {
    const state = identityIn(found);
    const lost = state && expected && lossIn(state, expected);
    const isFeedBehind = state && expected && isBehind(state, expected);
    if (lost || isFeedBehind) this.#record(expected);
    if (!state) {
      this.#isPrepared = false;
      this.#stop(
        'unready',
        'The database was emptied while orders were kept in it: orders are refused until `npm run database-init` is run',
      );
    } else if (state.lostAt !== null)
      this.#stop('numbers', `The database has lost commits: ${CONFIRM}, which says how many are missing`);
    else if (lost === 'identity') this.#stop(lost, `The database is not the one it was: ${CONFIRM}`);
    else if (lost)
      this.#stop(
        lost,
        `The database went back and lost commits: ${CONFIRM}, which says how many are missing`,
      );
    else if (isFeedBehind)
      this.#stop('numbers', 'The database was confirmed: its feed goes on after what this gateway has seen');
    else {
      this.#remember(state);
      return undefined;
    }
    return this.refusal;
  }

  /** Records a loss in the database. Every gateway then stops, and `database-init` can say what is missing. */
  #record(seen: Seen): void {
    const record = edge('loss in the database', () => recordLoss(this.engine, seen).catch(() => undefined));
    record();
  }

  #remember(state: Seen): void {
    const { identity, confirmedAt } = state;
    const before = this.#seen?.identity === identity ? this.#seen.numbers : {};
    const numbers = highest(before, state.numbers);
    const isNew =
      this.#seen?.identity !== identity ||
      Object.keys(numbers).some((name) => numbers[name] !== before[name]);
    if (!isNew) return;
    this.#seen = { identity, confirmedAt, numbers };
    this.memory?.keep(this.#seen);
  }

  /**
   * Tries whether the database accepts writes. After a failure it writes more bytes than an order needs, because a full disk repeatedly has
   * space for a few bytes.
   */
  async #try(): Promise<void> {
    const trial = randomBytes(this.#stopped === 'writes' ? TRIAL_BYTES : 1).toString('base64');
    await this.engine.transact([], () => [TRY.with({ trial })]);
    this.wrote(undefined);
  }

  #warn(weak: readonly string[]): void {
    const text = weak.join(', and ');
    if (text && text !== this.#weak) this.log.warn({ event: 'database-weak' }, `The database ${text}`);
    this.#weak = text;
  }

  #goOn(): void {
    this.#stopped = 'none';
    this.#reported = '';
  }

  #stop(reason: TrustReason, message: string): void {
    this.#stopped = reason;
    this.#message = message;
    if (this.#reported === message) return;
    this.#reported = message;
    this.log.error({ event: reason === 'away' ? 'database-away' : 'database-stopped', reason }, message);
  }

  #plan(): void {
    if (this.#isOver) return;
    const look = async () => {
      await this.check();
      this.#plan();
    };
    const due = edge('look at the database', look, () => this.#plan());
    this.#timer = setTimeout(due, this.#stopped === 'none' ? CHECK_MS : CHECK_STOPPED_MS).unref();
  }
}
