import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { confirmStore } from '../support/confirm-store.ts';
import { Fleet } from '../support/fleet.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { ask, freePort, type RunningRedis, startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import type { Answer, Found } from './check.ts';
import { DEADLINE_MS, type Fault, faultRules } from './plan.ts';
import { CHANNEL, Records } from './records.ts';

interface StageOptions {
  readonly processes: number;
  /** A name of variants.ts. */
  readonly variant?: string | undefined;
  readonly environment?: Record<string, string>;
  readonly seed?: number;
}

type StartGateway = (more?: Record<string, string>) => ReturnType<typeof startGatewayProcess>;

const AUDIT_LINE = /"event":"audit","requestId":"([\w-]+)"/g;
/** Where Redis keeps its log. */
const LOG = 'appendonlydir';
/** A killed process loses the line that it is writing, since a write does not wait for the log. */
const KILLED_WITH_ITS_LINES_MS = 2_000;

/** A platform, gateways, and an order store that survives kills, unless the variant prevents that. */
export class Stage {
  readonly sandbox: TestSandbox;
  readonly fleet: Fleet;
  readonly records: Records;
  restarts = 0;
  #asked = 0;
  /** Requests with a response, by id: the gateway and the time. */
  readonly #answered = new Map<string, { by: GatewayProcess; at: number }>();
  /** Gateways that were killed, and when. */
  readonly #killed = new Map<GatewayProcess, number>();
  #orderStore: RunningRedis;
  readonly #orderStoreFolder: string;
  readonly #startOrderStore: () => Promise<RunningRedis>;
  readonly #startGateway: StartGateway;
  readonly #environment: Record<string, string>;
  #promoted: RunningRedis | undefined;
  #confirmed = 0;

  private constructor(
    parts: Pick<Stage, 'sandbox' | 'fleet' | 'records'>,
    orderStore: { running: RunningRedis; folder: string; start: () => Promise<RunningRedis> },
    startGateway: StartGateway,
    environment: Record<string, string>,
  ) {
    this.sandbox = parts.sandbox;
    this.fleet = parts.fleet;
    this.records = parts.records;
    this.#orderStore = orderStore.running;
    this.#orderStoreFolder = orderStore.folder;
    this.#startOrderStore = orderStore.start;
    this.#startGateway = startGateway;
    this.#environment = environment;
  }

  static async set({ processes, variant, environment = {}, seed }: StageOptions): Promise<Stage> {
    const sandbox = await TestSandbox.start(seed === undefined ? {} : { seed });
    await sandbox.fault(faultRules());
    const folder = mkdtempSync(join(tmpdir(), 'order-store-'));
    const port = await freePort();
    const log = variant === 'store-without-persistence' ? ['no', 'no'] : ['yes', 'always'];
    const start = () =>
      startRedis([
        ...['--port', String(port), '--dir', folder],
        ...['--appendonly', log[0] as string, '--appendfsync', log[1] as string],
      ]);
    const running = await start();
    const fleet = await Fleet.start(sandbox, 0, {});
    const all = {
      ...fleet.environment,
      GUARD_REDIS_URL: running.url,
      UPSTREAM_ORDER_DEADLINE_MS: String(DEADLINE_MS),
      ...environment,
      ...(variant && { CHAOS_VARIANT: variant }),
    };
    const preload = `--import ${pathToFileURL(resolve('test/chaos/variants.ts')).href} --no-warnings`;
    const startGateway: StartGateway = (more = {}) =>
      startGatewayProcess({ ...all, ...more }, variant ? { nodeOptions: preload } : {});
    fleet.gateways = await Promise.all(Array.from({ length: processes }, () => startGateway()));
    const records = await Records.open(all);
    const stage = new Stage({ sandbox, fleet, records }, { running, folder, start }, startGateway, all);
    // Fetches tokens and runs the code once before the test.
    await Promise.all(
      fleet.gateways.keys().map(async (gateway) => {
        let tries = 0;
        await until(`gateway ${gateway} places an order`, async () => {
          const { status } = await stage.place(gateway, `first-${gateway}-${tries++}`, 'none');
          return status === 201;
        });
      }),
    );
    return stage;
  }

  /** Submits the order to that gateway. */
  async place(
    gateway: number,
    channelOrderId: string,
    fault: Fault,
    signal = AbortSignal.timeout(60_000),
  ): Promise<Answer> {
    const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
    const assets = [{ products: [{ productUri: 'draft.pro', limitConcurrent: 1 }] }];
    const item = { orderType: 'new_buy', licenseType: 'softkey', branch: { code: fault }, customer, assets };
    const by = this.fleet.gateways[gateway] as GatewayProcess;
    const requestId = randomUUID();
    try {
      const response = await fetch(`${by.url}/v1/license-orders`, {
        method: 'POST',
        headers: {
          'x-api-key': this.fleet.key,
          'content-type': 'application/json',
          'x-request-id': requestId,
        },
        body: JSON.stringify({ channelCode: CHANNEL, channelOrderId, items: [item] }),
        signal,
      });
      const answer = { ...((await response.json()) as Omit<Answer, 'status'>), status: response.status };
      // An overloaded gateway refuses before it reads the caller and the route.
      if (answer.code !== 'overloaded') this.#answered.set(requestId, { by, at: performance.now() });
      return answer;
    } catch {
      return { status: 0 };
    }
  }

