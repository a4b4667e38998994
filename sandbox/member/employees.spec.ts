import { describe, expect, it } from '@jest/globals';
import { type Envelope, secret, useSandbox } from '../testing.ts';
import { pageOf } from './page.ts';

const test = useSandbox();

const password = secret();
const mia = { userName: 'mia', password, name: 'Mia Ramos' };
const anna = { memberGlobalId: 'mem-harbour-anna' };

function add(userList: unknown, enterpriseGlobalId = 'ent-harbour'): Promise<Envelope> {
  return test.call('addMembers', { parameters: { enterpriseGlobalId }, body: { userList } });
}

const many = (count: number): object[] =>
  Array.from({ length: count }, (_, place) => ({ ...mia, userName: `member${place}` }));

const remove = (parameters: Record<string, string> = anna): Promise<Envelope> =>
  test.call('deleteMember', { parameters });

/** Makes a read with these tokens. */
async function read(headers: Record<string, string>): Promise<unknown> {
  return (await test.call('listMembers', { query: { pageNum: '1', pageSize: '1' }, headers })).code;
}

describe('addMembers', () => {
  it('makes employees with exact ids and the suffix of the enterprise, who can log in at once', async () => {
    const { text } = await add([{ ...mia, departmentId: 7 }]);
    expect(text).toContain('"id":9607199254740993,');
    expect(text).toContain('"departmentId":7,"departmentName":"Department 7"');
    expect(text).not.toContain(password);
    expect([await test.logIn('mia@harbour', password), await test.logIn('mia@harbour')]).toEqual([200, 400]);
  });

  it('accepts values and a list just within the bounds, counted in characters', async () => {
    const bounds = { name: '🙂'.repeat(30), remark: '値'.repeat(200) };
    const rows = [
      { ...mia, ...bounds, userName: 'a'.repeat(54), password: 'x'.repeat(6) },
      { ...mia, userName: 'b', password: 'x'.repeat(32), passwordMobile: '+4790000000', remark: '' },
    ];
    const { code, data } = await add([...rows, ...many(98)]);
    expect([code, data.succeeded.length]).toEqual([0, 100]);
  });

  it('shapes both lists by the profile also where a row has failed', async () => {
    await test.control('PUT', '/profile', { emptyLists: 'null', flags: 'number' });
    const { code, data } = await add([mia, { ...mia, userName: 'anna' }]);
    expect([code, data.succeeded[0].deleted]).toEqual(['60027', 0]);
    const all = await add([{ ...mia, userName: 'anna' }]);
    expect([all.code, all.data.succeeded]).toEqual(['60027', null]);
  });

  it('keeps a trial within its limit, and counts a deleted employee no longer', async () => {
    expect((await add(many(3), 'ent-meridian')).code).toBe('60009');
    expect((await add(many(2), 'ent-meridian')).code).toBe(0);
    expect((await add([mia], 'ent-meridian')).code).toBe('60009');
    await remove({ enterpriseGlobalId: 'ent-meridian', memberGlobalId: 'mem-meridian-noor' });
    expect((await add([mia], 'ent-meridian')).code).toBe(0);
  });
});

describe('listMembers', () => {
  it('refuses or cuts pages beyond the largest, as its profile says, until a reset', async () => {
    const asked = { query: { pageNum: '2', pageSize: '100' } };
    await test.control('PUT', '/profile', { maxPageSize: 4 });
    expect(await test.call('listMembers', asked)).toMatchObject({ code: '40000' });
    await test.control('PUT', '/profile', { largerPages: 'cut' });
    const { data } = await test.call('listMembers', asked);
    expect(data).toMatchObject({ pageNum: 2, pageSize: 4, total: 6 });
    expect(data.list.map(({ userName }: any) => userName)).toEqual(['dora@harbour', 'petra@harbour']);
    await test.control('POST', '/reset');
    expect((await test.call('listMembers', asked)).data).toMatchObject({ pageSize: 100, size: 0 });
  });

  it.each<[string, Record<string, string>, string[]]>([
    ['ent-harbour', { keyword: 'LINDQ' }, ['anna@harbour']],
    ['ent-harbour', { departmentId: '10', keyword: 'wei' }, ['chen@harbour']],
    ['ent-harbour', { departmentId: '9007199254741000' }, []],
    ['ent-0', {}, []],
  ])('of %s with %j shows %j', async (enterprise, query, accounts) => {
    const found = await test.members(query, enterprise);
    expect(found.map(({ userName }) => userName)).toEqual(accounts);
  });

  it.each([
    [1, { navigatepageNums: [1, 2, 3, 4, 5, 6, 7, 8], firstPage: 1, lastPage: 8 }],
    [1, { isFirstPage: true, hasPreviousPage: false, prePage: 0, nextPage: 2 }],
    [10, { navigatepageNums: [6, 7, 8, 9, 10, 11, 12, 13], firstPage: 6 }],
    [20, { isLastPage: true, hasNextPage: false, prePage: 19, nextPage: 0, startRow: 191, endRow: 200 }],
    [21, { list: [], size: 0, startRow: 0, endRow: 0, total: 200, isLastPage: false }],
  ])('shows on page %i of 20 %j', (pageNum, shown) => {
    const rows = Array.from({ length: 200 }, (_, place) => place);
    expect(pageOf(rows, pageNum, 10, (row) => row)).toMatchObject(shown);
  });
});

