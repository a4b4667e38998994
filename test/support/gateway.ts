import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scopes } from '../../src/request/scopes.ts';
import { keep, newApiKey } from './canary.ts';
import { assertDeclared } from './contract.ts';
import { textOf } from './endless.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { until } from './redis.ts';
import type { TestSandbox } from './sandbox.ts';
import { tell } from './told.ts';

export interface CallerEntry {
  name: string;
  keys: string[];
  certificates?: string[];
  scopes: string[];
  enterprises: string[];
  channels: string[];
  users: string[];
  appKey?: string;
  rateLimit?: { requests: number; perSeconds: number };
  budgets?: { orders?: number; licences?: number; deletions?: number };
}

/** A caller with a key of its own; without these fields it may do nothing. */
export type NamedCaller = Partial<CallerEntry> & { readonly name: string };

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

/** How a gateway of these settings starts, and where it can be reached. */
export type Start = (environment: Record<string, string>) => Promise<Running>;
type Running = Pick<GatewayProcess, 'url' | 'managementUrl' | 'output' | 'stop'>;

/** The shipped gateway as a process, in front of a sandbox; every response is checked against the OpenAPI document. */
export class TestGateway {
  readonly key: string;
  /** Keys of the callers given at start, by name. */
  readonly keys: Record<string, string> = {};
  readonly callersFile: string;
  readonly usersFile: string;
  callers: CallerEntry[] = [];
  #running!: Running;
  readonly #folder = mkdtempSync(join(tmpdir(), 'gateway-test-'));

  constructor(callers: readonly NamedCaller[] = []) {
    this.callersFile = join(this.#folder, 'callers.json');
    this.usersFile = join(this.#folder, 'users.json');
    const all = { scopes: [...scopes], enterprises: ['*'], channels: ['*'], users: ['*'] };
    this.key = this.addCaller({ name: 'tester', ...all });
    for (const caller of callers) this.keys[caller.name] = this.addCaller(caller);
  }

  static async start(
    sandbox: TestSandbox,
    environment: Record<string, string> = {},
    callers: readonly NamedCaller[] = [],
    start?: Start,
  ): Promise<TestGateway> {
    const gateway = new TestGateway(callers);
    await gateway.open(sandbox, environment, start);
    return gateway;
  }

  /** Starts the gateway in front of this sandbox, with users of the sandbox's seed. */
  async open(
    sandbox: TestSandbox,
    environment: Record<string, string> = {},
    start: Start = (all) => startGatewayProcess(all),
  ): Promise<void> {
    this.writeCallers();
    this.writeUsers({
      default: { username: 'admin@harbour', password: sandbox.seedPassword },
      anna: { username: 'anna@harbour', password: sandbox.seedPassword },
      meridian: { username: 'admin@meridian', password: sandbox.seedPassword },
    });
    try {
      this.#running = await start({ ...this.environment(sandbox), ...environment });
    } catch (error) {
      rmSync(this.#folder, { recursive: true, force: true });
      throw error;
    }
  }

  get url(): string {
    return this.#running.url;
  }

  get managementUrl(): string {
    return this.#running.managementUrl;
  }

  /** The complete lines of its log so far. */
  get logLines(): string[] {
    return this.#running.output().split('\n').slice(0, -1);
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
      LOG_LEVEL: 'debug',
      // A connection on a busy machine takes longer than the default.
      UPSTREAM_CONNECT_TIMEOUT_MS: '5000',
      CALLERS_FILE: this.callersFile,
      UPSTREAM_USERS_FILE: this.usersFile,
      CACHE_TTL_MS: '0',
    };
  }

  /** Adds a caller and returns its key; it works once the gateway has re-read the file. */
  addCaller(entry: NamedCaller): string {
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
    const stream = response.body as unknown as AsyncIterable<Uint8Array> | null;
    const text = await textOf(path, stream, response.headers.get('content-type'));
    const isJson = text !== '' && /[/+]json/.test(response.headers.get('content-type') ?? '');
    const content = isJson ? (JSON.parse(text) as Record<string, unknown>) : {};
    tell([method, path, 'got', response.status, content['code'], content['detail']].join(' ').trimEnd());
    const answer = { status: response.status, headers: response.headers, text };
    assertDeclared(method, path, answer, undocumented);
    return { ...answer, body: content };
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

  /** The lines of its log, with those of every request that has been answered: they arrive a moment later than the responses. */
  async log(): Promise<string[]> {
    const id = `last-${randomUUID()}`;
    const headers = { 'x-api-key': this.key, 'x-request-id': id };
    await (await fetch(`${this.url}/v1/callers/me`, { headers })).text();
    const isLast = (line: string) => line.includes(id);
    await until('the log has the last line', () => this.logLines.some(isLast));
    return this.logLines.filter((line) => !isLast(line));
  }

  /** Resolves once a line with this event has been logged after the call. */
  async logged(event: string): Promise<void> {
    const from = this.logLines.length;
    const isThere = () => this.logLines.slice(from).some((line) => line.includes(`"event":"${event}"`));
    await until(`the gateway logs ${event}`, isThere);
  }

  async stop(): Promise<void> {
    await (this.#running as Running | undefined)?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
