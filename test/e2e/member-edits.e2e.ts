import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { TestGateway } from '../support/gateway.ts';
import { ask, until } from '../support/redis.ts';
import { ProfileFile } from '../support/profile-file.ts';
import { useStack } from '../support/stack.ts';

/** Edits of members on platforms that mask or hide what an edit would have to send again. */

const profile = new ProfileFile();

const environment = { PLATFORM_PROFILE_FILE: profile.path, ENCRYPTION_KEYS: newEncryptionKey() };
/** Shares the stack's Redis. */
const replica = new TestGateway();
// This hook stands before the stack's own, because the replica ends while Redis is there.
afterAll(() => replica.stop());
const stack = useStack({ environment, redis: true });
const { sandbox, gateway } = stack;
beforeAll(() => replica.open(sandbox, { ...environment, REDIS_URL: stack.redis().url }));

/** The sandbox plays `played`; the gateways know `readings` of it. */
async function know(readings: object, played: object): Promise<void> {
  await sandbox.control('PUT', '/profile', played);
  await profile.tell(gateway, { readings }, replica);
}

const MEMBERS = '/v1/enterprises/ent-harbour/members';
const DORA = `${MEMBERS}/mem-harbour-dora`;
const EDIT = { account: 'dora', name: 'Dora Two' };
const NONE = { departmentId: null, remark: null, passwordMobile: null };
const KEPT = { departmentId: '10', remark: 'at the pier', passwordMobile: '13800000007' };

interface Employee {
  readonly id: string;
  readonly globalId: string;
  readonly enterpriseGlobalId: string;
  readonly userName: string;
  readonly name: string;
  readonly remark: string | null;
  readonly passwordMobile: string | null;
}

async function employee(globalId = 'mem-harbour-dora'): Promise<Employee> {
  const { employees } = await sandbox.control<{ employees: Employee[] }>('GET', '/state');
  return employees.find((each) => each.globalId === globalId) as Employee;
}

async function edits(): Promise<unknown[]> {
  return (await sandbox.journal('editMember')).map(({ body }) => body);
}

const patch = (body: object) => gateway.request('PATCH', DORA, { body });
const wouldLose = (...fields: string[]) => [
  409,
  {
    code: 'edit-would-lose',
    outcome: 'not_processed',
    fields,
    detail: expect.stringContaining(fields[0] ?? ''),
  },
];

function sendFile(path: string, rows: readonly string[]) {
  const body = ['account,password,name,passwordMobile', ...rows, ''].join('\r\n');
  const headers = { 'content-type': 'text/csv' };
  return gateway.request('POST', MEMBERS.replace('members', path), { body, headers });
}

async function imported(rows: readonly string[]) {
  const answer = await sendFile('member-imports?mode=upsert', rows);
  expect(answer.status).toBe(202);
  const job = answer.headers.get('location') ?? '';
  await until('the job has ended', async () => (await gateway.get(job)).body['finishedAt'] !== null);
  const { text } = await gateway.get(`${job}/rows`, { headers: { accept: 'application/x-ndjson' } });
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}
const dora = (name: string, mobile: string) => `dora,${newSecret('m')},${name},${mobile}`;

beforeEach(async () => {
  const { id } = await employee();
  await sandbox.control('PATCH', `/state/employees/${id}`, KEPT);
});

describe.each(['masked', 'absent'])('where mobile numbers are %s', (mobiles) => {
  it.each<[string, object]>([
    ['while it is not known what an edit clears', {}],
    ['where the platform clears what is left out', { memberEdit: 'clears' }],
    ['where all of it is known', { memberEdit: 'clears', mobiles }],
  ])('an edit that would lose one is refused, %s', async (_, told) => {
    await know(told, { memberEdit: 'clears', mobiles });
    const { status, body } = await patch(EDIT);
    expect([status, body]).toMatchObject(wouldLose('passwordMobile'));
    expect(await edits()).toEqual([]);
    const given = await patch({ ...EDIT, passwordMobile: '13800000008' });
    expect(given.status).toBe(204);
    expect(await employee()).toMatchObject({ ...KEPT, name: 'Dora Two', passwordMobile: '13800000008' });
  });

  it('an edit sends the changes only, where the platform keeps the rest', async () => {
    await know({ memberEdit: 'keeps' }, { memberEdit: 'keeps', mobiles });
    expect((await patch(EDIT)).status).toBe(204);
    expect(await edits()).toEqual([{ userName: 'dora', name: 'Dora Two' }]);
    expect(await employee()).toMatchObject({ ...KEPT, name: 'Dora Two' });
  });

  it('a dry run of an edit says the same', async () => {
    await know({}, { mobiles });
    const { status, body } = await gateway.post(`${DORA}/dry-run`, EDIT);
    expect([status, body]).toMatchObject(wouldLose('passwordMobile'));
  });
});

