import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { Fleet } from '../support/fleet.ts';
import type { CallerEntry } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/* Imports of two companies at once, on two replicas: whose they are, and what becomes of those whose caller loses its rights. */

const HEADER = 'account,password,name';
const ENDED = new Set(['succeeded', 'completed', 'cancelled', 'failed']);

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
  readonly failed: number;
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
beforeEach(async () => {
  await sandbox.reset();
  // Room for any number of members.
  await sandbox.control('PATCH', `/state/enterprises/${SOUTH.enterprise}`, { trialMemberLimit: null });
});
afterAll(async () => {
  await fleet.stop();
  await sandbox.close();
});

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
  key = newSecret('k'),
): Promise<Response> {
  return request(gateway, tenant, `/v1/enterprises/${tenant.enterprise}/member-imports`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'text/csv', 'idempotency-key': key },
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

/** The accounts that the platform has in the tenant's enterprise, and that begin with one of these. */
async function accounts(tenant: Tenant, ...names: string[]): Promise<string[]> {
  const response = await request(1, tenant, `/v1/enterprises/${tenant.enterprise}/members/export`, {
    headers: { accept: 'application/x-ndjson' },
  });
  const lines = (await response.text()).split('\n').filter((line) => line !== '');
  return lines
    .map((line) => (JSON.parse(line) as { userName: string }).userName.replace(/@.*/, ''))
    .filter((account) => names.some((name) => account.startsWith(name)));
}

it.each([
  ['at the same moment', false],
  ['while the upload of one is held back until the other runs', true],
])('J13 two callers that import with the same Idempotency-Key %s have a job each', async (_, isHeld) => {
  const key = newSecret('k');
  let upload!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void (upload = controller) });
  const send = (text: string) => upload.enqueue(new TextEncoder().encode(text));
  send(`${HEADER}\n${rows('south', 50)}`);
  const southern = post(1, SOUTH, body, key);
  const ofNorth = `${HEADER}\n${rows('north', 150)}`;
  const northern = post(0, NORTH, ofNorth, key).then(accepted);
  if (isHeld) await until('it runs', async () => (await sandbox.journal('addMembers')).length > 0);
  send(rows('late', 100));
  upload.close();
  const [north, south] = [await northern, await accepted(await southern)];
  expect(north.jobId).not.toBe(south.jobId);
  for (const job of [north, south])
    expect(await endOf(job)).toMatchObject({ state: 'succeeded', total: 150, succeeded: 150 });
  for (const [tenant, own, others] of [
    [NORTH, ['north'], ['south', 'late']],
    [SOUTH, ['south', 'late'], ['north']],
  ] as const) {
    expect(await accounts(tenant, ...own)).toHaveLength(150);
    expect(await accounts(tenant, ...others)).toEqual([]);
  }
  // A repeat is of the caller's own job, and the other caller does not see it.
  expect((await post(1, NORTH, ofNorth, key).then(accepted)).jobId).toBe(north.jobId);
  expect((await request(0, SOUTH, `/v1/jobs/${north.jobId}`)).status).toBe(404);
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
