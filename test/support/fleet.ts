import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scopes } from '../../src/request/scopes.ts';
import { newApiKey, newEncryptionKey } from './canary.ts';
import type { CallerEntry } from './gateway.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { keepSchema, postgresUrl } from './postgres.ts';
import { type RunningRedis, startRedis } from './redis.ts';
import type { TestSandbox } from './sandbox.ts';

type HowToStart = Parameters<typeof startGatewayProcess>[1];

type Users = Record<string, { username: string; password: string }>;

interface FleetOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Variables of each process on top of `environment`, in order. */
  readonly each?: readonly Readonly<Record<string, string>>[];
  readonly how?: HowToStart;
  /** Upstream users by alias; else `default` and `anna`. */
  readonly users?: Users;
  /** Else a schema of its own in the server that all tests share. */
  readonly databaseUrl?: string;
  /** Further settings of the Redis server. */
  readonly redis?: readonly string[];
  /** Fields of the caller's entry that differ. */
  readonly caller?: object;
  /** Further callers, beside the one with all rights. */
  readonly callers?: readonly (Partial<CallerEntry> & { name: string })[];
}

/** What a fleet needs of the platform. */
type Platform = Pick<TestSandbox, 'url' | 'tokenUrl' | 'appKey' | 'appSecret' | 'seedPassword'>;

export interface FleetAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** Processes of the built gateway as in production: one database, one Redis, one platform, the same callers and users. */
export class Fleet {
  readonly folder = mkdtempSync(join(tmpdir(), 'gateway-fleet-'));
  readonly usersFile = join(this.folder, 'users.json');
  readonly redis: RunningRedis;
  readonly key: string;
  /** Keys of further callers, by name. */
  readonly keys: Record<string, string> = {};
  readonly environment: Record<string, string>;
  gateways: GatewayProcess[] = [];
  /** The callers file; see {@link writeCallers}. */
  callers: CallerEntry[];

  private constructor(
    sandbox: Platform,
    redis: RunningRedis,
    databaseUrl: string,
    { caller, callers: further = [] }: FleetOptions,
  ) {
    this.redis = redis;
    const { key, hash } = newApiKey();
    this.key = key;
    const all = { scopes: [...scopes], enterprises: ['*'], channels: ['*'], users: ['*'] };
    const others = further.map((entry) => {
      const own = newApiKey();
      this.keys[entry.name] = own.key;
      return { ...all, keys: [own.hash], ...entry };
    });
    this.callers = [{ ...all, name: 'fleet', keys: [hash], ...caller }, ...others];
    this.writeCallers();
    this.environment = {
      UPSTREAM_BASE_URL: sandbox.url,
      UPSTREAM_TOKEN_URL: sandbox.tokenUrl,
      UPSTREAM_APP_KEY: sandbox.appKey,
      UPSTREAM_APP_SECRET: sandbox.appSecret,
      UPSTREAM_USERS_FILE: this.usersFile,
      CALLERS_FILE: this.#callersFile,
      REDIS_URL: redis.url,
      DATABASE_URL: databaseUrl,
      ENCRYPTION_KEYS: newEncryptionKey(),
      CACHE_TTL_MS: '0',
    };
  }

  static async start(sandbox: Platform, count: number, options: FleetOptions = {}): Promise<Fleet> {
    const fleet = new Fleet(
      sandbox,
      await startRedis(options.redis),
      options.databaseUrl ?? (await postgresUrl()),
      options,
    );
    fleet.writeUsers(
      options.users ?? {
        default: { username: 'admin@harbour', password: sandbox.seedPassword },
        anna: { username: 'anna@harbour', password: sandbox.seedPassword },
      },
    );
    const launched = await Promise.allSettled(
      Array.from({ length: count }, (_, index) =>
        fleet.launch({ ...options.environment, ...options.each?.[index] }, options.how, index),
      ),
    );
    const failed = launched.find((each) => each.status === 'rejected');
    if (!failed) return fleet;
    await fleet.stop();
    throw failed.reason;
  }

  /** One more process of this fleet, with `environment` on top of the shared one. */
  async launch(
    environment: Readonly<Record<string, string>> = {},
    how?: HowToStart,
    place = this.gateways.length,
  ): Promise<GatewayProcess> {
    const gateway = await startGatewayProcess({ ...this.environment, ...environment }, how);
    this.gateways[place] = gateway;
    return gateway;
  }

  get #callersFile(): string {
    return join(this.folder, 'callers.json');
  }

  /** The gateways read the file again. */
  writeCallers(): void {
    writeFileSync(this.#callersFile, JSON.stringify({ callers: this.callers }));
  }

  writeUsers(users: Users): void {
    writeFileSync(this.usersFile, JSON.stringify(users));
  }

  /** Sends a request to the gateway of that index. */
  get(index: number, path: string, headers: Record<string, string> = {}): Promise<FleetAnswer> {
    return this.#send(index, path, { headers });
  }

  post(index: number, path: string, body: unknown, signal?: AbortSignal): Promise<FleetAnswer> {
    return this.request('POST', index, path, body, signal);
  }

  request(
    method: string,
    index: number,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<FleetAnswer> {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    return this.#send(index, path, { method, headers, ...content, signal: signal ?? null });
  }

  async #send(index: number, path: string, { headers, ...init }: RequestInit): Promise<FleetAnswer> {
    const response = await fetch(`${this.gateways[index]?.url}${path}`, {
      ...init,
      headers: { 'x-api-key': this.key, ...(headers as Record<string, string>) },
    });
    const text = await response.text();
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    return { status: response.status, headers: response.headers, body };
  }

  /** Sends the same request to every gateway, this many times each, all at once. */
  async herd(times: number, path: string, headers: Record<string, string> = {}): Promise<FleetAnswer[]> {
    return Promise.all(
      this.gateways.flatMap((_, index) =>
        Array.from({ length: times }, () => this.get(index, path, headers)),
      ),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.gateways.map((gateway) => gateway.stop()));
    await Promise.all([this.redis.stop(), keepSchema(this.environment['DATABASE_URL'] ?? '')]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
