import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Envelope, secret, PlatformClient } from '../testing.ts';

let test: PlatformClient;
beforeAll(async () => {
  test = await PlatformClient.start();
});
beforeEach(() => test.control('POST', '/reset'));
afterAll(() => test.close());

const password = secret();
const mia = { userName: 'mia', password, name: 'Mia Ramos' };

function add(userList: unknown, enterpriseGlobalId = 'ent-harbour', sandbox = test): Promise<Envelope> {
  return sandbox.call('addMembers', { parameters: { enterpriseGlobalId }, body: { userList } });
}

async function accounts(enterpriseGlobalId = 'ent-harbour', sandbox = test): Promise<string[]> {
  const query = { pageNum: '1', pageSize: '1000' };
  const { data } = await sandbox.call('listMembers', { parameters: { enterpriseGlobalId }, query });
  return (data as { list: { userName: string }[] }).list.map(({ userName }) => userName);
}

function many(count: number): object[] {
  return Array.from({ length: count }, (_, place) => ({ ...mia, userName: `member${place}` }));
}

describe('addMembers', () => {
  it('makes employees of the enterprise, with its suffix after their accounts', async () => {
    const full = { ...mia, departmentId: 10, remark: 'new', passwordMobile: '13800000009' };
    const { status, code, message, data, text } = await add([full, { ...mia, userName: 'max' }]);
    expect([status, code, message]).toEqual([200, 0, 'success']);
    expect(data).toEqual({
      succeeded: [
        {
          id: 9607199254740993n,
          userId: 9707199254740993n,
          globalId: 'mem-9607199254740993',
          enterpriseId: 1001,
          departmentId: 10,
          departmentName: 'Design',
          userName: 'mia@harbour',
          name: 'Mia Ramos',
          remark: 'new',
          deleted: false,
          updateTime: expect.any(Number),
          createTime: expect.any(Number),
        },
        expect.objectContaining({
          id: 9607199254740995n,
          userName: 'max@harbour',
          departmentId: null,
          departmentName: null,
          remark: null,
        }),
      ],
      failed: [],
    });
    expect(text).toContain('"id":9607199254740993,');
    expect(text).not.toContain(password);
    expect((await accounts()).slice(-2)).toEqual(['mia@harbour', 'max@harbour']);
  });

  it('lets them log in with their passwords at once', async () => {
    await add([mia]);
    const logIn = { grant_type: 'password', username: 'mia@harbour' };
    expect((await test.token({ ...logIn, password })).status).toBe(200);
    expect((await test.token({ ...logIn, password: secret() })).status).toBe(400);
  });

  it('accepts 100 employees and refuses 101', async () => {
    expect(await add(many(101))).toMatchObject({ status: 299, code: '60013' });
    const { data } = await add(many(100));
    expect((data as { succeeded: unknown[] }).succeeded).toHaveLength(100);
  });

  it('responds with 60027 and both lists where accounts are taken, in the enterprise or in the list', async () => {
    const answer = await add([{ ...mia, userName: 'anna' }, mia, { ...mia, name: 'Mia the second' }]);
    expect(answer).toMatchObject({
      status: 299,
      code: '60027',
      message: 'some employees failed to be added',
    });
    expect(answer.data).toEqual({
      succeeded: [expect.objectContaining({ userName: 'mia@harbour', name: 'Mia Ramos' })],
      failed: [
        { userName: 'anna', message: 'the account exists already' },
        { userName: 'mia', message: 'the account exists already' },
      ],
    });
    expect((await accounts()).at(-1)).toBe('mia@harbour');
    const { body } = await test.control('GET', '/journal?operation=addMembers');
    expect(body.entries).toMatchObject([{ status: 299, code: '60027', committed: true }]);
  });

  it('responds with 60027 and adds no employee where all accounts are taken', async () => {
    const answer = await add([{ ...mia, userName: 'anna' }]);
    expect(answer).toMatchObject({ code: '60027', data: { succeeded: [], failed: [{ userName: 'anna' }] } });
    const { body } = await test.control('GET', '/journal?operation=addMembers');
    expect(body.entries).toMatchObject([{ committed: false }]);
  });

  it('accepts the same account in another enterprise', async () => {
    expect((await add([{ ...mia, userName: 'anna' }], 'ent-meridian')).code).toBe(0);
  });

  it('accepts a department without a name, exact beyond 2^53', async () => {
    const body = `{"userList":[{"userName":"mia","password":"${password}","name":"Mia","departmentId":9007199254740993}]}`;
    const { text } = await test.call('addMembers', {
      parameters: { enterpriseGlobalId: 'ent-harbour' },
      body,
    });
    expect(text).toContain('"departmentId":9007199254740993,"departmentName":"Department 9007199254740993"');
  });

  it.each([
    ['40008', { userName: '' }],
    ['40008', { userName: null }],
    ['10003', { userName: 'mia@harbour' }],
    ['10003', { userName: 'mia ramos' }],
    ['10003', { userName: 'zoë' }],
    ['10003', { userName: 7 }],
    ['30002', { userName: 'a'.repeat(55) }],
    ['40001', { password: '' }],
    ['40001', { password: undefined }],
    ['50003', { password: 'x'.repeat(5) }],
    ['50003', { password: 'x'.repeat(33) }],
    ['40022', { name: '' }],
    ['40022', { name: undefined }],
    ['30002', { name: 'x'.repeat(31) }],
    ['30003', { remark: 'x'.repeat(201) }],
    ['10004', { passwordMobile: '1380000000x' }],
    ['10004', { passwordMobile: '12345' }],
    ['40009', { departmentId: '' }],
    ['40009', { departmentId: '10' }],
    ['40009', { departmentId: 1.5 }],
    ['40000', { nickName: 'm' }],
  ])('refuses the whole call with %s for a row with %j', async (code, wrong) => {
    expect(await add([mia, { ...mia, userName: 'max', ...wrong }])).toMatchObject({ status: 299, code });
    expect(await accounts()).toHaveLength(6);
  });

  it('accepts values just within the bounds, counted in characters', async () => {
    const bounds = { name: '🙂'.repeat(30), remark: '値'.repeat(200) };
    const rows = [
      { ...mia, ...bounds, userName: 'a'.repeat(54), password: 'x'.repeat(6) },
      { ...mia, userName: 'b', password: 'x'.repeat(32), passwordMobile: '+4790000000', remark: '' },
    ];
    expect((await add(rows)).code).toBe(0);
  });

  it.each([
    ['40000', {}],
    ['40000', { userList: null }],
    ['40000', { userList: 'mia' }],
    ['40000', { userList: ['mia'] }],
    ['40000', { userList: [mia], more: 1 }],
    ['40000', []],
    ['40021', { userList: [] }],
  ])('refuses with %s the body %j', async (code, body) => {
    const parameters = { enterpriseGlobalId: 'ent-harbour' };
    expect((await test.call('addMembers', { parameters, body })).code).toBe(code);
  });

  it.each(['ent-tidewater', 'ent-0'])('finds no account suffix at %s', async (enterpriseGlobalId) => {
    expect((await add([mia], enterpriseGlobalId)).code).toBe('40006');
  });

  it('keeps a trial within its limit, and counts a deleted employee no longer', async () => {
    expect(await add(many(3), 'ent-meridian')).toMatchObject({
      code: '60009',
      message: 'the enterprise account may create only 5 trial member accounts',
    });
    expect((await add(many(2), 'ent-meridian')).code).toBe(0);
    expect((await add([mia], 'ent-meridian')).code).toBe('60009');
    const parameters = { enterpriseGlobalId: 'ent-meridian', memberGlobalId: 'mem-meridian-noor' };
    await test.call('deleteMember', { parameters });
    expect((await add([mia], 'ent-meridian')).code).toBe(0);
  });

  it('is not carried out with a fault before it, and is with a fault after it', async () => {
    await test.fault({ operation: 'addMembers', times: 1, action: { code: '80001' } });
    expect((await add([mia])).code).toBe('80001');
    expect(await accounts()).toHaveLength(6);
    await test.fault({ operation: 'addMembers', times: 1, phase: 'after', action: { code: '500' } });
    expect((await add([mia, { ...mia, userName: 'anna' }])).code).toBe('500');
    expect((await accounts()).at(-1)).toBe('mia@harbour');
    expect((await add([mia])).code).toBe('60027');
  });
});

