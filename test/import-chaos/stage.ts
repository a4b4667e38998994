import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Fleet } from '../support/fleet.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { ask, freePort, type RunningRedis, startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** Short, so that calls without a response end during the run. */
const DEADLINE_MS = 1_000;

/** What the platform does to calls: each is spoiled with some probability, before or after it was carried out. */
const FAULTS = [
  { phase: 'after', action: { reset: 'before-headers' } },
  { phase: 'before', action: { reset: 'before-headers' } },
  { phase: 'after', action: { code: '500', message: 'network exception, retry' } },
  { phase: 'before', action: { code: '500', message: 'network exception, retry' } },
  { phase: 'after', action: { truncate: 40 } },
  { phase: 'before', action: { delayMs: 1_400 } },
  { phase: 'after', action: { hang: true } },
];
const PROBABILITY = 0.03;
/** Long enough for a process to be killed meanwhile. */
const USUAL_MS = 250;

export interface StageOptions {
  readonly processes: number;
  readonly seed: number;
  /** Whether the platform fails; it is slow in any case. */
  readonly faults: boolean;
  /** A name of variants.ts. */
  readonly variant?: string | undefined;
}

/** A platform, gateways, and a store that survives kills. */
export class ImportStage {
  kills = 0;
  redisKills = 0;
  #ended = false;

  readonly sandbox: TestSandbox;
  readonly fleet: Fleet;
  private store: RunningRedis;
  private readonly folder: string;
  private readonly startStore: () => Promise<RunningRedis>;
  private readonly startGateway: () => Promise<GatewayProcess>;

  private constructor(
    sandbox: TestSandbox,
    fleet: Fleet,
    store: RunningRedis,
    folder: string,
    startStore: () => Promise<RunningRedis>,
    startGateway: () => Promise<GatewayProcess>,
  ) {
    this.sandbox = sandbox;
    this.fleet = fleet;
    this.store = store;
    this.folder = folder;
    this.startStore = startStore;
    this.startGateway = startGateway;
  }

  static async set({ processes, seed, faults, variant }: StageOptions): Promise<ImportStage> {
    const sandbox = await TestSandbox.start({ seed, rowFaults: 'row' });
    // Every call takes its time, and some are spoiled.
    const spoiled = faults
      ? FAULTS.map((rule) => ({ ...rule, operation: 'addMembers', probability: PROBABILITY }))
      : [];
    for (const rule of [...spoiled, { operation: 'addMembers', action: { delayMs: USUAL_MS } }])
      await sandbox.fault(rule);
    const folder = mkdtempSync(join(tmpdir(), 'import-store-'));
    const port = await freePort();
    const startStore = () =>
      startRedis(['--port', String(port), '--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always']);
    const store = await startStore();
    const fleet = await Fleet.start(sandbox, 0, {});
    const environment = {
      ...fleet.environment,
      GUARD_REDIS_URL: store.url,
      UPSTREAM_DEADLINE_MS: String(DEADLINE_MS),
      ...(variant && { CHAOS_VARIANT: variant }),
    };
    const preload = `--import ${pathToFileURL(resolve('test/import-chaos/variants.ts')).href} --no-warnings`;
    const startGateway = () => startGatewayProcess(environment, variant ? { nodeOptions: preload } : {});
    fleet.gateways = await Promise.all(Array.from({ length: processes }, startGateway));
    return new ImportStage(sandbox, fleet, store, folder, startStore, startGateway);
  }

  /** A response of any gateway that responds; undefined where this one does not. */
  async ask(path: string, init: RequestInit = {}, gateway = Math.random()): Promise<Response | undefined> {
    const { gateways, key } = this.fleet;
    const { url } = gateways[Math.floor(gateway * gateways.length)] as GatewayProcess;
    const headers = { 'x-api-key': key, ...(init.headers as Record<string, string>) };
    const response = await fetch(url + path, { ...init, headers, signal: AbortSignal.timeout(30_000) }).catch(
      () => undefined,
    );
    // Read now, because the gateway may be killed before it is read.
    const body = await response?.text().catch(() => undefined);
    return response && body !== undefined
      ? new Response(body || null, { status: response.status })
      : undefined;
  }

  /** The same, until a gateway responds with one of these statuses. */
  async answer<T>(
    path: string,
    init: RequestInit = {},
    statuses: readonly number[] = [200, 201, 202],
  ): Promise<T> {
    let found: T | undefined;
    await until(`${path} is answered`, async () => {
      const response = await this.ask(path, init);
      if (!response || !statuses.includes(response.status)) return false;
      found = (await response.json()) as T;
      return true;
    });
    return found as T;
  }

  /** A new enterprise of the platform. */
  async enterprise(index: number): Promise<string> {
    const body = JSON.stringify({ crmCustomerId: `CRM-I${index}`, customerName: `Import ${index}` });
    const headers = { 'content-type': 'application/json' };
    const made = await this.answer<{ enterpriseGlobalId: string }>('/v1/enterprises', {
      method: 'POST',
      body,
      headers,
    });
    return made.enterpriseGlobalId;
  }

  /** kill -9 of a gateway, and a new one in its place. */
  async killGateway(index: number): Promise<void> {
    const gateway = this.fleet.gateways[index] as GatewayProcess;
    gateway.child.kill('SIGKILL');
    await gateway.ended;
    this.kills++;
    this.fleet.gateways[index] = await this.startGateway();
  }

  async killStore(): Promise<void> {
    await this.store.kill9();
    await sleep(300);
    this.store = await this.startStore();
    this.redisKills++;
  }

  /** Keys of rows that wait with their passwords. */
  waitingKeys(): Promise<string[]> {
    return ask(this.store, (client) => client.keys('*:imports}:waiting:*'));
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  async clear(): Promise<void> {
    this.#ended = true;
    for (const { child, ended } of this.fleet.gateways) {
      child.kill('SIGKILL');
      await ended;
    }
    await this.fleet.stop();
    await this.store.stop();
    rmSync(this.folder, { recursive: true, force: true });
    await this.sandbox.close();
  }
}