describe('where mobile numbers are shown', () => {
  it('an edit of a member who has none is sent', async () => {
    const { id } = await employee();
    await sandbox.control('PATCH', `/state/employees/${id}`, { passwordMobile: null });
    for (const mobiles of ['shown', 'masked']) {
      await know({}, { memberEdit: 'clears', mobiles });
      expect((await patch({ ...EDIT, name: mobiles })).status).toBe(204);
      expect(await employee()).toMatchObject({ ...KEPT, passwordMobile: null, name: mobiles });
    }
  });

  it('a member without the field has none, where others show theirs', async () => {
    await know({}, { memberEdit: 'clears' });
    const { id } = await employee();
    await sandbox.control('PATCH', `/state/employees/${id}`, { passwordMobile: null });
    const page = await gateway.get(`${MEMBERS}?keyword=dora`);
    const at = (page.body['items'] as object[]).length - 1;
    const odd = { pointer: `/data/list/${at}/passwordMobile` };
    await sandbox.fault({ operation: 'listMembers', times: 1, action: { odd } });
    const state = await sandbox.control<{ employees: Employee[] }>('GET', '/state');
    const anna = state.employees.find(({ userName }) => userName === 'anna@harbour') as Employee;
    await sandbox.control('PATCH', `/state/employees/${anna.id}`, { passwordMobile: '13800000009' });
    expect((await patch(EDIT)).status).toBe(204);
  });
});

describe('where the platform leaves out empty fields', () => {
  beforeEach(async () => {
    await know({}, { memberEdit: 'clears' });
    const { id } = await employee();
    await sandbox.control('PATCH', `/state/employees/${id}`, { passwordMobile: null });
    // Three pages, and the member is on the last one.
    const state = await sandbox.control<{ employees: Employee[] }>('GET', '/state');
    const many = Array.from({ length: 450 }, (_, index) => ({
      ...{ id: `${70_000 + index}`, userId: `${80_000 + index}`, globalId: `mem-many-${index}` },
      ...{ enterpriseGlobalId: 'ent-harbour', userName: `many${index}@harbour`, name: `Many ${index}` },
      passwordMobile: '13800000009',
    }));
    await sandbox.control('PUT', '/state', { ...state, employees: [...many, ...state.employees] });
    await sandbox.control('DELETE', '/journal');
    await sandbox.fault({
      operation: 'listMembers',
      action: { odd: { pointer: '/data/list/0/passwordMobile' } },
    });
  });

  it('an edit reads the list until another member shows the field', async () => {
    expect((await patch(EDIT)).status).toBe(204);
    // The search by account, and the first page.
    expect(await sandbox.journal('listMembers')).toHaveLength(2);
  });

  it('the rows of a file are edited without further lists, because their plan has read the list', async () => {
    expect(await imported([dora('Dora Three', '')])).toMatchObject([{ status: 'updated' }]);
    // The plan reads three pages and looks at the ends of two of them again, and the edit searches by account.
    expect(await sandbox.journal('listMembers')).toHaveLength(6);
  });
});

it('an edit that would lose a field that the list does not have at all names it', async () => {
  await know({}, { memberEdit: 'clears' });
  const item = { globalId: 'mem-harbour-dora', userName: 'dora@harbour', name: 'Dora', passwordMobile: null };
  const list = { list: [item], total: 1, isFirstPage: true };
  const text = JSON.stringify({ code: 0, message: 'success', data: list });
  await sandbox.fault({
    operation: 'listMembers',
    action: { raw: { text, contentType: 'application/json' } },
  });
  const { status, body } = await patch(EDIT);
  expect([status, body]).toMatchObject(wouldLose('departmentId', 'remark'));
  expect(await edits()).toEqual([]);
});

