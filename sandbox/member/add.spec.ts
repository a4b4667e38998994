import { describe, expect, it } from '@jest/globals';
import { type Envelope, secret, useSandbox } from '../testing.ts';

const test = useSandbox();

const password = secret();
const mia = { userName: 'mia', password, name: 'Mia Ramos' };

function add(userList: unknown, enterpriseGlobalId = 'ent-harbour'): Promise<Envelope> {
  return test.call('addMembers', { parameters: { enterpriseGlobalId }, body: { userList } });
}

async function accounts(): Promise<string[]> {
  return (await test.members()).map(({ userName }) => userName);
}

function many(count: number): object[] {
  return Array.from({ length: count }, (_, place) => ({ ...mia, userName: `member${place}` }));
}

describe('addMembers', () => {
  it('makes employees of the enterprise, with its suffix after their accounts, who can log in at once', async () => {
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
        expect.objectContaining({ userName: 'max@harbour', departmentId: null, remark: null }),
      ],
      failed: [],
    });
    expect(text).toContain('"id":9607199254740993,');
    expect(text).not.toContain(password);
    expect((await accounts()).slice(-2)).toEqual(['mia@harbour', 'max@harbour']);
    expect([await test.logIn('mia@harbour', password), await test.logIn('mia@harbour')]).toEqual([200, 400]);
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
    expect(await add([mia])).toMatchObject({ code: '60027', data: { succeeded: [] } });
    expect((await add([mia], 'ent-meridian')).code).toBe(0);
    const committed = (await test.journal('?operation=addMembers')).map((entry) => entry.committed);
    expect(committed).toEqual([true, false, true]);
  });

  it('accepts a department without a name, exact beyond 2^53', async () => {
    const body = `{"userList":[{"userName":"mia","password":"${password}","name":"Mia","departmentId":9007199254740993}]}`;
    const { text } = await test.call('addMembers', { body });
    expect(text).toContain('"departmentId":9007199254740993,"departmentName":"Department 9007199254740993"');
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

  it('keeps a trial within its limit, and counts a deleted employee no longer', async () => {
    const message = 'the enterprise account may create only 5 trial member accounts';
    expect(await add(many(3), 'ent-meridian')).toMatchObject({ code: '60009', message });
    expect((await add(many(2), 'ent-meridian')).code).toBe(0);
    expect((await add([mia], 'ent-meridian')).code).toBe('60009');
    const parameters = { enterpriseGlobalId: 'ent-meridian', memberGlobalId: 'mem-meridian-noor' };
    await test.call('deleteMember', { parameters });
    expect((await add([mia], 'ent-meridian')).code).toBe(0);
  });
});
