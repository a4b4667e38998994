import { afterEach, describe, expect, it } from '@jest/globals';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { emptyDatabase } from '../support/database.ts';
import { endings } from '../support/endings.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { type Start, type TestAnswer, TestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** Accounts whose end is the code of the enterprise, on platforms that append it in different ways. */

const HARBOUR = '/v1/enterprises/ent-harbour';
const IMPORTS = `${HARBOUR}/member-imports`;
const CSV = { 'content-type': 'text/csv' };

const sandbox = useSandbox();
let gateway: TestGateway;
afterEach(() => gateway.stop());
const { atEnd } = endings();

interface Employee {
  readonly id: string;
  readonly globalId: string;
  readonly enterpriseGlobalId: string;
  readonly userName: string;
  readonly name: string;
  readonly deleted: boolean;
}
interface Row {
  readonly account: string;
  readonly status: string;
  readonly code: string | null;
  readonly message: string | null;
}

/** The only members of the enterprise are these people and the acting user; the gateway knows nothing of the platform. */
async function started(
  profile: object,
  people: readonly string[],
  environment: Record<string, string> = {},
  start?: Start,
): Promise<void> {
  await sandbox.reset();
  await sandbox.control('PUT', '/profile', profile);
  const state = await sandbox.control<{ employees: Employee[]; assets: object[] }>('GET', '/state');
  const others = state.employees.filter(
    ({ enterpriseGlobalId, userName }) =>
      enterpriseGlobalId !== 'ent-harbour' || userName === 'admin@harbour',
  );
  const own = people.map((account, index) => ({
    ...{ id: `${70_000 + index}`, userId: `${80_000 + index}`, globalId: `mem-own-${index}` },
    ...{ enterpriseGlobalId: 'ent-harbour', userName: `${account}@harbour`, name: `Name ${account}` },
  }));
  const assets = state.assets.map((asset) => ({
    ...asset,
    memberGlobalId: null,
    lentToMember: null,
    lentInto: null,
  }));
  await sandbox.control('PUT', '/state', { ...state, assets, employees: [...others, ...own] });
  gateway = start
    ? await TestGateway.start(sandbox, environment, [], start)
    : await startInProcess(sandbox, environment);
}

async function accounts(): Promise<string[]> {
  const { employees } = await sandbox.control<{ employees: Employee[] }>('GET', '/state');
  return employees
    .filter(({ enterpriseGlobalId, deleted }) => enterpriseGlobalId === 'ent-harbour' && !deleted)
    .map(({ userName }) => userName.replace('@harbour', ''))
    .filter((account) => account !== 'admin');
}

/** The user name that the platform shows, by how it appends the code. */
const shownBy: Record<string, (account: string) => string> = {
  separated: (account) => `${account}@harbour`,
  joined: (account) => `${account}harbour`,
  dotted: (account) => `${account}.harbour`,
};

/** Rows that name their members by user names, as a file does that is made of an export. */
function rowsByUserName(accountSuffix: string, all: readonly string[]): string {
  const rows = all.map((account) => `${shownBy[accountSuffix]?.(account)},${newSecret('m')},Name ${account}`);
  return ['userName,password,name', ...rows, ''].join('\r\n');
}

function rowsFor(all: readonly string[], name = (account: string) => `Name ${account}`): string {
  const rows = all.map((account) => `${account},${newSecret('m')},${name(account)}`);
  return ['account,password,name', ...rows, ''].join('\r\n');
}

function post(query: string, body: string): Promise<TestAnswer> {
  return gateway.request('POST', IMPORTS + query, { body, headers: CSV });
}

async function ended(path: string): Promise<Row[]> {
  await until('the job has ended', async () => (await gateway.get(path)).body['finishedAt'] !== null);
  const answer = await gateway.get(`${path}/rows`, { headers: { accept: 'application/x-ndjson' } });
  const lines = answer.text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Row);
}