describe('a value that the platform would not take back', () => {
  it.each<[string, string, object]>([
    ['with dots', '138....0007', {}],
    ['with dashes', '138----0007', {}],
    ['without a sign', '1380007', { mobiles: 'masked' }],
  ])('is a mobile number that the platform masks %s', async (_, passwordMobile, told) => {
    await know({ memberEdit: 'clears', ...told }, { memberEdit: 'clears' });
    const shown = { ...NONE, globalId: 'mem-harbour-dora', userName: 'dora@harbour', name: 'Dora' };
    const list = [{ ...shown, passwordMobile }];
    await sandbox.fault({ operation: 'listMembers', action: { patch: { data: { list, total: 1 } } } });
    const { status, body } = await patch(EDIT);
    expect([status, body]).toMatchObject(wouldLose('passwordMobile'));
    expect(await edits()).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ['a department that is no number', 'design', 'departmentId'],
    ['a remark that is too long', 'r'.repeat(201), 'remark'],
  ])('is never sent: %s', async (_, value, field) => {
    await know({}, { memberEdit: 'clears' });
    const patchOf = {
      data: {
        list: [
          { ...NONE, globalId: 'mem-harbour-dora', userName: 'dora@harbour', name: 'Dora', [field]: value },
        ],
        total: 1,
      },
    };
    await sandbox.fault({ operation: 'listMembers', action: { patch: patchOf } });
    const { status, body } = await patch({ ...EDIT, passwordMobile: '13800000007' });
    expect([status, body]).toMatchObject(wouldLose(field));
    expect(await edits()).toEqual([]);
    const given = await patch({
      ...EDIT,
      passwordMobile: '13800000007',
      departmentId: '10',
      remark: 'short',
    });
    expect(given.status).toBe(204);
  });

  it.each<[string, object, string]>([
    ['a department that is no number', { departmentId: 'design' }, 'departmentId'],
    ['a remark that is a number', { remark: 5 }, 'remark'],
    ['a mobile number with a control character', { passwordMobile: '138\u00010007' }, 'passwordMobile'],
  ])('is not cleared where the gateway cannot read it: %s', async (_, value, field) => {
    await know({}, { memberEdit: 'clears' });
    const shown = { ...NONE, globalId: 'mem-harbour-dora', userName: 'dora@harbour', name: 'Dora', ...value };
    const other = { ...KEPT, globalId: 'mem-harbour-anna', userName: 'anna@harbour', name: 'Anna' };
    const action = { patch: { data: { list: [shown, other], total: 2 } } };
    await sandbox.fault({ operation: 'listMembers', action });
    const { status, body } = await patch(EDIT);
    expect([status, body]).toMatchObject(wouldLose(field));
    expect(await edits()).toEqual([]);
  });

  it('is not a department below 0, which is a number like any other', async () => {
    await know({}, { memberEdit: 'clears' });
    const shown = { ...NONE, globalId: 'mem-harbour-dora', userName: 'dora@harbour', name: 'Dora' };
    const list = [{ ...shown, departmentId: -1 }];
    await sandbox.fault({ operation: 'listMembers', action: { patch: { data: { list, total: 1 } } } });
    const done = { code: 0, codeAs: 'integer', status: 200, data: null };
    await sandbox.fault({ operation: 'editMember', action: done });
    expect((await gateway.get(MEMBERS)).body['items']).toMatchObject([{ departmentId: '-1' }]);
    // The sandbox has no such department, and the gateway sends the filter.
    expect((await gateway.get(`${MEMBERS}?departmentId=-1`)).body['code']).toBe('upstream-rejected');
    expect((await patch(EDIT)).status).toBe(204);
    expect((await patch({ ...EDIT, departmentId: -7 })).status).toBe(204);
    expect(await edits()).toMatchObject([{ departmentId: -1 }, { departmentId: -7 }]);
  });

  it('is no value of a request either', async () => {
    await know({ memberEdit: 'keeps' }, { mobiles: 'masked' });
    const edit = await patch({ ...EDIT, passwordMobile: '138****0007' });
    expect([edit.status, edit.body['errors']]).toMatchObject([400, [{ pointer: '/passwordMobile' }]]);
    const member = { account: 'zoe', name: 'Zoe', password: newSecret('m'), passwordMobile: '138****0007' };
    const added = await gateway.post(MEMBERS, { members: [member] });
    expect([added.status, added.body['errors']]).toMatchObject([
      400,
      [{ pointer: '/members/0/passwordMobile' }],
    ]);
    expect(await sandbox.journal('addMembers')).toEqual([]);
    expect(await edits()).toEqual([]);
  });
});

