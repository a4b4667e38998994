import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import {
  type Answer,
  duplicatesIn,
  type Found,
  isSuccess,
  type Told,
  type Violation,
  violationsOf,
} from '../chaos/check.ts';
import { DEADLINE_MS, type Fault, faultRules } from '../chaos/plan.ts';
import { SteppedClock } from '../support/clock-shim.ts';
import { Fleet } from '../support/fleet.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { orderOf } from '../support/order-body.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { type Host, Network } from './network.ts';
import {
  type OrderStore,
  startClusterStore,
  startSentinelStore,
  startSingleStore,
  untilElected,
} from './servers.ts';

const GATEWAYS = 3;
const PAUSE_MS = 100;
/** A caller pauses an order after this many attempts; the end of a scene submits it once more. */
const TRIES = 100;
const READY_EVERY_MS = 50;

/** A change of the orders' state in `/health/ready` at a gateway. */
export interface ReadyChange {
  readonly gateway: number;
  readonly orders: string;
  /** By performance.now(). */
  readonly at: number;
}

/** A platform, three gateways on machines of their own, and an order store of several servers. */
export class Site {
  readonly network: Network;
  readonly store: OrderStore;
  readonly sandbox: TestSandbox;
  readonly fleet: Fleet;
  /** For the store of one server. */
  readonly clock: SteppedClock | undefined;
  readonly readyChanges: ReadyChange[] = [];
  submits = 0;
  /** When an order was first placed, and when that request began. */
  readonly placed: { began: number; ended: number; gateway: number }[] = [];
  readonly #environment: Record<string, string>;
  readonly #told = new Map<string, Answer[]>();
  readonly #watching = new AbortController();
  #asked = 0;

  private constructor(
    parts: Pick<Site, 'network' | 'store' | 'sandbox' | 'fleet' | 'clock'>,
    environment: Record<string, string>,
  ) {
    this.network = parts.network;
    this.store = parts.store;
    this.sandbox = parts.sandbox;
    this.fleet = parts.fleet;
    this.clock = parts.clock;
    this.#environment = environment;
  }

  static async open(kind: OrderStore['kind']): Promise<Site> {
    const sandbox = await TestSandbox.start();
    await sandbox.fault(faultRules());
    const network = new Network();
    const clock = kind === 'single' ? SteppedClock.make() : undefined;
    const starters = {
      sentinel: () => startSentinelStore(network),
      // Any key of the ledger: its name decides its slot, and it begins like the platform's own.
      cluster: () => startClusterStore(network, `{${environmentOf(sandbox.url)}:guard}:`),
      single: () => startSingleStore(network, clock?.environment),
    };
    const store = await starters[kind]();
    const fleet = await Fleet.start(sandbox, 0, {});
    const site = new Site(
      { network, store, sandbox, fleet, clock },
      {
        ...fleet.environment,
        GUARD_REDIS_URL: store.url,
        NODE_EXTRA_CA_CERTS: store.credentials.caFile,
        UPSTREAM_ORDER_DEADLINE_MS: String(DEADLINE_MS),
      },
    );
    await Promise.all(Array.from({ length: GATEWAYS }, (_, index) => site.startGateway(index)));
    site.#watch();
    await untilElected('every gateway places orders', async () => {
      const first = await Promise.all(site.gateways.map((index) => site.place(index, `first-${index}`)));
      return first.every(isSuccess);
    });
    return site;
  }

  get gateways(): readonly number[] {
    return Array.from({ length: GATEWAYS }, (_, index) => index);
  }

  hostOf(gateway: number): Host {
    return `127.0.1.${gateway + 1}`;
  }

  gateway(index: number): GatewayProcess {
    return this.fleet.gateways[index] as GatewayProcess;
  }