describe('editMember', () => {
  it('changes the given fields, the account too, keeps the others, and removes what is given empty', async () => {
    const edit = (body: object) =>
      test.call('editMember', { parameters: anna, body: { userName: 'anna', name: 'Anna L.', ...body } });
    const before = await test.member('mem-harbour-anna');
    expect((await edit({ departmentId: 7 })).code).toBe(0);
    expect(await test.member('mem-harbour-anna')).toEqual({
      ...before,
      name: 'Anna L.',
      departmentId: 7,
      departmentName: 'Department 7',
      updateTime: expect.any(Number),
    });
    await edit({ userName: 'annika', remark: '', passwordMobile: '' });
    const after = { userName: 'annika@harbour', remark: null, passwordMobile: null };
    expect(await test.member('mem-harbour-anna')).toMatchObject(after);
    expect([await test.logIn('annika@harbour'), await test.logIn('anna@harbour')]).toEqual([200, 400]);
  });
});

describe('resetPassword', () => {
  it("changes the password, and ends the employee's sessions and those of no other employee", async () => {
    const headers = await test.memberHeaders('anna@harbour');
    const logIn = { grant_type: 'password', username: 'anna@harbour' };
    const { body } = await test.token({ ...logIn, password: test.running.seedPassword });
    expect(await read(headers)).toBe(0);
    const reset = await test.call('resetPassword', { parameters: anna, body: { password } });
    expect(reset).toMatchObject({ status: 200, code: 0, data: null });
    expect(await read(headers)).toBe('60005');
    const refresh = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) };
    expect((await test.token(refresh)).body['error']).toBe('invalid_grant');
    expect(await read(await test.memberHeaders())).toBe(0);
    expect(await test.logIn('anna@harbour')).toBe(400);
    const userToken = String((await test.token({ ...logIn, password })).body['access_token']);
    expect(await read({ ...headers, userToken })).toBe(0);
    await test.control('POST', '/reset');
    expect([await read(headers), await read({ ...headers, userToken })]).toEqual([0, 0]);
  });

  it('leaves sessions alone when the control side changes a password', async () => {
    const headers = await test.memberHeaders('anna@harbour');
    await test.control('PUT', '/users', { username: 'anna@harbour', password: secret() });
    expect(await read(headers)).toBe(0);
  });
});

describe('deleteMember', () => {
  it('ends the employee and the sessions, and the account may be added again', async () => {
    const headers = await test.memberHeaders('anna@harbour');
    expect((await remove()).code).toBe(0);
    expect((await remove()).code).toBe('60002');
    expect([await read(headers), await test.logIn('anna@harbour')]).toEqual(['60005', 400]);
    expect((await add([{ ...mia, userName: 'anna' }])).code).toBe(0);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a deleted employee', () => remove()],
    [
      'an employee who has another account now',
      () => test.call('editMember', { parameters: anna, body: { userName: 'annika', name: 'Anna' } }),
    ],
    [
      'a deleted employee whose password was reset',
      async () => {
        await test.call('resetPassword', { parameters: anna, body: { password } });
        await remove();
      },
    ],
  ])('the sessions of %s are not those of the next one with that account', async (_, leave) => {
    const before = await test.memberHeaders('anna@harbour');
    const logIn = { grant_type: 'password', username: 'anna@harbour', password: test.running.seedPassword };
    const refresh_token = String((await test.token(logIn)).body['refresh_token']);
    await leave();
    expect((await add([{ ...mia, userName: 'anna' }])).code).toBe(0);
    expect(await read(before)).toBe('60005');
    expect((await test.token({ grant_type: 'refresh_token', refresh_token })).body['error']).toBe(
      'invalid_grant',
    );
    expect(await test.logIn('anna@harbour', password)).toBe(200);
  });

  it('withdraws assigned assets and frees lent locks', async () => {
    await remove({ memberGlobalId: 'mem-harbour-chen' });
    for (const assetNum of ['8000001012', '8000001007']) {
      const free = { cloudAccountGlobalId: null, borrowedFlag: false };
      expect(await test.assetNum(assetNum)).toMatchObject(free);
    }
    const assignStatus = { assignStatus: 'unassigned', assignMemberId: null };
    expect(await test.asset('ast-1012')).toMatchObject({ assignStatus });
  });

  it('ends only the record of the enterprise that the path names', async () => {
    const petra = { memberGlobalId: 'mem-shared-petra' };
    expect((await remove(petra)).code).toBe(0);
    expect((await remove(petra)).code).toBe('60002');
    expect((await remove({ ...petra, enterpriseGlobalId: 'ent-meridian' })).code).toBe(0);
  });
});
