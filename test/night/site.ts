import { type ChildProcess, execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Stage } from '../chaos/stage.ts';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { Collector } from '../support/collector.ts';
import { Fleet } from '../support/fleet.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import { followServer, type RunningPostgres, startPostgres } from '../support/postgres.ts';
import { ask, type RunningRedis, startRedis } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

interface Attention {
  readonly title: string;
  readonly detail: string;
  readonly alert?: string;
}

/** One gateway with all that it needs, each part breakable: the platform, PostgreSQL, Redis with a user of its own, files, a collector. */
export class Site extends Stage {
  readonly folder = mkdtempSync(join(tmpdir(), 'night-'));
  readonly secretFile = join(this.folder, 'app-secret');
  /** The environment that the next start of the gateway gets. */
  environment: Record<string, string> = {};
  readonly firstKeys = newEncryptionKey();
  redis: RunningRedis;
  readonly postgres: RunningPostgres;
  /** The URL of the gateway, which has a role and a schema of one name. */
  readonly databaseUrl: string;
  /** The status that the receiver of a webhook answers. */
  receiverSays = 204;
  readonly #receiver = createServer((request, response) => {
    request.resume();
    response.writeHead(this.receiverSays).end();
  });
  #standby: ChildProcess | undefined;
  #orders = 0;
  #log = '';
  readonly #password = newSecret('r');

  readonly collector: Collector;

  private constructor(
    sandbox: TestSandbox,
    fleet: Fleet,
    { collector, postgres, databaseUrl }: Pick<Site, 'collector' | 'postgres' | 'databaseUrl'>,
  ) {
    super(sandbox, fleet);
    this.collector = collector;
    this.postgres = postgres;
    this.databaseUrl = databaseUrl;
    this.redis = fleet.redis;
  }

  static async open(): Promise<Site> {
    const [sandbox, collector, postgres] = await Promise.all([
      TestSandbox.start(),
      Collector.start(),
      startPostgres(),
    ]);
    const databaseUrl = await postgres.newUrl();
    const fleet = await Fleet.start(sandbox, 0, { databaseUrl });
    const site = new Site(sandbox, fleet, { collector, postgres, databaseUrl });
    await site.password();
    writeFileSync(site.secretFile, sandbox.appSecret);
    delete fleet.environment['UPSTREAM_APP_SECRET'];
    site.environment = {
      ...collector.environment,
      UPSTREAM_APP_SECRET_FILE: site.secretFile,
      REDIS_URL: `redis://night:${site.#password}@127.0.0.1:${site.redis.port}`,
      ENCRYPTION_KEYS: site.firstKeys,
      WEBHOOK_HOSTS: '127.0.0.1',
    };
    await site.startGateway();
    await site.#openReceiver();
    return site;
  }

  async #openReceiver(): Promise<void> {
    await once(this.#receiver.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(this.#receiver.address() as AddressInfo).port}/`;
    const { status } = await onceServed(() => this.fleet.post(0, '/v1/webhooks', { url, types: ['*'] }));
    if (status !== 201) throw new Error(`no webhook: ${status}`);
  }

  async startGateway(): Promise<void> {
    await this.fleet.launch(this.environment, {}, 0);
  }

  async restartGateway(): Promise<void> {
    this.#log += this.gateway(0).output();
    await this.gateway(0).stop();
    await this.startGateway();
  }

  /** All that the gateway has written. */
  log(): string {
    return this.#log + this.gateway(0).output();
  }

  /** Empty, in the place of the one that died. */
  async startRedis(): Promise<void> {
    this.redis = await startRedis(['--port', String(this.redis.port)]);
    await this.password();
  }

  /** Runs a statement as the database's administrator; ROLE stands for the gateway's role and schema. */
  async administer(statement: string): Promise<void> {
    await this.postgres.ask(statement.replaceAll('ROLE', new URL(this.databaseUrl).username));
  }

  /** The gateway's role gets this password, or the one that the gateway knows. Its connections end. */
  async databasePassword(password = new URL(this.databaseUrl).password): Promise<void> {
    await this.administer(`ALTER USER ROLE PASSWORD '${password}'`);
    await this.administer("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ROLE'");
  }

  async readOnly(word: 'on' | 'off'): Promise<void> {
    await this.administer(`ALTER SYSTEM SET default_transaction_read_only = ${word}`);
    await this.administer('SELECT pg_reload_conf()');
  }

  /** An operator confirms the database. */
  async confirm(): Promise<void> {
    const env = { PATH: process.env['PATH'], ...this.fleet.environment, ...this.environment };
    await promisify(execFile)(process.execPath, ['dist/bundle/database-init.js', '--yes'], { env });
  }

  /** A standby follows for which no commit waits. */
  async follow(): Promise<void> {
    this.#standby = followServer(this.postgres, this.folder);
    await once(this.#standby, 'spawn');
  }

  async unfollow(): Promise<void> {
    if (!this.#standby) return;
    const gone = once(this.#standby, 'exit');
    this.#standby.kill();
    await gone;
    this.#standby = undefined;
  }

  /** The gateway starts again with these variables. One that is refused says so in the log. */
  async withVariables(variables: Readonly<Record<string, string>>): Promise<void> {
    Object.assign(this.environment, variables);
    await this.restartGateway().catch((error: unknown) => (this.#log += String(error)));
  }

  /** Limits the orders of the caller in this month. */
  async budget(orders: number): Promise<void> {
    for (const caller of this.fleet.callers) caller.budgets = { orders };
    this.fleet.writeCallers();
  }

  /** The gateway's user of Redis gets this password, or the one that the gateway knows. Its connections end. */
  async password(password = this.#password): Promise<void> {
    await ask(this.redis, async (client) => {
      await client.call('ACL', 'SETUSER', 'night', 'reset', 'on', `>${password}`, '~*', '&*', '+@all');
      await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    });
  }

  async grant(right: string): Promise<void> {
    await ask(this.redis, (client) => client.call('ACL', 'SETUSER', 'night', right));
  }

  async read(): Promise<void> {
    const fresh = { 'cache-control': 'no-cache' };
    await this.fleet.get(0, '/v1/enterprises/ent-harbour/assets', fresh).catch(() => undefined);
  }

  async order(number = `SO-night-${this.#orders++}`): Promise<number | undefined> {
    const answer = await this.fleet.post(0, '/v1/license-orders', orderOf(number)).catch(() => undefined);
    return answer?.status;
  }

  async attention(): Promise<Attention[]> {
    const state = await fetch(`${this.gateway(0).managementUrl}/console/state`);
    return ((await state.json()) as { attention: Attention[] }).attention;
  }

  override async clear(): Promise<void> {
    await super.clear();
    if (this.redis !== this.fleet.redis) await this.redis.stop();
    await this.unfollow();
    await this.postgres.stop();
    this.collector.close();
    this.#receiver.closeAllConnections();
    this.#receiver.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