async function imported(query: string, body: string): Promise<{ job: Record<string, unknown>; rows: Row[] }> {
  const { status, text, headers } = await post(query, body);
  expect([status, status === 202 ? '' : text]).toEqual([202, '']);
  const path = headers.get('location') ?? '';
  const rows = await ended(path);
  return { job: (await gateway.get(path)).body, rows };
}

const PEOPLE = [
  ...['anna', 'bo', 'chen', 'dora', 'emil', 'fay', 'gus', 'hanna', 'ivo', 'june'],
  ...['kofi', 'lars', 'mia', 'nils', 'ola', 'pia', 'quin', 'rosa', 'sven', 'tove'],
];
const DELETING = '?mode=upsert&deleteMissing=true&maxDeletes=100';

describe.each(['separated', 'joined', 'dotted'])('accounts whose code is %s', (accountSuffix) => {
  it('are those of the file: an upsert of the same people changes nobody and deletes nobody', async () => {
    await started({ accountSuffix }, PEOPLE);
    const { job } = await imported(DELETING, rowsFor(PEOPLE));
    expect(job).toMatchObject({ state: 'succeeded', unchanged: 20, deleted: 0, failed: 0, unknown: 0 });
    expect(await accounts()).toEqual(PEOPLE);
  });

  it('are told from the code: who is missing is deleted, and nobody else', async () => {
    await started({ accountSuffix }, PEOPLE);
    const query = `${DELETING}&keep=SVEN,${shownBy[accountSuffix]?.('Rosa')}`;
    const { body } = await post(`/dry-run${query}`, rowsFor([...PEOPLE.slice(0, 15), 'zoe']));
    const { plan } = body as { plan: { delete: string[] } };
    expect(plan).toMatchObject({ add: 1, unchanged: 15, impossible: [] });
    expect(plan.delete.toSorted()).toEqual(['pia', 'quin', 'tove']);
    const { job } = await imported(query, rowsFor([...PEOPLE.slice(0, 15), 'zoe']));
    expect(job).toMatchObject({ state: 'succeeded', succeeded: 1, unchanged: 15, deleted: 3 });
    expect(await accounts()).toEqual([...PEOPLE.slice(0, 15), 'rosa', 'sven', 'zoe']);
    // The acting user, who logs in under another form of the name.
    const { employees } = await sandbox.control<{ employees: Employee[] }>('GET', '/state');
    expect(employees.find(({ userName }) => userName === 'admin@harbour')?.deleted).toBe(false);
  });

  it('are found after a lost answer: every row has its true result', async () => {
    await started({ accountSuffix }, PEOPLE);
    const lost = { operation: 'addMembers', phase: 'after', times: 1, action: { reset: 'before-headers' } };
    await sandbox.fault(lost);
    const fresh = Array.from({ length: 10 }, (_, index) => `fresh${index}`);
    const { job } = await imported('', rowsFor(fresh));
    expect(job).toMatchObject({ state: 'succeeded', succeeded: 10, failed: 0, unknown: 0 });
    expect(await accounts()).toEqual([...PEOPLE, ...fresh]);
  });

  it('come back from an export as they are: nobody is renamed, and nobody deleted', async () => {
    await started({ accountSuffix }, PEOPLE);
    const headers = { accept: 'text/csv' };
    const { text } = await gateway.get(`${HARBOUR}/members/export`, { headers });
    const same = await imported('?mode=upsert', text);
    expect(same.job).toMatchObject({ state: 'succeeded', unchanged: PEOPLE.length + 1, failed: 0 });
    const isUnknown = accountSuffix === 'joined';
    const deleting = await post(DELETING, text);
    expect(deleting.status).toBe(isUnknown ? 409 : 202);
    if (isUnknown) expect(deleting.body['code']).toBe('suffix-unknown');
    else await ended(deleting.headers.get('location') ?? '');
    const changed = text.replace('Name bo', 'Name Bo');
    const { rows } = await imported('?mode=upsert', changed);
    expect(rows.filter(({ status }) => status !== 'unchanged')).toMatchObject([
      isUnknown ? { status: 'failed', code: 'validation-failed' } : { account: 'bo', status: 'updated' },
    ]);
    expect(await accounts()).toEqual(PEOPLE);
    // Now the platform shows both sides.
    const body = { members: [{ account: 'zoe', name: 'Zoe', password: newSecret('m') }] };
    expect((await gateway.request('POST', `${HARBOUR}/members`, { body })).status).toBe(201);
    const again = await imported('?mode=upsert', changed.replace('Name chen', 'Name Chen'));
    expect(again.job).toMatchObject({ updated: isUnknown ? 2 : 1, failed: 0, succeeded: 0 });
    expect(await accounts()).toEqual([...PEOPLE, 'zoe']);
  });

  it('are not doubled: deleted people come back under their user names', async () => {
    await started({ accountSuffix }, PEOPLE);
    // The answer of `addMembers` shows the code.
    await imported('', rowsFor(['zoe']));
    for (const id of ['mem-own-6', 'mem-own-8'])
      expect((await gateway.request('DELETE', `${HARBOUR}/members/${id}`)).status).toBe(204);
    const { rows } = await imported('', rowsByUserName(accountSuffix, ['gus', 'ivo']));
    expect(rows).toMatchObject([
      { account: 'gus', status: 'added' },
      { account: 'ivo', status: 'added' },
    ]);
    expect((await accounts()).toSorted()).toEqual([...PEOPLE, 'zoe'].toSorted());
  });

  it('are those of a retry too, which may have the rows as the first file had them', async () => {
    await started({ accountSuffix }, PEOPLE);
    await imported('', rowsFor(['zoe']));
    const file = rowsByUserName(accountSuffix, ['anna']);
    const { job, rows } = await imported('', file);
    expect(rows).toMatchObject([{ account: 'anna', status: 'failed' }]);
    await gateway.request('DELETE', `${HARBOUR}/members/mem-own-0`);
    const path = `/v1/jobs/${String(job['jobId'])}/retry`;
    const other = await gateway.request('POST', path, { body: rowsFor(['bo']), headers: CSV });
    expect([other.status, other.body['code']]).toEqual([400, 'validation-failed']);
    const again = await gateway.request('POST', path, { body: file, headers: CSV });
    expect([again.status, again.status === 202 ? '' : again.text]).toEqual([202, '']);
    expect(await ended(again.headers.get('location') ?? '')).toMatchObject([
      { account: 'anna', status: 'added' },
    ]);
  });

  it('are learnt from the answer of addMembers, also of few people', async () => {
    await started({ accountSuffix }, ['anna', 'hanna']);
    const added = await gateway.request('POST', `${HARBOUR}/members`, {
      body: { members: [{ account: 'bo', name: 'Bo', password: newSecret('m') }] },
    });
    expect(added.status).toBe(201);
    const { job } = await imported(DELETING, rowsFor(['hanna', 'bo']));
    expect(job).toMatchObject({ state: 'succeeded', deleted: 1 });
    expect(await accounts()).toEqual(['hanna', 'bo']);
  });
});

