import { describe, expect, it } from '@jest/globals';
import { type Envelope, useSandbox } from '../testing.ts';
import { pageOf } from './page.ts';

const test = useSandbox();

function list(query: Record<string, string>, enterpriseGlobalId = 'ent-harbour'): Promise<Envelope> {
  return test.call('listMembers', { parameters: { enterpriseGlobalId }, query });
}

describe('listMembers', () => {
  it('shows employees as section 2.10 has them, ids as bare numbers', async () => {
    const { data, text } = await list({ pageNum: '1', pageSize: '100' });
    expect(data.list[1]).toEqual({
      id: 3002,
      userId: 4002,
      globalId: 'mem-harbour-anna',
      enterpriseId: 1001,
      departmentId: 10,
      departmentName: 'Design',
      userName: 'anna@harbour',
      passwordMobile: '13800000002',
      name: 'Anna Lindqvist',
      assetNums: ['8000001002'],
      borrowNum: null,
      onlineFlag: true,
      remark: 'on site',
      deleted: false,
      updateTime: 1767600000000,
      createTime: 1767600000000,
      boundUserInfo: null,
    });
    expect(text).toContain('"id":9007199254740997,"userId":9007199254740999,');
    expect(text).toContain('"departmentId":9007199254741001,"departmentName":"Surveying"');
  });

  it('refuses or cuts pages beyond the largest, as its profile says, until a reset', async () => {
    const asked = { pageNum: '2', pageSize: '100' };
    await test.control('PUT', '/profile', { maxPageSize: 4 });
    expect(await list(asked)).toMatchObject({ code: '40000' });
    await test.control('PUT', '/profile', { largerPages: 'cut' });
    const { list: items, ...page } = (await list(asked)).data;
    expect(items.map(({ userName }: any) => userName)).toEqual(['dora@harbour', 'petra@harbour']);
    expect(page).toEqual({
      pageNum: 2,
      pageSize: 4,
      size: 2,
      orderBy: null,
      startRow: 5,
      endRow: 6,
      total: 6,
      pages: 2,
      firstPage: 1,
      prePage: 1,
      nextPage: 0,
      lastPage: 2,
      isFirstPage: false,
      isLastPage: true,
      hasPreviousPage: true,
      hasNextPage: false,
      navigatePages: 8,
      navigatepageNums: [1, 2],
    });
    await test.control('POST', '/reset');
    expect((await list(asked)).data).toMatchObject({ pageSize: 100, size: 0 });
  });

  it.each<[string, Record<string, string>, string[]]>([
    ['ent-harbour', { keyword: 'LINDQ' }, ['anna@harbour']],
    ['ent-harbour', { keyword: 'chen@har' }, ['chen@harbour']],
    ['ent-harbour', { keyword: 'nobody' }, []],
    ['ent-harbour', { keyword: '', departmentId: '10' }, ['anna@harbour', 'chen@harbour']],
    ['ent-harbour', { departmentId: '10', keyword: 'wei' }, ['chen@harbour']],
    ['ent-harbour', { departmentId: '9007199254741001' }, ['bo@harbour']],
    ['ent-harbour', { departmentId: '9007199254741000' }, []],
    ['ent-meridian', {}, ['admin@meridian', 'noor@meridian', 'petra@meridian']],
    ['ent-0', {}, []],
  ])('of %s with %j shows %j', async (enterprise, query, accounts) => {
    const found = await test.members(query, enterprise);
    expect(found.map(({ userName }) => userName)).toEqual(accounts);
  });

  it('shows the members of an enterprise that the order module made, and they can log in', async () => {
    const body = { crmCustomerId: 'CRM-9', customerName: 'Ninth' };
    const { enterpriseGlobalId } = (await test.call('createEnterprise', { body })).data;
    const found = await test.members({}, enterpriseGlobalId);
    expect(found.map(({ userName }) => userName)).toEqual(['admin@ent0001', 'user@ent0001']);
    const parameters = { enterpriseGlobalId };
    const numbers = await test.call('listAssetNums', { parameters, user: 'user@ent0001' });
    expect(numbers).toMatchObject({ code: 0, data: [] });
  });
});

describe('pageOf', () => {
  const rows = Array.from({ length: 200 }, (_, place) => place);

  it.each([
    [1, { navigatepageNums: [1, 2, 3, 4, 5, 6, 7, 8], firstPage: 1, lastPage: 8 }],
    [1, { isFirstPage: true, hasPreviousPage: false, prePage: 0, nextPage: 2 }],
    [10, { navigatepageNums: [6, 7, 8, 9, 10, 11, 12, 13], firstPage: 6 }],
    [20, { navigatepageNums: [13, 14, 15, 16, 17, 18, 19, 20], lastPage: 20 }],
    [20, { isLastPage: true, hasNextPage: false, prePage: 19, nextPage: 0 }],
    [20, { startRow: 191, endRow: 200, size: 10, pages: 20 }],
    [21, { list: [], size: 0, startRow: 0, endRow: 0, total: 200, isLastPage: false }],
  ])('shows on page %i of 20 %j', (pageNum, shown) => {
    expect(pageOf(rows, pageNum, 10, (row) => row)).toMatchObject(shown);
  });

  it('is first and last without rows', () => {
    const empty = { pages: 0, isFirstPage: true, isLastPage: true, navigatepageNums: [] };
    expect(pageOf([], 1, 10, (row) => row)).toMatchObject(empty);
  });
});
