import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { Fleet } from '../support/fleet.ts';
import type { CallerEntry } from '../support/gateway.ts';
import { ask, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/* Imports of several companies at once, on two replicas of what `npm start` runs: whose they are, and what ends them. */

const HEADER = 'account,password,name';

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
): Promise<Response> {
  return request(gateway, tenant, `/v1/enterprises/${tenant.enterprise}/member-imports`, {
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

async function endOf(tenant: Tenant, { jobId }: Pick<Job, 'jobId'>): Promise<Job> {
  // On a busy machine a command of Redis may take too long, which is 503.
  await until('the job has ended', async () => {
    const response = await request(0, tenant, `/v1/jobs/${jobId}/events`);
    return (await response.text()).includes('event: done');
  });
  return (await (await request(0, tenant, `/v1/jobs/${jobId}`)).json()) as Job;
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
    const files = { north: `${HEADER}\n${rows('north', 600)}`, south: `${HEADER}\n${rows('south', 600)}` };
    const [north, south] = await Promise.all([
      post(0, NORTH, files.north, key).then(accepted),
      post(1, SOUTH, files.south, key).then(accepted),
    ]);
    expect(north.jobId).not.toBe(south.jobId);
    for (const [tenant, job, own] of [
      [NORTH, north, 'north'],
      [SOUTH, south, 'south'],
    ] as const) {
      expect(await endOf(tenant, job)).toMatchObject({ state: 'succeeded', succeeded: 600 });
      const there = await accounts(tenant, 'north', 'south');
      expect(there.filter((account) => !account.startsWith(own))).toEqual([]);
      expect(there).toHaveLength(600);
    }
    // A repeat is of the caller's own job.
    const again = await post(1, NORTH, files.north, key).then(accepted);
    expect(again.jobId).toBe(north.jobId);
    expect((await request(0, SOUTH, `/v1/jobs/${north.jobId}`)).status).toBe(404);
  });

  it('J13 have a job each, also where one holds its upload back until the other runs', async () => {
    const key = newSecret('k');
    await sandbox.fault({ operation: 'addMembers', action: { delayMs: 500 } });
    let upload!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (upload = controller) });
    const bytes = (text: string) => new TextEncoder().encode(text);
    upload.enqueue(bytes(`${HEADER}\n${rows('south', 100)}`));
    const held = post(1, SOUTH, body, key);
    const north = await post(0, NORTH, `${HEADER}\n${rows('north', 600)}`, key).then(accepted);
    await until('it runs', async () => (await sandbox.journal('addMembers')).length > 0);
    upload.enqueue(bytes(rows('late', 500)));
    upload.close();
    const south = await accepted(await held);
    expect(south.jobId).not.toBe(north.jobId);
    expect(await endOf(NORTH, north)).toMatchObject({ state: 'succeeded', total: 600 });
    expect(await endOf(SOUTH, south)).toMatchObject({ state: 'succeeded', total: 600 });
    expect(await accounts(NORTH, 'north', 'south', 'late')).toHaveLength(600);
    expect(await accounts(SOUTH, 'south', 'late')).toHaveLength(600);
    expect(await accounts(SOUTH, 'north')).toEqual([]);
  });
});

describe('an import whose rows the order store has lost', () => {
  it.each([
    ['the rows that wait', ['waiting'], 'gone0'],
    ['the rows and their results', ['waiting', 'results'], ''],
  ])('J14 fails with them unknown: %s', async (_, kinds, first) => {
    // The plan is held up until the rows are gone.
    const rules = await sandbox.fault({ operation: 'listMembers', action: { httpStatus: 503 } });
    const job = await post(0, NORTH, `${HEADER}\n${rows('gone', 250)}`).then(accepted);
    await lose(job, ...kinds);
    await sandbox.heal(rules);
    const end = await endOf(NORTH, job);
    expect(end).toMatchObject({
      ...{ state: 'failed', total: 250, succeeded: 0, failed: 0, unknown: 250 },
      problem: { code: 'outcome-unknown', detail: expect.stringContaining('has lost rows of this import') },
    });
    const told = await rowsOf(NORTH, job);
    expect(told).toHaveLength(250);
    expect(new Set(told.map(({ status }) => status))).toEqual(new Set(['unknown']));
    expect(told[0]?.account).toBe(first);
    expect(await accounts(NORTH, 'gone')).toEqual([]);
    // What the job says is sealed, like its rows.
    const problem = await ask(fleet.redis, async (client) =>
      client.hget(await jobKey('job', job.jobId), 'problem'),
    );
    expect(problem).toMatch(/^v1\./);
  });

  it('J14 deletes no member, since it is not known who is in the file', async () => {
    const path = `/v1/enterprises/${NORTH.enterprise}/member-imports?mode=upsert&deleteMissing=true&maxDeletes=1000`;
    const before = await accounts(NORTH, '');
    const rules = await sandbox.fault({ operation: 'listMembers', skip: 1, action: { httpStatus: 503 } });
    const response = await request(0, NORTH, path, {
      method: 'POST',
      body: `${HEADER}\n${rows('kept', 50)}`,
      headers: { 'content-type': 'text/csv' },
    });
    const job = await accepted(response);
    await lose(job, 'waiting', 'results');
    await sandbox.heal(rules);
    expect(await endOf(NORTH, job)).toMatchObject({ state: 'failed', unknown: 50 });
    expect(await accounts(NORTH, '')).toEqual(before);
  });
});

