import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Answer } from '../support/contract.ts';
import { Fleet } from '../support/fleet.ts';
import type { GatewayProcess } from '../support/gateway-process.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** The sent form of a request: nothing is encoded or normalised afterwards. */
export interface Sent {
  readonly method: string;
  /** Path and query, percent-encoded. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
}

interface StageOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly how?: NonNullable<Parameters<typeof Fleet.start>[2]>['how'];
}

/** The sandbox over real HTTP, Redis, and the built gateway in a process of its own. */
export class Stage {
  readonly sandbox: TestSandbox;
  readonly fleet: Fleet;
  /** Addresses that no caller may see. */
  readonly inside: readonly string[];
  #pool: Pool;

  private constructor(sandbox: TestSandbox, fleet: Fleet) {
    this.sandbox = sandbox;
    this.fleet = fleet;
    const { host, port } = new URL(sandbox.url);
    this.inside = [host, `:${port}`, `:${fleet.redis.port}`, process.cwd(), fleet.folder];
    this.#pool = poolOf(this.gateway.url);
  }

  static async set({ environment, how }: StageOptions = {}): Promise<Stage> {
    // The sequences know what an order made as soon as it is answered.
    const sandbox = await TestSandbox.start({ asyncOrderMs: 0, profile: { products: 'any' } });
    const login = (username: string) => ({ username, password: sandbox.seedPassword });
    const fleet = await Fleet.start(sandbox, 1, {
      // Long times here come from the machine.
      environment: {
        UPSTREAM_DEADLINE_MS: '60000',
        UPSTREAM_ORDER_DEADLINE_MS: '60000',
        CACHE_TTL_MS: '5000',
        ...environment,
      },
      how,
      users: {
        default: login('admin@harbour'),
        anna: login('anna@harbour'),
        meridian: login('admin@meridian'),
      },
      callers: [
        { name: 'powerless', scopes: [] },
        { name: 'stranger', enterprises: [], channels: [], users: [] },
        { name: 'meridian', enterprises: ['ent-meridian'], channels: ['partner'], users: ['meridian'] },
      ],
    });
    return new Stage(sandbox, fleet);
  }

  get gateway(): GatewayProcess {
    return this.fleet.gateways[0] as GatewayProcess;
  }

  /** The key of the caller with all rights. */
  get key(): string {
    return this.fleet.key;
  }

  keyOf(caller: string): string {
    return this.fleet.keys[caller] as string;
  }

  send(sent: Sent): Promise<Answer> {
    // 503 says that nothing happened.
    return onceNotBusy(() => this.#sendOnce(sent));
  }

  async #sendOnce({ method, target, headers, body }: Sent): Promise<Answer> {
    const response = await this.#pool.request({
      method: method as 'GET',
      path: target,
      headers: { ...headers },
      body: body ?? null,
    });
    const text = await response.body.text();
    const pairs = Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(', ')]);
    return { status: response.statusCode, headers: new Headers(pairs as [string, string][]), text };
  }

  async json(
    method: string,
    target: string,
    {
      key = this.key,
      headers = {},
      body,
    }: { key?: string; headers?: Record<string, string>; body?: unknown } = {},
  ): Promise<Answer & { readonly body: Record<string, unknown> }> {
    const answer = await this.send({
      method,
      target,
      headers: {
        'x-api-key': key,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const isJson = answer.text !== '' && /json/.test(answer.headers.get('content-type') ?? '');
    return { ...answer, body: isJson ? (JSON.parse(answer.text) as Record<string, unknown>) : {} };
  }

  /** Ends every connection of ours. */
  async hangUp(): Promise<void> {
    await this.#pool.destroy();
    this.#pool = poolOf(this.gateway.url);
  }

  async clear(): Promise<void> {
    await this.#pool.destroy();
    await this.fleet.stop();
    await this.sandbox.close();
  }
}

/** Overload, or a store that does not reply in time. */
const BUSY = /"code":"(?:overloaded|dependency-unavailable)","outcome":"not_processed"/;

/** Asks again while the machine is busy, since its load is no finding; load that lasts would be one. */
async function onceNotBusy(ask: () => Promise<Answer>): Promise<Answer> {
  for (let times = 1; ; times++) {
    const answer = await ask();
    if (times === 30 || answer.status !== 503 || !BUSY.test(answer.text)) return answer;
    await sleep(1_000);
  }
}

function poolOf(url: string): Pool {
  return new Pool(url, { connections: 8, headersTimeout: 60_000, bodyTimeout: 60_000 });
}
