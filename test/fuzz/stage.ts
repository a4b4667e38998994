import { setTimeout as sleep } from 'node:timers/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Pool } from 'undici';
import { Stage } from '../chaos/stage.ts';
import type { Answer } from '../support/contract.ts';
import { textOf } from '../support/endless.ts';
import { Fleet } from '../support/fleet.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** The sent form of a request: nothing is encoded or normalised afterwards. */
export interface Sent {
  readonly method: string;
  /** Path and query, percent-encoded. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface Reply extends Answer {
  /** Empty where it is no JSON. */
  readonly body: Readonly<Record<string, unknown>>;
}

const MEASURE = pathToFileURL(resolve('test/fuzz/measure.ts')).href;
/** Failures in the gateway's own log. */
const FAILURE = /"event":"(?:internal-error|uncaught|unhandled)/;

/** The sandbox over real HTTP, Redis, and the built gateway in a process of its own. */
export class FuzzStage extends Stage {
  /** Addresses that no caller may see. */
  readonly inside: readonly (string | RegExp)[];
  #pool: Pool;

  private constructor(sandbox: TestSandbox, fleet: Fleet) {
    super(sandbox, fleet);
    const { host, port } = new URL(sandbox.url);
    // Each port stands after a host, since a number that a caller sent may be the same.
    const ports = [port, fleet.redis.port].map((each) => new RegExp(String.raw`[\w\]]:${each}\b`));
    this.inside = [host, ...ports, process.cwd(), fleet.folder];
    this.#pool = poolOf(this.gateway(0).url);
  }

  static async set(): Promise<FuzzStage> {
    const sandbox = await TestSandbox.start({ profile: { products: 'any' } });
    const login = (username: string) => ({ username, password: sandbox.seedPassword });
    const fleet = await Fleet.start(sandbox, 0, {
      users: {
        default: login('admin@harbour'),
        anna: login('anna@harbour'),
        meridian: login('admin@meridian'),
      },
    });
    await launch(fleet);
    return new FuzzStage(sandbox, fleet);
  }

  /** A gateway without a past. */
  async restart(): Promise<void> {
    await this.end(this.gateway(0));
    await launch(this.fleet);
    await this.hangUp();
  }

  /** 503 says that nothing happened: asks again while the machine is busy, since its load is no finding; load that lasts would be one. */
  async send(sent: Sent): Promise<Answer> {
    for (let times = 1; ; times++) {
      const answer = await this.#sendOnce(sent);
      if (times === 30 || answer.status !== 503 || !BUSY.test(answer.text)) return answer;
      await sleep(1_000);
    }
  }

  async #sendOnce({ method, target, headers, body }: Sent): Promise<Answer> {
    const response = await this.#pool.request({
      method: method as 'GET',
      path: target,
      headers: { 'x-api-key': this.fleet.key, ...headers },
      body: body ?? null,
    });
    const text = await textOf(target, response.body, [response.headers['content-type']].flat()[0]);
    const pairs = Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(', ')]);
    return { status: response.statusCode, headers: new Headers(pairs as [string, string][]), text };
  }

  async reply(sent: Sent): Promise<Reply> {
    const answer = await this.send(sent);
    return { ...answer, body: bodyOf(answer) };
  }

  /** Ends every connection of ours. */
  async hangUp(): Promise<void> {
    await this.#pool.destroy();
    this.#pool = poolOf(this.gateway(0).url);
  }

  override atLast(): Promise<readonly string[]> {
    const lines = this.gateway(0)
      .output()
      .split('\n')
      .filter((line) => FAILURE.test(line));
    return Promise.resolve(lines.map((line) => `an internal error in the log: ${line}`));
  }

  override async clear(): Promise<void> {
    await this.#pool.destroy();
    await super.clear();
  }
}

/** The form of a request whose body is JSON. */
export function sentOf(
  method: string,
  target: string,
  { headers = {}, body }: { readonly headers?: Sent['headers']; readonly body?: unknown } = {},
): Sent {
  if (body === undefined) return { method, target, headers };
  const typed = { 'content-type': 'application/json', ...headers };
  return { method, target, headers: typed, body: JSON.stringify(body) };
}

export function bodyOf({ text, headers }: Answer): Reply['body'] {
  const isJson = text !== '' && /json/.test(headers.get('content-type') ?? '');
  return isJson ? (JSON.parse(text) as Reply['body']) : {};
}

/** Overload, or a store that does not reply in time. */
const BUSY = /"code":"(?:overloaded|dependency-unavailable)","outcome":"not_processed"/;

async function launch(fleet: Fleet): Promise<void> {
  // Long times here come from the machine.
  const patient = {
    UPSTREAM_DEADLINE_MS: '60000',
    UPSTREAM_ORDER_DEADLINE_MS: '60000',
    CACHE_TTL_MS: '5000',
  };
  await fleet.launch(patient, { nodeOptions: `--expose-gc --import ${MEASURE} --no-warnings` }, 0);
}

function poolOf(url: string): Pool {
  return new Pool(url, { connections: 8, headersTimeout: 60_000, bodyTimeout: 60_000 });
}
