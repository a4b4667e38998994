import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

const MEMBERS = '/v1/enterprises/ent-harbour/members';
const IMPORTS = '/v1/enterprises/ent-harbour/member-imports';
const HEADER = 'account,password,name,departmentId,remark,passwordMobile';
const CSV = { 'content-type': 'text/csv' };

const callers = [
  { name: 'other', scopes: ['members:read', 'members:write'], enterprises: ['ent-meridian'], users: ['*'] },
];
/** With the jobs in Redis, and a cache that no import may use. */
const shared = useStack({ redis: ['REDIS_URL'], environment: { CACHE_TTL_MS: '60000' }, callers });
const { sandbox } = shared;
let { gateway } = shared;

interface Row {
  readonly row: number | null;
  readonly account: string;
  readonly status: string;
  readonly code: string | null;
  readonly message: string | null;
  readonly memberGlobalId: string | null;
}

/** So many new rows; their accounts begin with `name`. */
function newRows(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}${index},${newSecret('m')},Name ${index},10,,`);
}

function file(rows: readonly string[], header = HEADER): string {
  return [header, ...rows, ''].join('\r\n');
}

function post(body: unknown, query = '', headers: Record<string, string> = CSV): Promise<TestAnswer> {
  return gateway.request('POST', IMPORTS + query, { body, headers });
}

/** The job when it has ended, by its events. */
async function ended(answer: TestAnswer): Promise<Record<string, unknown>> {
  expect([answer.status, answer.status === 202 ? '' : answer.text]).toEqual([202, '']);
  expect(answer.headers.get('location')).toBe(`/v1/jobs/${String(answer.body['jobId'])}`);
  let events = answer;
  // On a busy machine a command of Redis may take too long, which is 503.
  await until('the job has ended', async () => {
    events = await gateway.get(`/v1/jobs/${String(answer.body['jobId'])}/events`);
    return events.status !== 503;
  });
  expect(events.headers.get('content-type')).toBe('text/event-stream');
  const last = events.text.trim().split('\n\n').at(-1) ?? '';
  expect(last).toMatch(/^id: \d+\nevent: done\ndata: /);
  return JSON.parse(last.slice(last.indexOf('data: ') + 6)) as Record<string, unknown>;
}

async function rowsOf(job: Record<string, unknown>, query = ''): Promise<Row[]> {
  const path = `/v1/jobs/${String(job['jobId'])}/rows${query}`;
  const { status, text } = await gateway.get(path, { headers: { accept: 'application/x-ndjson' } });
  expect(status).toBe(200);
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Row);
}

async function members(): Promise<Map<string, Record<string, unknown>>> {
  const { text } = await gateway.get('/v1/enterprises/ent-harbour/members/export', {
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

describe.each(['redis', 'memory'])('imports with their jobs in %s', (store) => {
  beforeAll(async () => {
    if (store === 'memory') gateway = await TestGateway.start(sandbox, {}, callers);
  });
  afterAll(async () => {
    if (store === 'memory') await gateway.stop();
    ({ gateway } = shared);
  });

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
    expect(
      rows.slice(0, -1).every(({ status, memberGlobalId }) => status === 'added' && memberGlobalId),
    ).toBe(true);
    expect(rows.at(-1)).toMatchObject({ account: 'anna', status: 'failed', code: 'upstream-rejected' });
    expect(await rowsOf(job, '?status=failed')).toEqual(rows.slice(-1));
    const found = await members();
    for (const { account, memberGlobalId, status } of rows)
      if (status === 'added')
        expect(found.get(account)).toMatchObject({ memberGlobalId, departmentId: '10' });
  });

  it('J2 refuses a second import of the enterprise while one runs, and cancels it', async () => {
    await sandbox.fault({ operation: 'addMembers', action: { delayMs: 1_500 } });
    const first = await post(file(newRows('slow', 900)));
    expect(first.status).toBe(202);
    const jobId = String(first.body['jobId']);
    const second = await post(file(newRows('more', 1)));
    expect([second.status, second.body['code']]).toEqual([409, 'import-in-progress']);
    expect(second.body['detail']).toContain(jobId);
    expect(second.headers.get('location')).toBe(`/v1/jobs/${jobId}`);
    expect((await gateway.request('DELETE', `/v1/jobs/${jobId}`)).status).toBe(202);
    const job = await ended(first);
    expect(job['state']).toBe('cancelled');
    const rows = await rowsOf(job);
    const found = await members();
    for (const { account, status } of rows)
      expect([account, status]).toEqual([account, found.has(account) ? 'added' : 'pending']);
    expect(rows.some(({ status }) => status === 'pending')).toBe(true);
  });

  it('J7 takes five unfinished imports of a caller at most', async () => {
    const importInto = async (customer: number) => {
      const crmCustomerId = `CRM-${customer}`;
      const made = await gateway.post('/v1/enterprises', { crmCustomerId, customerName: crmCustomerId });
      const into = IMPORTS.replace('ent-harbour', String(made.body['enterpriseGlobalId']));
      return gateway.request('POST', into, { body: file(newRows('one', 1)), headers: CSV });
    };
    await sandbox.fault({ operation: 'listMembers', action: { code: '500', message: 'try again later' } });
    const taken: TestAnswer[] = [];
    const cancelled = async (answer: TestAnswer) => {
      await gateway.request('DELETE', `/v1/jobs/${String(answer.body['jobId'])}`);
      expect((await ended(answer))['state']).toBe('cancelled');
    };
    for (let customer = 0; customer < 5; customer++) taken.push(await importInto(customer));
    const sixth = await importInto(5);
    expect([sixth.status, sixth.body['code'], sixth.body['detail']]).toEqual([
      503,
      'overloaded',
      'The caller has too many imports that have not ended.',
    ]);
    expect(Number(sixth.headers.get('retry-after'))).toBeGreaterThan(0);
    await cancelled(taken.shift() as TestAnswer);
    taken.push(await importInto(6));
    await Promise.all(taken.map(cancelled));
  });

  it('J11 tells apart a repeated file and another one of the same length', async () => {
    const headers = { ...CSV, 'idempotency-key': newSecret('k') };
    const rows = newRows('key', 300);
    const first = await post(file(rows), '', headers);
    const job = await ended(first);
    const again = await post(file(rows), '', headers);
    expect([again.status, again.headers.get('idempotent-replayed'), again.body]).toEqual([
      202,
      'true',
      first.body,
    ]);
    const other = await post(file(rows).replace('key299', 'kex299'), '', headers);
    expect([other.status, other.body['code']]).toEqual([422, 'idempotency-key-reused']);
    expect((await gateway.get('/v1/jobs?pageSize=1')).body['items']).toEqual([job]);
  });

  it('retries the rows that failed, and no others', async () => {
    const job = await ended(await post(file(['anna,first-login-1,Anna Berg,,,', ...newRows('fine', 2)])));
    const path = `/v1/jobs/${String(job['jobId'])}/retry`;
    const wrong = await gateway.request('POST', path, { body: file(newRows('fine', 1)), headers: CSV });
    expect([wrong.status, wrong.body['errors']]).toEqual([
      400,
      [{ row: 1, line: 2, column: 'account', detail: 'must be the account of a row that failed' }],
    ]);
    const [anna] = (await rowsOf(job, '?status=failed')) as [Row];
    await gateway.request('DELETE', `/v1/enterprises/ent-harbour/members/${anna.memberGlobalId}`);
    const again = await gateway.request('POST', path, {
      body: file(['anna,first-login-2,Anna Berg,,,']),
      headers: CSV,
    });
    expect(await ended(again)).toMatchObject({ state: 'succeeded', total: 1, succeeded: 1 });
  });

  it('J4 hides jobs of other enterprises like jobs that do not exist', async () => {
    const job = await ended(await post(file(newRows('mine', 1))));
    const key = gateway.keys['other'];
    for (const jobId of [String(job['jobId']), 'none']) {
      for (const [method, rest] of [
        ['GET', ''],
        ['GET', '/rows'],
        ['GET', '/events'],
        ['DELETE', ''],
        ['POST', '/retry'],
      ] as const) {
        const headers = { ...CSV, 'x-acting-user': 'meridian' };
        const body = method === 'POST' ? file(newRows('mine', 1)) : undefined;
        const answer = await gateway.request(method, `/v1/jobs/${jobId}${rest}`, { key, headers, body });
        expect([method, rest, answer.status, answer.body['code']]).toEqual([
          method,
          rest,
          404,
          'job-not-found',
        ]);
      }
    }
    expect((await gateway.get('/v1/jobs', { key })).body).toMatchObject({ items: [], total: 0 });
    expect((await gateway.get('/v1/jobs?enterpriseGlobalId=ent-harbour', { key })).status).toBe(403);
    const own = await gateway.get('/v1/jobs?state=succeeded&enterpriseGlobalId=ent-harbour');
    expect((own.body['items'] as { jobId: string }[])[0]).toMatchObject({ jobId: job['jobId'] });
  });
});

describe('the file of an import', () => {
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
    const plan = await post(file(rows), `${query}&validateOnly=true`);
    expect([plan.status, plan.body]).toEqual([
      200,
      { add: 1, update: 1, unchanged: 1, delete: expect.anything(), fail: [] },
    ]);
    expect((plan.body['delete'] as string[]).toSorted()).toEqual(surplus.toSorted());
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

  it('J3 says in the plan of mode=add which rows fail, as they then do', async () => {
    const rows = file([...newRows('plan', 2), 'anna,first-login-1,Anna Berg,,,', 'bo,first-login-2,Bo,,,']);
    const plan = await post(rows, '?validateOnly=true');
    const planned = { add: 2, update: 0, unchanged: 0, delete: [], fail: ['anna', 'bo'] };
    expect([plan.status, plan.body]).toEqual([200, planned]);
    const job = await ended(await post(rows));
    expect(job).toMatchObject({ succeeded: 2, unchanged: 0, failed: 2 });
    expect((await rowsOf(job, '?status=failed')).map(({ account }) => account)).toEqual(planned.fail);
  });

  it('J3 compares with the members whom the platform has now, not with a cached list', async () => {
    const cached = () => gateway.get(`${MEMBERS}?pageSize=200`);
    expect((await cached()).text).not.toContain('Renamed');
    await sandbox.control('PATCH', '/state/employees/3002', { name: 'Renamed' });
    const before = await cached();
    expect([before.headers.has('age'), before.text.includes('Renamed')]).toEqual([true, false]);
    const body = file([`anna,${newSecret('m')},Renamed`], 'account,password,name');
    const plan = await post(body, '?mode=upsert&validateOnly=true');
    expect(plan.body).toMatchObject({ add: 0, update: 0, unchanged: 1 });
    const { text } = await gateway.get(`${MEMBERS}/export`, { headers: { accept: 'text/csv' } });
    expect(text).toContain('Renamed');
  });

  it('J3 protects members also where the case of their accounts differs', async () => {
    const user = { username: 'Chen@Harbour', password: newSecret('u') };
    // A platform that lets a user log in whatever the case.
    await sandbox.control('PUT', '/users', user);
    const session = await gateway.post('/v1/sessions', user);
    const query = '?mode=upsert&deleteMissing=true&maxDeletes=100&keep=ANNA&validateOnly=true';
    const plan = await post(file([`Bo,${newSecret('m')},Bo,,,`]), query, {
      ...CSV,
      'x-session-id': String(session.body['sessionId']),
    });
    expect([plan.status, plan.body['delete']]).toEqual([200, ['admin', 'dora', 'petra']]);
  });

  it('J3 leaves members alone whose account no file can name', async () => {
    const ids = { id: 3901, userId: 4901, enterpriseId: 1001, departmentId: 10 };
    const odd = { ...ids, globalId: 'mem-harbour-odd', userName: 'anna.b@harbour', name: 'Anna B' };
    const patch = { data: { list: [{ ...odd, deleted: false }], total: 1, size: 1 } };
    await sandbox.fault({ operation: 'listMembers', action: { patch } });
    const query = '?mode=upsert&deleteMissing=true&maxDeletes=100&validateOnly=true';
    const plan = await post(file([`anna,${newSecret('m')},Anna Berg,,,`]), query);
    expect([plan.status, plan.body]).toEqual([
      200,
      { add: 1, update: 0, unchanged: 0, delete: [], fail: [] },
    ]);
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

  it('J10 sends single rows no longer where the platform refuses all of them', async () => {
    const answer = await gateway.request('POST', IMPORTS.replace('ent-harbour', 'ent-unknown'), {
      body: file(newRows('none', 1_000)),
      headers: CSV,
    });
    const job = await ended(answer);
    expect(job).toMatchObject({ state: 'completed', failed: 1_000 });
    expect((await sandbox.journal('addMembers')).length).toBeLessThan(100);
    const last = (await rowsOf(job)).at(-1);
    expect(last?.message).toMatch(/\(the platform refused 100 rows in one call\)$/);
  });

  const good = 'zoe,first-login-1,Zoe,,,';
  const bytes = (...parts: (string | number[])[]) =>
    Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  it.each<[string, string | Buffer, ...object[]]>([
    [
      'an encoding other than UTF-8',
      bytes(`${HEADER}\n`, [0x7a, 0xf6], ',x1234567,Z,,,\n'),
      { row: 1, line: 2, detail: expect.stringMatching(/must be in UTF-8.*Latin-1/) },
    ],
    ['UTF-16', bytes([0xff, 0xfe], 'a'), { row: 0, detail: 'must be in UTF-8, and is in UTF-16' }],
    ['a zip', bytes('PK', [3, 4], 'xl/workbook'), { row: 0, detail: expect.stringContaining('zip archive') }],
    [
      'an open quote',
      file(['"zoe,first-login-1,Zoe,,,']),
      { row: 1, detail: 'has a quote that is not closed' },
    ],
    [
      'a quote inside',
      file(['z"oe,first-login-1,Zoe,,,']),
      { row: 1, line: 2, detail: expect.stringContaining('is not CSV') },
    ],
    [
      'no header, and does not repeat its first row',
      file([], good),
      {
        row: 0,
        line: 1,
        detail: `must be the header line, with the names ${HEADER.replaceAll(',', ', ')}`,
      },
    ],
    [
      'a column too few',
      file([good], 'account,password,departmentId,remark,passwordMobile,x'),
      { row: 0, line: 1, column: 'x', detail: expect.stringContaining('is not one of') },
      { row: 0, line: 1, column: 'name', detail: 'is required' },
    ],
    [
      'a cell too many',
      file([`${good},`]),
      { row: 1, line: 2, detail: 'must have 6 cells, like the header' },
    ],
    [
      'an account twice',
      file([good, 'max,first-login-2,Max,,,', good]),
      { row: 3, line: 4, column: 'account', detail: 'must not be given twice: row 1 has it too' },
    ],
    [
      'wrong values',
      file(['z e,first-login-1,Zoe,ten,,', ',,,,,']),
      { row: 1, line: 2, column: 'departmentId', detail: expect.anything() },
      { row: 1, line: 2, column: 'account', detail: 'must be 1 to 62 letters and digits' },
      { row: 2, line: 3, column: 'name', detail: expect.stringContaining('is required') },
      { row: 2, line: 3, column: 'account', detail: expect.stringContaining('is required') },
      { row: 2, line: 3, column: 'password', detail: expect.stringContaining('is required') },
    ],
    [
      'a row of 1 MB',
      file([`zoe,first-login-1,${'Z'.repeat(1_048_576)},,,`]),
      { row: 1, detail: expect.stringContaining('must have at most 16384 bytes') },
    ],
    [
      'a row below cells and empty lines that take several lines, with its line',
      file([`"zoe","first-login-1","Zoe",,"a\r\nb\nc",`, '', 'z e,first-login-2,Max,,,']),
      { row: 2, line: 6, column: 'account', detail: 'must be 1 to 62 letters and digits' },
    ],
    [
      'tabs between the cells',
      file([good]).replaceAll(',', '\t'),
      { row: 0, detail: expect.stringContaining('has tabs') },
    ],
    [
      'more cells than any row has',
      file([good, '', `"z\noe"${','.repeat(70)}`]),
      { row: 2, line: 4, detail: 'must have at most 64 cells' },
    ],
    [
      'a wrong row below blank lines and a cell of two lines',
      file(['', 'zoe,first-login-1,"Zoe\nZ",,,', '', 'max,first-login-2']),
      { row: 2, line: 6, detail: 'must have 6 cells, like the header' },
    ],
    ['nothing', '\n', { row: 0, detail: 'must have at least one row' }],
    ['a header only', file([]), { row: 0, detail: 'must have at least one row' }],
  ])('J1 refuses %s, and sends nothing', async (_, body, ...errors) => {
    const answer = await post(body);
    expect([answer.status, answer.body['code']]).toEqual([400, 'validation-failed']);
    expect(answer.body['errors']).toEqual(expect.arrayContaining(errors));
    expect(answer.text).not.toContain('first-login-1');
    expect(await sandbox.calls()).toEqual([]);
  });

  it('J1 reads a byte order mark, semicolons, quotes and NDJSON', async () => {
    const semicolons = '\ufeffname;account;password\r\n"Zoe; ""Z""";zoe;first-login-1\r\n';
    expect(await ended(await post(semicolons))).toMatchObject({ state: 'succeeded', total: 1 });
    expect((await members()).get('zoe')).toMatchObject({ name: 'Zoe; "Z"' });
    const returns = await post(file(['rut,first-login-3,Rut,,a; b,']).replaceAll('\r\n', '\r'));
    expect(await ended(returns)).toMatchObject({ state: 'succeeded', total: 1 });
    expect((await members()).get('rut')).toMatchObject({ remark: 'a; b' });
    const unchanged = { ...CSV, 'content-encoding': 'Identity' };
    expect((await post(file(newRows('coded', 1)), '?validateOnly=true', unchanged)).status).toBe(200);
    const ndjson = { 'content-type': 'application/x-ndjson' };
    const json = await post(
      '{"account":"max","password":"first-login-2","name":"Max","departmentId":10}\n\n',
      '',
      ndjson,
    );
    expect(await ended(json)).toMatchObject({ state: 'succeeded', total: 1 });
    const wrong = await post('{"account":"ida","account":"eva"}\n[]\n', '', ndjson);
    expect(wrong.body['errors']).toEqual([
      { row: 1, line: 1, column: 'account', detail: 'must be given once' },
      { row: 2, line: 2, detail: 'must be a JSON object' },
    ]);
  });

  it('J1 refuses a file of another type before it reads it', async () => {
    for (const type of ['application/json', 'text/csv; charset=latin1', 'application/zip'])
      expect((await post('{}', '', { 'content-type': type })).status).toBe(415);
    expect(await sandbox.calls()).toEqual([]);
  });
});
