import 'reflect-metadata';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { buildApp, listen } from '../../src/app.ts';
import { scopes } from '../../src/caller/scopes.ts';
import { type AppConfig, loadConfig } from '../../src/config/app-config.ts';
import { createLog } from '../../src/observability/log.ts';
import { keep, keepAnswers, newApiKey } from './canary.ts';
import { assertDeclared } from './contract.ts';
import type { TestSandbox } from './sandbox.ts';

export interface CallerEntry {
  name: string;
  keys: string[];
  scopes: string[];
  enterprises: string[];
  channels: string[];
  users: string[];
  appKey?: string;
  rateLimit?: { requests: number; perSeconds: number };
}

interface RequestOptions {
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a string or bytes as they are. */
  readonly body?: unknown;
  /** The test accepts a status that only `default` declares: the platform does not document this code for the operation. */
  readonly undocumented?: boolean;
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

/** A gateway in this process, over real HTTP, in front of a sandbox; every response is checked against the OpenAPI document. */
export class TestGateway {
  readonly logLines: string[] = [];
  readonly key: string;
  /** Keys of the callers given at start, by name. */
  readonly keys: Record<string, string> = {};
  readonly callersFile: string;
  readonly usersFile: string;
  callers: CallerEntry[];
  app!: NestFastifyApplication;
  url!: string;
  managementUrl!: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'gateway-test-'));

  private constructor() {
    const { key, hash } = newApiKey();
    this.key = key;
    this.callersFile = join(this.#folder, 'callers.json');
    this.usersFile = join(this.#folder, 'users.json');
    this.callers = [
      {
        name: 'tester',
        keys: [hash],
        scopes: [...scopes],
        enterprises: ['*'],
        channels: ['*'],
        users: ['*'],
      },
    ];
  }

  static async start(
    sandbox: TestSandbox,
    environment: Record<string, string> = {},
    callers: readonly (Partial<CallerEntry> & { name: string })[] = [],
  ): Promise<TestGateway> {
    const gateway = new TestGateway();
    for (const caller of callers) gateway.keys[caller.name] = gateway.addCaller(caller);
    gateway.writeCallers();
    gateway.writeUsers({
      default: { username: 'admin@harbour', password: sandbox.seedPassword },
      anna: { username: 'anna@harbour', password: sandbox.seedPassword },
      meridian: { username: 'admin@meridian', password: sandbox.seedPassword },
    });
    try {
      await gateway.#open(loadConfig({ ...gateway.environment(sandbox), ...environment }));
    } catch (error) {
      rmSync(gateway.#folder, { recursive: true, force: true });
      throw error;
    }
    return gateway;
  }

  async #open(config: AppConfig): Promise<void> {
    const sink = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        keep('log', chunk);
        this.logLines.push(...chunk.toString().trim().split('\n'));
        done();
      },
    });
    this.app = await buildApp(config, { log: createLog('debug', sink) });
    this.app.getHttpServer().on('connection', keepAnswers);
    const { url, managementPort } = await listen(this.app, config);
    this.url = url;
    this.managementUrl = `http://127.0.0.1:${managementPort}`;
  }

  /** The environment of a gateway in front of this sandbox, for this process or another. */
  environment(sandbox: TestSandbox): Record<string, string> {
    return {
      PORT: '0',
      MANAGEMENT_PORT: '0',
      UPSTREAM_BASE_URL: sandbox.url,
      UPSTREAM_TOKEN_URL: sandbox.tokenUrl,
      UPSTREAM_APP_KEY: sandbox.appKey,
      UPSTREAM_APP_SECRET: sandbox.appSecret,
      // This process may be held up for longer than the default, and would find that no connection was made.
      UPSTREAM_CONNECT_TIMEOUT_MS: '5000',
      CALLERS_FILE: this.callersFile,
      UPSTREAM_USERS_FILE: this.usersFile,
      CACHE_TTL_MS: '0',
    };
  }

  /** Adds a caller and returns its key; it works once the gateway has re-read the file. */
  addCaller(entry: Partial<CallerEntry> & { name: string }): string {
    const { key, hash } = newApiKey();
    this.callers.push({ keys: [hash], scopes: [], enterprises: [], channels: [], users: [], ...entry });
    return key;
  }

  writeCallers(): void {
    writeFileSync(this.callersFile, JSON.stringify({ callers: this.callers }));
  }

  writeUsers(users: Record<string, { username: string; password: string }>): void {
    writeFileSync(this.usersFile, JSON.stringify(users));
  }

  async request(method: string, path: string, options: RequestOptions = {}): Promise<TestAnswer> {
    const { key = this.key, headers = {}, body, undocumented = false } = options;
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(this.url + path, {
      method,
      headers: {
        ...(key !== null && { 'x-api-key': key }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: raw ? (body as string | undefined) : JSON.stringify(body),
    });
    const text = await response.text();
    const answer = { status: response.status, headers: response.headers, text };
    assertDeclared(method, path, answer, undocumented);
    const isJson = text !== '' && /[/+]json/.test(response.headers.get('content-type') ?? '');
    return { ...answer, body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {} };
  }

  get(path: string, options?: RequestOptions): Promise<TestAnswer> {
    return this.request('GET', path, options);
  }

  post(path: string, body: unknown, options?: RequestOptions): Promise<TestAnswer> {
    return this.request('POST', path, { body, ...options });
  }

  async metrics(): Promise<string> {
    const text = await (await fetch(`${this.managementUrl}/metrics`)).text();
    keep('metrics', text);
    return text;
  }

  /** Resolves once a line with this event has been logged after the call. */
  async logged(event: string): Promise<void> {
    const from = this.logLines.length;
    while (!this.logLines.slice(from).some((line) => line.includes(`"event":"${event}"`))) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async stop(): Promise<void> {
    await this.app.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
