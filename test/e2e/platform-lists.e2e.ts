import { afterEach, describe, expect, it } from '@jest/globals';
import type { TestGateway } from '../support/gateway.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { useSandbox } from '../support/stack.ts';
import { textUntilCut } from '../support/text-until-cut.ts';

/** The list of members on platforms that number, fill and search it in other ways. Each gateway knows nothing of the platform yet. */

const HARBOUR = '/v1/enterprises/ent-harbour';
const sandbox = useSandbox();
let gateway: TestGateway | undefined;
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
});

interface Employee {
  readonly id: string;
  readonly globalId: string;
  readonly enterpriseGlobalId: string;
  readonly deleted: boolean;
}

async function started(
  profile: object,
  further = 0,
  environment: Record<string, string> = {},
): Promise<TestGateway> {
  await sandbox.reset();
  await sandbox.control('PUT', '/profile', profile);
  if (further > 0) {
    const state = await sandbox.control<{ employees: object[] }>('GET', '/state');
    const more = Array.from({ length: further }, (_, index) => ({
      ...{ id: `${70_000 + index}`, userId: `${80_000 + index}`, globalId: `mem-more-${index}` },
      ...{ enterpriseGlobalId: 'ent-harbour', userName: `more${index}@harbour`, name: `More ${index}` },
    }));
    await sandbox.control('PUT', '/state', { ...state, employees: [...state.employees, ...more] });
  }
  gateway = await startInProcess(sandbox, environment);
  return gateway;
}

/** Returns those who are members at the platform. */
async function members(): Promise<string[]> {
  const { employees } = await sandbox.control<{ employees: Employee[] }>('GET', '/state');
  return employees
    .filter((each) => each.enterpriseGlobalId === 'ent-harbour' && !each.deleted)
    .map(({ globalId }) => globalId);
}

async function exported(from: TestGateway): Promise<string[]> {
  const headers = { accept: 'application/x-ndjson' };
  const { status, text } = await from.get(`${HARBOUR}/members/export`, { headers });
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => (JSON.parse(line) as { memberGlobalId: string }).memberGlobalId);
}

async function pages(from: TestGateway, pageSize: number): Promise<{ ids: string[]; totals: unknown[] }> {
  const ids: string[] = [];
  const totals: unknown[] = [];
  for (let page = 1; page < 50; page++) {
    const { status, body } = await from.get(`${HARBOUR}/members?page=${page}&pageSize=${pageSize}`);
    expect([page, status]).toEqual([page, 200]);
    const items = body['items'] as { memberGlobalId: string }[];
    if (items.length === 0) break;
    ids.push(...items.map(({ memberGlobalId }) => memberGlobalId));
    totals.push(body['total']);
  }
  return { ids, totals };
}

const answerWith = (data: unknown) => ({
  raw: { text: JSON.stringify({ code: 0, message: 'success', data }), contentType: 'application/json' },
});

describe('a page without a list', () => {
  it.each<[string, unknown]>([
    ['an empty object', {}],
    ['no data', null],
    ['a null list without a total', { list: null, total: null }],
    ['a null list of some', { list: null, total: 3 }],
    ['only numbers', { pageNum: 1, pageSize: 200 }],
  ])('is no empty list: %s', async (_, data) => {
    const from = await started({});
    await sandbox.fault({ operation: 'listMembers', action: answerWith(data) });
    for (const path of ['/members', '/members/export', '/members/mem-nowhere']) {
      const { status, body } = await from.get(HARBOUR + path);
      expect([path, status, body['code']]).toEqual([path, 502, 'upstream-contract-violation']);
    }
    const { body } = await from.get(`${HARBOUR}/overview`);
    expect([body['members'], body['unreachable']]).toEqual([
      null,
      [{ section: 'members', code: 'upstream-contract-violation' }],
    ]);
  });

  it('is empty beside a total of 0', async () => {
    const from = await started({});
    const data = { list: null, total: 0, isFirstPage: true };
    await sandbox.fault({ operation: 'listMembers', action: answerWith(data) });
    expect(await exported(from)).toEqual([]);
    const { body } = await from.get(`${HARBOUR}/overview`);
    expect([body['members'], body['unreachable']]).toEqual([{ total: 0 }, []]);
  });
});

