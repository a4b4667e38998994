/** A sandbox for a test, with credentials made up for it and the calls that tests often make. */
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { parseJson } from './json.ts';
import { OPERATIONS, type OperationName } from './operations.ts';
import type { SandboxOptions } from './options.ts';
import { type RunningSandbox, startSandbox } from './server.ts';

export interface Envelope {
  readonly status: number;
  readonly code: unknown;
  readonly message: string;
  readonly data: any;
  readonly text: string;
}

interface CallParts {
  readonly parameters?: Record<string, string>;
  readonly query?: Record<string, string>;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** The logged-in user of a member operation. Default `admin@harbour`. */
  readonly user?: string;
}

export function secret(): string {
  return randomBytes(12).toString('base64url');
}

/** Starts a sandbox for all tests of a file, which is reset before each of them. */
export function useSandbox(options: Partial<SandboxOptions> = {}): PlatformClient {
  const client = new PlatformClient();
  beforeAll(() => client.open(options));
  beforeEach(async () => {
    await client.control('POST', '/reset');
    await client.renew();
    await client.control('DELETE', '/journal');
  });
  afterAll(() => client.close());
  return client;
}

/** Calls its own sandbox as the gateway calls the platform. */
export class PlatformClient {
  readonly appKey = secret();
  readonly appSecret = secret();
  #running: RunningSandbox | null = null;
  #orderToken = '';
  readonly #memberHeaders = new Map<string, Record<string, string>>();

  static async start(options: Partial<SandboxOptions> = {}): Promise<PlatformClient> {
    const client = new PlatformClient();
    await client.open(options);
    return client;
  }

  async open(options: Partial<SandboxOptions>): Promise<void> {
    const { appKey, appSecret } = this;
    const profile = { products: 'any' as const, ...options.profile };
    this.#running = await startSandbox({ appKey, appSecret, ...options, profile });
    await this.renew();
  }

  get running(): RunningSandbox {
    if (this.#running === null) throw new Error('the sandbox has not started');
    return this.#running;
  }

  /** Gets another token for the order module. */
  async renew(): Promise<void> {
    const { body } = await this.token({ grant_type: 'client_credentials', scope: 'auth_order' });
    this.#orderToken = String(body['access_token']);
    this.#memberHeaders.clear();
  }

  /** Returns the three headers of a member call by this user, with tokens that are fetched once. */
  async memberHeaders(
    username = 'admin@harbour',
    password = this.running.seedPassword,
  ): Promise<Record<string, string>> {
    const known = this.#memberHeaders.get(username);
    if (known !== undefined) return known;
    const app = await this.token({ grant_type: 'client_credentials', scope: 'auth_me' });
    const user = await this.token({ grant_type: 'password', username, password });
    if (user.status !== 200) throw new Error(`${username} cannot log in`);
    const clientToken = String(app.body['access_token']);
    const headers = {
      authorization: `Bearer ${clientToken}`,
      clientToken,
      userToken: String(user.body['access_token']),
    };
    this.#memberHeaders.set(username, headers);
    return headers;
  }

  /** Requests a token with the application's credentials in the body. */
  async token(
    form: Record<string, string>,
  ): Promise<{ status: number; headers: Headers; body: Record<string, unknown> }> {
    const body = new URLSearchParams({ client_id: this.appKey, client_secret: this.appSecret, ...form });
    const response = await fetch(this.running.tokenUrl, { method: 'POST', body });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    };
  }

  /** Returns the status of a login. */
  async logIn(username: string, password = this.running.seedPassword): Promise<number> {
    return (await this.token({ grant_type: 'password', username, password })).status;
  }

