import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { SteppedClock } from '../support/clock-shim.ts';
import { databaseInit, emptyDatabase } from '../support/database.ts';
import { endings } from '../support/endings.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { Fleet } from '../support/fleet.ts';
import { type CallerEntry, type TestAnswer, TestGateway } from '../support/gateway.ts';
import { withLostReply } from '../support/lost-reply.ts';
import { onceServed } from '../support/once-served.ts';
import { converse } from '../support/raw-client.ts';
import { askDatabase, postgresUrl, throughPort } from '../support/postgres.ts';
import { until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';
import { textUntilCut } from '../support/text-until-cut.ts';

const MEMBERS = '/v1/enterprises/ent-harbour/members';
const IMPORTS = '/v1/enterprises/ent-harbour/member-imports';
const HEADER = 'account,password,name,departmentId,remark,passwordMobile';
const CSV = { 'content-type': 'text/csv' };
const ENDED = new Set(['succeeded', 'completed', 'cancelled', 'failed']);
const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;
/** No test sends more of a file. */
const MAX_BYTES = 2 * MIB;

const scopes = ['members:read', 'members:write'];
const callers = [
  { name: 'other', scopes, enterprises: ['ent-meridian'], users: ['*'] },
  { name: 'north', scopes, enterprises: ['ent-harbour'], users: ['*'] },
];
/** Two replicas have the jobs in one database, and a cache that no import may use. */
const environment = {
  DATABASE_URL: await postgresUrl(),
  CACHE_TTL_MS: '60000',
  IMPORT_MAX_BYTES: String(MAX_BYTES),
  ENCRYPTION_KEYS: newEncryptionKey(),
};
const shared = useStack({ redis: true, environment, callers });
const { sandbox } = shared;
let { gateway } = shared;
const { ended: stopped, atEnd } = endings();

interface Row {
  readonly row: number | null;
  readonly account: string;
  readonly status: string;
  readonly code: string | null;
  readonly message: string | null;
  readonly memberGlobalId: string | null;
}

function inDatabase(statement: string, ...values: unknown[]) {
  return askDatabase(environment.DATABASE_URL, statement, ...values);
}

/** Returns this number of new rows, whose accounts begin with `name`. */
function newRows(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}${index},${newSecret('m')},Name ${index},10,,`);
}

function file(rows: readonly string[], header = HEADER): string {
  return [header, ...rows, ''].join('\r\n');
}

function post(body: unknown, query = '', headers: Record<string, string> = CSV): Promise<TestAnswer> {
  return onceServed(() => gateway.request('POST', IMPORTS + query, { body, headers }));
}

/** A file without a length. */
async function postChunked(body: ReadableStream, headers: Record<string, string> = CSV): Promise<TestAnswer> {
  const response = await fetch(gateway.url + IMPORTS, {
    ...{ method: 'POST', headers: { ...headers, 'x-api-key': gateway.key }, duplex: 'half', body },
  } as RequestInit);
  const text = await response.text();
  const { status, headers: told } = response;
  return { status, headers: told, text, body: JSON.parse(text) as Record<string, unknown> };
}

interface DryRun {
  readonly plan: { readonly delete: readonly string[] };
  readonly effects: readonly { readonly kind: string; readonly account: string }[];
  readonly wouldSend: readonly { readonly operation: string }[];
}

async function dryRun(body: unknown, query = '', headers: Record<string, string> = CSV): Promise<DryRun> {
  const answer = await gateway.request('POST', `${IMPORTS}/dry-run${query}`, { body, headers });
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, '']);
  return answer.body as object as DryRun;
}

function postTo(enterprise: string, rows: readonly string[]): Promise<TestAnswer> {
  const path = IMPORTS.replace('ent-harbour', enterprise);
  const body = file(rows);
  return onceServed(() => gateway.request('POST', path, { body, headers: CSV }));
}

/** The URL of the job that was accepted. */
function accepted({ status, text, headers, body }: TestAnswer): string {
  expect([status, status === 202 ? '' : text]).toEqual([202, '']);
  expect(headers.get('location')).toBe(`/v1/jobs/${String(body['jobId'])}`);
  return `/v1/jobs/${String(body['jobId'])}`;
}

/** The job when it has ended. */
async function ended(answer: TestAnswer): Promise<Record<string, unknown>> {
  const path = accepted(answer);
  let job: Record<string, unknown> = {};
  await until('the job has ended', async () => {
    job = (await gateway.get(path)).body;
    return ENDED.has(String(job['state']));
  });
  return job;
}

/** The calls that hang are cut off, and the platform has its members still. */
async function letGo(rules: readonly string[]): Promise<void> {
  await sandbox.heal(rules);
  await sandbox.control('PUT', '/state', await sandbox.control<object>('GET', '/state'));
}

async function isCalled(operation: string, times: number): Promise<void> {
  await until(`${operation} is called`, async () => (await sandbox.journal(operation)).length >= times);
}

async function rowsOf(job: Record<string, unknown>, query = ''): Promise<Row[]> {
  const path = `/v1/jobs/${String(job['jobId'])}/rows${query}`;
  const { status, text } = await gateway.get(path, { headers: { accept: 'application/x-ndjson' } });
  expect(status).toBe(200);
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Row);
}

/** How many rows there are of each status and code. */
function countsOf(rows: readonly Row[]): Record<string, number> {
  const told = Map.groupBy(rows, ({ status, code }) => (code ? `${status} ${code}` : status));
  return Object.fromEntries([...told].map(([what, { length }]) => [what, length]));
}

/** The lines of a response that is broken off. */
const linesUntilCut = async (response: Response) => (await textUntilCut(response)).trim().split('\n');

/** An export of five pages of which the second one is held back, and what gives it. */
async function heldExport(headers: Record<string, string>) {
  const state = await sandbox.control<{ employees: object[] }>('GET', '/state');
  const many = Array.from({ length: 900 }, (_, index) => ({
    ...{ id: `${70_000 + index}`, userId: `${80_000 + index}`, globalId: `mem-many-${index}` },
    ...{ enterpriseGlobalId: 'ent-harbour', userName: `many${index}@harbour`, name: `Many ${index}` },
  }));
  await sandbox.control('PUT', '/state', { ...state, employees: [...state.employees, ...many] });
  const rules = await sandbox.fault({ operation: 'listMembers', skip: 1, action: { hang: true } });
  const response = await fetch(`${gateway.url}${MEMBERS}/export`, { headers });
  expect(response.status).toBe(200);
  await isCalled('listMembers', 2);
  return { response, goesOn: () => letGo(rules) };
}

async function members(enterprise = 'ent-harbour'): Promise<Map<string, Record<string, unknown>>> {
  const { text } = await gateway.get(`/v1/enterprises/${enterprise}/members/export`, {
    headers: { accept: 'application/x-ndjson' },
  });
  const all = text.split('\n').filter((line) => line !== '');
  const list = all.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(new Set(list.map(({ userName }) => userName)).size).toBe(list.length);
  return new Map(list.map((member) => [String(member['userName']).replace(/@.*/, ''), member]));
}

async function writes(): Promise<string[]> {
  const calls = await sandbox.calls();
  return calls.filter(({ method }) => method !== 'GET').map(({ operation }) => String(operation));
}

describe('imports', () => {
  it('adds the members of a file in calls of 100, and has a result for each row', async () => {
    const job = await ended(await post(file([...newRows('new', 249), 'anna,first-login-1,Anna Berg,,,'])));
    expect(job).toMatchObject({
      ...{ kind: 'import', mode: 'add', enterpriseGlobalId: 'ent-harbour', state: 'completed' },
      ...{
        total: 250,
        done: 250,
        succeeded: 249,
        updated: 0,
        unchanged: 0,
        deleted: 0,
        failed: 1,
        unknown: 0,
      },
      problem: null,
    });
    const calls = await sandbox.journal('addMembers');
    expect(calls.map(({ body }) => (body as { userList: unknown[] }).userList.length).sort()).toEqual(
      [100, 100, 49].sort(),
    );
    const rows = await rowsOf(job);
    expect(rows.map(({ row }) => row)).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
    expect(rows.slice(0, -1).filter((row) => row.status !== 'added' || !row.memberGlobalId)).toEqual([]);
    expect(rows.at(-1)).toMatchObject({ account: 'anna', status: 'failed', code: 'upstream-rejected' });
    expect(await rowsOf(job, '?status=failed')).toEqual(rows.slice(-1));
    const found = await members();
    for (const { account, memberGlobalId, status } of rows)
      if (status === 'added')
        expect(found.get(account)).toMatchObject({ memberGlobalId, departmentId: '10' });
  });

  it('J2 refuses a second import of the enterprise while one runs, and cancels it', async () => {
    const rules = await sandbox.fault({ operation: 'addMembers', skip: 1, action: { hang: true } });
    const first = await post(file(newRows('slow', 400)));
    const path = accepted(first);
    await isCalled('addMembers', 3);
    const second = await post(file(newRows('more', 1)));
    expect([second.status, second.body['code']]).toEqual([409, 'import-in-progress']);
    expect(second.body['detail']).toContain(String(first.body['jobId']));
    expect(second.headers.get('location')).toBe(path);
    const body = file(newRows('more', 1));
    const dry = await gateway.request('POST', `${IMPORTS}/dry-run`, { body, headers: CSV });
    expect([dry.status, dry.body]).toEqual([409, { ...second.body, requestId: expect.anything() }]);
    expect((await gateway.request('DELETE', path)).status).toBe(202);
    await letGo(rules);
    const job = await ended(first);
    expect(job).toMatchObject({ state: 'cancelled', succeeded: 100 });
    const rows = await rowsOf(job);
    const found = await members();
    for (const { account, status } of rows)
      expect([account, status]).toEqual([account, found.has(account) ? 'added' : 'pending']);
  });

  it('J2 refuses a second import of the enterprise while the file of another is read, and names no job', async () => {
    let upload!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (upload = controller) });
    const send = (text: string) => upload.enqueue(new TextEncoder().encode(text));
    send(file(newRows('early', 1)));
    const reading = postChunked(body);
    const isReserved = "SELECT FROM jobs WHERE state = 'reserved'";
    await until('the file is read', async () => (await inDatabase(isReserved)).length > 0);
    const { status, body: problem, headers } = await post(file(newRows('more', 1)));
    expect([status, problem]).toMatchObject([409, { code: 'import-in-progress', retryable: true }]);
    expect(problem['detail']).toMatch(/^A file of this enterprise is being read\./);
    expect([headers.get('location'), headers.get('retry-after')]).toEqual([null, '10']);
    upload.close();
    expect(await ended(await reading)).toMatchObject({ state: 'succeeded' });
  });

  it('sends no further change once it is cancelled', async () => {
    await ended(await post(file(newRows('edit', 20))));
    const showsChange = async () => (await gateway.get(`${MEMBERS}?pageSize=200`)).text.includes('Renamed 0');
    expect(await showsChange()).toBe(false);
    const rules = await sandbox.fault({ operation: 'editMember', skip: 1, action: { hang: true } });
    const renamed = newRows('edit', 20).map((row) => row.replace('Name', 'Renamed'));
    const answer = await post(file(renamed), '?mode=upsert');
    await isCalled('editMember', 2);
    expect((await gateway.request('DELETE', accepted(answer))).status).toBe(202);
    await letGo(rules);
    const job = await ended(answer);
    expect([job['state'], countsOf(await rowsOf(job))]).toEqual(['cancelled', { updated: 1, pending: 19 }]);
    expect(await sandbox.journal('editMember')).toHaveLength(2);
    // A cached list does not hide what the job has changed.
    expect(await showsChange()).toBe(true);
  });

  it('leaves the rows as they are if it is cancelled before the list of members is read', async () => {
    const rules = await sandbox.fault({ operation: 'listMembers', action: { httpStatus: 503 } });
    const answer = await post(file(['anna,,Renamed'], 'account,password,name'), '?mode=upsert');
    await isCalled('listMembers', 1);
    expect((await gateway.request('DELETE', accepted(answer))).status).toBe(202);
    const job = await ended(answer);
    await sandbox.heal(rules);
    expect([job['state'], countsOf(await rowsOf(job))]).toEqual(['cancelled', { pending: 1 }]);
  });

  it('J7 takes five unfinished imports of a caller at most', async () => {
    await sandbox.fault({ operation: 'addMembers', action: { hang: true } });
    const taken: TestAnswer[] = [];
    for (let customer = 0; customer < 5; customer++)
      taken.push(await postTo(`ent-${customer}`, newRows('one', 1)));
    taken.map(accepted);
    const body = file(newRows('one', 1));
    const path = IMPORTS.replace('ent-harbour', 'ent-5');
    const sixth = await gateway.request('POST', path, { body, headers: CSV });
    const detail = 'The caller has too many imports that have not ended.';
    expect(sixth).toMatchObject({ status: 503, body: { code: 'overloaded', detail } });
    expect(Number(sixth.headers.get('retry-after'))).toBeGreaterThan(0);
    await sandbox.reset();
    await Promise.all(taken.map(ended));
    await ended(await postTo('ent-6', newRows('one', 1)));
  });

  it('J11 tells apart a repeated file and another one of the same length', async () => {
    const headers = { ...CSV, 'idempotency-key': newSecret('k') };
    const rows = newRows('key', 300);
    const first = await post(file(rows), '', headers);
    const job = await ended(first);
    const again = await post(file(rows), '', headers);
    expect(again).toMatchObject({ status: 202, body: first.body });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const other = await post(file(rows).replace('key299', 'kex299'), '', headers);
    expect([other.status, other.body['code']]).toEqual([422, 'idempotency-key-reused']);
    expect((await gateway.get('/v1/jobs?pageSize=1')).body['items']).toEqual([job]);
  });

  it('J11 takes a file that comes once in chunks and once with its length for the same file', async () => {
    const headers = { ...CSV, 'idempotency-key': newSecret('k') };
    const body = file(newRows('parts', 3));
    const first = await postChunked(new Blob([body]).stream(), headers);
    await ended(first);
    expect(await post(body, '', headers)).toMatchObject({ status: 202, body: first.body });
    const other = await post(file(newRows('parts', 4)), '', headers);
    expect([other.status, other.body['code']]).toEqual([422, 'idempotency-key-reused']);
  });

  it('J11 refuses a repeated import whose file is longer than a file may be, and does not read all of it', async () => {
    const headers = { ...CSV, 'idempotency-key': newSecret('k') };
    await ended(await post(file(newRows('long', 3)), '', headers));
    let sent = 0;
    const endless = new ReadableStream({
      pull: async (stream) => {
        // Without a pause it would read no response while the gateway takes each piece at once.
        await setImmediate();
        sent += 64 * 1024;
        if (sent > 100 * MIB) stream.close();
        else stream.enqueue(new Uint8Array(64 * 1024));
      },
    });
    const again = await postChunked(endless, headers);
    expect([again.status, again.body['code']]).toEqual([413, 'payload-too-large']);
    expect(sent).toBeLessThan(100 * MIB);
  });

  it('J11 frees the key of an import whose upload broke off, so the whole file can be sent under it', async () => {
    const headers = { ...CSV, 'idempotency-key': newSecret('k') };
    const rows = newRows('broken', 3);
    let upload!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (upload = controller) });
    const first = postChunked(body, headers).then(
      () => 'answered',
      () => 'broken off',
    );
    upload.enqueue(new TextEncoder().encode(file(rows.slice(0, 2))));
    const begun = "SELECT 1 FROM writes WHERE name LIKE 'write/%' AND state = 'sending'";
    await until('it has begun', async () => (await inDatabase(begun)).length === 1);
    upload.error(new Error('the caller hangs up'));
    expect(await first).toBe('broken off');
    expect(await ended(await post(file(rows), '', headers))).toMatchObject({ total: 3, succeeded: 3 });
  });

  it('retries the rows that failed, and no others', async () => {
    const job = await ended(await post(file(['anna,first-login-1,Anna Berg,,,', ...newRows('fine', 2)])));
    const path = `/v1/jobs/${String(job['jobId'])}/retry`;
    const [anna] = (await rowsOf(job, '?status=failed')) as [Row];
    await gateway.request('DELETE', `/v1/enterprises/ent-harbour/members/${anna.memberGlobalId}`);
    const again = await gateway.request('POST', path, {
      body: file(['anna,first-login-2,Anna Berg,,,']),
      headers: CSV,
    });
    expect(await ended(again)).toMatchObject({ state: 'succeeded', total: 1, succeeded: 1 });
  });

  it('breaks off its rows if the database lacks some of them', async () => {
    const job = await ended(await post(file(newRows('cut', 250))));
    await inDatabase('DELETE FROM job_chunks WHERE job_id = $1 AND chunk = 1', job['jobId']);
    const path = `/v1/jobs/${String(job['jobId'])}/rows`;
    const headers = { 'x-api-key': gateway.key, accept: 'application/x-ndjson' };
    const response = await fetch(gateway.url + path, { headers });
    const all = await linesUntilCut(response);
    expect([response.status, all.length]).toEqual([200, 151]);
    expect(JSON.parse(all.at(-1) ?? '')).toMatchObject({
      problem: {
        code: 'dependency-unavailable',
        detail: 'The job has 250 rows, and the gateway can read 150 of them.',
        requestId: response.headers.get('x-request-id'),
      },
    });
    const failed = await gateway.get(`${path}?status=failed`);
    expect([failed.status, failed.body['code']]).toEqual([503, 'dependency-unavailable']);
  });

  it('J4 hides jobs of other enterprises like jobs that do not exist', async () => {
    const job = await ended(await post(file(newRows('mine', 1))));
    const key = gateway.keys['other'];
    for (const jobId of [String(job['jobId']), 'none']) {
      for (const asked of ['GET', 'GET /rows', 'GET /events', 'DELETE', 'POST /retry']) {
        const [method = '', rest = ''] = asked.split(' ');
        const headers = { ...CSV, 'x-acting-user': 'meridian' };
        const body = method === 'POST' ? file(newRows('mine', 1)) : undefined;
        const answer = await gateway.request(method, `/v1/jobs/${jobId}${rest}`, { key, headers, body });
        expect([asked, answer.status, answer.body['code']]).toEqual([asked, 404, 'job-not-found']);
      }
    }
    expect((await gateway.get('/v1/jobs', { key })).body).toMatchObject({ items: [], total: 0 });
    expect((await gateway.get('/v1/jobs?enterpriseGlobalId=ent-harbour', { key })).status).toBe(403);
    const own = await gateway.get('/v1/jobs?state=succeeded&enterpriseGlobalId=ent-harbour');
    expect((own.body['items'] as { jobId: string }[])[0]).toMatchObject({ jobId: job['jobId'] });
  });
});

describe('the file of an import', () => {
  it('exports the members of a department under the rules of their list', async () => {
    const statusesOf = async (departmentId: string) => {
      const paths = [MEMBERS, `${MEMBERS}/export`].map((path) => `${path}?departmentId=${departmentId}`);
      return Promise.all(paths.map(async (path) => (await gateway.get(path)).status));
    };
    for (const odd of ['007', '9223372036854775808', 'x', ''])
      expect([odd, await statusesOf(odd)]).toEqual([odd, [400, 400]]);
    expect(await statusesOf('10')).toEqual([200, 200]);
  });

  it('J3 updates what differs, leaves passwords alone, and deletes who is missing, as the plan says', async () => {
    await ended(await post(file(newRows('old', 5))));
    const rows = [
      'old0,not-used-1,Name 0,10,,',
      'old1,not-used-2,Renamed,10,Moved,',
      'fresh,first-login-1,Fresh,,,',
    ];
    const before = await members();
    const surplus = [...before.keys()].filter(
      (account) => !['old0', 'old1', 'admin', 'bela'].includes(account),
    );
    const query = `?mode=upsert&deleteMissing=true&keep=bela&maxDeletes=${surplus.length}`;
    const sent = (await writes()).length;
    const { plan, effects, wouldSend } = await dryRun(file(rows), query);
    expect(plan).toEqual({ add: 1, update: 1, unchanged: 1, delete: expect.anything(), impossible: [] });
    expect(plan.delete.toSorted()).toEqual(surplus.toSorted());
    expect(effects.map(({ kind, account }) => [kind, account])).toEqual(
      plan.delete.map((account) => ['member-removed', account]),
    );
    expect(wouldSend.map(({ operation }) => operation)).toEqual(['addMembers', 'editMember', 'deleteMember']);
    const few = await post(file(rows), query.replace(/maxDeletes=\d+/, `maxDeletes=${surplus.length - 1}`));
    expect([few.status, few.body['code']]).toEqual([422, 'too-many-deletes']);
    expect(few.body['detail']).toContain(String(surplus.length));
    expect((await writes()).length).toBe(sent);

    const job = await ended(await post(file(rows), query));
    const counts = { succeeded: 1, updated: 1, unchanged: 1, deleted: surplus.length };
    expect(job).toMatchObject({ state: 'succeeded', total: 3 + surplus.length, ...counts });
    const after = await members();
    expect([...after.keys()].toSorted()).toEqual(
      ['admin', ...(before.has('bela') ? ['bela'] : []), 'fresh', 'old0', 'old1'].toSorted(),
    );
    expect(after.get('old1')).toMatchObject({ name: 'Renamed', remark: 'Moved' });
    expect((await writes()).filter((operation) => operation === 'resetPassword')).toEqual([]);
    const deleted = await rowsOf(job, '?status=deleted');
    expect(deleted.map(({ row }) => row)).toEqual(surplus.map(() => null));
  });

  it('J3 compares with the members whom the platform has now, not with a cached list', async () => {
    const cached = () => gateway.get(`${MEMBERS}?pageSize=200`);
    expect((await cached()).text).not.toContain('Renamed');
    await sandbox.control('PATCH', '/state/employees/3002', { name: 'Renamed' });
    const before = await cached();
    expect([before.headers.has('age'), before.text.includes('Renamed')]).toEqual([true, false]);
    const body = file([`anna,${newSecret('m')},Renamed`], 'account,password,name');
    const { plan } = await dryRun(body, '?mode=upsert');
    expect(plan).toMatchObject({ add: 0, update: 0, unchanged: 1 });
    const { text } = await gateway.get(`${MEMBERS}/export`, { headers: { accept: 'text/csv' } });
    expect(text).toContain('Renamed');
  });

  /** A page that leaves the member out, with a total that hides it. */
  async function pageWithout(account: string): Promise<object> {
    type Employee = { enterpriseGlobalId: string; userName: string; deleted: boolean };
    const { employees } = await sandbox.control<{ employees: Employee[] }>('GET', '/state');
    const list = employees.filter(
      ({ enterpriseGlobalId, userName, deleted }) =>
        enterpriseGlobalId === 'ent-harbour' && !deleted && userName !== `${account}@harbour`,
    );
    const data = { list, total: list.length, isFirstPage: true, isLastPage: true };
    const text = JSON.stringify({ code: 0, message: 'success', data });
    return { raw: { text, contentType: 'application/json' } };
  }

  it('J3 sends a deletion again whose response was lost, also if a list then leaves the member out', async () => {
    expect(await ended(await post(file(newRows('gone', 1))))).toMatchObject({ state: 'succeeded' });
    const rows = [...(await members()).keys()].flatMap((account) =>
      account === 'gone0' ? [] : [`${account},,`],
    );
    await sandbox.fault({ operation: 'deleteMember', times: 1, action: { reset: 'before-headers' } });
    // The third list, which looks the row up: the request and the job have planned with one each.
    const action = await pageWithout('gone0');
    await sandbox.fault({ operation: 'listMembers', skip: 2, times: 1, action });
    const query = '?mode=upsert&deleteMissing=true&maxDeletes=1';
    const answer = await post(file(rows, 'account,password,name'), query);
    expect(await ended(answer)).toMatchObject({ state: 'succeeded', deleted: 1 });
    expect((await members()).has('gone0')).toBe(false);
  });

  it('J10 tells a row as added that a list leaves out after its response was lost', async () => {
    const lost = { phase: 'after', times: 1, action: { reset: 'before-headers' } };
    await sandbox.fault({ operation: 'addMembers', ...lost });
    // The second and the third list: one looks the row up, the other one follows its refusal when it was sent again.
    const action = await pageWithout('hidden0');
    await sandbox.fault({ operation: 'listMembers', skip: 1, times: 2, action });
    const answer = await post(file(newRows('hidden', 1)));
    expect(await ended(answer)).toMatchObject({ state: 'succeeded', succeeded: 1 });
    expect(await sandbox.journal('addMembers')).toHaveLength(2);
  });

  it('J3 protects members also where the case of their accounts differs', async () => {
    const user = { username: 'Chen@Harbour', password: newSecret('u') };
    // A platform that lets a user log in whatever the case.
    await sandbox.control('PUT', '/users', user);
    const session = await gateway.post('/v1/sessions', user);
    const query = '?mode=upsert&deleteMissing=true&maxDeletes=100&keep=ANNA';
    const headers = { ...CSV, 'x-session-id': String(session.body['sessionId']) };
    const { plan } = await dryRun(file([`Bo,${newSecret('m')},Bo,,,`]), query, headers);
    expect(plan.delete).toEqual(['admin', 'dora', 'petra']);
  });

  it('J3 leaves members alone whose account no file can name', async () => {
    const ids = { id: 3901, userId: 4901, enterpriseId: 1001, departmentId: 10 };
    const odd = { ...ids, globalId: 'mem-harbour-odd', userName: 'anna.b@harbour', name: 'Anna B' };
    const patch = { data: { list: [{ ...odd, deleted: false }], total: 1, size: 1 } };
    await sandbox.fault({ operation: 'listMembers', action: { patch } });
    const query = '?mode=upsert&deleteMissing=true&maxDeletes=100';
    const { plan } = await dryRun(file([`anna,${newSecret('m')},Anna Berg,,,`]), query);
    expect(plan).toEqual({ add: 1, update: 0, unchanged: 0, delete: [], impossible: [] });
  });

  it.each(['@\u0130zmir', '\u0130zmir'])(
    'J3 deletes nobody who is in the file where the code of the enterprise is %s, which is longer in lower case',
    async (code) => {
      const ids = { enterpriseId: 1001, departmentId: 10, deleted: false };
      const list = ['anna', 'bert', 'carl'].map((account, index) => ({
        ...{ ...ids, id: 3901 + index, userId: 4901 + index, globalId: `mem-${account}` },
        ...{ userName: account + code, name: account },
      }));
      await sandbox.fault({
        operation: 'listMembers',
        action: { patch: { data: { list, total: 3, size: 3 } } },
      });
      const query = '?mode=upsert&deleteMissing=true&maxDeletes=100';
      const rows = ['anna', 'bert'].map((account) => `${account},${newSecret('m')},${account},10,,`);
      expect((await dryRun(file(rows), query)).plan.delete).toEqual(['carl']);
    },
  );

  it('is not told as cancelled if each of its rows has a result', async () => {
    const rules = await sandbox.fault({ operation: 'addMembers', phase: 'after', action: { hang: true } });
    const answer = await post(file([`anna,${newSecret('m')},Anna Berg,,,`, ...newRows('last', 2)]));
    await isCalled('addMembers', 1);
    expect((await gateway.request('DELETE', accepted(answer))).status).toBe(202);
    await letGo(rules);
    expect(await ended(answer)).toMatchObject({ state: 'completed', succeeded: 2, failed: 1 });
  });

  it('updates a member who came after the plan', async () => {
    // The platform adds the members, and says of one that it was there.
    const failed = [{ userName: 'early0', message: 'the account exists already' }];
    const action = { code: '60027', data: { succeeded: [], failed } };
    await sandbox.fault({ operation: 'addMembers', phase: 'after', times: 1, action });
    const job = await ended(await post(file(newRows('early', 1)), '?mode=upsert'));
    expect(countsOf(await rowsOf(job))).toEqual({ unchanged: 1 });
  });

  it('J5 keeps the results of a part of a chunk, and shows its members, while the next part is under way', async () => {
    const showsPart = async () => (await gateway.get(`${MEMBERS}?pageSize=200`)).text.includes('"part0');
    expect(await showsPart()).toBe(false);
    await sandbox.fault({ operation: 'addMembers', times: 1, action: { code: '13004' } });
    const rules = await sandbox.fault({ operation: 'addMembers', skip: 1, action: { hang: true } });
    const answer = await post(file(newRows('part', 100)));
    await isCalled('addMembers', 3);
    const { body } = await gateway.get(accepted(answer));
    const isShown = await showsPart();
    await letGo(rules);
    expect([body, isShown]).toMatchObject([{ state: 'running', succeeded: 50 }, true]);
    expect(await ended(answer)).toMatchObject({ state: 'succeeded', succeeded: 100 });
  });

  it('J10 fails the row for which the platform refuses calls by an unknown code, and adds the others', async () => {
    const match = { body: { userList: [{ userName: 'odd0' }] } };
    await sandbox.fault({ operation: 'addMembers', match, action: { code: '98765' } });
    const job = await ended(await post(file(newRows('odd', 100))));
    expect(job).toMatchObject({ state: 'completed', succeeded: 99, failed: 1 });
    expect(await rowsOf(job, '?status=failed')).toMatchObject([
      { row: 1, code: 'upstream-unmapped-error', message: expect.stringContaining('its code 98765') },
    ]);
  });

  it('J10 gives up soon where the platform refuses all calls by an unknown code', async () => {
    const rules = await sandbox.fault({ operation: 'addMembers', action: { code: '98765' } });
    const job = await ended(await post(file(newRows('none', 100))));
    await sandbox.heal(rules);
    expect(countsOf(await rowsOf(job))).toEqual({ 'failed upstream-unmapped-error': 100 });
    expect((await sandbox.journal('addMembers')).length).toBeLessThan(30);
  });

  it('J10 fails the rows for which the platform refuses whole calls, and adds the others', async () => {
    const rows = newRows('whole', 200);
    // Too short for the platform only.
    for (const at of [48, 149, 150]) rows[at] = `whole${at},x,Name,10,,`;
    const job = await ended(await post(file(rows)));
    expect(job).toMatchObject({ state: 'completed', total: 200, done: 200, succeeded: 197, failed: 3 });
    const failed = await rowsOf(job, '?status=failed');
    expect(failed.map(({ row, message }) => [row, message])).toEqual(
      [49, 150, 151].map((row) => [row, expect.stringMatching(/^password length must lie [^(]*$/)]),
    );
    const found = await members();
    for (const { account, status } of await rowsOf(job))
      expect([account, found.has(account)]).toEqual([account, status === 'added']);
    const few = await rowsOf(await ended(await post(file(['few1,x,Name,,,', 'few2,x,Name,,,']))));
    expect(few.map(({ message }) => message)).toEqual([failed[0]?.message, failed[0]?.message]);
  });

  it('J10 adds the good rows of a chunk, also after all rows of another one were refused for the same reason', async () => {
    const rows = newRows('after', 400);
    const isBad = (at: number) => at < 200 || at === 250 || at === 399;
    const job = await ended(
      await post(file(rows.map((row, at) => (isBad(at) ? `after${at},x,Name,10,,` : row)))),
    );
    expect(job).toMatchObject({ state: 'completed', succeeded: 198, failed: 202 });
    const failed = await rowsOf(job, '?status=failed');
    expect(failed.slice(200).map(({ account }) => account)).toEqual(['after250', 'after399']);
  });

  it('J10 sends single rows no longer where the platform refuses all of them', async () => {
    const job = await ended(await postTo('ent-unknown', newRows('none', 1_000)));
    expect(job).toMatchObject({ state: 'completed', failed: 1_000 });
    expect((await sandbox.journal('addMembers')).length).toBeLessThan(100);
    const last = (await rowsOf(job)).at(-1);
    expect(last?.message).toMatch(/\(the platform refused 100 rows in one call\)$/);
  });

  it('sends rows again that one answer has left out, and gives them up after several', async () => {
    const empty = { code: 0, codeAs: 'integer', status: 200, data: { succeeded: [], failed: [] } };
    const leaveOut = { operation: 'addMembers', action: empty };
    await sandbox.fault({ ...leaveOut, times: 1 });
    const once = await ended(await post(file(newRows('left', 6))));
    expect(once).toMatchObject({ state: 'succeeded', succeeded: 6 });
    expect(await sandbox.journal('addMembers')).toHaveLength(2);
    const rules = await sandbox.fault(leaveOut);
    const always = await ended(await post(file(newRows('never', 6))));
    await sandbox.heal(rules);
    expect(countsOf(await rowsOf(always))).toEqual({ 'failed upstream-contract-violation': 6 });
    expect(await sandbox.journal('addMembers')).toHaveLength(2 + 5);
  });

  const good = 'zoe,first-login-1,Zoe,,,';
  const bytes = (...parts: (string | number[])[]) =>
    Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  const columns = HEADER.replace('account', 'account,userName').replaceAll(',', ', ');
  const ofAccount = 'must be 1 to 62 letters and digits';
  const ofText =
    'none of them a control character (tabs and line ends are allowed) or one that turns letters around (U+202D, U+202E)';
  const cellOfLines = '"max","first-login-1 ","Max",,"a\r\nb\nc\u202e",';
  const others = [good, 'eva,first-login-2', 'ida,first-login-2,Ida,,,,'];
  const closed = 'save it as CSV first';
  const none = ['row 0: must have at least one row'];
  it.each<[string, string | Buffer, string[]]>([
    ['UTF-16', bytes([0xff, 0xfe], 'a'), ['row 0: must be in UTF-8, and is in UTF-16']],
    [
      'null bytes in its cells',
      file(['q-a,first-login-1,A,,,', 'qb,first-login-1,A\0,,,']),
      [
        `row 1, line 2, account: ${ofAccount}`,
        `row 2, line 3, name: must be text of 1 to 30 characters, ${ofText}`,
      ],
    ],
    [
      'UTF-16 without a mark',
      Buffer.from(file([good]), 'utf16le'),
      ['row 0: must be text in UTF-8, and has a null byte'],
    ],
    [
      'an encoding other than UTF-8',
      bytes(`${HEADER}\n`, [0x7a, 0xf6], ',x1234567,Z,,,\n'),
      [
        'row 1, line 2: must be in UTF-8, and has a byte that UTF-8 does not have there, as files in Latin-1 or Windows-1252 have: save it in UTF-8',
      ],
    ],
    [
      'a zip',
      bytes('PK', [3, 4], 'xl/workbook'),
      [`row 0: must be text in UTF-8, and is a zip archive (as a spreadsheet is): ${closed}`],
    ],
    [
      'an open quote, and reads on in the next line',
      file([
        ...['"zoe,first-login-1,Zoe,,,', 'z e,first-login-1,Zoe,,,', good],
        ...['"eva",first-login-1,"E\nva,,,', 'zoe,"first-login-1","Zoe",,,'],
      ]),
      [
        'row 1, line 2: has a quote that is not closed',
        `row 2, line 3, account: ${ofAccount}`,
        'row 4, line 5: has a quote that is not closed',
        'row 5, line 6: must have 6 cells, like the header',
        'row 6, line 7, account: must not be given twice, in any case of letters: row 3 has it too',
      ],
    ],
    [
      'a quote that is open behind a cell of several lines',
      file(['zoe,first-login-1,"Zoe",,"a\nb","', 'i d a,first-login-1,Ida,,,']),
      [
        'row 1, line 2: has a quote that is not closed: it stands in line 3',
        `row 2, line 4, account: ${ofAccount}`,
      ],
    ],
    [
      'rows without text between others',
      file([',,', 'zoe,first-login-1,Zoe,,,']),
      ['row 1, line 2: must have 6 cells, like the header'],
    ],
    [
      'a quote inside',
      file(['z"oe,first-login-1,Zoe,,,', '"eva"x,first-login-1,Eva,,,', 'i d a,first-login-1,Ida,,,']),
      [
        'row 1, line 2: is not CSV: a quote stands inside of a cell that does not begin with one, or text follows its end',
        'row 2, line 3: is not CSV: a quote stands inside of a cell that does not begin with one, or text follows its end',
        `row 3, line 4, account: ${ofAccount}`,
      ],
    ],
    [
      'no header, and does not repeat its first row',
      file([], good),
      [`row 0, line 1: must be the header line, with the names ${columns}`],
    ],
    [
      'a column too few',
      file([good], 'account,password,departmentId,remark,passwordMobile,x'),
      [
        `row 0, line 1, x: is not one of ${columns}, nor another column of an export`,
        'row 0, line 1, name: is required',
      ],
    ],
    [
      'no column for accounts',
      file([good], HEADER.replace('account', 'memberGlobalId')),
      ['row 0, line 1, account: is required, or userName'],
    ],
    [
      'rows that are wrong, with the lines where they begin',
      file([good, 'z e,first-login-1,Zoe,ten,,', '', cellOfLines, ',,,,,', ...others]),
      [
        `row 2, line 3, account: ${ofAccount}`,
        'row 2, line 3, departmentId: must be a whole number of 64 bits',
        'row 3, line 5, password: must not begin or end with a blank: the gateway does not change a password, and such a blank is mostly a mistake',
        `row 3, line 5, remark: must be text of 0 to 200 characters, ${ofText}`,
        'row 4, line 8, account: is required',
        'row 4, line 8, password: is required',
        'row 4, line 8, name: is required',
        'row 5, line 9, account: must not be given twice, in any case of letters: row 1 has it too',
        'row 6, line 10: must have 6 cells, like the header',
        'row 7, line 11: must have 6 cells, like the header',
      ],
    ],
    [
      'a row of 1 MB',
      file([`zoe,first-login-1,${'Z'.repeat(MIB)},,,`]),
      ['row 1, line 2: must have at most 65536 bytes'],
    ],
    [
      'tabs between the cells',
      file([good]).replaceAll(',', '\t'),
      [`row 0: must have commas or semicolons between the cells, and has tabs: ${closed}`],
    ],
    [
      'more cells than any row has',
      file([good, '', `"z\noe"${','.repeat(70)}`]),
      ['row 2, line 4: must have at most 64 cells'],
    ],
    ['nothing', '\n', none],
    ['a header only', file([]), none],
    ['a header and rows without text', file([',,,,,', ',,']), none],
  ])('J1 refuses %s, and sends nothing', async (_, body, told) => {
    const answer = await post(body);
    expect([answer.status, answer.body['code']]).toEqual([400, 'validation-failed']);
    const errors = answer.body['errors'] as { row: number; line?: number; column?: string; detail: string }[];
    const texts = errors.map(({ row, line, column, detail }) => {
      const place = [
        `row ${row}`,
        ...(line === undefined ? [] : [`line ${line}`]),
        ...(column ? [column] : []),
      ];
      return `${place.join(', ')}: ${detail}`;
    });
    expect(texts).toEqual(told);
    expect(answer.text).not.toContain('first-login-1');
    expect(await sandbox.calls()).toEqual([]);
  });

  it('J1 takes rows without text at the end of a file, as spreadsheets leave them, for none', async () => {
    const done = await ended(await post(file([...newRows('sheet', 1), ',,,,,', '"", ,,,,', ',,', ''])));
    expect(done).toMatchObject({ state: 'succeeded', total: 1 });
  });

  it('J1 reads a byte order mark, semicolons, quotes and NDJSON', async () => {
    const semicolons = '\ufeffname;account;password\r\n"Zoe; ""Z""";zoe;first-login-1\r\n';
    expect(await ended(await post(semicolons))).toMatchObject({ state: 'succeeded', total: 1 });
    expect((await members()).get('zoe')).toMatchObject({ name: 'Zoe; "Z"' });
    // Empty lines do not count, not even before the header, and wherever the file is cut on its way.
    const parts = ['\r\n', '\nname;account;password\n', 'Lea;lea;first-login-4\n'];
    const pieces = ReadableStream.from(parts.map((part) => new TextEncoder().encode(part)));
    expect(await ended(await postChunked(pieces))).toMatchObject({ state: 'succeeded', total: 1 });
    const returns = await post(file(['rut,first-login-3,Rut,,a; b,']).replaceAll('\r\n', '\r'));
    expect(await ended(returns)).toMatchObject({ state: 'succeeded', total: 1 });
    expect((await members()).get('rut')).toMatchObject({ remark: 'a; b' });
    const unchanged = { ...CSV, 'content-encoding': 'Identity' };
    expect((await dryRun(file(newRows('coded', 1)), '', unchanged)).plan).toMatchObject({ add: 1 });
    const ndjson = { 'content-type': 'application/x-ndjson' };
    const json = await post(
      '{"account":"max","password":"first-login-2","name":"Max","departmentId":10}\n\n',
      '',
      ndjson,
    );
    expect(await ended(json)).toMatchObject({ state: 'succeeded', total: 1 });
    const wrong = await post('{"account":"ida\0"}\n{"account":"ida","account":"eva"}\n[]\n', '', ndjson);
    expect(wrong.body['errors']).toEqual([
      { row: 1, line: 1, detail: expect.stringContaining('must be JSON') },
      { row: 2, line: 2, column: 'account', detail: 'must be given once' },
      { row: 3, line: 3, detail: 'must be a JSON object' },
    ]);
  });
});

describe('J7 imports take all the room that they may have', () => {
  /** The head of an import, whose file is sent once the gateway wants it. */
  const headOf = (length: string, path = IMPORTS) =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${gateway.key}\r\n` +
    `content-type: text/csv\r\n${length}\r\nexpect: 100-continue\r\n\r\n`;

  it('a file for which there is no room beside the imports that are kept is refused before it is read', async () => {
    const kept = await ended(await post(file(newRows('kept', 1))));
    const takesBytes = (bytes: number) =>
      inDatabase('UPDATE jobs SET bytes = $2 WHERE job_id = $1', kept['jobId'], bytes);
    await takesBytes(1024 * MIB - 100);
    for (const length of [`content-length: ${MAX_BYTES}`, 'transfer-encoding: chunked']) {
      const { answers } = await converse(gateway.url, headOf(length));
      expect(answers.map(({ status, body }) => [status, body['code'], body['detail']])).toEqual([
        [503, 'overloaded', 'All imports together take as much room as they may have.'],
      ]);
    }
    await takesBytes(100);
    expect(await ended(await post(file(newRows('small', 10))))).toMatchObject({ state: 'succeeded' });
  });

  it('a file for which there is no room beside the imports that wait is refused before it is read', async () => {
    const rules = await sandbox.fault({ operation: 'addMembers', action: { hang: true } });
    const answer = await post(file(newRows('waits', 1)));
    await isCalled('addMembers', 1);
    const { jobId } = answer.body;
    await inDatabase('UPDATE jobs SET bytes = $2 WHERE job_id = $1', jobId, 256 * MIB - 100);
    const path = IMPORTS.replace('ent-harbour', 'ent-meridian');
    const { answers } = await converse(gateway.url, headOf(`content-length: ${MAX_BYTES}`, path));
    expect(answers.map(({ status, body }) => [status, body['code']])).toEqual([[503, 'overloaded']]);
    await letGo(rules);
    await ended(answer);
  });

  it('a small file without a length is taken, however long a file may be', async () => {
    const own = stopped(await TestGateway.start(sandbox, { IMPORT_MAX_BYTES: String(256 * MIB) }));
    const { status } = await fetch(own.url + IMPORTS, {
      ...{ method: 'POST', headers: { ...CSV, 'x-api-key': own.key }, duplex: 'half' },
      body: new Blob([file(newRows('chunked', 1))]).stream(),
    } as RequestInit);
    expect(status).toBe(202);
    await isCalled('addMembers', 1);
  });

  it('a file of 100 MB is refused by its length, and without one when the limit is passed', async () => {
    const { total } = (await gateway.get('/v1/jobs')).body;
    const { answers } = await converse(gateway.url, headOf(`content-length: ${100 * MIB}`));
    expect(answers.map(({ status, body }) => [status, body['code']])).toEqual([[413, 'payload-too-large']]);
    // Each row is right.
    let sent = 0;
    let row = 0;
    const body = new ReadableStream({
      pull: async (stream) => {
        // The client would read no response without a pause, while the gateway takes each row at once.
        await setImmediate();
        const member = { account: `a${row++}`, password: newSecret('m'), name: 'Name' };
        const line = Buffer.from(`${JSON.stringify(member)}${' '.repeat(15_000)}\n`);
        sent += line.length;
        if (sent > 100 * MIB) stream.close();
        else stream.enqueue(line);
      },
    });
    const headers = { 'content-type': 'application/x-ndjson', 'x-api-key': gateway.key };
    const url = gateway.url + IMPORTS;
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

it('J9 an import acts as the user of its session, and fails when the session ends', async () => {
  const login = { username: 'admin@harbour', password: sandbox.seedPassword };
  const opened = await gateway.post('/v1/sessions', login);
  const session = { 'x-session-id': String(opened.body['sessionId']) };
  await sandbox.fault({ operation: 'addMembers', action: { delayMs: 400 } });
  const answer = await post(file(newRows('session', 2_000)), '', { ...CSV, ...session });
  await isCalled('addMembers', 2);
  expect((await gateway.request('DELETE', '/v1/sessions/current', { headers: session })).status).toBe(204);
  const job = await ended(answer);
  expect(job).toMatchObject({ state: 'failed', problem: { code: 'session-expired' } });
  const rows = await rowsOf(job);
  const { added = 0 } = countsOf(rows);
  expect(added).toBeGreaterThanOrEqual(100);
  expect(countsOf(rows)).toEqual({ added, 'failed session-expired': 2_000 - added });
  for (const { headers } of await sandbox.journal('addMembers'))
    expect(headers['usertoken']).toContain('admin@harbour');
});

it('J15 an export whose session ends reads no further page, and says so in its last line', async () => {
  const login = { username: 'admin@harbour', password: sandbox.seedPassword };
  const opened = await gateway.post('/v1/sessions', login);
  const headers = { 'x-api-key': gateway.key, 'x-session-id': String(opened.body['sessionId']) };
  const { response, goesOn } = await heldExport(headers);
  expect((await gateway.request('DELETE', '/v1/sessions/current', { headers })).status).toBe(204);
  await goesOn();
  expect((await linesUntilCut(response)).at(-1)).toMatch(/^#incomplete,session-expired,/);
  expect(await sandbox.journal('listMembers')).toHaveLength(2);
});

it('the events of a job go on after Last-Event-ID, and give the end to a client that was away', async () => {
  const rules = await sandbox.fault({ operation: 'addMembers', skip: 1, action: { hang: true } });
  const answer = await post(file(newRows('event', 300)));
  /** All events after this one, or the first ones up to some progress. */
  const events = async (after?: number, most = Infinity) => {
    const headers = {
      'x-api-key': gateway.key,
      ...(after !== undefined && { 'last-event-id': String(after) }),
    };
    const response = await fetch(`${gateway.url + accepted(answer)}/events`, { headers });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const told: { id: number; name: string; job: object }[] = [];
    for await (const event of eventsIn(response.body as ReadableStream<Uint8Array>)) {
      told.push(event);
      if (told.length === most || (after === undefined && event.name === 'progress')) break;
    }
    return told;
  };
  const [{ id: seen } = { id: 0 }] = (await events()).slice(-1);
  expect(seen).toBeGreaterThan(0);
  // An id that the job has not had yet is of another job, or the database was restored.
  const [present] = await events(seen + 1_000, 1);
  expect(present?.name).toBe('progress');
  // The client gets the present state, which may have gone on since.
  expect(present?.id).toBeGreaterThanOrEqual(seen);
  expect(present?.id).toBeLessThan(seen + 1_000);
  await letGo(rules);
  const later = await events(seen);
  const ids = later.map(({ id }) => id);
  expect(Math.min(...ids)).toBeGreaterThan(seen);
  expect(ids).toEqual(ids.toSorted((one, other) => one - other));
  expect(later.at(-1)).toMatchObject({ name: 'done', job: { state: 'succeeded', done: 300 } });
  expect(await events(ids.at(-1))).toEqual([later.at(-1)]);
});

async function* eventsIn(body: ReadableStream<Uint8Array>) {
  let rest = '';
  for await (const text of body.pipeThrough(
    new TextDecoderStream() as never,
  ) as unknown as AsyncIterable<string>) {
    const parts = (rest + text).split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const [, id, name = '', data = ''] = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(part) ?? [];
      if (id !== undefined) yield { id: Number(id), name, job: JSON.parse(data) as object };
    }
  }
}

it.each([
  ['make no plan', 0],
  ['look up no rows', 1],
])('J18 imports that can %s hold up no others, and end when they can go on', async (_, listsRead) => {
  const list = { code: 0, codeAs: 'integer', status: 200, data: null };
  const rules: string[] = [];
  const stuck: TestAnswer[] = [];
  for (let customer = 1; customer <= 4; customer++) {
    const match = { path: `ent-${customer}` };
    rules.push(
      ...(await sandbox.fault({ operation: 'listMembers', match, skip: listsRead, action: { ...list } })),
      ...(await sandbox.fault({ operation: 'addMembers', match, action: { reset: 'before-headers' } })),
    );
    stuck.push(await postTo(`ent-${customer}`, newRows('stuck', 1)));
  }
  await isCalled('listMembers', 4 * (listsRead + 1));
  const free = await ended(await post(file(newRows('free', 150))));
  expect(free).toMatchObject({ state: 'succeeded', succeeded: 150 });
  for (const answer of stuck)
    expect((await gateway.get(accepted(answer))).body).toMatchObject({ state: 'running', done: 0 });
  const [cancelled, ...others] = stuck as [TestAnswer, ...TestAnswer[]];
  expect((await gateway.request('DELETE', accepted(cancelled))).status).toBe(202);
  await sandbox.heal(rules);
  expect(await ended(cancelled)).toMatchObject({ state: 'cancelled', unknown: 0, failed: 0 });
  // The platform has no such enterprise.
  for (const answer of others)
    expect(await ended(answer)).toMatchObject({ state: 'completed', failed: 1, unknown: 0 });
});

it('J14 an import whose rows the database has lost fails with them unknown, and nothing is sent', async () => {
  // The plans are held up until the rows are gone; the one of the first import has been asked for once already.
  const rules = await sandbox.fault({ operation: 'listMembers', skip: 1, action: { httpStatus: 503 } });
  const query = '?mode=upsert&deleteMissing=true&maxDeletes=1000';
  const unnamed = await post(file(newRows('kept', 50)), query);
  const named = await postTo('ent-1', newRows('gone', 250));
  const lost = await inDatabase(
    'DELETE FROM job_chunks WHERE job_id = $1 RETURNING 1',
    unnamed.body['jobId'],
  );
  const forgotten = await inDatabase(
    'UPDATE job_chunks SET waiting = NULL WHERE job_id = $1 RETURNING 1',
    named.body['jobId'],
  );
  expect([lost.length, forgotten.length]).toEqual([1, 3]);
  await sandbox.heal(rules);
  for (const [answer, total, account] of [
    [unnamed, 50, ''],
    [named, 250, 'gone0'],
  ] as const) {
    const job = await ended(answer);
    const detail = expect.stringContaining('has lost rows of this import');
    expect(job).toMatchObject({ state: 'failed', total, problem: { code: 'outcome-unknown', detail } });
    const rows = await rowsOf(job);
    expect([rows[0]?.account, countsOf(rows)]).toEqual([account, { 'unknown outcome-unknown': total }]);
    // What the job says is sealed, like its rows.
    const [stored] = await inDatabase('SELECT problem FROM jobs WHERE job_id = $1', answer.body['jobId']);
    expect(stored?.['problem']).toMatch(/^v1\./);
  }
  expect(await writes()).toEqual([]);
});

it('J12 a caller has at most 100 watches, however many it asks for at once, and others have theirs beside them', async () => {
  await sandbox.fault({ operation: 'listMembers', action: { hang: true } });
  const answer = await postTo('ent-meridian', newRows('many', 10));
  const end = new AbortController();
  // Nothing reads a response that nothing holds: it would be closed, and make room.
  const watch = (key = gateway.key, { signal } = end) =>
    fetch(`${gateway.url + accepted(answer)}/events`, { headers: { 'x-api-key': key }, signal });
  const watches = await Promise.all(Array.from({ length: 120 }, () => watch()));
  const withStatus = (one: number) => watches.filter(({ status }) => status === one);
  expect([withStatus(200).length, withStatus(503).length]).toEqual([100, 20]);
  expect((await watch(gateway.keys['other'])).status).toBe(200);
  end.abort();
  // Each that has ended makes room.
  await until('there is room again', async () => {
    const again = new AbortController();
    const { status } = await watch(gateway.key, again);
    again.abort();
    return status === 200;
  });
  await gateway.request('DELETE', accepted(answer));
  await sandbox.reset();
  expect(await ended(answer)).toMatchObject({ state: 'cancelled' });
});

/** A gateway with this database takes the place of the shared one until the test ends. */
async function startWith(url: string, clock: Record<string, string>): Promise<void> {
  const store = { DATABASE_URL: url, ENCRYPTION_KEYS: environment.ENCRYPTION_KEYS };
  gateway = stopped(await TestGateway.start(sandbox, { ...store, ...clock }));
  atEnd(() => ({ gateway } = shared));
}

it('J8 for a day the list of members cannot be read, or no process runs: what was sent is unknown, what was not has failed, and the passwords are gone', async () => {
  const clock = stopped(SteppedClock.make());
  const { url, remove } = await emptyDatabase('file');
  atEnd(remove);
  const waiting = () => {
    const database = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true });
    const found = database.prepare('SELECT chunk FROM job_chunks WHERE waiting IS NOT NULL').all();
    database.close();
    return found;
  };
  /** The platform takes two calls without a response, and then shows its members no more. */
  const twoCallsSent = async (name: string) => {
    await sandbox.reset();
    await sandbox.fault({ operation: 'addMembers', action: { reset: 'before-headers' } });
    await sandbox.fault({ operation: 'listMembers', skip: 1, action: { httpStatus: 503 } });
    const answer = await post(file(newRows(name, 300)));
    accepted(answer);
    await until('two calls are sent', async () => (await sandbox.journal('addMembers')).length === 2);
    return answer;
  };
  const endsUnsent = async (answer: TestAnswer) => {
    const job = await ended(answer);
    const counts = { 'unknown outcome-unknown': 200, 'failed upstream-unavailable': 100 };
    expect([job['state'], countsOf(await rowsOf(job))]).toEqual(['completed', counts]);
  };

  await startWith(url, clock.environment);
  const unread = await twoCallsSent('day');
  clock.step(23.6 * HOUR_MS);
  await endsUnsent(unread);
  expect(waiting()).toEqual([]);

  const left = await twoCallsSent('gone');
  await gateway.stop();
  expect(waiting()).toHaveLength(3);
  clock.step(50 * HOUR_MS);
  await startWith(url, clock.environment);
  await endsUnsent(left);
  expect(waiting()).toEqual([]);

  const old = await twoCallsSent('week');
  await gateway.stop();
  clock.step((50 + 8 * 24) * HOUR_MS);
  await startWith(url, clock.environment);
  await until('it has ended, and is too old to be shown', async () => {
    return (await gateway.get(accepted(old))).status === 404;
  });
  expect(waiting()).toEqual([]);
  await sandbox.reset();
  expect(await ended(await post(file(newRows('next', 1))))).toMatchObject({ state: 'succeeded' });
});

describe('J8 an import whose calls got no response, when its rows may wait no longer', () => {
  let clock: SteppedClock;
  let url = '';

  beforeEach(async () => {
    await sandbox.reset();
    clock = stopped(SteppedClock.make());
    const database = await emptyDatabase('file');
    atEnd(database.remove);
    ({ url } = database);
    await startWith(url, clock.environment);
  });

  /** The import when its calls were sent. They got no response, and the list of members cannot be read. */
  const sent = async (rows: readonly string[], query = '', operations = ['addMembers']) => {
    for (const operation of operations)
      await sandbox.fault({ operation, phase: 'after', action: { reset: 'before-headers' } });
    // An import that deletes has a plan before its job, too.
    const skip = query === '' ? 1 : 2;
    await sandbox.fault({ operation: 'listMembers', skip, action: { httpStatus: 503 } });
    const answer = await post(file(rows), query);
    accepted(answer);
    for (const operation of operations) await isCalled(operation, 1);
    return answer;
  };

  it('looks up its rows after a day without a process, and only an update is unknown', async () => {
    await ended(await post(file(newRows('old', 1))));
    const query = '?mode=upsert&deleteMissing=true&maxDeletes=1000';
    const operations = ['addMembers', 'deleteMember'];
    const answer = await sent([...newRows('found', 2), 'old0,,Another name,,,'], query, operations);
    await gateway.stop();
    await sandbox.control('DELETE', '/faults');
    const { length } = await writes();
    clock.step(25 * HOUR_MS);
    await startWith(url, clock.environment);
    const rows = await rowsOf(await ended(answer));
    expect(rows.slice(0, 3)).toMatchObject([
      ...['found0', 'found1'].map((name) => ({ account: name, status: 'added', code: null })),
      { account: 'old0', status: 'unknown', message: expect.stringContaining('cannot be compared') },
    ]);
    const all = await members();
    expect(rows[0]?.memberGlobalId).toBe(all.get('found0')?.['memberGlobalId']);
    const deletions = rows.slice(3).map(({ account, status }) => [status, all.has(account)]);
    expect(deletions[0]).toEqual(['deleted', false]);
    for (const [status, isThere] of deletions) expect(status).toBe(isThere ? 'failed' : 'deleted');
    expect(await writes()).toHaveLength(length);
  });

  it('fails the rows that the platform has not added', async () => {
    await sandbox.fault({ operation: 'addMembers', action: { httpStatus: 503 } });
    const answer = await post(file(newRows('never', 2)));
    await isCalled('addMembers', 2);
    clock.step(23.6 * HOUR_MS);
    const job = await ended(answer);
    const counts = { 'failed upstream-unavailable': 2 };
    expect([job['state'], countsOf(await rowsOf(job))]).toEqual(['completed', counts]);
  });

  it('looks up its rows in a maintenance that stops writes', async () => {
    const answer = await sent(newRows('kept', 2));
    const body = {
      ...{ stops: 'writes', reason: 'a long test' },
      until: new Date(Date.now() + 72 * HOUR_MS).toISOString(),
    };
    expect((await gateway.request('PUT', '/v1/maintenance', { body })).status).toBe(200);
    await sandbox.control('DELETE', '/faults');
    clock.step(23.6 * HOUR_MS);
    expect(countsOf(await rowsOf(await ended(answer)))).toEqual({ added: 2 });
  });
});

it('a cancelled import tells a row as added that the platform adds after the gateway has given it up', async () => {
  await sandbox.reset();
  const { url, remove } = await emptyDatabase('file');
  atEnd(remove);
  await startWith(url, { UPSTREAM_DEADLINE_MS: '2000' });
  await sandbox.fault({ operation: 'addMembers', action: { delayMs: 6_000 }, phase: 'before' });
  const answer = await post(file(newRows('late', 2)));
  await isCalled('addMembers', 1);
  expect((await gateway.request('DELETE', accepted(answer))).status).toBe(202);
  const rows = await rowsOf(await ended(answer));
  expect([countsOf(rows), await members().then((all) => all.has('late0'))]).toEqual([{ added: 2 }, true]);
});

it('J22 an import that a maintenance holds up for a day ends, and its rows say so; one that waits for a token says so too', async () => {
  await sandbox.reset();
  const clock = stopped(SteppedClock.make());
  const { url, remove } = await emptyDatabase('file');
  atEnd(remove);
  await startWith(url, clock.environment);
  const until3d = new Date(Date.now() + 72 * HOUR_MS).toISOString();
  const maintenance = { stops: 'writes', until: until3d, reason: 'a long test' };
  expect((await gateway.request('PUT', '/v1/maintenance', { body: maintenance })).status).toBe(200);
  const held = await post(file(newRows('held', 150)));
  clock.step(23.4 * HOUR_MS);
  expect((await gateway.get(accepted(held))).body).toMatchObject({ state: 'queued', done: 0 });
  clock.step(23.6 * HOUR_MS);
  const job = await ended(held);
  const rows = await rowsOf(job);
  expect([job['state'], countsOf(rows)]).toEqual(['completed', { 'failed maintenance': 150 }]);
  expect(rows[0]?.message).toContain('a long test');
  expect((await gateway.request('DELETE', '/v1/maintenance')).status).toBe(204);

  const told = (event: string) => gateway.logLines.filter((line) => line.includes(`"event":"${event}"`));
  const unlisted = await sandbox.fault({ operation: 'listMembers', action: { httpStatus: 503 } });
  const waits = await post(file(newRows('token', 2)));
  await until('it says why', () => told('job-waits').length > 0);
  await sandbox.fault({ operation: 'token', action: { httpStatus: 503 } });
  await sandbox.control('POST', '/tokens/revoke', { tokens: 'all' });
  await sandbox.heal(unlisted);
  clock.step(47.3 * HOUR_MS);
  const failed = await ended(waits);
  expect(failed).toMatchObject({ state: 'failed', problem: { code: 'dependency-unavailable' } });
  expect(countsOf(await rowsOf(failed))).toEqual({ 'failed dependency-unavailable': 2 });
  expect(told('job-interrupted')).toEqual([]);
  const reasons = told('job-waits').map((line) => (JSON.parse(line) as { problem: string }).problem);
  expect(reasons[0]).toBe('upstream-unavailable');
  expect(new Set(reasons).size).toBe(reasons.length);
  expect(await sandbox.journal('addMembers')).toEqual([]);
});

it('J19 an import of which the database does not say whether its job was made is answered with the URL of the job', async () => {
  await sandbox.reset();
  const url = await postgresUrl();
  const proxy = await FaultProxy.start(Number(new URL(url).port));
  atEnd(() => proxy.close());
  // The answer comes at the deadline of the write, which is a multiple of this one.
  await startWith(throughPort(url, proxy.port), { UPSTREAM_DEADLINE_MS: '4000' });
  const lost = { url, proxy, table: 'tasks' } as const;
  const [rows, keyed] = [file(newRows('late', 2)), { ...CSV, 'idempotency-key': 'key-of-a-lost-import' }];
  const { status, headers, body } = await withLostReply(lost, () =>
    gateway.request('POST', IMPORTS, { body: rows, headers: keyed }),
  );
  expect([status, body]).toMatchObject([502, { code: 'outcome-unknown', outcome: 'unknown' }]);
  await until('a repeat names the job too', async () => {
    const again = await gateway.request('POST', IMPORTS, { body: rows, headers: keyed });
    const isSame = again.headers.get('location') === headers.get('location');
    return again.headers.has('idempotent-replayed') && isSame;
  });
  const job = async () => (await gateway.get(String(headers.get('location')))).body;
  await until('the job has succeeded', async () => (await job())['state'] === 'succeeded');
  expect(await job()).toMatchObject({ total: 2, succeeded: 2 });
});

it('J11 a repeat of an import whose file takes longer than a lease waits for the first request', async () => {
  await sandbox.reset();
  const key = newSecret('k');
  const rows = file(newRows('slow', 150)).split('\r\n');
  let upload!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void (upload = controller) });
  const send = (text: string) => upload.enqueue(new TextEncoder().encode(text));
  const headers = { ...CSV, 'x-api-key': gateway.key, 'idempotency-key': key };
  const postStream = (sent: ReadableStream) =>
    fetch(gateway.url + IMPORTS, { method: 'POST', headers, body: sent, duplex: 'half' } as RequestInit);
  send(`${rows.slice(0, 100).join('\r\n')}\r\n`);
  const first = postStream(body);
  // The lease has seconds left, as after a minute.
  const aged = `UPDATE writes SET lease_until = extract(epoch FROM now()) * 1000 + 30000
    WHERE name LIKE 'write/%' AND state = 'sending' RETURNING lease_until`;
  let aging: readonly Record<string, unknown>[] = [];
  await until('it has begun', async () => (aging = await inDatabase(aged)).length === 1);
  const renewed = "SELECT 1 FROM writes WHERE name LIKE 'write/%' AND state = 'sending' AND lease_until > $1";
  const end = Number(aging[0]?.['lease_until']);
  await until('its lease is longer', async () => (await inDatabase(renewed, end + 1_000)).length === 1);
  const repeat = await postStream(new Blob([file(newRows('slow', 150))]).stream());
  expect([repeat.status, await repeat.json()]).toMatchObject([409, { code: 'request-in-progress' }]);
  send(rows.slice(100).join('\r\n'));
  upload.close();
  expect((await first).status).toBe(202);
});

