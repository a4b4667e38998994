import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { isSuccess } from '../chaos/orders/check.ts';
import { OrderDesk } from '../chaos/orders/desk.ts';
import { DEADLINE_MS, faultRules } from '../chaos/orders/plan.ts';
import { Hook } from '../chaos/orders/hook.ts';
import { Stage } from '../chaos/stage.ts';
import { confirmStore } from '../support/confirm-store.ts';
import { Fleet } from '../support/fleet.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { type Host, Network } from './network.ts';
import { type Kind, type OrderStore, startClusterStore, startSentinelStore } from './servers.ts';

/** A caller pauses an order after so many attempts; the end of a scene submits it once more. */
const TRIES = 100;
const READY_EVERY_MS = 50;
/** So long the queue believes that a gateway which was cut off still has a webhook, and longer. */
const LOCK_MS = 60_000;

/** A change of the orders' state in `/health/ready` at a gateway. */
interface ReadyChange {
  readonly gateway: number;
  readonly orders: string;
  /** By performance.now(). */
  readonly at: number;
}

/** A platform, gateways on machines of their own, and an order store of several servers. */
export class Site extends Stage {
  readonly network: Network;
  readonly store: OrderStore;
  readonly readyChanges: ReadyChange[] = [];
  readonly desk: OrderDesk;
  /** Their indexes. */
  readonly gateways: readonly number[];
  #hook: Hook | undefined;
  readonly #environment: Record<string, string>;
  readonly #watching = new AbortController();

  private constructor(
    { network, store }: Pick<Site, 'network' | 'store'>,
    sandbox: TestSandbox,
    fleet: Fleet,
    gateways: number,
  ) {
    super(sandbox, fleet);
    this.network = network;
    this.store = store;
    this.gateways = [...Array(gateways).keys()];
    this.desk = new OrderDesk(fleet, sandbox, TRIES);
    this.#environment = {
      ...fleet.environment,
      ORDER_REDIS_URL: store.url,
      NODE_EXTRA_CA_CERTS: store.credentials.caFile,
      WEBHOOK_HOSTS: '127.0.0.1',
      UPSTREAM_ORDER_DEADLINE_MS: String(DEADLINE_MS),
    };
  }

  static async open(kind: Kind, gateways: number): Promise<Site> {
    const sandbox = await TestSandbox.start();
    await sandbox.fault(faultRules());
    const network = new Network();
    const starters = {
      sentinel: () => startSentinelStore(network),
      // Any key of the ledger: its name decides its slot, and it begins like the platform's own.
      cluster: () => startClusterStore(network, `{${environmentOf(sandbox.url)}:guard}:`),
    };
    const [store, fleet] = await Promise.all([starters[kind](), Fleet.start(sandbox, 0)]);
    const site = new Site({ network, store }, sandbox, fleet, gateways);
    await Promise.all(site.gateways.map((index) => site.startGateway(index)));
    site.#hook = await Hook.open(fleet, LOCK_MS);
    for (const index of site.gateways) void site.#watch(index);
    await until('every gateway places orders', async () => {
      const first = await Promise.all(site.gateways.map((index) => site.desk.place(index, `first-${index}`)));
      return first.every(isSuccess);
    });
    return site;
  }

  hostOf(gateway: number): Host {
    return `127.0.1.${gateway + 1}`;
  }

  async startGateway(index: number): Promise<void> {
    const preload = pathToFileURL(resolve('test/topology/source-address.ts')).href;
    const environment = { ...this.#environment, SOURCE_ADDRESS: this.hostOf(index) };
    await this.fleet.launch(environment, { nodeOptions: `--import ${preload} --no-warnings` }, index);
  }

  /** Orders that were placed after this time, each with the request that did it. */
  placedSince(time = 0): OrderDesk['answered'] {
    return this.desk.answered.filter(({ isFirst, began }) => isFirst && began > time);
  }

  /** The receiver of a webhook: every event comes to it, whatever becomes of the servers. */
  get hook(): Hook {
    if (!this.#hook) throw new Error('no site is open');
    return this.#hook;
  }

  /** The gateways' current state of the order store: `up` or `down`, or nothing without a response. */
  async ready(gateway: number): Promise<string> {
    try {
      const response = await fetch(`${this.gateway(gateway).url}/health/ready`);
      return ((await response.json()) as { orders: string }).orders;
    } catch {
      return 'no answer';
    }
  }

  async allAre(orders: 'up' | 'down', gateways = this.gateways): Promise<void> {
    await until(`orders are ${orders} at every gateway`, async () => {
      const words = await Promise.all(gateways.map((gateway) => this.ready(gateway)));
      return words.every((word) => word === orders);
    });
  }

  /** What the servers of the order store and the gateways say of themselves, for a scene that does not end. */
  async account(): Promise<string> {
    const servers = this.store.nodes.map(async (node) => {
      const role = await node.ask((client) => client.call('ROLE')).catch(String);
      return `${node.host}, port ${node.port}: ${JSON.stringify(role)}`;
    });
    const gateways = this.gateways.map(async (index) => {
      const lines = this.gateway(index).output().split('\n');
      const told = lines.filter((line) => /"event":"order-store/.test(line)).slice(-8);
      return [`gateway ${index}: orders ${await this.ready(index)}`, ...told].join('\n  ');
    });
    return (await Promise.all([...servers, ...gateways])).join('\n');
  }

  /** Events of error and warning lines of a gateway, each with its count. */
  events(gateway: number): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const [, event = ''] of this.gateway(gateway)
      .output()
      .matchAll(/"level":"(?:warn|error)"[^\n]*?"event":"([\w-]+)"/g))
      counts.set(event, (counts.get(event) ?? 0) + 1);
    return counts;
  }

  /** The number of replicas that a gateway knows, and that have to have an order's record before it is sent. */
  replicasKnownTo(gateway: number): number {
    const told = this.gateway(gateway)
      .output()
      .match(/"event":"order-store-replicas","replicas":\d+/g);
    return Number(told?.at(-1)?.split(':').at(-1) ?? Number.NaN);
  }

  /** 1 while orders stop for that reason; `none`: while they are admitted. */
  async stopped(gateway: number, reason: 'none' | 'count'): Promise<number> {
    const response = await fetch(`${this.gateway(gateway).managementUrl}/metrics`);
    const line = new RegExp(`^gateway_order_store_stopped\\{reason="${reason}"\\} (\\d)`, 'm');
    return Number(line.exec(await response.text())?.[1] ?? Number.NaN);
  }

  /** Confirms, as an operator, that the order store may be trusted (`npm run order-store-init`); returns its output. */
  confirm(): Promise<string> {
    return confirmStore(this.#environment);
  }

  override async clear(): Promise<void> {
    this.#watching.abort();
    this.#hook?.close();
    await super.clear();
    await this.store.stop();
    await this.network.stop();
  }

  async #watch(gateway: number): Promise<void> {
    let last = '';
    while (!this.#watching.signal.aborted) {
      const orders = await this.ready(gateway);
      if (orders !== last) this.readyChanges.push({ gateway, orders, at: performance.now() });
      last = orders;
      await sleep(READY_EVERY_MS);
    }
  }
}

/** The same as in src/redis/key-names.ts. */
function environmentOf(platformUrl: string): string {
  return createHash('sha256').update(new URL(platformUrl).href).digest('hex').slice(0, 8);
}