it('of two rows that name one account, one of them with its joined code, the second is a fault, and the plan names it as the job does', async () => {
  await started({ accountSuffix: 'joined' }, PEOPLE);
  await imported('', rowsFor(['zoe']));
  const rows = [`yara,,${newSecret('m')},Yara`, `,YaraHarbour,${newSecret('m')},Yara Two`];
  const body = ['account,userName,password,name', ...rows, ''].join('\r\n');
  const reason = expect.stringContaining('row 1 has it too');
  const { plan } = (await post('/dry-run', body)).body as { plan: object };
  expect(plan).toMatchObject({ add: 1, impossible: [{ row: 2, account: 'Yara', reason }] });
  const made = await imported('', body);
  expect(made.rows).toMatchObject([
    { account: 'yara', status: 'added' },
    { account: 'Yara', status: 'failed', code: 'validation-failed', message: reason },
  ]);
  expect(await accounts()).toEqual([...PEOPLE, 'zoe', 'yara']);
});

/** Changes the enterprise and its employees at the platform. */
async function change(
  edit: (enterprise: { suffix: string }, employees: Employee[]) => Employee[],
): Promise<void> {
  type State = { employees: Employee[]; enterprises: { globalId: string; suffix: string }[] };
  const state = await sandbox.control<State>('GET', '/state');
  const enterprise = state.enterprises.find(({ globalId }) => globalId === 'ent-harbour');
  const employees = edit(enterprise as { suffix: string }, state.employees);
  await sandbox.control('PUT', '/state', { ...state, employees });
}

