/** A sandbox for a test, with credentials made up for it and the calls that tests often make. */
import { randomBytes } from 'node:crypto';
import { parseJson } from './json.ts';
import { OPERATIONS, type OperationName } from './operations.ts';
import type { SandboxOptions } from './options.ts';
import { type RunningSandbox, startSandbox } from './server.ts';

export interface Envelope {
  readonly status: number;
  readonly code: unknown;
  readonly message: string;
  readonly data: unknown;
  readonly text: string;
}

interface CallParts {
  readonly parameters?: Record<string, string>;
  readonly query?: Record<string, string>;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** Who is logged in on a member operation. Default `admin@harbour`. */
  readonly user?: string;
}

export function secret(): string {
  return randomBytes(12).toString('base64url');
}

/** Calls a sandbox of its own as the gateway calls the platform. */
export class PlatformClient {
  readonly running: RunningSandbox;
  readonly appKey: string;
  readonly appSecret: string;
  #orderToken = '';
  readonly #memberHeaders = new Map<string, Record<string, string>>();

  private constructor(running: RunningSandbox, appKey: string, appSecret: string) {
    this.running = running;
    this.appKey = appKey;
    this.appSecret = appSecret;
  }

  static async start(options: Partial<SandboxOptions> = {}): Promise<PlatformClient> {
    const [appKey, appSecret] = [secret(), secret()];
    const running = await startSandbox({
      appKey,
      appSecret,
      profile: { products: 'any' },
      ...options,
    });
    const client = new PlatformClient(running, appKey, appSecret);
    await client.renew();
    return client;
  }

  /** Gets another token for the order module. */
  async renew(): Promise<void> {
    const { body } = await this.token({ grant_type: 'client_credentials', scope: 'auth_order' });
    this.#orderToken = String(body['access_token']);
    this.#memberHeaders.clear();
  }

  /** The three headers of a member call by this user, with tokens that are fetched once. */
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

  /** A token request with the application's credentials in the body. */
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

  /** Method, address and headers of an order operation, with a fresh nonce and a valid token unless the parts say otherwise. */
  prepared(
    name: OperationName,
    { parameters, query, headers }: CallParts = {},
  ): { method: string; url: string; headers: Record<string, string> } {
    const operation = OPERATIONS.find((one) => one.name === name);
    if (operation === undefined) throw new Error(`no operation ${name}`);
    const { method, module } = operation;
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_all, key: string) =>
      encodeURIComponent(parameters?.[key] ?? ''),
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

  /** Places a batch; the appKey is made up. */
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

  async assets(enterpriseGlobalId = 'ent-harbour'): Promise<Record<string, unknown>[]> {
    const { data } = await this.call('listAssets', { parameters: { enterpriseGlobalId } });
    return data as Record<string, unknown>[];
  }

  /** Repeats the request until the condition holds; the test's own time limit ends it. */
  async until(so: () => Promise<boolean>): Promise<void> {
    while (!(await so())) await new Promise((resolve) => setImmediate(resolve));
  }

  close(): Promise<void> {
    return this.running.close();
  }
}
