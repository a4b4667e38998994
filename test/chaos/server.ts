import { readFileSync } from 'node:fs';
import { SteppedClock } from '../support/clock-shim.ts';
import { type RunningPostgres, startPostgres, startStandby } from '../support/postgres.ts';
import { freePort, until } from '../support/redis.ts';

/** The log is on the disk before a commit is acknowledged. Nothing but the gateways commits. */
const SETTINGS = ['fsync=on', 'autovacuum=off'];
/** The signal SIGQUIT, in the last digit of a mask of signals. */
const IS_TOLD_TO_END = /^(?:SigPnd|ShdPnd):\s*[\da-f]*[4-7c-f]$/m;

/** A PostgreSQL server that a story breaks, and its standby if there is one. The URL names both. */
export class ChaosServer {
  /** The URL with the role of all gateways. */
  readonly url: string;
  readonly #clock: SteppedClock;
  #primary: RunningPostgres;
  #standby: RunningPostgres | undefined;
  /** The port of the standby, or free for one. */
  #otherPort: number;
  /** The process that writes the log for commits that do not wait; see {@link holdLog}. */
  #held: number | undefined;

  private constructor(primary: RunningPostgres, url: string, otherPort: number, clock: SteppedClock) {
    this.#primary = primary;
    this.#otherPort = otherPort;
    this.#clock = clock;
    this.url = url.replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${otherPort}/`);
  }

  static async start(): Promise<ChaosServer> {
    const clock = SteppedClock.make();
    const primary = await startPostgres(SETTINGS, undefined, undefined, clock.environment);
    return new ChaosServer(primary, await primary.newUrl(), await freePort(), clock);
  }

  /** Leads to the server that takes writes. */
  get urlOfPrimary(): string {
    return this.url.replace(/@[^/]*/, `@127.0.0.1:${this.#primary.port}`);
  }

  /** Returns the folder of the server that takes writes. */
  get folder(): string {
    return this.#primary.folder;
  }

  /** Lets only those write the log who wait for their commit. The other commits are lost with the next crash. */
  async holdLog(): Promise<void> {
    const [found] = await this.#primary.ask(
      "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'",
    );
    this.#held = Number(found?.['pid']);
    process.kill(this.#held, 'SIGSTOP');
  }

  /** Makes the server crash. */
  async kill(): Promise<void> {
    const killed = this.#primary.kill();
    const held = this.#held;
    if (held !== undefined) {
      const status = `/proc/${held}/status`;
      await until('it is told to end', () => IS_TOLD_TO_END.test(readFileSync(status, 'utf8')));
      process.kill(held, 'SIGCONT');
      this.#held = undefined;
    }
    await killed;
  }

  start(): Promise<void> {
    return this.#primary.start();
  }

  /** An operator restarts it. */
  async restart(): Promise<void> {
    await this.#primary.shutDown();
    await this.#primary.start();
  }

  /** An administrator ends the connections of all gateways. */
  async cut(): Promise<void> {
    await this.#primary.ask(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'licensing-gateway'",
    );
  }

  backUp(): Promise<void> {
    return this.#primary.backUp();
  }

  /** The base backup takes its place. */
  restore(): Promise<void> {
    return this.#primary.restore();
  }

  /** Sets the clock this many ms ahead of the true time; negative: behind it. */
  step(aheadMs: number): void {
    this.#clock.step(aheadMs);
  }

  /** A standby follows from now on. Commits wait for it if it is synchronous. */
  async follow(how: 'synchronous' | 'asynchronous'): Promise<void> {
    const primary = this.#primary;
    this.#standby = await startStandby(primary, this.#otherPort, SETTINGS, this.#clock.environment);
    if (how === 'synchronous') {
      await primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'");
      await primary.ask('SELECT pg_reload_conf()');
    }
    const state = how === 'synchronous' ? 'sync' : 'async';
    await until('the standby follows', async () => {
      const [found] = await primary.ask(
        'SELECT sync_state, replay_lsn = pg_current_wal_flush_lsn() AS up FROM pg_stat_replication',
      );
      return found?.['sync_state'] === state && found['up'] === true;
    });
  }

  /** The standby gets no further commits. */
  async strand(): Promise<void> {
    const standby = this.#standby as RunningPostgres;
    await standby.ask("ALTER SYSTEM SET primary_conninfo = ''");
    await standby.ask('SELECT pg_reload_conf()');
    await until('nobody follows', async () => {
      return (await this.#primary.ask('SELECT 1 FROM pg_stat_replication')).length === 0;
    });
  }

  /** The server crashes, and its standby takes its place. */
  async failOver(): Promise<void> {
    const lost = this.#primary;
    await lost.kill();
    this.#primary = this.#standby as RunningPostgres;
    this.#standby = undefined;
    this.#otherPort = lost.port;
    await this.#primary.ask('SELECT pg_promote()');
    await lost.stop();
  }

  async stop(): Promise<void> {
    await this.#standby?.stop();
    await this.#primary.stop();
    this.#clock.stop();
  }
}