/** Members whose user names do not end in the code of their enterprise. */
const others = (...names: string[]) =>
  change((_, all) => [
    ...all,
    ...names.map((userName, index) => ({
      ...{ id: `${75_000 + index}`, userId: `${85_000 + index}`, globalId: `mem-other-${index}` },
      ...{ enterpriseGlobalId: 'ent-harbour', userName, name: `Name ${userName}`, deleted: false },
    })),
  ]);

it('J3 whose joined code has a hyphen are kept by a file that names them by their user names only', async () => {
  await started({ accountSuffix: 'joined' }, PEOPLE);
  await change((enterprise, employees) => {
    enterprise.suffix = '@har-bour';
    return employees.map((each) => ({
      ...each,
      userName: each.id.startsWith('70') ? each.userName.replace('@harbour', '@har-bour') : each.userName,
    }));
  });
  // The answer of `addMembers` shows the code.
  await imported('', rowsFor(['zoe']));
  const rows = PEOPLE.slice(0, -1).map((account) => `${account}har-bour`);
  const file = ['userName', ...rows, ''].join('\r\n');
  const { body } = await post(`/dry-run${DELETING}`, file);
  expect(body['plan']).toMatchObject({ unchanged: 19, impossible: [] });
  expect((body['plan'] as { delete: string[] }).delete.toSorted()).toEqual(['tove', 'zoe']);
  const { job } = await imported(DELETING, file);
  expect(job).toMatchObject({ state: 'succeeded', unchanged: 19, deleted: 2 });
  const left = (await accounts()).map((userName) => userName.replace('@har-bour', ''));
  expect(left).toEqual(PEOPLE.slice(0, -1));
});

it('that the list does not tell are not renamed, and their rows are not taken for one', async () => {
  await started({}, PEOPLE);
  await others('acme_admin', 'acme_ops');
  const { text } = await gateway.get(`${HARBOUR}/members/export`, { headers: { accept: 'text/csv' } });
  const same = await imported(DELETING, text);
  expect(same.job).toMatchObject({ state: 'succeeded', unchanged: PEOPLE.length + 3, deleted: 0 });
  const renamed = text.replace('Name acme_admin', 'Renamed').replace('Name bo', 'Renamed');
  const { rows } = await imported('?mode=upsert', renamed);
  expect(rows.filter(({ status }) => status !== 'unchanged')).toMatchObject([
    { account: 'bo', status: 'updated' },
    { account: 'acme_admin', status: 'failed', message: expect.stringContaining('Name the account.') },
  ]);
  expect(await accounts()).toEqual([...PEOPLE, 'acme_admin', 'acme_ops']);
});

it('of another enterprise are neither added nor deleted for', async () => {
  await started({}, PEOPLE);
  const rows = ['zoe@meridian', 'yara@harbour'].map((name) => `${name},${newSecret('m')},Name`);
  const file = ['userName,password,name', ...rows, ''].join('\r\n');
  const reason = expect.stringContaining('may be of another enterprise');
  const { body } = await post(`/dry-run${DELETING}`, file);
  expect(body['plan']).toMatchObject({ add: 1, delete: [], impossible: [{ row: 1, reason }] });
  const { job, rows: done } = await imported(DELETING, file);
  expect(job).toMatchObject({ state: 'completed', succeeded: 1, failed: 1, deleted: 0 });
  expect(done[0]).toMatchObject({ status: 'failed', code: 'validation-failed', message: reason });
  expect(await accounts()).toEqual([...PEOPLE, 'yara']);
});