describe('a caller that loses its rights', () => {
  /** Changes the entry of the caller in the file that both gateways read. */
  function change(over: (entry: CallerEntry) => Partial<CallerEntry>): void {
    fleet.callers = fleet.callers.map((entry) =>
      entry.name === NORTH.caller ? { ...entry, ...over(entry) } : entry,
    );
    fleet.writeCallers();
  }
  const withoutScope = (scope: string) =>
    change(({ scopes }) => ({ scopes: scopes.filter((each) => each !== scope) }));

  let kept: CallerEntry[];
  beforeEach(() => {
    kept = fleet.callers;
  });
  afterEach(async () => {
    fleet.callers = kept;
    fleet.writeCallers();
    await until('both gateways have read the file', async () => {
      const answers = await Promise.all([0, 1].map((each) => request(each, NORTH, '/v1/callers/me')));
      const bodies = await Promise.all(answers.map((one) => one.json() as Promise<{ scopes?: string[] }>));
      return bodies.every(({ scopes = [] }) => scopes.length === 2);
    });
  });

  it('J15 ends its running import with the next chunk when the scope goes', async () => {
    await sandbox.fault({ operation: 'addMembers', action: { delayMs: 300 } });
    const job = await post(0, NORTH, `${HEADER}\n${rows('scope', 3_000)}`).then(accepted);
    await until('it runs', async () => (await sandbox.journal('addMembers')).length > 2);
    withoutScope('members:write');
    const end = await endOf(NORTH, job);
    expect(end).toMatchObject({ state: 'failed', problem: { code: 'forbidden' } });
    const there = await accounts(NORTH, 'scope');
    expect(there.length).toBeLessThan(3_000);
    expect(end.succeeded).toBe(there.length);
    expect(end.failed).toBe(3_000 - there.length);
  });

  it.each([
    ['its scope', () => withoutScope('members:read')],
    ['its key', () => change(() => ({ keys: [] }))],
  ])('J15 sees no more of a job that it watches when %s goes', async (_, takeAway) => {
    await sandbox.fault({ operation: 'listMembers', action: { delayMs: 20_000 } });
    const job = await post(0, NORTH, `${HEADER}\n${rows('watch', 10)}`).then(accepted);
    const watched = await request(1, NORTH, `/v1/jobs/${job.jobId}/events`);
    expect(watched.status).toBe(200);
    const text = watched.text();
    takeAway();
    expect(await text).not.toContain('event: done');
    expect([401, 403]).toContain((await request(1, NORTH, `/v1/jobs/${job.jobId}/events`)).status);
    // The job goes on without its watcher: the next test begins with nothing under way.
    fleet.callers = kept;
    fleet.writeCallers();
    await cancelled(job);
  });
});

/** Also where the caller has its rights back only in a moment. */
async function cancelled({ jobId }: Job): Promise<void> {
  await until('the job is cancelled', async () => {
    const { status } = await request(0, NORTH, `/v1/jobs/${jobId}`, { method: 'DELETE' });
    return status === 202;
  });
  await sandbox.reset();
  await endOf(NORTH, { jobId });
}

it('J12 a caller has at most 100 watches, however many it asks for at once, and others have theirs beside them', async () => {
  await sandbox.fault({ operation: 'listMembers', action: { delayMs: 20_000 } });
  const job = await post(0, NORTH, `${HEADER}\n${rows('many', 10)}`).then(accepted);
  const path = `/v1/jobs/${job.jobId}/events`;
  const end = new AbortController();
  const watch = () => request(1, NORTH, path, { signal: end.signal });
  const statuses = (await Promise.all(Array.from({ length: 180 }, watch))).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(100);
  expect(statuses.filter((status) => status === 503)).toHaveLength(80);
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
  await cancelled(job);
});