describe('options', () => {
  it('make a wrong field fail its row only', async () => {
    const other = await PlatformClient.start({ rowFaults: 'row' });
    const answer = await add(
      [mia, { ...mia, userName: 'm-2' }, { ...mia, userName: null }],
      'ent-harbour',
      other,
    );
    expect(answer).toMatchObject({
      code: '60027',
      data: {
        succeeded: [{ userName: 'mia@harbour' }],
        failed: [
          { userName: 'm-2', message: 'account may contain only letters and digits' },
          { userName: '', message: 'account empty' },
        ],
      },
    });
    await other.close();
  });

  it('set the bounds of a password, which the message names', async () => {
    const other = await PlatformClient.start({ passwordLength: { min: 20, max: 40 } });
    expect(await add([{ ...mia, password: 'x'.repeat(19) }], 'ent-harbour', other)).toMatchObject({
      code: '50003',
      message: 'password length must lie between 20 and 40',
    });
    await other.close();
  });

  it('make ids strings, and refusals travel as 200', async () => {
    const other = await PlatformClient.start({ memberIdsAs: 'string', refusals: { status: 200 } });
    const { text, status } = await add([mia, mia], 'ent-harbour', other);
    expect(text).toContain('"id":"9607199254740993","userId":"9707199254740993"');
    expect([status, text]).toEqual([200, expect.stringContaining('"code":"60027"')]);
    await other.close();
  });
});

it('lists and adds fast enough to measure a gateway with', async () => {
  for (let i = 0; i < 20; i++) {
    const rows = many(100).map((row, place) => ({ ...row, userName: `m${i}x${place}` }));
    expect((await add(rows)).code).toBe(0);
  }
  const times: number[] = [];
  for (let i = 0; i < 20; i++) {
    const before = process.cpuUsage();
    const query = { pageNum: '3', pageSize: '200' };
    await test.call('listMembers', { parameters: { enterpriseGlobalId: 'ent-harbour' }, query });
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1_000);
  }
  // Processor time of the fastest of twenty, so that a busy machine does not decide; one takes about two milliseconds with the client's
  // part.
  expect(Math.min(...times)).toBeLessThan(25);
});