  /** The record of an order: asks each gateway in turn until one responds; undefined without a record. */
  async find(channelOrderId: string): Promise<Found | undefined> {
    let found: Found | undefined;
    await until(`${channelOrderId} can be looked up`, async () => {
      const { url } = this.fleet.gateways[this.#asked++ % this.fleet.gateways.length] as GatewayProcess;
      const response = await fetch(`${url}/v1/license-orders/${CHANNEL}/${channelOrderId}`, {
        headers: { 'x-api-key': this.fleet.key },
      });
      const body = (await response.json()) as Found;
      found = response.status === 200 ? body : undefined;
      return response.status === 200 || response.status === 404;
    });
    return found;
  }

  /** The number of responses, and those without exactly one line in the trail of writes. */
  async trail(): Promise<{ answers: number; unaudited: readonly string[] }> {
    const lines = new Map<string, number>();
    const expected = [...this.#answered].filter(([, { by, at }]) => {
      const killed = this.#killed.get(by);
      return killed === undefined || at < killed - KILLED_WITH_ITS_LINES_MS;
    });
    const wrong = () => {
      lines.clear();
      for (const gateway of [...this.#killed.keys(), ...this.fleet.gateways])
        for (const [, id = ''] of gateway.output().matchAll(AUDIT_LINE))
          lines.set(id, (lines.get(id) ?? 0) + 1);
      return [
        ...expected.filter(([id]) => !lines.has(id)).map(([id]) => id),
        ...[...lines].filter(([, count]) => count > 1).map(([id]) => id),
      ];
    };
    await until('every line has arrived', () => wrong().length === 0).catch(() => undefined);
    return { answers: expected.length, unaudited: wrong() };
  }

  /** kill -9, and a new one in its place. */
  async killGateway(index: number): Promise<void> {
    const gateway = this.fleet.gateways[index] as GatewayProcess;
    this.#killed.set(gateway, performance.now());
    gateway.child.kill('SIGKILL');
    await gateway.ended;
    this.fleet.gateways[index] = await this.#startGateway();
    this.restarts++;
  }

  async killOrderStore(): Promise<void> {
    await this.#orderStore.kill9();
  }

  async restartOrderStore(): Promise<void> {
    this.#orderStore = await this.#startOrderStore();
    this.restarts++;
  }

  get orderStore(): RunningRedis {
    return this.#orderStore;
  }

  async emptyOrderStore(): Promise<void> {
    await ask(this.#orderStore, (client) => client.flushall());
  }

  /** As a copy of the store's folder is made while Redis runs. */
  copyOrderStore(): void {
    cpSync(join(this.#orderStoreFolder, LOG), join(this.#orderStoreFolder, 'copy'), { recursive: true });
  }

  /** The store is killed, and comes back as it was when it was copied. */
  async restoreOrderStore(): Promise<void> {
    await this.killOrderStore();
    rmSync(join(this.#orderStoreFolder, LOG), { recursive: true });
    cpSync(join(this.#orderStoreFolder, 'copy'), join(this.#orderStoreFolder, LOG), { recursive: true });
    await this.restartOrderStore();
  }

  /** The store gets a replica, which is promoted while the old master goes on, as after a failover between two networks. */
  async promoteReplica(): Promise<void> {
    const master = this.#orderStore;
    const log = ['--appendonly', 'yes', '--appendfsync', 'always'];
    this.#promoted = await startRedis([...log, '--replicaof', '127.0.0.1', String(master.port)]);
    const isKnown = (gateway: GatewayProcess) =>
      gateway.output().includes('"event":"order-store-replicas","replicas":1');
    await until('every gateway knows of the replica', () => this.fleet.gateways.every(isKnown));
    await until('the replica acknowledges', () =>
      ask(master, async (client) => {
        await client.set('{stage}:followed', 1);
        return (await client.wait(1, 200)) === 1;
      }),
    );
    await ask(this.#promoted, (client) => client.replicaof('NO', 'ONE'));
  }

  /** Starts a gateway that is connected to the promoted server, and returns its index. */
  async startAtPromoted(): Promise<number> {
    const url = this.#promoted?.url ?? '';
    return this.fleet.gateways.push(await this.#startGateway({ GUARD_REDIS_URL: url })) - 1;
  }

  /** The promoted server ends, with the gateway that had it, and an operator says that there is no replica any more. */
  async dropPromoted(): Promise<void> {
    const gateway = this.fleet.gateways.pop() as GatewayProcess;
    this.#killed.set(gateway, performance.now());
    gateway.child.kill('SIGKILL');
    await gateway.ended;
    await this.#promoted?.stop();
    this.#promoted = undefined;
    await this.confirmOrderStore();
  }

  /** An operator confirms the store as it is, and the gateways go on. */
  async confirmOrderStore(): Promise<void> {
    await confirmStore(this.#environment);
    await until('the test reads the epoch', async () => {
      await this.records.refresh();
      return true;
    });
    for (const gateway of this.fleet.gateways.keys())
      await until(`gateway ${gateway} takes orders`, async () => {
        const answer = await this.place(gateway, `confirmed-${this.#confirmed++}`, 'none');
        return answer.status === 201;
      });
  }

  /** Waits until no order counts as being sent: every orphaned lease has ended. */
  async settled(): Promise<void> {
    await until(
      'no order is being sent',
      async () => this.records.up && (await this.records.count('sending')) === 0,
    );
  }

  async pause(ms: number): Promise<void> {
    await sleep(ms);
  }

  async clear(): Promise<void> {
    this.records.close();
    for (const { child, ended } of this.fleet.gateways) {
      child.kill('SIGKILL');
      await ended;
    }
    await this.fleet.stop();
    await this.#promoted?.stop();
    await this.#orderStore.stop();
    rmSync(this.#orderStoreFolder, { recursive: true, force: true });
    await this.sandbox.close();
  }
}
