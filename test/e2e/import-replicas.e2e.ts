import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { SteppedClock } from '../support/clock-shim.ts';
import { endings } from '../support/endings.ts';
import { Fleet } from '../support/fleet.ts';
import { type CallerEntry, TestGateway } from '../support/gateway.ts';
import { ask, startCluster, startRedis, startSentinel, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/* Imports of several companies at once, on two replicas: whose they are, and what ends them; and what becomes of them in other stores. */

const HEADER = 'account,password,name';
const ENDED = new Set(['succeeded', 'completed', 'cancelled', 'failed']);
const HOUR_MS = 3_600_000;

interface Tenant {
  readonly caller: string;
  readonly alias: string;
  readonly enterprise: string;
}
const NORTH: Tenant = { caller: 'north', alias: 'default', enterprise: 'ent-harbour' };
const SOUTH: Tenant = { caller: 'south', alias: 'meridian', enterprise: 'ent-meridian' };

interface Job {
  readonly jobId: string;
  readonly state: string;
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly unknown: number;
  readonly enterpriseGlobalId: string;
  readonly problem: { readonly code: string; readonly detail?: string } | null;
}
interface Row {
  readonly account: string;
  readonly status: string;
  readonly code: string | null;
}

let sandbox: TestSandbox;
let fleet: Fleet;
const { ended } = endings();

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  fleet = await Fleet.start(sandbox, 2, {
    users: {
      default: { username: 'admin@harbour', password: sandbox.seedPassword },
      meridian: { username: 'admin@meridian', password: sandbox.seedPassword },
    },
    callers: [NORTH, SOUTH].map(({ caller, alias, enterprise }) => ({
      name: caller,
      scopes: ['members:read', 'members:write'],
      enterprises: [enterprise],
      channels: [],
      users: [alias],
    })),
  });
});
beforeEach(() => seed());
afterAll(async () => {
  await fleet.stop();
  await sandbox.close();
});

/** The platform as at its start, with room for any number of members in both enterprises. */
async function seed(): Promise<void> {
  await sandbox.reset();
  await sandbox.control('PATCH', `/state/enterprises/${SOUTH.enterprise}`, { trialMemberLimit: null });
}

function request(
  gateway: number,
  { caller, alias }: Tenant,
  path: string,
  { headers = {}, ...init }: RequestInit & { headers?: Record<string, string>; duplex?: 'half' } = {},
): Promise<Response> {
  return fetch(`${fleet.gateways[gateway]?.url}${path}`, {
    ...init,
    headers: { 'x-api-key': fleet.keys[caller] ?? '', 'x-acting-user': alias, ...headers },
  });
}

function post(
  gateway: number,
  tenant: Tenant,
  body: string | ReadableStream<Uint8Array>,
  key?: string,
  query = '',
): Promise<Response> {
  return request(gateway, tenant, `/v1/enterprises/${tenant.enterprise}/member-imports${query}`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'text/csv', ...(key !== undefined && { 'idempotency-key': key }) },
    ...(typeof body !== 'string' && { duplex: 'half' as const }),
  });
}

function rows(name: string, count: number): string {
  return Array.from({ length: count }, (_, row) => `${name}${row},${newSecret('m')},Name\n`).join('');
}

async function accepted(response: Response): Promise<Job> {
  expect([response.status, response.status === 202 ? '' : await response.text()]).toEqual([202, '']);
  return (await response.json()) as Job;
}

/** Asked for by another caller, who keeps its rights. */
async function endOf({ jobId }: Job): Promise<Job> {
  let job: Job | undefined;
  await until('the job has ended', async () => {
    job = (await fleet.get(0, `/v1/jobs/${jobId}`)).body as unknown as Job;
    return ENDED.has(job.state);
  });
  return job as Job;
}

async function rowsOf(tenant: Tenant, { jobId }: Job): Promise<Row[]> {
  const response = await request(0, tenant, `/v1/jobs/${jobId}/rows`, {
    headers: { accept: 'application/x-ndjson' },
  });
  return linesOf(await response.text());
}

