import { cpSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SteppedClock } from '../support/clock-shim.ts';
import { Fleet } from '../support/fleet.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { freePort, type RunningRedis, serverFolder, startRedis } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { changeableGateway } from './changeable.ts';

/** Where Redis keeps its log. */
const LOG = 'appendonlydir';

/** A Redis that keeps each write over a kill, and comes back at the same address. */
export class DurableStore {
  readonly folder = serverFolder('order-store-');
  running!: RunningRedis;
  readonly #clock = SteppedClock.make();
  #aheadMs = 0;
  #port = 0;
  readonly #isLogged: boolean;

  private constructor(isLogged: boolean) {
    this.#isLogged = isLogged;
  }

  static async start(isLogged = true): Promise<DurableStore> {
    const store = new DurableStore(isLogged);
    store.#port = await freePort();
    await store.restart();
    return store;
  }

  get url(): string {
    return this.running.url;
  }

  async kill(): Promise<void> {
    await this.running.kill9();
  }

  async restart(): Promise<void> {
    const log = this.#isLogged ? ['yes', 'always'] : ['no', 'no'];
    const settings = [
      ...['--port', String(this.#port), '--dir', this.folder],
      ...['--appendonly', log[0] as string, '--appendfsync', log[1] as string],
    ];
    this.running = await startRedis(settings, undefined, this.#clock.environment);
  }

  /** For the store, whose clock all leases go by, this time passes at once. */
  pass(ms: number): void {
    this.#aheadMs += ms;
    this.#clock.step(this.#aheadMs);
  }

  /** As a copy of the folder is made while Redis runs. */
  copy(): void {
    cpSync(join(this.folder, LOG), join(this.folder, 'copy'), { recursive: true });
  }

  /** It is killed, and comes back as it was when it was copied. */
  async restore(): Promise<void> {
    await this.kill();
    rmSync(join(this.folder, LOG), { recursive: true });
    cpSync(join(this.folder, 'copy'), join(this.folder, LOG), { recursive: true });
    await this.restart();
  }

  async stop(): Promise<void> {
    await this.running.stop();
    this.#clock.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface Setting {
  readonly processes: number;
  readonly seed?: number;
  /** Variables of the gateways. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A deliberate bug, and the file that has it. */
  readonly variant?: string | undefined;
  readonly variantsFile?: string;
  readonly isLogged?: boolean;
  readonly platform?: Parameters<typeof TestSandbox.start>[0];
}

export interface Parts {
  readonly sandbox: TestSandbox;
  readonly fleet: Fleet;
  readonly store: DurableStore;
  readonly environment: Readonly<Record<string, string>>;
  readonly launch: (more?: Readonly<Record<string, string>>) => Promise<GatewayProcess>;
}

/** The gateways are the shipped bundle, except where a deliberate bug changes their modules. */
export async function partsOf(setting: Setting): Promise<Parts> {
  const { processes, seed, variant, variantsFile = '', isLogged } = setting;
  const sandbox = await TestSandbox.start({ ...(seed !== undefined && { seed }), ...setting.platform });
  const store = await DurableStore.start(isLogged);
  const fleet = await Fleet.start(sandbox, 0);
  const environment = {
    ...fleet.environment,
    ORDER_REDIS_URL: store.url,
    ...setting.environment,
    ...(variant && { CHAOS_VARIANT: variant }),
  };
  const file = variant && (await changeableGateway());
  const preload = `--import ${pathToFileURL(resolve(variantsFile)).href} --no-warnings`;
  const launch: Parts['launch'] = (more = {}) =>
    startGatewayProcess(
      { ...environment, ...more },
      file === undefined ? {} : { file, nodeOptions: preload },
    );
  fleet.gateways = await Promise.all(Array.from({ length: processes }, () => launch()));
  return { sandbox, fleet, store, environment, launch };
}

/** A platform and gateways. */
export class Stage {
  readonly sandbox: TestSandbox;
  readonly fleet: Fleet;
  readonly figures: Record<string, number> = {};

  constructor(sandbox: TestSandbox, fleet: Fleet) {
    this.sandbox = sandbox;
    this.fleet = fleet;
  }

  count(what: string, number = 1): void {
    this.figures[what] = (this.figures[what] ?? 0) + number;
  }

  gateway(index: number): GatewayProcess {
    return this.fleet.gateways[index] as GatewayProcess;
  }

  /** kill -9. */
  async end(gateway: GatewayProcess): Promise<void> {
    gateway.child.kill('SIGKILL');
    await gateway.ended;
  }

  /** What must hold after all acts. */
  atLast(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  async clear(): Promise<void> {
    await Promise.all(this.fleet.gateways.map((gateway) => this.end(gateway)));
    await this.fleet.stop();
    await this.sandbox.close();
  }
}

/** With a store that survives kills. */
export class ChaosStage extends Stage {
  readonly store: DurableStore;
  protected readonly environment: Readonly<Record<string, string>>;
  protected readonly launch: Parts['launch'];
  /** Gateways that were killed, and when. */
  protected readonly killed = new Map<GatewayProcess, number>();

  constructor({ sandbox, fleet, store, environment, launch }: Parts) {
    super(sandbox, fleet);
    this.store = store;
    this.environment = environment;
    this.launch = launch;
  }

  /** kill -9, and a new one in its place. */
  async killGateway(index: number): Promise<void> {
    await this.end(this.gateway(index));
    this.fleet.gateways[index] = await this.launch();
    this.count('gateways killed');
  }

  async killStore(): Promise<void> {
    await this.store.kill();
    this.count('stores killed');
  }

  override async end(gateway: GatewayProcess): Promise<void> {
    this.killed.set(gateway, performance.now());
    await super.end(gateway);
  }

  /** Of all gateways, those that were killed too. */
  outputs(): string[] {
    return [...this.killed.keys(), ...this.fleet.gateways].map((gateway) => gateway.output());
  }

  override async clear(): Promise<void> {
    await super.clear();
    await this.store.stop();
  }
}
