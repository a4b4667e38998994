import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { SteppedClock } from '../support/clock-shim.ts';
import { endings } from '../support/endings.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { converse } from '../support/raw-client.ts';
import { ask, startCluster, startRedis, startSentinel, until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

/* What imports may take, for how long, and on whose behalf. */

const HEADER = 'account,password,name';
const CSV = { 'content-type': 'text/csv' };
const HOUR_MS = 3_600_000;
const MIB = 1024 * 1024;
/** More of a file is not sent by a test. */
const MOST_BYTES = 2 * MIB;

const shared = useStack({
  redis: ['REDIS_URL'],
  environment: { IMPORT_MAX_BYTES: String(MOST_BYTES) },
  callers: [
    { name: 'hr', scopes: ['members:read', 'members:write'], enterprises: ['ent-harbour'], users: ['*'] },
  ],
});
const { sandbox } = shared;
const { ended } = endings();

interface Job {
  readonly jobId: string;
  readonly state: string;
  readonly done: number;
  readonly problem: { readonly code: string } | null;
}
interface Row {
  readonly status: string;
  readonly code: string | null;
}

/** A gateway of other settings. */
async function newGateway(environment: Record<string, string> = {}): Promise<TestGateway> {
  const store = environment['GUARD_REDIS_URL'] && { ENCRYPTION_KEYS: newEncryptionKey() };
  return ended(await TestGateway.start(sandbox, { ...store, ...environment }));
}

function file(name: string, rows: number): string {
  const lines = Array.from({ length: rows }, (_, row) => `${name}${row},${newSecret('m')},Name`);
  return [HEADER, ...lines, ''].join('\n');
}

function post(
  gateway: TestGateway,
  body: string,
  enterprise = 'ent-harbour',
  { key = gateway.key, ...headers }: Record<string, string> = {},
): Promise<TestAnswer> {
  const path = `/v1/enterprises/${enterprise}/member-imports`;
  return gateway.request('POST', path, { key, body, headers: { ...CSV, ...headers } });
}

async function accepted(...args: Parameters<typeof post>): Promise<string> {
  const answer = await post(...args);
  expect([answer.status, answer.status === 202 ? '' : answer.text]).toEqual([202, '']);
  return String(answer.body['jobId']);
}

async function endOf(gateway: TestGateway, jobId: string): Promise<Job> {
  // On a busy machine a command of Redis may take too long, which is 503.
  await until('the job has ended', async () => {
    const { text } = await gateway.get(`/v1/jobs/${jobId}/events`);
    return text.includes('event: done');
  });
  return (await gateway.get(`/v1/jobs/${jobId}`)).body as unknown as Job;
}

async function rowsOf(gateway: TestGateway, jobId: string): Promise<Row[]> {
  const headers = { accept: 'application/x-ndjson' };
  const { text } = await gateway.get(`/v1/jobs/${jobId}/rows`, { headers });
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Row);
}

/** How many rows there are of each status and code. */
function tally(rows: readonly Row[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { status, code } of rows) {
    const key = [status, ...(code === null ? [] : [code])].join(' ');
    found[key] = (found[key] ?? 0) + 1;
  }
  return found;
}

async function isCalled(operation: string, times = 1): Promise<void> {
  await until(`${operation} is called`, async () => (await sandbox.journal(operation)).length >= times);
}

/** The head of an import, whose file is sent once the gateway wants it. */
const headOf = ({ key }: TestGateway, length: string) =>
  `POST /v1/enterprises/ent-harbour/member-imports HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n` +
  `content-type: text/csv\r\n${length}\r\nexpect: 100-continue\r\n\r\n`;

