import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { newSecret } from '../support/canary.ts';
import { Fleet } from '../support/fleet.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { ask, freePort, type RunningRedis, startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** Short, so that calls without a response end during the run. */
const DEADLINE_MS = 1_000;
/** Every password of an employee begins so: the mark of the run, and the kind. */
const PASSWORD_MARK = newSecret('m').slice(0, 9);
const EVENTS_MS = 30_000;

interface StageOptions {
  readonly processes: number;
  readonly seed: number;
  /** A name of variants.ts. */
  readonly variant?: string | undefined;
}

interface JobEvent {
  readonly id: number;
  readonly data: string;
}

/** A platform, gateways, and a store that survives kills. */
export class ImportStage {
  kills = 0;
  redisKills = 0;

  readonly sandbox: TestSandbox;
  readonly fleet: Fleet;
  private store: RunningRedis;
  private readonly folder: string;
  private readonly startStore: () => Promise<RunningRedis>;
  private readonly startGateway: () => Promise<GatewayProcess>;
  /** Of processes that were killed. */
  readonly #outputs: string[] = [];
  #leaks = 0;

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

  static async set({ processes, seed, variant }: StageOptions): Promise<ImportStage> {
    // The platform's documents do not say which, so it depends on the seed.
    const rowFaults = seed % 2 === 0 ? 'whole' : 'row';
    const sandbox = await TestSandbox.start({ seed, rowFaults });
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

  /** A response of that gateway, or of any; undefined where it does not respond. */
  async ask(path: string, init: RequestInit = {}, gateway?: number): Promise<Response | undefined> {
    const response = await this.#fetch(path, init, gateway).catch(() => undefined);
    // Read now, because the gateway may be killed before it is read.
    const body = await response?.text().catch(() => undefined);
    if (!response || body === undefined) return undefined;
    this.#look(body);
    return new Response(body || null, { status: response.status });
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

  /** The rows of a stream, when a gateway has sent all of it. */
  async lines<T>(path: string): Promise<T[]> {
    let text = '';
    await until(`${path} is answered`, async () => {
      const response = await this.ask(path, { headers: { accept: 'application/x-ndjson' } });
      text = (await response?.text()) ?? '';
      return response?.status === 200;
    });
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as T);
  }

  /** The events of a job after the one of that id, for as long as the connection lasts. */
  async *events(jobId: string, after: number): AsyncGenerator<JobEvent> {
    try {
      const headers = { 'last-event-id': String(after) };
      const response = await this.#fetch(`/v1/jobs/${jobId}/events`, { headers });
      if (response.status !== 200 || !response.body) return;
      let rest = '';
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        this.#look(chunk);
        const parts = (rest + chunk).split('\n\n');
        rest = parts.pop() ?? '';
        for (const part of parts) {
          const [, id, data] = /^id: (\d+)\nevent: \w+\ndata: (.*)$/.exec(part) ?? [];
          if (id !== undefined && data !== undefined) yield { id: Number(id), data };
        }
      }
    } catch {
      // The process was killed, or is slow: the next one goes on.
    }
  }

  /** A new enterprise of the platform. */
  async enterprise(name: string): Promise<string> {
    const body = JSON.stringify({ crmCustomerId: `CRM-${name}`, customerName: `Import ${name}` });
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
    this.#outputs.push(gateway.output());
    this.kills++;
    this.fleet.gateways[index] = await this.startGateway();
  }

  /** All at the same moment. */
  async killGateways(): Promise<void> {
    await Promise.all(this.fleet.gateways.map((_, index) => this.killGateway(index)));
  }

  async killStore(): Promise<void> {
    await this.store.kill9();
    await sleep(300);
    this.store = await this.startStore();
    this.redisKills++;
  }

  /** Chunks of the job that wait with their passwords. */
  async waitingChunks(jobId: string): Promise<number> {
    return ask(this.store, async (client) => {
      const [key] = await client.keys(`*:imports}:waiting:${jobId}`);
      return key === undefined ? 0 : client.hlen(key);
    });
  }

  /** What the store has of a job and of the tasks, for a person who looks for a fault. */
  async stored(jobId: string): Promise<object> {
    return ask(this.store, async (client) => {
      const [key = ''] = await client.keys(`*:imports}:job:${jobId}`);
      const { definition: _, ...fields } = await client.hgetall(key);
      const tasks = (await client.keys('*:imports}:imports:*')).map((each) =>
        each.replace(/.*:imports:/, ''),
      );
      return { fields, tasks };
    });
  }

  /** Passwords that can be read in responses, events, logs or Redis, or wait although their job has ended. */
  async leaks(): Promise<string[]> {
    const violations: string[] = [];
    const waiting = await ask(this.store, (client) => client.keys('*:imports}:waiting:*'));
    if (waiting.length > 0) violations.push(`${waiting.length} jobs have ended and keep their passwords`);
    if (this.#leaks > 0) violations.push(`${this.#leaks} responses have a password`);
    const outputs = [...this.#outputs, ...this.fleet.gateways.map((gateway) => gateway.output())];
    if (outputs.some((output) => output.includes(PASSWORD_MARK))) violations.push('a log has a password');
    const files = readdirSync(this.folder, { recursive: true, withFileTypes: true });
    for (const file of files.filter((each) => each.isFile()))
      if (readFileSync(join(file.parentPath, file.name), 'latin1').includes(PASSWORD_MARK))
        violations.push(`Redis has a password in plain text (${file.name})`);
    return violations;
  }

  async clear(): Promise<void> {
    for (const { child, ended } of this.fleet.gateways) {
      child.kill('SIGKILL');
      await ended;
    }
    await this.fleet.stop();
    await this.store.stop();
    rmSync(this.folder, { recursive: true, force: true });
    await this.sandbox.close();
  }

  #fetch(path: string, init: RequestInit, gateway?: number): Promise<Response> {
    const { gateways, key } = this.fleet;
    const { url } = gateways[gateway ?? Math.floor(Math.random() * gateways.length)] as GatewayProcess;
    const headers = { 'x-api-key': key, ...(init.headers as Record<string, string>) };
    return fetch(url + path, { ...init, headers, signal: AbortSignal.timeout(EVENTS_MS) });
  }

  #look(text: string): void {
    if (text.includes(PASSWORD_MARK)) this.#leaks++;
  }
}
