import { describe, expect, it } from '@jest/globals';
import { type Envelope, useSandbox } from '../testing.ts';

const test = useSandbox();

function change(body: unknown, memberGlobalId = 'mem-harbour-dora'): Promise<Envelope> {
  return test.call('changePrivileges', { parameters: { memberGlobalId }, body });
}

async function assetNums(memberGlobalId = 'mem-harbour-dora'): Promise<string[]> {
  return (await test.member(memberGlobalId)).assetNums;
}

const assign = (...addAssets: unknown[]): object => ({ deleteAssets: [], addAssets });
const withdraw = (...deleteAssets: unknown[]): object => ({ deleteAssets, addAssets: [] });

describe('changePrivileges', () => {
  it('assigns and withdraws, as every list then shows, and accepts two empty arrays', async () => {
    const assigned = await change(assign('8000001009', '8000001001'));
    expect(assigned).toMatchObject({ status: 200, code: 0, data: null });
    expect(await assetNums()).toEqual(['8000001001', '8000001009']);
    expect(await test.asset('ast-1009')).toMatchObject({
      assignStatus: {
        assignStatus: 'assigned',
        assignMemberId: 'mem-harbour-dora',
        createTime: expect.stringMatching(/^\d{13}$/),
      },
    });
    expect((await change(withdraw('8000001009'))).code).toBe(0);
    expect((await change(assign())).code).toBe(0);
    expect(await assetNums()).toEqual(['8000001001']);
  });

  it('refuses to assign what is frozen or has expired, and names the reason', async () => {
    const refusedWith = async (changes: object): Promise<unknown> => {
      await test.control('PATCH', '/state/assets/ast-1009', changes);
      const { code, text } = await change(assign('8000001001', '8000001009'));
      return [code, JSON.parse(text).cause];
    };
    expect(await refusedWith({ freezing: true })).toEqual(['60024', 'asset 8000001009 is frozen']);
    const over = { freezing: false, limitEndTime: Date.now() - 1 };
    expect(await refusedWith(over)).toEqual(['60024', 'asset 8000001009 has expired']);
    expect(await assetNums()).toEqual([]);
    expect(await refusedWith({ limitEndTime: Date.now() + 3_600_000 })).toEqual([0, undefined]);
  });

  it('moves an asset from one employee to another', async () => {
    expect((await change(withdraw('8000001002'), 'mem-harbour-anna')).code).toBe(0);
    expect((await change(assign('8000001002'))).code).toBe(0);
    expect([await assetNums(), await assetNums('mem-harbour-anna')]).toEqual([['8000001002'], []]);
  });

  it('brings lent rights back when it withdraws their asset, and frees the lock', async () => {
    expect((await change(withdraw('8000001012'), 'mem-harbour-chen')).code).toBe(0);
    const locks = (await test.call('listLentLocks')).data;
    expect(locks).toMatchObject([{ borrowedFlag: false }, { borrowedFlag: false }]);
  });

  it('finds an employee of two enterprises once one of them is left, and a deleted one no more', async () => {
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
    expect(await assetNums()).toEqual(['8000001009']);
  });
});
