import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Envelope, PlatformClient } from '../testing.ts';

let test: PlatformClient;
beforeAll(async () => {
  test = await PlatformClient.start();
});
beforeEach(() => test.control('POST', '/reset'));
afterAll(() => test.close());

function change(body: unknown, memberGlobalId = 'mem-harbour-dora'): Promise<Envelope> {
  return test.call('changePrivileges', { parameters: { memberGlobalId }, body });
}

async function assetNums(memberGlobalId: string): Promise<string[]> {
  const parameters = { enterpriseGlobalId: 'ent-harbour' };
  const query = { pageNum: '1', pageSize: '100' };
  const { list } = (await test.call('listMembers', { parameters, query })).data as { list: any[] };
  return list.find(({ globalId }) => globalId === memberGlobalId).assetNums;
}

const assign = (...addAssets: unknown[]): object => ({ deleteAssets: [], addAssets });
const withdraw = (...deleteAssets: unknown[]): object => ({ deleteAssets, addAssets: [] });

describe('changePrivileges', () => {
  it('assigns and withdraws, as every list then shows', async () => {
    expect(await change(assign('8000001009', '8000001001'))).toMatchObject({
      status: 200,
      code: 0,
      data: null,
    });
    expect(await assetNums('mem-harbour-dora')).toEqual(['8000001001', '8000001009']);
    const asset = (await test.assets()).find(({ id }) => id === 'ast-1009');
    expect(asset).toMatchObject({
      assignStatus: {
        assignStatus: 'assigned',
        assignMemberId: 'mem-harbour-dora',
        createTime: expect.stringMatching(/^\d{13}$/),
      },
    });
    const both = { deleteAssets: ['8000001009'], addAssets: [] };
    expect((await change(both)).code).toBe(0);
    expect(await assetNums('mem-harbour-dora')).toEqual(['8000001001']);
  });

  it('refuses to assign what is frozen, has expired or is not grantable, and names the reason', async () => {
    const refused = async (assetNum: string): Promise<unknown> => {
      const { status, code, text } = await change(assign('8000001001', assetNum));
      return [status, code, JSON.parse(text).cause];
    };
    expect(await refused('8000001003')).toEqual([299, '60024', 'asset 8000001003 is not grantable']);
    await test.control('PATCH', '/state/assets/ast-1009', { freezing: true });
    expect(await refused('8000001009')).toEqual([299, '60024', 'asset 8000001009 is frozen']);
    await test.control('PATCH', '/state/assets/ast-1009', { freezing: false, limitEndTime: Date.now() - 1 });
    expect(await refused('8000001009')).toEqual([299, '60024', 'asset 8000001009 has expired']);
    expect(await assetNums('mem-harbour-dora')).toEqual([]);
    await test.control('PATCH', '/state/assets/ast-1009', { limitEndTime: Date.now() + 3_600_000 });
    expect((await change(assign('8000001009'))).code).toBe(0);
  });

  it('moves an asset from one employee to another', async () => {
    expect((await change(withdraw('8000001002'), 'mem-harbour-anna')).code).toBe(0);
    expect((await change(assign('8000001002'))).code).toBe(0);
    expect(await assetNums('mem-harbour-dora')).toEqual(['8000001002']);
    expect(await assetNums('mem-harbour-anna')).toEqual([]);
  });

  it('accepts two empty arrays', async () => {
    expect((await change(assign())).code).toBe(0);
  });

  it('brings lent rights back when it withdraws their asset, and frees the lock', async () => {
    expect((await change(withdraw('8000001012'), 'mem-harbour-chen')).code).toBe(0);
    const parameters = { enterpriseGlobalId: 'ent-harbour' };
    const locks = (await test.call('listLentLocks', { parameters })).data;
    expect(locks).toMatchObject([{ borrowedFlag: false }, { borrowedFlag: false }]);
  });

  it.each([
    ['40000', { addAssets: ['8000001009'] }],
    ['40000', { deleteAssets: [] }],
    ['40000', { deleteAssets: [], addAssets: null }],
    ['40000', { deleteAssets: [], addAssets: '8000001009' }],
    ['40000', assign('')],
    ['40000', assign(8000001009)],
    ['40000', { ...assign(), assign: [] }],
    ['60024', assign('8999999999')],
    ['60024', withdraw('8999999999')],
    ['60024', withdraw('8000001002')],
    ['60024', assign('8000001006')],
    ['60025', assign('8000002001')],
    ['60025', withdraw('8000002002')],
    ['60028', assign('8000001002')],
    ['60028', assign('8000001009', '8000001009')],
  ])('refuses with %s the body %j, and changes nothing', async (code, body) => {
    await change(assign('8000001001'));
    expect(await change(body)).toMatchObject({ status: 299, code });
    expect(await assetNums('mem-harbour-dora')).toEqual(['8000001001']);
  });

  it('refuses a number that the employee has, and one that is both withdrawn and assigned', async () => {
    await change(assign('8000001001'));
    expect((await change(assign('8000001001'))).code).toBe('60028');
    const both = { deleteAssets: ['8000001001'], addAssets: ['8000001001'] };
    expect((await change(both)).code).toBe('60028');
  });

  it('changes nothing when one number is wrong', async () => {
    expect((await change(assign('8000001009', '8999999999'))).code).toBe('60024');
    expect(await assetNums('mem-harbour-dora')).toEqual([]);
  });

  it('finds no unknown or deleted employee, and refuses an employee of two enterprises', async () => {
    expect((await change(assign('8000001009'), 'mem-0')).code).toBe('60026');
    expect((await change(assign('8000001009'), 'mem-shared-petra')).code).toBe('60023');
    const petra = { enterpriseGlobalId: 'ent-meridian', memberGlobalId: 'mem-shared-petra' };
    await test.call('deleteMember', { parameters: petra });
    expect((await change(assign('8000001009'), 'mem-shared-petra')).code).toBe(0);
    await test.call('deleteMember', { parameters: { ...petra, enterpriseGlobalId: 'ent-harbour' } });
    expect((await change(assign('8000001001'), 'mem-shared-petra')).code).toBe('60026');
  });

  it('ends an assignment when an order revokes the asset', async () => {
    const item = { customerId: 'cus-harbour-default', orderType: 'delete_asset', licenseType: 'softkey' };
    await change(assign('8000001001', '8000001009'));
    await test.order([{ ...item, assets: [{ assetNos: ['8000001001'] }] }]);
    expect(await assetNums('mem-harbour-dora')).toEqual(['8000001009']);
  });
});
