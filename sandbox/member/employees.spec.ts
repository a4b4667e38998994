import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Envelope, secret, PlatformClient } from '../testing.ts';

let test: PlatformClient;
beforeAll(async () => {
  test = await PlatformClient.start();
});
beforeEach(() => test.control('POST', '/reset'));
afterAll(() => test.close());

const anna = { enterpriseGlobalId: 'ent-harbour', memberGlobalId: 'mem-harbour-anna' };
const chen = { enterpriseGlobalId: 'ent-harbour', memberGlobalId: 'mem-harbour-chen' };

async function employees(query: Record<string, string> = {}): Promise<any[]> {
  const parameters = { enterpriseGlobalId: 'ent-harbour' };
  const { data } = await test.call('listMembers', {
    parameters,
    query: { pageNum: '1', pageSize: '100', ...query },
  });
  return (data as { list: unknown[] }).list;
}

async function employee(memberGlobalId: string): Promise<any> {
  return (await employees()).find(({ globalId }) => globalId === memberGlobalId);
}

function logIn(
  username: string,
  password: string,
): Promise<{ status: number; body: Record<string, unknown> }> {
  return test.token({ grant_type: 'password', username, password });
}

/** A read as that user, with the tokens of the user's first login. */
async function read(headers: Record<string, string>): Promise<Envelope> {
  const query = { pageNum: '1', pageSize: '1' };
  return test.call('listMembers', { parameters: { enterpriseGlobalId: 'ent-harbour' }, query, headers });
}

describe('editMember', () => {
  const edit = (body: unknown, parameters = anna): Promise<Envelope> =>
    test.call('editMember', { parameters, body });

  it('changes the given fields and keeps the others', async () => {
    const before = await employee('mem-harbour-anna');
    expect(await edit({ userName: 'anna', name: 'Anna L.', departmentId: 7 })).toMatchObject({
      status: 200,
      code: 0,
      data: null,
    });
    expect(await employee('mem-harbour-anna')).toEqual({
      ...before,
      name: 'Anna L.',
      departmentId: 7,
      departmentName: 'Department 7',
      updateTime: expect.any(Number),
    });
  });

  it('removes a remark and a mobile number that are given empty', async () => {
    await edit({ userName: 'anna', name: 'Anna', remark: '', passwordMobile: '' });
    expect(await employee('mem-harbour-anna')).toMatchObject({ remark: null, passwordMobile: null });
  });

  it('renames the account', async () => {
    await edit({ userName: 'annika', name: 'Anna' });
    expect((await employee('mem-harbour-anna')).userName).toBe('annika@harbour');
    expect((await logIn('annika@harbour', test.running.seedPassword)).status).toBe(200);
    expect((await logIn('anna@harbour', test.running.seedPassword)).status).toBe(400);
  });

  it.each([
    ['40000', {}],
    ['40000', { userName: '', name: 'Anna' }],
    ['40000', { userName: 'anna', name: '' }],
    ['40000', { userName: 'anna', name: 'Anna', password: 'x' }],
    ['10003', { userName: 'an-na', name: 'Anna' }],
    ['10003', { userName: 'bo', name: 'Anna' }],
    ['30002', { userName: 'anna', name: 'x'.repeat(31) }],
    ['30002', { userName: 'a'.repeat(55), name: 'Anna' }],
    ['30003', { userName: 'anna', name: 'Anna', remark: 'x'.repeat(201) }],
    ['10004', { userName: 'anna', name: 'Anna', passwordMobile: 'x' }],
    ['40009', { userName: 'anna', name: 'Anna', departmentId: '' }],
  ])('refuses with %s the body %j', async (code, body) => {
    expect(await edit(body)).toMatchObject({ status: 299, code });
  });

  it('finds employees in their own enterprise only', async () => {
    const body = { userName: 'anna', name: 'Anna' };
    expect((await edit(body, { ...anna, memberGlobalId: 'mem-0' })).code).toBe('60002');
    expect((await edit(body, { ...anna, enterpriseGlobalId: 'ent-meridian' })).code).toBe('60002');
  });
});