it.each([
  ['that is there', 'bo,anna@harbour'],
  ['that is there, and names the other by its account', 'bo,Anna'],
  ['that is new', 'zoe,anna@harbour'],
])(
  'J3 of a row that names two people are a fault, and nobody is deleted: an account %s',
  async (_, names) => {
    await started({}, PEOPLE);
    const rows = PEOPLE.slice(2, -1).map((account) => `${account},${account}@harbour,,Name ${account}`);
    const file = ['account,userName,password,name', `${names},${newSecret('m')},Changed`, ...rows, ''].join(
      '\r\n',
    );
    const reason = expect.stringContaining('two members');
    const { body } = await post(`/dry-run${DELETING}`, file);
    expect(body['plan']).toMatchObject({
      ...{ add: 0, update: 0, unchanged: 17, delete: [] },
      impossible: [{ row: 1, reason }],
    });
    const { job, rows: done } = await imported(DELETING, file);
    expect(job).toMatchObject({ state: 'completed', failed: 1, unchanged: 17, deleted: 0 });
    expect(done[0]).toMatchObject({ status: 'failed', code: 'validation-failed', message: reason });
    expect(await accounts()).toEqual(PEOPLE);
  },
);

it('J3 of a row may stand beside the user name of another enterprise', async () => {
  await started({}, PEOPLE);
  const rows = PEOPLE.slice(2, -1).map((account) => `${account},${account}@harbour,,Name ${account}`);
  const file = [
    'account,userName,password,name',
    `zoe,anna@elsewhere,${newSecret('m')},Zoe`,
    ...rows,
    '',
  ].join('\r\n');
  const { job } = await imported('?mode=upsert', file);
  expect(job).toMatchObject({ state: 'succeeded', succeeded: 1, failed: 0 });
  expect(await accounts()).toEqual([...PEOPLE, 'zoe'].toSorted());
});

it.each(['separated', 'joined', 'dotted'])(
  'in a file with user names too go on deleting who is missing: the code is %s',
  async (accountSuffix) => {
    await started({ accountSuffix }, PEOPLE);
    const rows = PEOPLE.slice(0, -1).map((account) => `${account},${shownBy[accountSuffix]?.(account)}`);
    const { job } = await imported(DELETING, ['account,userName', ...rows, ''].join('\r\n'));
    expect(job).toMatchObject({ state: 'succeeded', unchanged: 19, deleted: 1, failed: 0 });
    expect(await accounts()).toEqual(PEOPLE.slice(0, -1));
  },
);

describe('an import whose process is killed', () => {
  it('ends with true rows where accounts have no separator', async () => {
    const { url, remove } = await emptyDatabase('file');
    atEnd(remove);
    const environment = { DATABASE_URL: url, ENCRYPTION_KEYS: newEncryptionKey() };
    let running: GatewayProcess | undefined;
    const begin: Start = async (all) => (running = await startGatewayProcess(all));
    await started({ accountSuffix: 'joined' }, ['anna', 'hanna'], environment, begin);
    const fresh = Array.from({ length: 300 }, (_, index) => `fresh${index}`);
    const rules = await sandbox.fault({
      operation: 'addMembers',
      skip: 1,
      phase: 'after',
      action: { hang: true },
    });
    const { headers, status } = await post(
      '?mode=upsert',
      rowsFor(['anna', ...fresh], (name) => `New ${name}`),
    );
    expect(status).toBe(202);
    await until('calls are under way', async () => (await sandbox.journal('addMembers')).length > 2);
    running?.child.kill('SIGKILL');
    await running?.ended;
    await sandbox.heal(rules);
    await gateway.open(sandbox, environment, begin);
    const rows = await ended(headers.get('location') ?? '');
    expect(Map.groupBy(rows, (row) => row.status).get('added')).toHaveLength(300);
    expect(rows[0]).toMatchObject({ account: 'anna', status: 'updated' });
    expect(new Set(await accounts())).toEqual(new Set(['anna', 'hanna', ...fresh]));
  });
});

