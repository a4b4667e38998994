import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Stage } from '../chaos/stage.ts';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { Collector } from '../support/collector.ts';
import { Fleet } from '../support/fleet.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import { ask, freePort, type RunningRedis, startRedis } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

interface Attention {
  readonly title: string;
  readonly detail: string;
  readonly alert?: string;
}

/** One gateway with all that it needs, each part breakable: the platform, both Redis with users of their own, files, a collector. */
export class Site extends Stage {
  readonly folder = mkdtempSync(join(tmpdir(), 'night-'));
  readonly secretFile = join(this.folder, 'app-secret');
  /** The environment that the next start of the gateway gets. */
  environment: Record<string, string> = {};
  readonly firstKeys = newEncryptionKey();
  shared: RunningRedis;
  orders: RunningRedis;
  /** The status that the receiver of a webhook answers. */
  receiverSays = 204;
  readonly #receiver = createServer((request, response) => {
    request.resume();
    response.writeHead(this.receiverSays).end();
  });
  #ordersPort = 0;
  #orders = 0;
  #log = '';
  readonly #password = newSecret('r');

  readonly collector: Collector;

  private constructor(sandbox: TestSandbox, collector: Collector, fleet: Fleet) {
    super(sandbox, fleet);
    this.collector = collector;
    this.shared = fleet.redis;
    this.orders = fleet.redis;
  }

  static async open(): Promise<Site> {
    const [sandbox, collector] = await Promise.all([TestSandbox.start(), Collector.start()]);
    const site = new Site(sandbox, collector, await Fleet.start(sandbox, 0));
    const { fleet } = site;
    site.#ordersPort = await freePort();
    await site.startOrders();
    await site.password(site.shared);
    writeFileSync(site.secretFile, sandbox.appSecret);
    const urlOf = ({ port }: RunningRedis) => `redis://night:${site.#password}@127.0.0.1:${port}`;
    delete fleet.environment['UPSTREAM_APP_SECRET'];
    site.environment = {
      ...collector.environment,
      UPSTREAM_APP_SECRET_FILE: site.secretFile,
      REDIS_URL: urlOf(site.shared),
      ORDER_REDIS_URL: urlOf(site.orders),
      ORDER_STORE_INIT: 'auto',
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

  /** Keeps what a gateway has written that did not start. */
  said(output: string): void {
    this.#log += output;
  }

  async startOrders(): Promise<void> {
    this.orders = await startRedis([
      ...['--port', String(this.#ordersPort), '--dir', this.folder],
      ...['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'],
    ]);
    await this.password(this.orders);
  }

  /** Empty, in the place of the one that died. */
  async startShared(): Promise<void> {
    this.shared = await startRedis(['--port', String(this.shared.port)]);
    await this.password(this.shared);
  }

  async emptyOrders(): Promise<void> {
    await ask(this.orders, (client) => client.flushall());
  }

  async withKeys(keys: string): Promise<void> {
    this.environment['ENCRYPTION_KEYS'] = keys;
    await this.restartGateway();
  }

  /** Limits the orders of the caller in this month. */
  async budget(orders: number): Promise<void> {
    for (const caller of this.fleet.callers) caller.budgets = { orders };
    this.fleet.writeCallers();
  }

  async orderInDoubt(): Promise<void> {
    await this.sandbox.fault({ operation: 'batchOrder', times: 1, action: { reset: 'before-headers' } });
    await this.order();
  }

  /** The gateway's user gets this password, or the one that the gateway knows. Its connections end. */
  async password(redis: RunningRedis, password = this.#password): Promise<void> {
    await ask(redis, async (client) => {
      await client.call('ACL', 'SETUSER', 'night', 'reset', 'on', `>${password}`, '~*', '&*', '+@all');
      await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    });
  }

  async grant(redis: RunningRedis, right: string): Promise<void> {
    await ask(redis, (client) => client.call('ACL', 'SETUSER', 'night', right));
  }

  async set(redis: RunningRedis, name: string, value: string): Promise<void> {
    await ask(redis, (client) => client.config('SET', name, value));
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
    if (this.shared !== this.fleet.redis) await this.shared.stop();
    await this.orders.stop();
    this.collector.close();
    this.#receiver.closeAllConnections();
    this.#receiver.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