describe('resetPassword', () => {
  const reset = (password: unknown, parameters = anna): Promise<Envelope> =>
    test.call('resetPassword', { parameters, body: { password } });

  it('changes the password for login', async () => {
    const password = secret();
    expect(await reset(password)).toMatchObject({ status: 200, code: 0, data: null });
    expect((await logIn('anna@harbour', password)).status).toBe(200);
    expect((await logIn('anna@harbour', test.running.seedPassword)).status).toBe(400);
  });

  it("ends the employee's sessions and those of no other employee", async () => {
    const headers = await test.memberHeaders('anna@harbour');
    const { body } = await logIn('anna@harbour', test.running.seedPassword);
    expect((await read(headers)).code).toBe(0);
    const password = secret();
    await reset(password);
    expect((await read(headers)).code).toBe('60005');
    const refresh = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) };
    expect((await test.token(refresh)).body['error']).toBe('invalid_grant');
    expect((await read(await test.memberHeaders())).code).toBe(0);
    const userToken = String((await logIn('anna@harbour', password)).body['access_token']);
    expect((await read({ ...headers, userToken })).code).toBe(0);
    await test.control('POST', '/reset');
    expect((await read(headers)).code).toBe(0);
    expect((await read({ ...headers, userToken })).code).toBe(0);
  });

  it('leaves sessions alone when the control side changes a password', async () => {
    const headers = await test.memberHeaders('anna@harbour');
    await test.control('PUT', '/users', { username: 'anna@harbour', password: secret() });
    expect((await read(headers)).code).toBe(0);
  });

  it.each([
    ['40001', ''],
    ['40001', undefined],
    ['50003', 'x'.repeat(5)],
    ['50003', 'x'.repeat(33)],
  ])('refuses with %s the password %j', async (code, password) => {
    expect((await reset(password)).code).toBe(code);
  });

  it('needs an employee and a body', async () => {
    expect((await reset(secret(), { ...anna, memberGlobalId: 'mem-0' })).code).toBe('60002');
    expect((await test.call('resetPassword', { parameters: anna })).code).toBe('40000');
    expect((await test.call('resetPassword', { parameters: anna, body: [] })).code).toBe('40000');
  });
});

describe('deleteMember', () => {
  const remove = (parameters = anna): Promise<Envelope> => test.call('deleteMember', { parameters });

  it('ends the employee, who is then not found', async () => {
    const headers = await test.memberHeaders('anna@harbour');
    expect(await remove()).toMatchObject({ status: 200, code: 0, data: null });
    expect(await employee('mem-harbour-anna')).toBeUndefined();
    expect((await remove()).code).toBe('60002');
    expect((await read(headers)).code).toBe('60005');
    expect((await logIn('anna@harbour', test.running.seedPassword)).status).toBe(400);
  });

  it('withdraws assigned assets and frees lent locks', async () => {
    await remove(chen);
    const parameters = { enterpriseGlobalId: 'ent-harbour' };
    const numbers = (await test.call('listAssetNums', { parameters })).data as { assetNum: string }[];
    for (const assetNum of ['8000001012', '8000001007']) {
      expect(numbers.find((one) => one.assetNum === assetNum)).toMatchObject({
        cloudAccountGlobalId: null,
        borrowedFlag: false,
      });
    }
    const asset = (await test.assets()).find(({ id }) => id === 'ast-1012');
    expect(asset).toMatchObject({ assignStatus: { assignStatus: 'unassigned', assignMemberId: null } });
  });

  it('lets the account be added again', async () => {
    await remove();
    const userList = [{ userName: 'anna', password: secret(), name: 'Another Anna' }];
    const { code } = await test.call('addMembers', {
      parameters: { enterpriseGlobalId: 'ent-harbour' },
      body: { userList },
    });
    expect(code).toBe(0);
  });

  it('ends only the record of the enterprise that the path names', async () => {
    const petra = { enterpriseGlobalId: 'ent-harbour', memberGlobalId: 'mem-shared-petra' };
    expect((await remove(petra)).code).toBe(0);
    expect((await remove(petra)).code).toBe('60002');
    expect((await remove({ ...petra, enterpriseGlobalId: 'ent-meridian' })).code).toBe(0);
  });

  it('leaves no trace, also in the order of the list, when a fault comes before it', async () => {
    const before = await employees();
    await test.fault({ operation: 'deleteMember', action: { reset: 'before-headers' } });
    await expect(remove()).rejects.toThrow('fetch failed');
    expect(await employees()).toEqual(before);
  });
});
