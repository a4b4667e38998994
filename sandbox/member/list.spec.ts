import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Envelope, PlatformClient } from '../testing.ts';
import { pageOf } from './page.ts';

let test: PlatformClient;
beforeAll(async () => {
  test = await PlatformClient.start();
});
beforeEach(() => test.control('POST', '/reset'));
afterAll(() => test.close());

function list(query: Record<string, string>, enterpriseGlobalId = 'ent-harbour'): Promise<Envelope> {
  return test.call('listMembers', { parameters: { enterpriseGlobalId }, query });
}

async function accounts(query: Record<string, string>, enterpriseGlobalId?: string): Promise<string[]> {
  const { data } = await list({ pageNum: '1', pageSize: '100', ...query }, enterpriseGlobalId);
  return (data as { list: { userName: string }[] }).list.map(({ userName }) => userName);
}

describe('listMembers', () => {
  it('shows employees as section 2.10 has them, ids as bare numbers', async () => {
    const { data, text } = await list({ pageNum: '1', pageSize: '100' });
    expect((data as { list: unknown[] }).list[1]).toEqual({
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
    const { data } = await list(asked);
    expect(data).toMatchObject({
      pageNum: 2,
      pageSize: 4,
      size: 2,
      startRow: 5,
      total: 6,
      pages: 2,
      isLastPage: true,
    });
    await test.control('POST', '/reset');
    expect((await list(asked)).data).toMatchObject({ pageSize: 100, size: 0 });
  });

  it('gives the whole page object', async () => {
    const { data } = await list({ pageNum: '2', pageSize: '4' });
    const { list: items, ...page } = data as { list: { userName: string }[] };
    expect(items.map(({ userName }) => userName)).toEqual(['dora@harbour', 'petra@harbour']);
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
  });

  it('finds a keyword in names and accounts', async () => {
    expect(await accounts({ keyword: 'LINDQ' })).toEqual(['anna@harbour']);
    expect(await accounts({ keyword: 'chen@har' })).toEqual(['chen@harbour']);
    expect(await accounts({ keyword: 'nobody' })).toEqual([]);
    expect(await accounts({ keyword: '' })).toHaveLength(6);
  });

  it('keeps one department, exact beyond 2^53', async () => {
    expect(await accounts({ departmentId: '10' })).toEqual(['anna@harbour', 'chen@harbour']);
    expect(await accounts({ departmentId: '10', keyword: 'wei' })).toEqual(['chen@harbour']);
    expect(await accounts({ departmentId: '9007199254741001' })).toEqual(['bo@harbour']);
    expect(await accounts({ departmentId: '9007199254741000' })).toEqual([]);
  });

  it('shows the employees of each enterprise to it only, and none for an unknown enterprise', async () => {
    expect(await accounts({}, 'ent-meridian')).toEqual(['admin@meridian', 'noor@meridian', 'petra@meridian']);
    expect((await list({ pageNum: '1', pageSize: '5' }, 'ent-0')).data).toMatchObject({ total: 0, pages: 0 });
  });

  it.each([
    { pageNum: '1' },
    { pageSize: '10' },
    { pageNum: '0', pageSize: '10' },
    { pageNum: '1', pageSize: '0' },
    { pageNum: '1', pageSize: '1001' },
    { pageNum: 'x', pageSize: '10' },
    { pageNum: '1.5', pageSize: '10' },
    { pageNum: '1', pageSize: '10', departmentId: 'x' },
  ])('refuses %j with 40000', async (query) => {
    expect(await list(query as Record<string, string>)).toMatchObject({ status: 299, code: '40000' });
  });

  it('shows the members of an enterprise that the order module made, and they can log in', async () => {
    const body = { crmCustomerId: 'CRM-9', customerName: 'Ninth' };
    const created = (await test.call('createEnterprise', { body })).data as any;
    expect(await accounts({}, created.enterpriseGlobalId)).toEqual(['admin@ent0001', 'user@ent0001']);
    const parameters = { enterpriseGlobalId: created.enterpriseGlobalId };
    const numbers = await test.call('listAssetNums', { parameters, user: 'user@ent0001' });
    expect(numbers).toMatchObject({ code: 0, data: [] });
  });

  it('shows times in seconds where the option says so', async () => {
    const other = await PlatformClient.start({ timestampUnit: 's' });
    const query = { pageNum: '1', pageSize: '1' };
    const { data } = await other.call('listMembers', {
      parameters: { enterpriseGlobalId: 'ent-harbour' },
      query,
    });
    expect(data).toMatchObject({ list: [{ createTime: 1767600000, updateTime: 1767600000 }] });
    await other.close();
  });
});

describe('pageOf', () => {
  const rows = Array.from({ length: 200 }, (_, place) => place);
  const page = (pageNum: number, of = rows) => pageOf(of, pageNum, 10, (row) => row);

  it('shows eight page numbers around the current one, and their ends as first and last', () => {
    expect(page(1)).toMatchObject({ navigatepageNums: [1, 2, 3, 4, 5, 6, 7, 8], firstPage: 1, lastPage: 8 });
    expect(page(10)).toMatchObject({ navigatepageNums: [6, 7, 8, 9, 10, 11, 12, 13], firstPage: 6 });
    expect(page(20)).toMatchObject({ navigatepageNums: [13, 14, 15, 16, 17, 18, 19, 20], lastPage: 20 });
  });

  it('shows the ends', () => {
    expect(page(1)).toMatchObject({ isFirstPage: true, hasPreviousPage: false, prePage: 0, nextPage: 2 });
    expect(page(20)).toMatchObject({ isLastPage: true, hasNextPage: false, prePage: 19, nextPage: 0 });
    expect(page(20)).toMatchObject({ startRow: 191, endRow: 200, size: 10, pages: 20 });
  });

  it('is empty beyond the last page and without rows', () => {
    expect(page(21)).toMatchObject({
      list: [],
      size: 0,
      startRow: 0,
      endRow: 0,
      total: 200,
      isLastPage: false,
    });
    expect(page(1, [])).toMatchObject({
      pages: 0,
      isFirstPage: true,
      isLastPage: true,
      navigatepageNums: [],
    });
  });
});
