import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Fleet } from '../support/fleet.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { type RunningRedis, startRedis } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { changeableGateway } from './changeable.ts';
import type { ChaosServer } from './server.ts';

/** Callers see that the server is away: they retry for as long. */
const AWAY_MS = 400;

export interface Setting {
  readonly processes: number;
  readonly seed?: number;
  /** Variables of the gateways. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A deliberate bug, and the file that has it. */
  readonly variant?: string | undefined;
  readonly variantsFile?: string;
  readonly platform?: Parameters<typeof TestSandbox.start>[0];
}

export interface Parts {
  readonly sandbox: TestSandbox;
  readonly fleet: Fleet;
  readonly environment: Readonly<Record<string, string>>;
  readonly launch: (more?: Readonly<Record<string, string>>) => Promise<GatewayProcess>;
}

/** The gateways are the shipped bundle, except where a deliberate bug changes their modules. */
export async function partsOf(setting: Setting): Promise<Parts> {
  const { processes, seed, variant, variantsFile = '' } = setting;
  const sandbox = await TestSandbox.start({ ...(seed !== undefined && { seed }), ...setting.platform });
  const fleet = await Fleet.start(sandbox, 0);
  const environment = {
    ...fleet.environment,
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
  return { sandbox, fleet, environment, launch };
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

/** Where gateways are killed, and their database and Redis too. */
export class ChaosStage extends Stage {
  readonly #server: ChaosServer | undefined;
  /** The Redis that took the place of the fleet's own, once that was killed. */
  #redis: RunningRedis | undefined;
  protected readonly environment: Readonly<Record<string, string>>;
  protected readonly launch: Parts['launch'];
  /** Gateways that were killed, and when. */
  protected readonly killed = new Map<GatewayProcess, number>();

  /** `server`: the database of the gateways, if it is one that may be broken. */
  constructor({ sandbox, fleet, environment, launch }: Parts, server?: ChaosServer) {
    super(sandbox, fleet);
    this.#server = server;
    this.environment = environment;
    this.launch = launch;
  }

  get hasServer(): boolean {
    return this.#server !== undefined;
  }

  /** The database. */
  get server(): ChaosServer {
    if (!this.#server) throw new Error('this stage has no server of its own');
    return this.#server;
  }

  /** Leads to the database, or to that server of it which takes writes. */
  get databaseUrl(): string {
    return this.#server?.urlOfPrimary ?? String(this.environment['DATABASE_URL']);
  }

  /** kill -9, and a new one in its place. */
  async killGateway(index: number): Promise<void> {
    await this.end(this.gateway(index));
    this.fleet.gateways[index] = await this.launch();
    this.count('gateways killed');
  }

  /** The database crashes, and is away for a moment. Something may happen meanwhile. */
  async killDatabase(meanwhile: () => Promise<unknown> = () => sleep(AWAY_MS)): Promise<void> {
    await this.server.kill();
    this.count('databases killed');
    await meanwhile();
    await this.server.start();
  }

  /** Kills Redis. It comes back empty, at the same port. */
  async killRedis(): Promise<void> {
    const { port } = this.fleet.redis;
    await (this.#redis ?? this.fleet.redis).kill9();
    await this.#redis?.stop();
    await sleep(AWAY_MS);
    this.#redis = await startRedis(['--port', String(port)]);
    this.count('Redis killed');
  }

  override async end(gateway: GatewayProcess): Promise<void> {
    this.killed.set(gateway, performance.now());
    await super.end(gateway);
  }

  /** Returns the output of all gateways, those that were killed included. */
  outputs(): string[] {
    return [...this.killed.keys(), ...this.fleet.gateways].map((gateway) => gateway.output());
  }

  override async clear(): Promise<void> {
    await super.clear();
    await this.#redis?.stop();
    await this.#server?.stop();
  }
}