/** The database loses the commits since its numbers were copied, and the gateway notices it. */
async function goesBack(url: string): Promise<void> {
  const back = 'UPDATE numbers SET value = old.value FROM old_numbers AS old WHERE numbers.name = old.name';
  await askDatabase(url, back);
  const orders = async () => (await gateway.get('/health/ready')).body['orders'];
  await until('the gateway has noticed it', async () => (await orders()) !== 'up');
}

it('J20 the database loses only an import that it has accepted, and the gateway notices it', async () => {
  await sandbox.reset();
  const url = await postgresUrl();
  await startWith(url, {});
  await sandbox.fault({ operation: 'listMembers', action: { httpStatus: 503 } });
  await askDatabase(url, 'CREATE TABLE old_numbers AS SELECT * FROM numbers');
  accepted(await post(file(newRows('lost', 1))));
  for (const table of ['job_chunks', 'jobs', 'tasks']) await askDatabase(url, `DELETE FROM ${table}`);
  await goesBack(url);
  expect((await gateway.get('/health/ready')).body).toMatchObject({ orders: 'down' });
});

it('J20 the database goes back under imports: nothing is sent until an operator confirms it, and then no row twice', async () => {
  await sandbox.reset();
  await sandbox.control('PATCH', '/state/enterprises/ent-meridian', { trialMemberLimit: null });
  const url = await postgresUrl();
  await startWith(url, {});
  // The gateway has seen the number of this end.
  expect(await ended(await post(file(newRows('seen', 1))))).toMatchObject({ state: 'succeeded' });
  const held = await sandbox.fault({ operation: 'listMembers', action: { httpStatus: 503 } });
  const planned = await post(file(newRows('back', 300)));
  const unplanned = await postTo('ent-meridian', newRows('early', 100));
  await askDatabase(url, 'CREATE TABLE old_chunks AS SELECT * FROM job_chunks');
  await askDatabase(url, 'CREATE TABLE old_numbers AS SELECT * FROM numbers');
  // The platform carries the calls out, without a response, and shows its members for the plans only.
  const last = await sandbox.journal('addMembers');
  const unanswered = { operation: 'addMembers', phase: 'after', action: { reset: 'before-headers' } };
  const unlisted = { operation: 'listMembers', skip: 1, action: { httpStatus: 503 } };
  const silent = [
    ...(await sandbox.fault(unanswered)),
    ...(await sandbox.fault({ ...unlisted, match: { path: 'ent-harbour' } })),
    ...(await sandbox.fault({ ...unlisted, match: { path: 'ent-meridian' } })),
  ];
  await sandbox.heal(held);
  await isCalled('addMembers', last.length + 3);
  // Nothing but records of these calls is lost.
  await goesBack(url);
  // Calls that were under way are over: nothing is recorded any more.
  const waits =
    "SELECT 1 FROM tasks WHERE kind = 'import' AND lease_until > extract(epoch FROM now()) * 1000";
  await until('no process has an import', async () => (await askDatabase(url, waits)).length === 0);
  for (const statement of [
    'DELETE FROM job_chunks WHERE job_id IN (SELECT job_id FROM old_chunks)',
    'INSERT INTO job_chunks SELECT * FROM old_chunks',
  ])
    await askDatabase(url, statement);
  const notPlanned = "UPDATE jobs SET prepared = 0, state = 'queued' WHERE job_id = $1";
  await askDatabase(url, notPlanned, unplanned.body['jobId']);
  await sandbox.heal(silent);
  expect(await sandbox.journal('addMembers')).toHaveLength(last.length + 3);
  const operator = { ...gateway.environment(sandbox), ENCRYPTION_KEYS: environment.ENCRYPTION_KEYS };
  expect(await databaseInit({ ...operator, DATABASE_URL: url }, '--yes')).toMatchObject({ code: 0 });
  const job = await ended(planned);
  expect([job['state'], countsOf(await rowsOf(job))]).toEqual(['succeeded', { added: 300 }]);
  // Nobody knows whether these members were there before.
  const rows = countsOf(await rowsOf(await ended(unplanned)));
  expect(rows).toEqual({ 'unknown outcome-unknown': 100 });
  expect(await sandbox.journal('addMembers')).toHaveLength(last.length + 4);
});