it.each([
  ['without an id', { pointer: '/data/list/2/globalId' }],
  ['in whose place is null', { pointer: '/data/list/2', value: null }],
])('a member %s breaks an export off, and is not told as missing', async (_, odd) => {
  const from = await started({});
  const all = await members();
  await sandbox.fault({ operation: 'listMembers', action: { odd } });
  const response = await fetch(`${from.url}${HARBOUR}/members/export`, {
    headers: { 'x-api-key': from.key, accept: 'text/csv' },
  });
  const text = await textUntilCut(response);
  expect(text.trim().split('\r\n').at(-1)).toMatch(/^#incomplete,upstream-contract-violation,/);
  const { status, body } = await from.get(`${HARBOUR}/members/${all[2]}`);
  expect([status, body['code']]).toEqual([502, 'upstream-contract-violation']);
  // What is shown page by page leaves the member out.
  expect((await from.get(`${HARBOUR}/members`)).body['items']).toHaveLength(all.length - 1);
});

describe('the first page', () => {
  const bare = { isFirstPage: null, hasPreviousPage: null, startRow: null, pageNum: null };

  it.each<[string, object, number, object]>([
    ['0', {}, 3, {}],
    ['0, and the list has several pages', {}, 230, {}],
    ['0, and pages say nothing of it', {}, 230, bare],
    [
      '0, and one page says nothing of it',
      {},
      3,
      { ...bare, total: null, isLastPage: null, hasNextPage: null },
    ],
    ['0, and no total', { pageTotal: 'absent', pageFlags: 'none' }, 230, {}],
    ['0, and the last page in place of another one', { pagesBeyond: 'last' }, 230, {}],
    ['0, and the only page in place of another one', { pagesBeyond: 'last' }, 3, {}],
    ['0, and pages are cut', { maxPageSize: 50, largerPages: 'cut' }, 230, {}],
    ['0, and large pages are refused', { maxPageSize: 50 }, 230, {}],
  ])('has the number %s: every member is shown once', async (_, profile, further, patch) => {
    const from = await started({ firstPage: 0, ...profile }, further);
    await sandbox.fault({ operation: 'listMembers', action: { patch: { data: patch } } });
    const all = await members();
    // A page in the middle, before anything else was asked.
    const { body } = await from.get(`${HARBOUR}/members?page=2&pageSize=5`);
    const items = body['items'] as { memberGlobalId: string }[];
    expect(items.map(({ memberGlobalId }) => memberGlobalId)).toEqual(all.slice(5, 10));
    expect(await exported(from)).toEqual(all);
    expect((await pages(from, 20)).ids).toEqual(all);
    expect((await from.get(`${HARBOUR}/overview`)).body['members']).toEqual({ total: all.length });
    expect((await from.get(`${HARBOUR}/members/${all[0]}`)).status).toBe(200);
  });

  it('has the number 0 where the only page also answers for the one beyond it', async () => {
    const from = await started({ firstPage: 0, pagesBeyond: 'last', pageFlags: 'next' }, 5);
    expect(await exported(from)).toEqual(await members());
  });

  it('is not told by an empty page, which may have another number than the one that was asked for', async () => {
    const from = await started({}, 3);
    const data = { ...{ pageNum: 0, pageSize: 0, size: 0, total: 0, list: null }, isFirstPage: false };
    await sandbox.fault({ operation: 'listMembers', times: 1, action: answerWith(data) });
    const none = await from.get(`${HARBOUR}/members?keyword=nobody`);
    expect([none.status, none.body['items']]).toEqual([200, []]);
    const all = await members();
    expect((await pages(from, 5)).ids).toEqual(all);
    expect(await exported(from)).toEqual(all);
    expect((await from.get(`${HARBOUR}/members/${all[0]}`)).status).toBe(200);
  });

  it('is asked for anew once the platform refuses page 0', async () => {
    const from = await started({ firstPage: 0 }, 3);
    expect((await pages(from, 5)).ids).toEqual(await members());
    await sandbox.control('PUT', '/profile', { firstPage: 1 });
    expect((await pages(from, 5)).ids).toEqual(await members());
  });

  it('is page 1 although one odd page says 0: that page and the next list are whole', async () => {
    const from = await started({}, 3);
    const odd = { pointer: '/data/pageNum', value: 0 };
    await sandbox.fault({ operation: 'listMembers', times: 1, action: { odd } });
    for (let times = 0; times < 2; times++) expect((await pages(from, 5)).ids).toEqual(await members());
  });

  it.each([3, 230])(
    'is page 1 although each page says 0: every member is shown (%i further ones)',
    async (further) => {
      const from = await started({}, further);
      await sandbox.fault({ operation: 'listMembers', action: { patch: { data: { pageNum: 0 } } } });
      const all = await members();
      expect((await pages(from, 100)).ids).toEqual(all);
      expect(await exported(from)).toEqual(all);
      expect((await from.get(`${HARBOUR}/members/${all.at(-1)}`)).status).toBe(200);
      expect((await from.get('/v1/gaps')).body['items']).toContainEqual(
        expect.objectContaining({ operation: 'listMembers', path: 'data.pageNum', kind: 'wrong-type' }),
      );
    },
  );

  it('has the number 1, and pages say nothing of it: the page before is asked for once', async () => {
    const from = await started({}, 230);
    await sandbox.fault({ operation: 'listMembers', action: { patch: { data: bare } } });
    const all = await members();
    for (let times = 0; times < 3; times++) expect(await exported(from)).toEqual(all);
    const asked = (await sandbox.journal('listMembers')).map(({ query }) => query['pageNum']);
    expect(asked.filter((number) => number === '0')).toHaveLength(1);
  });
});

describe('deleted employees in the list', () => {
  it('are members nowhere, and no total counts them', async () => {
    const from = await started({ deletedMembers: 'listed' }, 230);
    for (const index of [0, 1, 2, 50, 229]) {
      const path = `${HARBOUR}/members/mem-more-${index}`;
      expect((await from.request('DELETE', path)).status).toBe(204);
    }
    const all = await members();
    expect((await from.get(`${HARBOUR}/overview`)).body['members']).toEqual({ total: all.length });
    expect(await exported(from)).toEqual(all);
    const { ids, totals } = await pages(from, 20);
    expect(ids).toEqual(all);
    expect(totals.every((total) => total === null || total === all.length)).toBe(true);
    expect((await from.get(`${HARBOUR}/members/mem-more-1`)).status).toBe(404);
    const { text } = await from.get(`${HARBOUR}/members/export`, { headers: { accept: 'text/csv' } });
    expect(text).toMatch(/^[^\r]*,deleted,[^\r]*\r\n/);
  });

  it('may be added again by a file', async () => {
    const from = await started({ deletedMembers: 'listed' });
    expect((await from.request('DELETE', `${HARBOUR}/members/mem-harbour-dora`)).status).toBe(204);
    const plan = await from.request('POST', `${HARBOUR}/member-imports/dry-run?mode=upsert`, {
      body: 'account,password,name\r\ndora,first-login-1,Dora\r\n',
      headers: { 'content-type': 'text/csv' },
    });
    expect(plan.body).toMatchObject({ plan: { add: 1, impossible: [] } });
  });
});

describe('one refusal', () => {
  /** The largest size, and that of the looks at the ends of pages. */
  const SIZES = new Set(['200', '1']);

  it('of the first page after a start teaches no smaller pages', async () => {
    const from = await started({}, 230);
    const all = await members();
    await sandbox.fault({ operation: 'listMembers', times: 1, action: { code: '40000' } });
    expect(await exported(from)).toEqual(all);
    expect(await exported(from)).toEqual(all);
    const sizes = (await sandbox.journal('listMembers')).map(({ query }) => query['pageSize']);
    expect(new Set(sizes)).toEqual(SIZES);
  });

  it('of a size that the platform has given before teaches no smaller pages', async () => {
    const from = await started({}, 230);
    const all = await members();
    expect(await exported(from)).toEqual(all);
    await sandbox.fault({ operation: 'listMembers', times: 1, action: { code: '40000' } });
    expect(await exported(from)).toEqual(all);
    await sandbox.control('DELETE', '/journal');
    expect(await exported(from)).toEqual(all);
    const sizes = (await sandbox.journal('listMembers')).map(({ query }) => query['pageSize']);
    expect(new Set(sizes)).toEqual(SIZES);
  });

  it('of a keyword, each time, is told to the caller and teaches no smaller pages', async () => {
    const from = await started({}, 230);
    const all = await members();
    await exported(from);
    const rules = await sandbox.fault({ operation: 'listMembers', action: { code: '40000' } });
    const { status, body } = await from.get(`${HARBOUR}/members?keyword=anna&pageSize=200`);
    expect([status, body['code']]).toEqual([422, 'upstream-rejected']);
    await sandbox.heal(rules);
    await sandbox.control('DELETE', '/journal');
    expect(await exported(from)).toEqual(all);
    const sizes = (await sandbox.journal('listMembers')).map(({ query }) => query['pageSize']);
    expect(new Set(sizes)).toEqual(SIZES);
  });
});