/** The accounts that the platform has in the tenant's enterprise, and that begin with one of these. */
async function accounts(tenant: Tenant, ...names: string[]): Promise<string[]> {
  const response = await request(1, tenant, `/v1/enterprises/${tenant.enterprise}/members/export`, {
    headers: { accept: 'application/x-ndjson' },
  });
  return linesOf<{ userName: string }>(await response.text())
    .map(({ userName }) => userName.replace(/@.*/, ''))
    .filter((account) => names.some((name) => account.startsWith(name)));
}

function linesOf<T>(text: string): T[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** The key of the job in Redis, of this kind. */
function jobKey(kind: string, jobId: string): Promise<string> {
  return ask(fleet.redis, async (client) => {
    const found = await client.keys(`*:imports}:${kind}:${jobId}`);
    expect(found).toHaveLength(1);
    return String(found[0]);
  });
}

async function lose({ jobId }: Job, ...kinds: string[]): Promise<void> {
  for (const kind of kinds) {
    const key = await jobKey(kind, jobId);
    await ask(fleet.redis, (client) => client.del(key));
  }
}

describe('two callers that import at the same moment', () => {
  it('J13 have a job each, also with the same Idempotency-Key at two replicas', async () => {
    const key = newSecret('k');
    const files = { north: `${HEADER}\n${rows('north', 150)}`, south: `${HEADER}\n${rows('south', 150)}` };
    const [north, south] = await Promise.all([
      post(0, NORTH, files.north, key).then(accepted),
      post(1, SOUTH, files.south, key).then(accepted),
    ]);
    expect(north.jobId).not.toBe(south.jobId);
    for (const [tenant, job, own] of [
      [NORTH, north, 'north'],
      [SOUTH, south, 'south'],
    ] as const) {
      expect(await endOf(job)).toMatchObject({ state: 'succeeded', succeeded: 150 });
      const there = await accounts(tenant, 'north', 'south');
      expect(there.filter((account) => !account.startsWith(own))).toEqual([]);
      expect(there).toHaveLength(150);
    }
    // A repeat is of the caller's own job.
    const again = await post(1, NORTH, files.north, key).then(accepted);
    expect(again.jobId).toBe(north.jobId);
    expect((await request(0, SOUTH, `/v1/jobs/${north.jobId}`)).status).toBe(404);
  });

  it('J13 have a job each, also where one holds its upload back until the other runs', async () => {
    const key = newSecret('k');
    let upload!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (upload = controller) });
    const bytes = (text: string) => new TextEncoder().encode(text);
    upload.enqueue(bytes(`${HEADER}\n${rows('south', 50)}`));
    const held = post(1, SOUTH, body, key);
    const north = await post(0, NORTH, `${HEADER}\n${rows('north', 150)}`, key).then(accepted);
    await until('it runs', async () => (await sandbox.journal('addMembers')).length > 0);
    upload.enqueue(bytes(rows('late', 100)));
    upload.close();
    const south = await accepted(await held);
    expect(south.jobId).not.toBe(north.jobId);
    expect(await endOf(north)).toMatchObject({ state: 'succeeded', total: 150 });
    expect(await endOf(south)).toMatchObject({ state: 'succeeded', total: 150 });
    expect(await accounts(NORTH, 'north', 'south', 'late')).toHaveLength(150);
    expect(await accounts(SOUTH, 'south', 'late')).toHaveLength(150);
    expect(await accounts(SOUTH, 'north')).toEqual([]);
  });
});

describe('an import whose rows the order store has lost', () => {
  it('J14 fails with them unknown, and deletes no member, since it is not known who is in the file', async () => {
    const members = await accounts(SOUTH, '');
    // The plans are held up until the rows are gone; the one of the second import has been asked for once already.
    const rules = await sandbox.fault({ operation: 'listMembers', skip: 1, action: { httpStatus: 503 } });
    const query = '?mode=upsert&deleteMissing=true&maxDeletes=1000';
    const south = await post(1, SOUTH, `${HEADER}\n${rows('kept', 50)}`, undefined, query).then(accepted);
    const north = await post(0, NORTH, `${HEADER}\n${rows('gone', 250)}`).then(accepted);
    await lose(south, 'waiting', 'results');
    await lose(north, 'waiting');
    await sandbox.heal(rules);
    const problem = {
      code: 'outcome-unknown',
      detail: expect.stringContaining('has lost rows of this import'),
    };
    for (const [tenant, job, total, account] of [
      [NORTH, north, 250, 'gone0'],
      [SOUTH, south, 50, ''],
    ] as const) {
      const counts = { total, succeeded: 0, failed: 0, unknown: total };
      expect(await endOf(job)).toMatchObject({ state: 'failed', ...counts, problem });
      const told = await rowsOf(tenant, job);
      expect(told).toHaveLength(total);
      expect(new Set(told.map(({ status }) => status))).toEqual(new Set(['unknown']));
      expect(told[0]?.account).toBe(account);
      // What the job says is sealed, like its rows.
      const key = await jobKey('job', job.jobId);
      expect(await ask(fleet.redis, (client) => client.hget(key, 'problem'))).toMatch(/^v1\./);
    }
    expect(await accounts(NORTH, 'gone')).toEqual([]);
    expect(await accounts(SOUTH, '')).toEqual(members);
  });
});