describe('J7 imports take all the room that they may have', () => {
  it('a file for which a tenth of the store has no room is refused before it is read', async () => {
    const { gateway } = shared;
    const mostMemory = (bytes: number) =>
      ask(shared.redis(), (client) => client.config('SET', 'maxmemory', bytes));
    await mostMemory(8 * MIB);
    for (const length of [`content-length: ${MOST_BYTES}`, 'transfer-encoding: chunked']) {
      const { answers } = await converse(gateway.url, headOf(gateway, length));
      expect(answers.map(({ status, body }) => [status, body['code'], body['detail']])).toEqual([
        [503, 'overloaded', 'All imports together take as much room as they may have.'],
      ]);
    }
    const jobId = await accepted(gateway, file('small', 10));
    expect((await endOf(gateway, jobId)).state).toBe('succeeded');
    await mostMemory(0);
  });

  it('a file of 100 MB is refused by its length, and without one when the limit is passed', async () => {
    const { gateway } = shared;
    const { total } = (await gateway.get('/v1/jobs')).body;
    const { answers } = await converse(gateway.url, headOf(gateway, `content-length: ${100 * MIB}`));
    expect(answers.map(({ status, body }) => [status, body['code']])).toEqual([[413, 'payload-too-large']]);
    // Each row is right.
    let sent = 0;
    let row = 0;
    const body = new ReadableStream({
      pull: async (stream) => {
        // Without a pause it would read no response while the gateway takes each row at once.
        await setImmediate();
        const member = { account: `a${row++}`, password: newSecret('m'), name: 'Name' };
        const line = Buffer.from(`${JSON.stringify(member)}${' '.repeat(15_000)}\n`);
        sent += line.length;
        if (sent > 100 * MIB) stream.close();
        else stream.enqueue(line);
      },
    });
    const headers = { 'content-type': 'application/x-ndjson', 'x-api-key': gateway.key };
    const url = `${gateway.url}/v1/enterprises/ent-harbour/member-imports`;
    const answer = await fetch(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
    expect([answer.status, await answer.json()]).toEqual([
      413,
      expect.objectContaining({ code: 'payload-too-large', outcome: 'not_processed' }),
    ]);
    expect(sent).toBeLessThan(100 * MIB);
    expect(await sandbox.calls()).toEqual([]);
    expect((await gateway.get('/v1/jobs')).body).toMatchObject({ total });
  });
});

describe('J8 for a day', () => {
  /** A gateway whose platform takes two calls without a response, and then shows its members no more. */
  async function twoCallsSent(name: string) {
    const clock = ended(SteppedClock.make());
    const redis = ended(await startRedis([], undefined, clock.environment));
    const environment = {
      GUARD_REDIS_URL: redis.url,
      ENCRYPTION_KEYS: newEncryptionKey(),
      UPSTREAM_DEADLINE_MS: '3000',
      ...clock.environment,
    };
    const gateway = await newGateway(environment);
    await sandbox.fault({ operation: 'addMembers', phase: 'before', action: { hang: true } });
    const jobId = await accepted(gateway, file(name, 300));
    await isCalled('addMembers', 2);
    await sandbox.fault({ operation: 'listMembers', action: { httpStatus: 503 } });
    return {
      ...{ clock, environment, gateway, jobId },
      waiting: () => ask(redis, (client) => client.keys('*:waiting:*')),
    };
  }

  async function endsUnknown(gateway: TestGateway, jobId: string): Promise<void> {
    expect(await endOf(gateway, jobId)).toMatchObject({ state: 'completed', done: 300 });
    expect(tally(await rowsOf(gateway, jobId))).toEqual({
      'unknown outcome-unknown': 200,
      'failed upstream-unavailable': 100,
    });
  }

  it('the list of members cannot be read: what was sent is unknown, what was not has failed, and the passwords are gone', async () => {
    const { clock, gateway, jobId, waiting } = await twoCallsSent('day');
    clock.step(23.6 * HOUR_MS);
    await endsUnknown(gateway, jobId);
    expect(await waiting()).toEqual([]);
  });

  it('no process runs: the rows have results all the same, and the passwords are gone when the day is over', async () => {
    const { clock, environment, gateway, jobId, waiting } = await twoCallsSent('gone');
    await gateway.stop();
    expect(await waiting()).toHaveLength(1);
    clock.step(25 * HOUR_MS);
    expect(await waiting()).toEqual([]);
    await endsUnknown(await newGateway(environment), jobId);
  });
});

describe('J9 the rights of an import end while it runs', () => {
  it('an import acts as the user of its session, and fails when the session ends', async () => {
    const { gateway } = shared;
    const login = { username: 'admin@harbour', password: sandbox.seedPassword };
    const opened = await gateway.post('/v1/sessions', login);
    const session = { 'x-session-id': String(opened.body['sessionId']) };
    await sandbox.fault({ operation: 'addMembers', action: { delayMs: 400 } });
    const jobId = await accepted(gateway, file('session', 2_000), 'ent-harbour', session);
    await isCalled('addMembers', 2);
    expect((await gateway.request('DELETE', '/v1/sessions/current', { headers: session })).status).toBe(204);
    const job = await endOf(gateway, jobId);
    expect([job.state, job.problem?.code]).toEqual(['failed', 'session-expired']);
    const rows = tally(await rowsOf(gateway, jobId));
    const added = rows['added'] ?? 0;
    expect(added).toBeGreaterThanOrEqual(100);
    expect(rows).toEqual({ added, 'failed session-expired': 2_000 - added });
    for (const { headers } of await sandbox.journal('addMembers'))
      expect(headers['usertoken']).toContain('admin@harbour');
  });

  it('an import fails when its caller is removed', async () => {
    const { gateway } = shared;
    await sandbox.fault({ operation: 'addMembers', action: { delayMs: 1_500 } });
    const key = String(gateway.keys['hr']);
    const jobId = await accepted(gateway, file('removed', 1_000), 'ent-harbour', { key });
    await isCalled('addMembers', 2);
    gateway.callers = gateway.callers.filter(({ name }) => name !== 'hr');
    gateway.writeCallers();
    const job = await endOf(gateway, jobId);
    expect([job.state, job.problem?.code]).toEqual(['failed', 'forbidden']);
    const rows = tally(await rowsOf(gateway, jobId));
    expect(rows).toEqual({ added: rows['added'], 'failed forbidden': 1_000 - (rows['added'] ?? 0) });
  });
});

describe('the events of a job', () => {
  /** The first events after the one of that id. */
  async function* eventsOf(gateway: TestGateway, jobId: string, after?: number) {
    const headers = {
      'x-api-key': gateway.key,
      ...(after !== undefined && { 'last-event-id': String(after) }),
    };
    const response = await fetch(`${gateway.url}/v1/jobs/${jobId}/events`, { headers });
    let rest = '';
    for await (const text of (response.body as ReadableStream<Uint8Array>).pipeThrough(
      new TextDecoderStream() as never,
    ) as unknown as AsyncIterable<string>) {
      const parts = (rest + text).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        const [, id, name] = /^id: (\d+)\nevent: (\w+)\n/.exec(part) ?? [];
        if (id !== undefined) yield { id: Number(id), name };
      }
    }
  }

  it('go on after Last-Event-ID, and give the end to a client that was away', async () => {
    const { gateway } = shared;
    await sandbox.fault({ operation: 'addMembers', action: { delayMs: 600 } });
    const jobId = await accepted(gateway, file('event', 400));
    let seen = 0;
    for await (const { id, name } of eventsOf(gateway, jobId)) {
      seen = id;
      if (name === 'progress') break;
    }
    expect(seen).toBeGreaterThan(0);
    const later: { id: number; name: string | undefined }[] = [];
    for await (const event of eventsOf(gateway, jobId, seen)) later.push(event);
    const ids = later.map(({ id }) => id);
    expect(Math.min(...ids)).toBeGreaterThan(seen);
    expect(ids).toEqual(ids.toSorted((one, other) => one - other));
    expect(later.at(-1)?.name).toBe('done');
    const again: unknown[] = [];
    for await (const event of eventsOf(gateway, jobId, ids.at(-1))) again.push(event);
    expect(again).toEqual([later.at(-1)]);
  });
});

describe('the jobs in', () => {
  it.each([
    ['a cluster', startCluster],
    ['a master that sentinels watch', startSentinel],
  ])('%s run to their ends', async (_, start) => {
    const store = ended(await start());
    const gateway = await newGateway({ GUARD_REDIS_URL: store.url });
    await until('the store is up', async () => (await post(gateway, 'x')).status === 400);
    const jobId = await accepted(gateway, file('topology', 250));
    expect(await endOf(gateway, jobId)).toMatchObject({ state: 'succeeded', done: 250 });
    expect(tally(await rowsOf(gateway, jobId))).toEqual({ added: 250 });
    expect((await gateway.get('/v1/jobs')).body).toMatchObject({ total: 1 });
  });
});