it('J6 processes die with an import that they took, one after the other: the next takes it, and no call is sent twice', async () => {
  await sandbox.reset();
  // The platform carries each call out, and the process dies before its response.
  const rules = await sandbox.fault({ operation: 'addMembers', phase: 'after', action: { hang: true } });
  const fleet = stopped(await Fleet.start(sandbox, 1));
  const headers = { ...CSV, 'x-api-key': fleet.key };
  const body = file(newRows('heir', 600));
  const answer = await fetch(fleet.gateways[0]?.url + IMPORTS, { method: 'POST', headers, body });
  const { jobId } = (await answer.json()) as { jobId: string };
  for (const sent of [2, 4]) {
    await isCalled('addMembers', sent);
    const [dead] = fleet.gateways;
    dead?.child.kill('SIGKILL');
    await dead?.ended;
    await fleet.launch({}, {}, 0);
  }
  await isCalled('addMembers', 6);
  await letGo(rules);
  let job: Record<string, unknown> = {};
  await until('the job has ended', async () => {
    job = (await fleet.get(0, `/v1/jobs/${jobId}`)).body;
    return ENDED.has(String(job['state']));
  });
  expect(job).toMatchObject({ state: 'succeeded', total: 600, succeeded: 600 });
  expect(await sandbox.journal('addMembers')).toHaveLength(6);
});