describe('rows of a file', () => {
  it.each(['masked', 'absent'])('with the numbers that are %s rewrite nobody', async (mobiles) => {
    await know({}, { memberEdit: 'clears', mobiles });
    const { name } = await employee();
    const [row] = await imported([dora(name, KEPT.passwordMobile)]);
    const message = expect.stringContaining('not compared');
    expect(row).toMatchObject({ status: 'unchanged', message });
    expect(await edits()).toEqual([]);
    // An export has the same row.
    expect(await imported([dora(name, mobiles === 'masked' ? '138****0007' : '')])).toMatchObject([
      { status: 'unchanged', message: null },
    ]);
  });

  it('that contradict a mask are written', async () => {
    await know({}, { memberEdit: 'clears', mobiles: 'masked' });
    const { name } = await employee();
    expect(await imported([dora(name, '13900000001')])).toMatchObject([{ status: 'updated' }]);
    expect(await employee()).toMatchObject({ ...KEPT, passwordMobile: '13900000001' });
  });

  it.each(['masked', 'absent'])('that would lose a %s number fail, and the others go on', async (mobiles) => {
    await know({}, { memberEdit: 'clears', mobiles });
    const rows = await imported([
      dora('Dora Three', ''),
      `anna,${newSecret('m')},Anna Two,13800000001`,
      `zoe,${newSecret('m')},Zoe,13800000002`,
      `yara,${newSecret('m')},Yara,138****0002`,
    ]);
    expect(rows).toMatchObject([
      {
        account: 'dora',
        status: 'failed',
        code: 'edit-would-lose',
        message: expect.stringContaining('passwordMobile'),
      },
      { account: 'anna', status: 'updated' },
      { account: 'zoe', status: 'added' },
      { account: 'yara', status: 'failed', code: 'validation-failed' },
    ]);
    expect(await employee()).toMatchObject(KEPT);
    expect(await employee('mem-harbour-anna')).toMatchObject({
      name: 'Anna Two',
      passwordMobile: '13800000001',
    });
  });

  it.each(['masked', 'absent'])('that would lose a %s number are impossible in the plan', async (mobiles) => {
    await know({}, { memberEdit: 'clears', mobiles });
    const rows = [dora('Dora Three', ''), `anna,${newSecret('m')},Anna Two,13800000001`];
    const planned = () => sendFile('member-imports/dry-run?mode=upsert', rows);
    const impossible = [{ row: 1, account: 'dora', reason: expect.stringContaining('passwordMobile') }];
    expect((await planned()).body).toMatchObject({ plan: { update: 1, impossible } });
    await know({ memberEdit: 'keeps' }, { memberEdit: 'keeps', mobiles });
    expect((await planned()).body).toMatchObject({ plan: { update: 2, impossible: [] } });
  });

  it('that have a mask leave the number alone', async () => {
    await know({ memberEdit: 'keeps' }, { mobiles: 'masked' });
    expect(await imported([dora('Dora Three', '138****0007')])).toMatchObject([{ status: 'updated' }]);
    expect(await employee()).toMatchObject({ ...KEPT, name: 'Dora Three' });
  });
});