describe('J9 a caller that loses its rights', () => {
  let kept: CallerEntry[];
  beforeEach(() => {
    kept = fleet.callers;
  });
  afterEach(() => entriesAre(kept));

  /** The entries in the file that both gateways read. */
  async function entriesAre(entries: CallerEntry[]): Promise<void> {
    fleet.callers = entries;
    fleet.writeCallers();
    const scopes = entries.find(({ name }) => name === NORTH.caller)?.scopes ?? [];
    await until('both gateways have read the file', async () => {
      const answers = await Promise.all([0, 1].map((each) => request(each, NORTH, '/v1/callers/me')));
      const bodies = await Promise.all(answers.map((one) => one.json() as Promise<{ scopes?: string[] }>));
      return bodies.every((body) => (body.scopes ?? []).length === scopes.length);
    });
  }

  const isNorth = ({ name }: CallerEntry) => name === NORTH.caller;
  it.each([
    [
      'its scopes go',
      (all: CallerEntry[]) => all.map((one) => (isNorth(one) ? { ...one, scopes: [] } : one)),
    ],
    ['its entry goes', (all: CallerEntry[]) => all.filter((one) => !isNorth(one))],
  ])('J15 sends no more of its import, and sees no more of it, when %s', async (_, without) => {
    // The platform carries the calls out, and their answers are held back.
    const late = { phase: 'after', skip: 2, action: { hang: true } };
    const hang = await sandbox.fault({ operation: 'addMembers', ...late });
    const job = await post(0, NORTH, `${HEADER}\n${rows('gone', 600)}`).then(accepted);
    const watched = await request(1, NORTH, `/v1/jobs/${job.jobId}/events`);
    expect(watched.status).toBe(200);
    await until('two calls hang', async () => (await sandbox.journal('addMembers')).length === 4);
    await entriesAre(without(kept));
    expect(await watched.text()).not.toContain('event: done');
    expect([401, 403]).toContain((await request(1, NORTH, `/v1/jobs/${job.jobId}/events`)).status);
    await sandbox.heal(hang);
    // Cuts off the calls that hang, and leaves the members as they are.
    await sandbox.control('PUT', '/state', await sandbox.control<object>('GET', '/state'));
    expect(await endOf(job)).toMatchObject({
      ...{ state: 'failed', succeeded: 200, unknown: 200, failed: 200 },
      problem: { code: 'forbidden' },
    });
    await entriesAre(kept);
    expect(await accounts(NORTH, 'gone')).toHaveLength(400);
    expect(await sandbox.journal('addMembers')).toHaveLength(4);
  });
});

it('J12 a caller has at most 100 watches, however many it asks for at once, and others have theirs beside them', async () => {
  await sandbox.fault({ operation: 'listMembers', action: { hang: true } });
  const job = await post(0, NORTH, `${HEADER}\n${rows('many', 10)}`).then(accepted);
  const path = `/v1/jobs/${job.jobId}/events`;
  const end = new AbortController();
  const watch = () => request(1, NORTH, path, { signal: end.signal });
  const statuses = (await Promise.all(Array.from({ length: 120 }, watch))).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(100);
  expect(statuses.filter((status) => status === 503)).toHaveLength(20);
  const headers = { 'x-api-key': fleet.key };
  const other = await fetch(`${fleet.gateways[1]?.url}${path}`, { headers, signal: end.signal });
  expect(other.status).toBe(200);
  end.abort();
  // Each that has ended makes room.
  await until('there is room again', async () => {
    const again = new AbortController();
    const { status } = await request(1, NORTH, path, { signal: again.signal });
    again.abort();
    return status === 200;
  });
  await request(0, NORTH, `/v1/jobs/${job.jobId}`, { method: 'DELETE' });
  await sandbox.reset();
  expect(await endOf(job)).toMatchObject({ state: 'cancelled' });
});