describe('while the suffix is not known', () => {
  it.each<[string, string[], string[]]>([
    ['one member, who is missing', ['anna'], ['zoe']],
    ['one member, who is there', ['anna'], ['anna']],
    ['a file of other people', PEOPLE, ['zoe', 'yara']],
    ['two members who end in the same letters', ['anna', 'hanna'], ['zoe']],
    ['an account that is the beginning of all', ['anna', 'hanna'], ['h']],
    ['accounts as the list shows them', ['anna', 'hanna'], ['annaharbour']],
  ])('nobody is deleted: %s', async (_, there, inFile) => {
    await started({ accountSuffix: 'joined' }, there);
    for (const query of [DELETING, `/dry-run${DELETING}`]) {
      const { status, body } = await post(query, rowsFor(inFile));
      expect([status, body['code'], body['outcome']]).toEqual([409, 'suffix-unknown', 'not_processed']);
      expect(body['detail']).toContain('addMembers');
    }
    expect(await accounts()).toEqual(there);
  });

  it('a member whose list shows another form leaves the suffix of the others alone', async () => {
    await started({ accountSuffix: 'joined' }, PEOPLE);
    const state = await sandbox.control<{ employees: Employee[] }>('GET', '/state');
    const bare = state.employees.find(({ userName }) => userName === 'tove@harbour') as Employee;
    await sandbox.control('PATCH', `/state/employees/${bare.id}`, { userName: 'tove' });
    const { status, body } = await post(DELETING, rowsFor(PEOPLE));
    expect([status, body['code']]).toEqual([409, 'suffix-unknown']);
  });

  it('no row is told as failed whose member is there', async () => {
    await started({ accountSuffix: 'joined' }, ['anna', 'hanna']);
    const { rows } = await imported(
      '?mode=upsert',
      rowsFor(['anna'], () => 'Renamed'),
    );
    expect(rows).toMatchObject([{ account: 'anna', status: 'unknown', code: 'suffix-unknown' }]);
    expect(await accounts()).toEqual(['anna', 'hanna']);
  });

  it.each([['upsert'], ['add']])('the plan of mode=%s adds nobody who may be there', async (mode) => {
    await started({ accountSuffix: 'joined' }, ['anna', 'hanna']);
    const planOf = async (...inFile: string[]) => {
      const { body } = await post(`/dry-run?mode=${mode}`, rowsFor(inFile));
      return [body['plan'], body['wouldSend']];
    };
    const reason = expect.stringContaining('suffix-unknown');
    const untold = {
      add: 0,
      update: 0,
      unchanged: 0,
      delete: [],
      impossible: [{ row: 1, account: 'anna', reason }],
    };
    const sent = [{ operation: 'addMembers', body: null }];
    expect(await planOf('anna')).toEqual([untold, sent]);
    expect(await planOf('anna', 'zoe')).toEqual([{ ...untold, add: 1 }, sent]);
    // The answer of `addMembers` shows the code.
    await imported('', rowsFor(['yara']));
    const [told] = await planOf('anna', 'zoe');
    expect(told).toMatchObject(mode === 'upsert' ? { add: 1, unchanged: 1 } : { add: 1, unchanged: 0 });
    expect(JSON.stringify(told)).not.toContain('suffix-unknown');
  });

  it('a new row shows the suffix, and the others are then updated', async () => {
    await started({ accountSuffix: 'joined' }, ['anna', 'hanna']);
    const { job, rows } = await imported(
      '?mode=upsert',
      rowsFor(['anna', 'zoe'], () => 'Renamed'),
    );
    expect(rows.map(({ account, status }) => [account, status])).toEqual([
      ['anna', 'updated'],
      ['zoe', 'added'],
    ]);
    expect(job).toMatchObject({ state: 'succeeded' });
    const { employees } = await sandbox.control<{ employees: Employee[] }>('GET', '/state');
    expect(employees.find(({ userName }) => userName === 'anna@harbour')?.name).toBe('Renamed');
  });
});