describe.each([
  ['of one process', gateway, gateway],
  ['of two processes', gateway, replica],
])('two edits of a member at the same time %s', (_, one, other) => {
  it('lose nothing that one of them leaves out', async () => {
    await know({ memberEdit: 'clears' }, { memberEdit: 'clears' });
    await sandbox.fault({ operation: 'listMembers', times: 1, phase: 'after', action: { delayMs: 1_000 } });
    const earlier = one.request('PATCH', DORA, { body: EDIT });
    await sandbox.untilSpoiled(1, earlier);
    const later = await other.request('PATCH', DORA, { body: { ...EDIT, remark: 'moved' } });
    expect([(await earlier).status, later.status]).toEqual([204, 204]);
    expect(await employee()).toMatchObject({ ...KEPT, name: 'Dora Two', remark: 'moved' });
  });

  it('are one edit and one 412 where both name the same ETag', async () => {
    const list = '/v1/enterprises/ent-harbour/asset-nums?memberGlobalId=mem-harbour-dora';
    const headers = { 'if-match': String((await one.get(list)).headers.get('etag')) };
    const set = (at: TestGateway, assetNum: string) =>
      at.request('PUT', `${DORA}/asset-nums`, { body: { assetNums: [assetNum] }, headers });
    await sandbox.fault({ operation: 'listAssetNums', times: 1, phase: 'after', action: { delayMs: 1_000 } });
    const earlier = set(one, '8000001009');
    await sandbox.untilSpoiled(1, earlier);
    const later = await set(other, '8000001001');
    expect([(await earlier).status, later.status]).toEqual([200, 412]);
    expect(await sandbox.journal('changePrivileges')).toHaveLength(1);
  });
});

it('an edit waits 8 s at most for another one of the same member', async () => {
  await know({ memberEdit: 'clears' }, { memberEdit: 'clears' });
  await sandbox.fault({ operation: 'editMember', times: 1, action: { hang: true } });
  const body = { ...EDIT, ...KEPT };
  const first = gateway.request('PATCH', DORA, { body });
  await sandbox.untilSpoiled(1, first);
  for (const later of await Promise.all([gateway, replica].map((at) => at.request('PATCH', DORA, { body }))))
    expect([later.status, later.headers.get('retry-after'), later.body]).toMatchObject([
      503,
      '1',
      { code: 'dependency-unavailable', outcome: 'not_processed', retryable: true },
    ]);
  await sandbox.reset();
  expect((await first).body['outcome']).toBe('unknown');
  expect((await replica.request('PATCH', DORA, { body })).status).toBe(204);
});

describe('an edit whose lease ends while it reads', () => {
  /** Ends the lease of the only edit under way, as Redis does after some seconds without a renewal. */
  const endLease = () =>
    ask(stack.redis(), async (client) => {
      const leases = await client.keys('*:edit:*');
      expect(leases).toHaveLength(1);
      await client.del(leases);
    });
  /** The read that hangs is cut off, and the gateway reads again. */
  const letGo = async () => sandbox.control('PUT', '/state', await sandbox.control<object>('GET', '/state'));
  const isRefused = ({ status, body }: { status: number; body: Record<string, unknown> }) =>
    expect([status, body]).toMatchObject([
      503,
      { code: 'dependency-unavailable', outcome: 'not_processed', retryable: true },
    ]);

  it('does not undo the edit of another process', async () => {
    await know({ memberEdit: 'clears' }, { memberEdit: 'clears' });
    await sandbox.fault({ operation: 'listMembers', times: 1, phase: 'after', action: { hang: true } });
    const earlier = patch(EDIT);
    await sandbox.untilSpoiled(1, earlier);
    await endLease();
    const body = { ...EDIT, ...KEPT, name: 'Dora Three', remark: 'moved' };
    expect((await replica.request('PATCH', DORA, { body })).status).toBe(204);
    await letGo();
    isRefused(await earlier);
    expect(await employee()).toMatchObject({ ...KEPT, name: 'Dora Three', remark: 'moved' });
  });

  it('does not change the rights either', async () => {
    await sandbox.fault({ operation: 'listAssetNums', times: 1, phase: 'after', action: { hang: true } });
    const set = gateway.request('PUT', `${DORA}/asset-nums`, { body: { assetNums: ['8000001009'] } });
    await sandbox.untilSpoiled(1, set);
    await endLease();
    await letGo();
    isRefused(await set);
    expect(await sandbox.journal('changePrivileges')).toEqual([]);
  });
});

it('edits go on while Redis is away', async () => {
  await know({ memberEdit: 'clears' }, { memberEdit: 'clears' });
  stack.redis().freeze();
  try {
    expect((await patch(EDIT)).status).toBe(204);
    expect(await employee()).toMatchObject({ ...KEPT, name: 'Dora Two' });
  } finally {
    stack.redis().thaw();
  }
  expect((await patch({ ...EDIT, name: 'Dora Three' })).status).toBe(204);
});
