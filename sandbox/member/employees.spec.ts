import { describe, expect, it } from '@jest/globals';
import { type Envelope, secret, useSandbox } from '../testing.ts';

const test = useSandbox();

const anna = { memberGlobalId: 'mem-harbour-anna' };

/** A read with these tokens. */
async function read(headers: Record<string, string>): Promise<unknown> {
  return (await test.call('listMembers', { query: { pageNum: '1', pageSize: '1' }, headers })).code;
}

describe('editMember', () => {
  const edit = (body: object): Promise<Envelope> =>
    test.call('editMember', { parameters: anna, body: { userName: 'anna', name: 'Anna', ...body } });

  it('changes the given fields, keeps the others, and removes what is given empty', async () => {
    const before = await test.member('mem-harbour-anna');
    const edited = await edit({ name: 'Anna L.', departmentId: 7 });
    expect(edited).toMatchObject({ status: 200, code: 0, data: null });
    expect(await test.member('mem-harbour-anna')).toEqual({
      ...before,
      name: 'Anna L.',
      departmentId: 7,
      departmentName: 'Department 7',
      updateTime: expect.any(Number),
    });
    await edit({ remark: '', passwordMobile: '' });
    expect(await test.member('mem-harbour-anna')).toMatchObject({ remark: null, passwordMobile: null });
  });

  it('renames the account', async () => {
    await edit({ userName: 'annika' });
    expect((await test.member('mem-harbour-anna')).userName).toBe('annika@harbour');
    expect([await test.logIn('annika@harbour'), await test.logIn('anna@harbour')]).toEqual([200, 400]);
  });
});

describe('resetPassword', () => {
  it("changes the password, and ends the employee's sessions and those of no other employee", async () => {
    const headers = await test.memberHeaders('anna@harbour');
    const logIn = { grant_type: 'password', username: 'anna@harbour' };
    const { body } = await test.token({ ...logIn, password: test.running.seedPassword });
    expect(await read(headers)).toBe(0);
    const password = secret();
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
  const remove = (parameters: Record<string, string> = anna): Promise<Envelope> =>
    test.call('deleteMember', { parameters });

  it('ends the employee, who is then not found, and whose account may be added again', async () => {
    const headers = await test.memberHeaders('anna@harbour');
    expect(await remove()).toMatchObject({ status: 200, code: 0, data: null });
    expect(await test.member('mem-harbour-anna')).toBeUndefined();
    expect((await remove()).code).toBe('60002');
    expect([await read(headers), await test.logIn('anna@harbour')]).toEqual(['60005', 400]);
    const userList = [{ userName: 'anna', password: secret(), name: 'Another Anna' }];
    expect((await test.call('addMembers', { body: { userList } })).code).toBe(0);
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

  it('leaves no trace, also in the order of the list, when a fault comes before it', async () => {
    const before = await test.members();
    await test.fault({ operation: 'deleteMember', action: { reset: 'before-headers' } });
    await expect(remove()).rejects.toThrow('fetch failed');
    expect(await test.members()).toEqual(before);
  });
});