describe('the case of letters', () => {
  it('makes no second person: two rows of a file are a fault that names the other row', async () => {
    await started({}, PEOPLE);
    const { status, body } = await post('', rowsFor(['zoe', 'ZOE']));
    expect([status, body['errors']]).toEqual([
      400,
      [{ row: 2, line: 3, column: 'account', detail: expect.stringContaining('row 1 has it too') }],
    ]);
    const members = ['zoe', 'ZOE'].map((account) => ({ account, name: account, password: newSecret('m') }));
    const added = await gateway.request('POST', `${HARBOUR}/members`, { body: { members } });
    expect([added.status, added.body['errors']]).toMatchObject([400, [{ pointer: '/members/1/account' }]]);
  });

  it.each(['two', 'one'])(
    'of a row does not matter, where the platform makes %s of them',
    async (accountCase) => {
      await started({ accountCase }, PEOPLE);
      const plan = await post(
        '/dry-run?mode=upsert',
        rowsFor(['ANNA'], () => 'Renamed'),
      );
      expect(plan.body).toMatchObject({ plan: { add: 0, update: 1 } });
      const { rows } = await imported(
        '?mode=upsert',
        rowsFor(['ANNA'], () => 'Renamed'),
      );
      expect(rows).toMatchObject([{ account: 'ANNA', status: 'updated' }]);
      expect(await accounts()).toEqual(PEOPLE);
      const added = await imported('', rowsFor(['Bo']));
      expect(added.rows).toMatchObject([{ status: 'failed', code: 'upstream-rejected' }]);
      expect(await accounts()).toEqual(PEOPLE);
    },
  );

  it('that makes two members of one account is a fault of the row, which names them', async () => {
    await started({}, [...PEOPLE, 'ANNA']);
    const { rows } = await imported(DELETING, rowsFor(['anna', 'bo']));
    const [row] = rows;
    expect(row).toMatchObject({ account: 'anna', status: 'failed', code: 'member-ambiguous' });
    expect(row?.message).toMatch(/anna@harbour and ANNA@harbour/);
    expect(await accounts()).toEqual(['anna', 'bo', 'ANNA']);
  });
});

describe.each(['part', 'whole', 'beginning', 'account'])('a keyword that matches the %s', (keyword) => {
  it('proves nothing where it finds nobody: a new row of a lost answer is told as added', async () => {
    const many = Array.from({ length: 500 }, (_, index) => `many${index}`);
    await started({ keyword }, many);
    await imported('', rowsFor(['known']));
    const lost = { operation: 'addMembers', phase: 'after', times: 1, action: { reset: 'before-headers' } };
    await sandbox.fault(lost);
    const { rows } = await imported('', rowsFor(['zoe']));
    expect(rows).toMatchObject([{ account: 'zoe', status: 'added' }]);
    const { body } = await gateway.get(`${HARBOUR}/members?keyword=zoe@harbour`);
    const [zoe] = body['items'] as { memberGlobalId: string }[];
    const path = `${HARBOUR}/members/${zoe?.memberGlobalId}`;
    expect((await gateway.request('PATCH', path, { body: { account: 'zoe', name: 'Zoe' } })).status).toBe(
      204,
    );
  });
});

it('a keyword that is refused in every size ends no edit, and teaches no smaller pages', async () => {
  await started({}, PEOPLE);
  await gateway.get(`${HARBOUR}/members`);
  // All that are sent with the keyword.
  await sandbox.fault({ operation: 'listMembers', times: 8, action: { code: '40000' } });
  const path = `${HARBOUR}/members/mem-own-0`;
  const { status } = await gateway.request('PATCH', path, { body: { account: 'anna', name: 'Anna' } });
  expect(status).toBe(204);
  const asked = await sandbox.journal('listMembers');
  const refused = asked.filter(({ query }) => query['keyword'] !== undefined);
  expect(refused.map(({ code }) => code)).toEqual(Array.from({ length: 8 }, () => '40000'));
  expect(asked.at(-1)?.query).toMatchObject({ pageSize: '200' });
});