  /** Returns method, address and headers of an order operation, with a fresh nonce and a valid token unless the parts say otherwise. */
  prepared(
    name: OperationName,
    { parameters, query, headers }: CallParts = {},
  ): { method: string; url: string; headers: Record<string, string> } {
    const operation = OPERATIONS.find((one) => one.name === name);
    if (operation === undefined) throw new Error(`no operation ${name}`);
    const { method, module } = operation;
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_all, key: string) =>
      encodeURIComponent({ enterpriseGlobalId: 'ent-harbour', ...parameters }[key] ?? ''),
    );
    const search = new URLSearchParams({ g_nonce: secret(), ...query });
    const contentType: Record<string, string> =
      module === 'member' && (method === 'GET' || method === 'DELETE')
        ? {}
        : { 'content-type': 'application/json' };
    const authorization = `Bearer ${this.#orderToken}`;
    return {
      method,
      url: `${this.running.url}${path}?${search}`,
      headers: { authorization, ...contentType, ...headers },
    };
  }

  async send(name: OperationName, parts: CallParts = {}): Promise<Response> {
    const isMember = OPERATIONS.find((one) => one.name === name)?.module === 'member';
    const own = isMember ? { ...(await this.memberHeaders(parts.user)), ...parts.headers } : parts.headers;
    const { url, method, headers } = this.prepared(name, {
      ...parts,
      ...(own === undefined ? {} : { headers: own }),
    });
    const { body } = parts;
    const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
    return fetch(url, { method, headers, ...sent });
  }

  async call(name: OperationName, parts: CallParts = {}): Promise<Envelope> {
    const response = await this.send(name, parts);
    const text = await response.text();
    const { code, message, data } = parseJson(text) as { code: unknown; message: string; data: unknown };
    return { status: response.status, code, message, data, text };
  }

  /** Places a batch. The appKey is made up. */
  order(orderList: readonly object[], more: Record<string, unknown> = {}): Promise<Envelope> {
    const body = {
      channelCode: 'crm',
      channelOrderId: `SO-${secret()}`,
      syncMode: 'sync',
      orderList,
      ...more,
    };
    return this.call('batchOrder', { query: { appKey: 'calling-party' }, body });
  }

  async control(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }> {
    const response = await fetch(`${this.running.url}/__sandbox${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : parseJson(text) };
  }

  /** Adds one fault rule. */
  async fault(rule: unknown): Promise<string> {
    const { status, body } = await this.control('POST', '/faults', rule);
    if (status !== 200) throw new Error(body.error);
    return body.ids[0];
  }

  async commits(): Promise<{ channelOrderId: string; licenseOrderIds: string[] }[]> {
    return (await this.control('GET', '/commits')).body;
  }

  /** Returns the live assets of Harbour Engineering. */
  async assets(): Promise<any[]> {
    return (await this.call('listAssets')).data;
  }

  async asset(id: string): Promise<any> {
    return (await this.assets()).find((one) => one.id === id);
  }

  /** Returns the row of an asset in the member center's list. */
  async assetNum(assetNum: string): Promise<any> {
    return (await this.call('listAssetNums')).data.find((one: any) => one.assetNum === assetNum);
  }

  /** Returns the employees on the first page. */
  async members(query: Record<string, string> = {}, enterpriseGlobalId = 'ent-harbour'): Promise<any[]> {
    const parameters = { enterpriseGlobalId };
    const all = { pageNum: '1', pageSize: '1000', ...query };
    return (await this.call('listMembers', { parameters, query: all })).data.list;
  }

  async member(globalId: string): Promise<any> {
    return (await this.members()).find((one) => one.globalId === globalId);
  }

  async state(): Promise<any> {
    return (await this.control('GET', '/state')).body;
  }

  async journal(search = ''): Promise<any[]> {
    return (await this.control('GET', `/journal${search}`)).body.entries;
  }

  /** Moves the clock, and replaces tokens that ended by it. */
  async advance(advanceMs: number): Promise<void> {
    await this.control('PUT', '/clock', { advanceMs });
    await this.renew();
  }

  /** Repeats the request until the condition holds. The test's own time limit ends it. */
  async until(so: () => Promise<boolean>): Promise<void> {
    while (!(await so())) await new Promise((resolve) => setImmediate(resolve));
  }

  close(): Promise<void> {
    return this.running.close();
  }
}
