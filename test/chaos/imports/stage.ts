import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newSecret } from '../../support/canary.ts';
import { askDatabase } from '../../support/postgres.ts';
import { until } from '../../support/redis.ts';
import { ChaosServer } from '../server.ts';
import { ChaosStage, partsOf, type Setting } from '../stage.ts';

/** Short, so that calls without a response end during the run. */
const DEADLINE_MS = 1_000;
/** Every password of an employee begins so: the mark of the run, and the kind. */
const PASSWORD_MARK = newSecret('m').slice(0, 9);
const EVENTS_MS = 30_000;

interface JobEvent {
  readonly id: number;
  readonly data: string;
}

/** Gateways that import members for a platform that fails, and what their callers can see. */
export class ImportStage extends ChaosStage {
  #leaks = 0;
  #asked = 0;

  /** The acts that find deliberate bugs leave the database alone. */
  static async set({ processes, seed, variant }: Setting & { readonly seed: number }): Promise<ImportStage> {
    const server = variant === undefined ? await ChaosServer.start() : undefined;
    const parts = await partsOf({
      ...{ processes, seed, variant, variantsFile: 'test/chaos/imports/variants.ts' },
      environment: {
        UPSTREAM_DEADLINE_MS: String(DEADLINE_MS),
        ...(server && { DATABASE_URL: server.url }),
      },
      // The platform's documents do not say which, so it depends on the seed.
      platform: { rowFaults: seed % 2 === 0 ? 'whole' : 'row' },
    });
    return new ImportStage(parts, server);
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

  /** A new enterprise of the platform. An attempt whose answer was lost may have made one, so the next one names another. */
  async enterprise(name: string): Promise<string> {
    const headers = { 'content-type': 'application/json' };
    let attempts = 0;
    let made: { enterpriseGlobalId?: string } = {};
    await until(`the enterprise ${name} is made`, async () => {
      const crmCustomerId = `CRM-${name}-${++attempts}`;
      const body = JSON.stringify({ crmCustomerId, customerName: `Import ${name}` });
      const response = await this.ask('/v1/enterprises', { method: 'POST', body, headers });
      if (response?.status === 201) made = (await response.json()) as typeof made;
      return response?.status === 201;
    });
    return made.enterpriseGlobalId ?? '';
  }

  /** All at the same moment. */
  async killGateways(): Promise<void> {
    await Promise.all(this.fleet.gateways.map((_, index) => this.killGateway(index)));
  }

  /** Chunks of the job that wait with their passwords. */
  async waitingChunks(jobId: string): Promise<number> {
    const waiting = 'SELECT chunk FROM job_chunks WHERE waiting IS NOT NULL AND job_id = $1';
    return (await askDatabase(this.databaseUrl, waiting, jobId)).length;
  }

  /** What the database has of a job and of the tasks, for a person who looks for a fault. */
  async stored(jobId: string): Promise<object> {
    const [fields] = await askDatabase(this.databaseUrl, 'SELECT * FROM jobs WHERE job_id = $1', jobId);
    const tasks = await askDatabase(this.databaseUrl, 'SELECT * FROM tasks');
    return { fields: { ...fields, definition: undefined }, tasks };
  }

  /** Passwords that can be read in responses, events, logs or the database, or wait although their job has ended. */
  override async atLast(): Promise<readonly string[]> {
    this.count('calls spoiled', await this.sandbox.spoiled());
    const violations: string[] = [];
    violations.push(...(await this.#keptPasswords()));
    if (this.#leaks > 0) violations.push(`${this.#leaks} responses have a password`);
    if (this.outputs().some((output) => output.includes(PASSWORD_MARK)))
      violations.push('a log has a password');
    const folder = this.hasServer ? this.server.folder : undefined;
    const files = folder === undefined ? [] : readdirSync(folder, { recursive: true, withFileTypes: true });
    for (const file of files.filter((each) => each.isFile()))
      if (readFileSync(join(file.parentPath, file.name), 'latin1').includes(PASSWORD_MARK))
        violations.push(`the database has a password in plain text (${file.name})`);
    return violations;
  }

  async #keptPasswords(): Promise<string[]> {
    const kept = await askDatabase(
      this.databaseUrl,
      'SELECT job_id FROM job_chunks JOIN jobs USING (platform, job_id) WHERE waiting IS NOT NULL AND finished_at IS NOT NULL',
    );
    return kept.map((row) => `${String(row['job_id'])} has ended and keeps its passwords`);
  }

  #fetch(path: string, init: RequestInit, gateway?: number): Promise<Response> {
    const { gateways, key } = this.fleet;
    const { url } = this.gateway(gateway ?? this.#asked++ % gateways.length);
    const headers = { 'x-api-key': key, ...(init.headers as Record<string, string>) };
    return fetch(url + path, { ...init, headers, signal: AbortSignal.timeout(EVENTS_MS) });
  }

  #look(text: string): void {
    if (text.includes(PASSWORD_MARK)) this.#leaks++;
  }
}