it('J21 a replica takes imports before it has read that their caller, enterprise and user were added: they wait, and go on once it has', async () => {
  await sandbox.reset();
  await sandbox.control('PATCH', '/state/enterprises/ent-meridian', { trialMemberLimit: null });
  const users = {
    default: { username: 'admin@harbour', password: sandbox.seedPassword },
    meridian: { username: 'admin@meridian', password: sandbox.seedPassword },
  };
  const grown = { name: 'grown', scopes };
  const fleet = stopped(await Fleet.start(sandbox, 1, { users, callers: [{ name: 'new', scopes }, grown] }));
  const files = { CALLERS_FILE: 'callers-there.json', UPSTREAM_USERS_FILE: 'users-there.json' };
  const written = (variable: keyof typeof files, content: object) => {
    const path = join(fleet.folder, files[variable]);
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  const before = fleet.callers.flatMap((entry) => {
    if (entry.name === 'new') return [];
    return [entry.name === 'grown' ? { ...entry, enterprises: ['ent-harbour'] } : entry];
  });
  await fleet.launch({
    CALLERS_FILE: written('CALLERS_FILE', { callers: before }),
    UPSTREAM_USERS_FILE: written('UPSTREAM_USERS_FILE', { default: users.default }),
  });
  // Both imports wait for the replica that has not read the new content.
  const until1h = new Date(Date.now() + HOUR_MS).toISOString();
  const maintenance = { stops: 'writes', until: until1h, reason: 'a test' };
  expect((await fleet.request('PUT', 0, '/v1/maintenance', maintenance)).status).toBe(200);
  const importBy = async (caller: string, enterprise: string, user: string) => {
    const headers = { ...CSV, 'x-api-key': String(fleet.keys[caller]), 'x-acting-user': user };
    const url = fleet.gateways[0]?.url + IMPORTS.replace('ent-harbour', enterprise);
    const answer = await fetch(url, { method: 'POST', headers, body: file(newRows(caller, 2)) });
    expect(answer.status).toBe(202);
    const path = `/v1/jobs/${((await answer.json()) as { jobId: string }).jobId}`;
    return async () => (await fleet.get(1, path)).body['state'];
  };
  const ofNew = await importBy('new', 'ent-harbour', 'default');
  const ofGrown = await importBy('grown', 'ent-meridian', 'meridian');
  const [dead] = fleet.gateways;
  dead?.child.kill('SIGKILL');
  await dead?.ended;
  expect((await fleet.request('DELETE', 1, '/v1/maintenance')).status).toBe(204);
  const waits = `SELECT FROM tasks JOIN jobs ON job_id = name
    WHERE kind = 'import' AND attempt = '' AND state = 'running'`;
  await until('both were tried', async () => {
    const states = [await ofNew(), await ofGrown()];
    const waiting = await askDatabase(String(fleet.environment['DATABASE_URL']), waits);
    return waiting.length + states.filter((state) => ENDED.has(String(state))).length === 2;
  });
  expect([await ofNew(), await ofGrown()]).toEqual(['running', 'running']);
  written('CALLERS_FILE', { callers: fleet.callers });
  await until('the import of the new caller has succeeded', async () => (await ofNew()) === 'succeeded');
  expect(await ofGrown()).toBe('running');
  written('UPSTREAM_USERS_FILE', users);
  await until('the import of the new user has succeeded', async () => (await ofGrown()) === 'succeeded');
});

describe('on two replicas', () => {
  const NORTH = { caller: 'north', enterprise: 'ent-harbour', user: 'default' };
  const SOUTH = { caller: 'other', enterprise: 'ent-meridian', user: 'meridian' };
  let second: TestGateway;
  beforeAll(async () => {
    const files = { CALLERS_FILE: gateway.callersFile, UPSTREAM_USERS_FILE: gateway.usersFile };
    const store = { REDIS_URL: shared.redis().url };
    second = await TestGateway.start(sandbox, { ...environment, ...store, ...files });
  });
  // Room for any number of members.
  beforeEach(() => sandbox.control('PATCH', '/state/enterprises/ent-meridian', { trialMemberLimit: null }));
  afterAll(() => second.stop());

  const headersOf = ({ caller, user }: typeof NORTH) => ({
    'x-api-key': String(gateway.keys[caller]),
    'x-acting-user': user,
  });

  async function importBy(
    replica: TestGateway,
    tenant: typeof NORTH,
    body: string | ReadableStream,
    key = newSecret('k'),
  ): Promise<TestAnswer> {
    const headers = { ...CSV, ...headersOf(tenant), 'idempotency-key': key };
    const url = replica.url + IMPORTS.replace('ent-harbour', tenant.enterprise);
    const answer = await fetch(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: JSON.parse(text) as object as never,
    };
  }

  it.each([
    ['at the same moment', false],
    ['while the upload of one is held back until the other runs', true],
  ])('J13 two callers that import with the same Idempotency-Key %s have a job each', async (_, isHeld) => {
    const key = newSecret('k');
    let upload!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (upload = controller) });
    const send = (text: string) => upload.enqueue(new TextEncoder().encode(text));
    const [early, late] = [file(newRows('south', 50)), newRows('late', 100).join('\r\n')];
    send(early);
    const southern = importBy(second, SOUTH, body, key);
    const ofNorth = file(newRows('north', 150));
    const northern = onceServed(() => importBy(gateway, NORTH, ofNorth, key));
    if (isHeld) await isCalled('addMembers', 1);
    send(late);
    upload.close();
    const north = await northern;
    // A stream can be sent once.
    const south =
      (await southern).status === 202
        ? await southern
        : await onceServed(() => importBy(second, SOUTH, early + late, key));
    expect(north.body['jobId']).not.toBe(south.body['jobId']);
    for (const [answer, enterprise, own, others] of [
      [north, 'ent-harbour', /^north/, /^(south|late)/],
      [south, 'ent-meridian', /^(south|late)/, /^north/],
    ] as const) {
      expect(await ended(answer)).toMatchObject({ state: 'succeeded', total: 150, succeeded: 150 });
      const accounts = [...(await members(enterprise)).keys()];
      expect(accounts.filter((account) => own.test(account))).toHaveLength(150);
      expect(accounts.filter((account) => others.test(account))).toEqual([]);
    }
    // A repeat is of the caller's own job.
    expect((await onceServed(() => importBy(second, NORTH, ofNorth, key))).body['jobId']).toBe(
      north.body['jobId'],
    );
  });

  it('J16 a replica that loses its lease under way sends nothing further, and the next one nothing again', async () => {
    // The platform carries two calls out, and their answers are held back.
    const late = { phase: 'after', times: 2, action: { hang: true } };
    const rules = await sandbox.fault({ operation: 'addMembers', ...late });
    const fence = file(newRows('fence', 400));
    const answer = await onceServed(() => importBy(gateway, NORTH, fence));
    accepted(answer);
    await isCalled('addMembers', 2);
    const { jobId } = answer.body;
    await inDatabase("UPDATE tasks SET lease_until = 1 WHERE kind = 'import' AND name = $1", jobId);
    const job = await ended(answer);
    expect(job).toMatchObject({ state: 'succeeded', total: 400, succeeded: 400 });
    await letGo(rules);
    // The first replica has had its answers until then.
    const later = file(newRows('later', 1));
    await ended(await onceServed(() => importBy(second, NORTH, later)));
    expect(await sandbox.journal('addMembers')).toHaveLength(5);
    expect((await gateway.get(accepted(answer))).body).toEqual(job);
  });

  it('J17 an import goes on whose task the database has lost', async () => {
    const rules = await sandbox.fault({ operation: 'listMembers', action: { httpStatus: 503 } });
    const answer = await importBy(gateway, NORTH, file(newRows('queued', 250)));
    accepted(answer);
    await isCalled('listMembers', 1);
    const { jobId } = answer.body;
    const lost = "DELETE FROM tasks WHERE kind = 'import' AND name = $1 RETURNING 1";
    expect(await inDatabase(lost, jobId)).toHaveLength(1);
    await sandbox.heal(rules);
    expect(await ended(answer)).toMatchObject({ state: 'succeeded', succeeded: 250 });
    expect(await sandbox.journal('addMembers')).toHaveLength(3);
  });

  describe('J9 a caller that loses its rights', () => {
    let kept: CallerEntry[];
    beforeEach(() => {
      kept = gateway.callers;
    });
    afterEach(() => entriesAre(kept));

    /** The entries in the file that both gateways read. */
    async function entriesAre(entries: CallerEntry[]): Promise<void> {
      gateway.callers = entries;
      gateway.writeCallers();
      const told = entries.find(({ name }) => name === NORTH.caller)?.scopes ?? [];
      await until('both gateways have read the file', async () => {
        const headers = headersOf(NORTH);
        const answers = await Promise.all(
          [gateway, second].map((one) => one.get('/v1/callers/me', { headers })),
        );
        return answers.every(({ body }) => ((body['scopes'] ?? []) as []).length === told.length);
      });
    }

    const isNorth = ({ name }: CallerEntry) => name === NORTH.caller;
    const LOSSES: [string, (all: CallerEntry[]) => CallerEntry[]][] = [
      ['its scopes go', (all) => all.map((one) => (isNorth(one) ? { ...one, scopes: [] } : one))],
      ['its entry goes', (all) => all.filter((one) => !isNorth(one))],
    ];
    it.each(LOSSES)('J15 gets no further row of its export when %s', async (_, without) => {
      const { response, goesOn } = await heldExport(headersOf(NORTH));
      await entriesAre(without(kept));
      await goesOn();
      const lines = await linesUntilCut(response);
      expect(lines.at(-1)).toMatch(/^#incomplete,forbidden,/);
      // The header, the first page, and the last line.
      expect(lines).toHaveLength(202);
    });

    it.each(LOSSES)(
      'J15 sends no more of its import, and sees no more of it, when %s',
      async (_, without) => {
        // The platform carries the calls out, and their answers are held back.
        const late = { phase: 'after', skip: 2, action: { hang: true } };
        const rules = await sandbox.fault({ operation: 'addMembers', ...late });
        const answer = await importBy(gateway, NORTH, file(newRows('gone', 600)));
        const watch = () => fetch(`${second.url + accepted(answer)}/events`, { headers: headersOf(NORTH) });
        const watched = await watch();
        expect(watched.status).toBe(200);
        await isCalled('addMembers', 4);
        await entriesAre(without(kept));
        expect(await watched.text()).not.toContain('event: done');
        expect([401, 403]).toContain((await watch()).status);
        await letGo(rules);
        expect(await ended(answer)).toMatchObject({
          ...{ state: 'failed', succeeded: 200, unknown: 200, failed: 200 },
          problem: { code: 'forbidden' },
        });
        const accounts = [...(await members()).keys()];
        expect(accounts.filter((account) => account.startsWith('gone'))).toHaveLength(400);
        expect(await sandbox.journal('addMembers')).toHaveLength(4);
      },
    );

    it('J15 only rows of a call without an answer are unknown, and they say why', async () => {
      // The platform refuses the first call, and the answer to its first half is held back.
      await sandbox.fault({ operation: 'addMembers', times: 1, action: { code: '13004' } });
      const rules = await sandbox.fault({ operation: 'addMembers', phase: 'after', action: { hang: true } });
      const answer = await importBy(gateway, NORTH, file(newRows('half', 100)));
      await isCalled('addMembers', 2);
      await entriesAre(kept.map((one) => (isNorth(one) ? { ...one, scopes: [] } : one)));
      await letGo(rules);
      const rows = await rowsOf(await ended(answer));
      expect(countsOf(rows)).toEqual({ 'unknown outcome-unknown': 50, 'failed forbidden': 50 });
      expect(rows[0]?.message).toMatch(
        /^The row may have been sent, .*: The caller has lost the rights for this import\.$/,
      );
    });
  });
});