/** Starts an import by a gateway with a store of its own. */
async function importBy(gateway: TestGateway, name: string, count: number): Promise<string> {
  const path = `/v1/enterprises/${NORTH.enterprise}/member-imports`;
  const headers = { 'content-type': 'text/csv' };
  const answer = await gateway.request('POST', path, { body: `${HEADER}\n${rows(name, count)}`, headers });
  expect([answer.status, answer.status === 202 ? '' : answer.text]).toEqual([202, '']);
  return `/v1/jobs/${String(answer.body['jobId'])}`;
}

/** The state in which it ends, and how many rows there are of each status and code. */
async function endBy(gateway: TestGateway, job: string): Promise<Record<string, unknown>> {
  let state = '';
  await until('the job has ended', async () => {
    state = String((await gateway.get(job)).body['state']);
    return ENDED.has(state);
  });
  const { text } = await gateway.get(`${job}/rows`, { headers: { accept: 'application/x-ndjson' } });
  const told = Map.groupBy(linesOf<Row>(text), ({ status, code }) => (code ? `${status} ${code}` : status));
  return { state, ...Object.fromEntries([...told].map(([what, { length }]) => [what, length])) };
}

describe('J8 for a day', () => {
  it('the list of members cannot be read, or no process runs: what was sent is unknown, what was not has failed, and the passwords are gone', async () => {
    const clock = ended(SteppedClock.make());
    const redis = ended(await startRedis([], undefined, clock.environment));
    const environment = {
      ...{ GUARD_REDIS_URL: redis.url, ENCRYPTION_KEYS: newEncryptionKey() },
      ...clock.environment,
    };
    const waiting = () => ask(redis, (client) => client.keys('*:waiting:*'));
    /** The platform takes two calls without a response, and then shows its members no more. */
    const twoCallsSent = async (gateway: TestGateway, name: string) => {
      await seed();
      await sandbox.fault({ operation: 'addMembers', action: { reset: 'before-headers' } });
      await sandbox.fault({ operation: 'listMembers', skip: 1, action: { httpStatus: 503 } });
      const job = await importBy(gateway, name, 300);
      await until('two calls are sent', async () => (await sandbox.journal('addMembers')).length === 2);
      return job;
    };
    const end = { state: 'completed', 'unknown outcome-unknown': 200, 'failed upstream-unavailable': 100 };

    const gateway = ended(await TestGateway.start(sandbox, environment));
    const unread = await twoCallsSent(gateway, 'day');
    clock.step(23.6 * HOUR_MS);
    expect(await endBy(gateway, unread)).toEqual(end);
    expect(await waiting()).toEqual([]);

    const left = await twoCallsSent(gateway, 'gone');
    await gateway.stop();
    expect(await waiting()).toHaveLength(1);
    clock.step(50 * HOUR_MS);
    expect(await waiting()).toEqual([]);
    expect(await endBy(ended(await TestGateway.start(sandbox, environment)), left)).toEqual(end);
  });
});

it('the jobs in a cluster, and in a master that sentinels watch, run to their ends', async () => {
  const stores = await Promise.all([startCluster(), startSentinel()]);
  for (const { url } of stores.map(ended)) {
    const environment = { GUARD_REDIS_URL: url, ENCRYPTION_KEYS: newEncryptionKey() };
    const gateway = ended(await TestGateway.start(sandbox, environment));
    await seed();
    const isUp = async () => (await gateway.get('/v1/jobs')).status === 200;
    await until('the store is up', isUp);
    const job = await importBy(gateway, 'topology', 250);
    expect([url, await endBy(gateway, job)]).toEqual([url, { state: 'succeeded', added: 250 }]);
    expect((await gateway.get('/v1/jobs')).body).toMatchObject({ total: 1 });
  }
});