  async startGateway(index: number): Promise<void> {
    const preload = pathToFileURL(resolve('test/topology/source-address.ts')).href;
    this.fleet.gateways[index] = await startGatewayProcess(
      { ...this.#environment, SOURCE_ADDRESS: this.hostOf(index) },
      { nodeOptions: `--import ${preload} --no-warnings` },
    );
  }

  /** kill -9, and a new one in its place. */
  async replaceGateway(index: number): Promise<void> {
    const { child, ended } = this.gateway(index);
    child.kill('SIGKILL');
    await ended;
    await this.startGateway(index);
  }

  /** Submits the order to that gateway, once. */
  async place(gateway: number, channelOrderId: string, fault: Fault = 'none'): Promise<Answer> {
    this.submits++;
    const began = performance.now();
    let answer: Answer = { status: 0 };
    try {
      const order = orderOf(channelOrderId);
      const items = order.items.map((item) => ({ ...item, branch: { code: fault } }));
      const response = await fetch(`${this.gateway(gateway).url}/v1/license-orders`, {
        method: 'POST',
        headers: { 'x-api-key': this.fleet.key, 'content-type': 'application/json' },
        body: JSON.stringify({ ...order, items }),
        signal: AbortSignal.timeout(30_000),
      });
      answer = { ...((await response.json()) as Omit<Answer, 'status'>), status: response.status };
      if (isSuccess(answer) && !response.headers.has('idempotent-replayed'))
        this.placed.push({ began, ended: performance.now(), gateway });
    } catch {
      // No response: the outcome is unknown to the caller.
    }
    const answers = this.#told.get(channelOrderId);
    if (answers) answers.push(answer);
    else this.#told.set(channelOrderId, [answer]);
    return answer;
  }

  /** As callers do: submits an order without a response, or one that was not processed, again at the next of these gateways. */
  async submit(
    channelOrderId: string,
    { at = this.gateways, fault = 'none' as Fault, tries = TRIES, signal }: Submission = {},
  ): Promise<Answer> {
    for (let attempt = 0; ; attempt++) {
      const answer = await this.place(at[attempt % at.length] as number, channelOrderId, fault);
      const again = answer.status === 0 || answer.status === 409 || answer.status === 503;
      if (!again || attempt + 1 >= tries || signal?.aborted) return answer;
      await sleep(PAUSE_MS);
    }
  }

  /** The record of an order: asks each gateway in turn until one responds; undefined without a record. */
  async find(channelOrderId: string): Promise<Found | undefined> {
    let found: Found | undefined;
    await untilElected(`${channelOrderId} can be looked up`, async () => {
      const { url } = this.gateway(this.#asked++ % GATEWAYS);
      const response = await fetch(`${url}/v1/license-orders/crm/${channelOrderId}`, {
        headers: { 'x-api-key': this.fleet.key },
      });
      const body = (await response.json()) as Found;
      found = response.status === 200 ? body : undefined;
      // An orphaned order is in doubt once its lease has ended.
      return response.status === 404 || (response.status === 200 && body.state !== 'sending');
    });
    return found;
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
    await untilElected(`orders are ${orders} at every gateway`, async () => {
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

  /** Of the line that begins with this text; NaN without one. */
  async metric(gateway: number, line: string): Promise<number> {
    const response = await fetch(`${this.gateway(gateway).managementUrl}/metrics`);
    const found = (await response.text()).split('\n').find((each) => each.startsWith(`${line} `));
    return found === undefined ? Number.NaN : Number(found.slice(line.length + 1));
  }

  /**
   * Compares the responses and the records with the orders that the platform carried out, since the last time. `lost`: records are
   * missing, so only duplicate orders count.
   */
  async judge(lost: boolean): Promise<{ orders: number; violations: readonly Violation[] }> {
    const told: Told[] = [...this.#told].map(([channelOrderId, answers]) => ({ channelOrderId, answers }));
    this.#told.clear();
    if (lost) return { orders: told.length, violations: duplicatesIn(await this.sandbox.commits()) };
    const records = new Map<string, Found>();
    for (const { channelOrderId } of told) {
      const record = await this.find(channelOrderId);
      if (record) records.set(channelOrderId, record);
    }
    // A gateway that could not reach the store may know of a success that is in doubt there.
    const violations = violationsOf(told, await this.sandbox.commits(), records, true);
    return { orders: told.length, violations };
  }

  /** Confirms, as an operator, that the order store may be trusted (`npm run guard-init`); returns its output. */
  async confirm(): Promise<string> {
    const child = spawn(process.execPath, ['dist/order-ledger/guard-init.js', '--yes'], {
      env: { PATH: process.env['PATH'], ...this.#environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [printed, complaint, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    if (code !== 0) throw new Error(`guard-init ended with ${String(code)}: ${complaint}`);
    return printed;
  }

  async close(): Promise<void> {
    this.#watching.abort();
    for (const { child, ended } of this.fleet.gateways) {
      child.kill('SIGKILL');
      await ended;
    }
    await this.fleet.stop();
    await this.store.stop();
    await this.network.stop();
    this.clock?.stop();
    await this.sandbox.close();
  }

  #watch(): void {
    for (const gateway of this.gateways) void this.#watchOne(gateway);
  }

  async #watchOne(gateway: number): Promise<void> {
    let last = '';
    while (!this.#watching.signal.aborted) {
      const orders = await this.ready(gateway);
      if (orders !== last) this.readyChanges.push({ gateway, orders, at: performance.now() });
      last = orders;
      await sleep(READY_EVERY_MS);
    }
  }
}

interface Submission {
  readonly at?: readonly number[];
  readonly fault?: Fault;
  readonly tries?: number;
  /** The last time for an attempt. */
  readonly signal?: AbortSignal;
}

/** The same as in src/redis/key-names.ts. */
function environmentOf(platformUrl: string): string {
  return createHash('sha256').update(new URL(platformUrl).href).digest('hex').slice(0, 8);
}