describe('as many long imports as a caller may have', () => {
  const names = Array.from({ length: 6 }, (_, index) => `ent-000${index + 1}`);
  const [free = '', ...slow] = names;
  const deadlineMs = 120_000;
  const { sandbox: platform, gateway: only } = useStack({
    environment: { UPSTREAM_DEADLINE_MS: String(deadlineMs) },
    sandbox: { companies: { enterprises: names.length, assets: 1, products: 1 } },
    callers: [{ name: 'other', scopes, enterprises: [free], users: ['*'] }],
  });

  it('J24 hold up no import of another caller', async () => {
    const importInto = async (enterprise: string, key?: string) => {
      const path = IMPORTS.replace('ent-harbour', enterprise);
      const body = file(newRows('long', 1));
      const answer = await only.request('POST', path, { body, headers: CSV, ...(key && { key }) });
      expect(answer.status).toBe(202);
      return `/v1/jobs/${String(answer.body['jobId'])}`;
    };
    const hang = { operation: 'addMembers', action: { hang: true } };
    const rules = await Promise.all(slow.map((path) => platform.fault({ ...hang, match: { path } })));
    const begunAt = performance.now();
    await Promise.all(slow.map((enterprise) => importInto(enterprise)));
    await until('four of them are sent', async () => (await platform.journal('addMembers')).length >= 4);
    const key = only.keys['other'] ?? '';
    const job = await importInto(free, key);
    await until(
      'the import of the other caller has ended',
      async () => (await only.get(job, { key })).body['state'] === 'succeeded',
    );
    // The calls of the others hang until their deadline.
    expect(performance.now() - begunAt).toBeLessThan(deadlineMs);
    for (const rule of rules) await platform.heal(rule);
  });
});
