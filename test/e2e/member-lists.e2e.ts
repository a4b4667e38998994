import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { newSecret } from '../support/canary.ts';
import { Fleet, type FleetAnswer } from '../support/fleet.ts';
import { until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** Lists of members that are read to their end, on platforms whose pages are not those that the gateway asks for. */

const HARBOUR = '/v1/enterprises/ent-harbour';
const EMPLOYEES = 236;
const HEADER = 'account,password,name,departmentId,remark,passwordMobile';

interface Employee {
  readonly id: string;
  readonly globalId: string;
  readonly enterpriseGlobalId: string;
  readonly userName: string;
  readonly name: string;
  readonly deleted: boolean;
}
interface Streamed {
  readonly status: number;
  readonly text: string;
  readonly isWhole: boolean;
}

const sandbox = useSandbox();
let fleet: Fleet;
/** The members of the enlarged enterprise. */
let all: Employee[];

/** Replicas that know nothing of the platform yet. */
function started(replicas = 1): Promise<Fleet> {
  const bound = {
    scopes: ['members:read', 'members:write'],
    enterprises: ['ent-harbour'],
    users: ['default'],
  };
  return Fleet.start(sandbox, replicas, { callers: [{ name: 'bound', ...bound }] });
}

/** Returns the employees as the platform itself has them, in its order. */
async function employees(): Promise<Employee[]> {
  const state = await sandbox.control<{ employees: Employee[] }>('GET', '/state');
  return state.employees.filter(
    ({ enterpriseGlobalId, deleted }) => enterpriseGlobalId === 'ent-harbour' && !deleted,
  );
}

const idsOf = (list: readonly { globalId: string }[]) => list.map(({ globalId }) => globalId);

/** An export in JSON lines, also where it breaks off. */
async function exported(type = 'application/x-ndjson', index = 0): Promise<Streamed> {
  const url = `${fleet.gateways[index]?.url}${HARBOUR}/members/export`;
  const response = await fetch(url, { headers: { 'x-api-key': fleet.key, accept: type } });
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? [])
      text += decoder.decode(chunk as Uint8Array, { stream: true });
  } catch {
    return { status: response.status, text, isWhole: false };
  }
  return { status: response.status, text, isWhole: true };
}

function exportedIds({ text }: Streamed): string[] {
  return text
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { memberGlobalId: string }).memberGlobalId);
}

async function importOf(rows: readonly string[], mode: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${fleet.gateways[0]?.url}${HARBOUR}/member-imports?mode=${mode}`, {
    method: 'POST',
    headers: { 'x-api-key': fleet.key, 'content-type': 'text/csv' },
    body: [HEADER, ...rows, ''].join('\r\n'),
  });
  const { jobId } = (await response.json()) as { jobId: string };
  expect(response.status).toBe(202);
  let job: FleetAnswer | undefined;
  await until('the job has ended', async () => {
    job = await fleet.get(0, `/v1/jobs/${jobId}`);
    return job.body['finishedAt'] !== null && job.status === 200;
  });
  return job?.body ?? {};
}

async function gaps(): Promise<string[]> {
  const { body } = await fleet.get(0, '/v1/gaps');
  return (body['items'] as { operation: string; path: string; kind: string }[]).map(
    ({ operation, path, kind }) => `${operation} ${path} ${kind}`,
  );
}

async function asked(): Promise<number[]> {
  return (await sandbox.journal('listMembers')).map(({ query }) => Number(query['pageSize']));
}

/** Returns the ms for which Redis keeps the size of pages; an empty list if it has none. */
async function limitLives(): Promise<number[]> {
  const redis = new Redis(fleet.redis.url);
  try {
    const lives = (await redis.keys('*:member-page-size')).map((key) => redis.pttl(key));
    return (await Promise.all(lives)).filter((ms) => ms > 0);
  } finally {
    redis.disconnect();
  }
}

/** The page object without its numbers besides the list and the total. */
const MUTE = {
  ...{ pageNum: null, pageSize: null, size: null, pages: null, isLastPage: null, hasNextPage: null },
  ...{ startRow: null, endRow: null, prePage: null, nextPage: null, lastPage: null },
};
const UNCOUNTED = { ...MUTE, total: null };

interface Platform {
  readonly name: string;
  readonly profile: object;
  /** What its pages do not say. */
  readonly patch?: object;
  /** The largest pages that the gateway asks for at the end. */
  readonly limit: number;
  /** True if the page says how many members there are. */
  readonly counts: boolean;
  /** 1 if it is not said. */
  readonly replicas?: number;
  /** What a caller asks for, where that is more than two sizes. */
  readonly pageSizes?: readonly number[];
}

const PLATFORMS: readonly Platform[] = [
  {
    name: 'cuts pages to 50',
    profile: { maxPageSize: 50, largerPages: 'cut' },
    limit: 50,
    counts: true,
    replicas: 2,
    pageSizes: [50, 64, 120, 200],
  },
  {
    name: 'cuts pages to 50 and says nothing of them',
    profile: { maxPageSize: 50, largerPages: 'cut' },
    patch: MUTE,
    limit: 50,
    counts: true,
  },
  {
    name: 'cuts pages to 37 and says nothing at all',
    profile: { maxPageSize: 37, largerPages: 'cut' },
    patch: UNCOUNTED,
    limit: 37,
    counts: false,
    pageSizes: [7, 50, 64, 120, 200],
  },
  { name: 'refuses pages above 7', profile: { maxPageSize: 7 }, limit: 6, counts: true },
];

/** Makes the enterprise as large as the tests need it, and returns its employees. */
async function enlarge(): Promise<Employee[]> {
  await sandbox.reset();
  const state = await sandbox.control<{ employees: object[] }>('GET', '/state');
  const further = Array.from({ length: EMPLOYEES - (await employees()).length }, (_, index) => ({
    ...{ id: `${70_000 + index}`, userId: `${80_000 + index}`, globalId: `mem-more-${index}` },
    ...{ enterpriseGlobalId: 'ent-harbour', userName: `more${index}@harbour`, name: `More ${index}` },
  }));
  await sandbox.control('PUT', '/state', { ...state, employees: [...state.employees, ...further] });
  await sandbox.control('POST', '/snapshots/full');
  const enlarged = await employees();
  expect(enlarged).toHaveLength(EMPLOYEES);
  return enlarged;
}

async function restored(profile: object): Promise<void> {
  await sandbox.control('POST', '/snapshots/full/restore');
  for (const path of ['/journal', '/faults']) await sandbox.control('DELETE', path);
  await sandbox.control('PUT', '/profile', profile);
}

/** Starts gateways for the tests of a group, and enlarges the enterprise, which is restored before each of them. */
function useEnlarged(profile: object = {}, replicas = 1): void {
  beforeAll(async () => {
    fleet = await started(replicas);
    all = await enlarge();
  });
  beforeEach(() => restored(profile));
  afterAll(() => fleet.stop());
}

describe.each(PLATFORMS)('C30 a platform that $name', (platform) => {
  const { profile, patch, limit, counts, replicas, pageSizes = [64, 200] } = platform;
  useEnlarged(profile, replicas);
  beforeEach(async () => {
    if (patch) await sandbox.fault({ operation: 'listMembers', action: { patch: { data: patch } } });
  });

  it('finds one member, and none that is not there', async () => {
    const last = all.at(-1)?.globalId;
    const found = await fleet.get(0, `${HARBOUR}/members/${last}`);
    expect([found.status, found.body['memberGlobalId']]).toEqual([200, last]);
    const none = await fleet.get(0, `${HARBOUR}/members/mem-nowhere`);
    expect([none.status, none.body['code']]).toEqual([404, 'member-not-found']);
  });

  it('exports every member, in both types', async () => {
    const file = await exported();
    expect([file.status, file.isWhole, exportedIds(file)]).toEqual([200, true, idsOf(all)]);
    const csv = await exported('text/csv');
    expect([csv.status, csv.isWhole, csv.text.trim().split('\r\n').length]).toEqual([
      200,
      true,
      1 + EMPLOYEES,
    ]);
  });

  it.each(pageSizes)('has pages of %i that are together the whole list', async (pageSize) => {
    const seen: string[] = [];
    const totalPages = Math.ceil(EMPLOYEES / pageSize);
    for (let page = 1; page <= totalPages; page++) {
      const { status, body, headers } = await fleet.get(
        0,
        `${HARBOUR}/members?page=${page}&pageSize=${pageSize}`,
      );
      const items = body['items'] as { memberGlobalId: string }[];
      const isLast = page === totalPages;
      expect([page, status, items.length]).toEqual([page, 200, isLast ? EMPLOYEES % pageSize : pageSize]);
      const { total } = body;
      if (counts) expect(total).toBe(EMPLOYEES);
      else if (!isLast) expect(total).toBeNull();
      const count = total === null ? null : EMPLOYEES;
      expect(body).toMatchObject({ page, pageSize, total: count, totalPages: count && totalPages });
      const link = headers.get('link') ?? '';
      expect(link.includes('rel="next"')).toBe(!isLast);
      expect(link.includes(`page=${totalPages}&pageSize=${pageSize}>; rel="last"`)).toBe(total !== null);
      seen.push(...items.map(({ memberGlobalId }) => memberGlobalId));
    }
    expect(seen).toEqual(idsOf(all));
    const beyond = await fleet.get(0, `${HARBOUR}/members?page=${totalPages + 5}&pageSize=${pageSize}`);
    expect([beyond.status, beyond.body['items']]).toEqual([200, []]);
  });

  it('compares an import with every member, and looks up every row of a lost response', async () => {
    const same = all
      .slice(-230)
      .map(({ userName, name }) => `${userName.replace(/@.*/, '')},not-used-1,${name},,,`);
    expect(await importOf(same, 'upsert')).toMatchObject({ state: 'succeeded', unchanged: 230, failed: 0 });
    await sandbox.fault({
      operation: 'addMembers',
      phase: 'after',
      times: 1,
      action: { reset: 'before-headers' },
    });
    const fresh = Array.from(
      { length: 100 },
      (_, index) => `fresh${index},${newSecret('m')},Fresh ${index},,,`,
    );
    expect(await importOf(fresh, 'add')).toMatchObject({ state: 'succeeded', succeeded: 100, failed: 0 });
    expect(await employees()).toHaveLength(EMPLOYEES + 100);
  });

  it('shows a bound caller what is its own, and counts the members', async () => {
    const change = (member: string | undefined) =>
      fetch(`${fleet.gateways[0]?.url}${HARBOUR}/members/${member}/password`, {
        method: 'PUT',
        headers: { 'x-api-key': fleet.keys['bound'] ?? '', 'content-type': 'application/json' },
        body: JSON.stringify({ password: newSecret('m') }),
      });
    expect((await change(all.at(-1)?.globalId)).status).toBe(204);
    expect((await change('mem-tidewater-admin')).status).toBe(404);
    const overview = await fleet.get(0, `${HARBOUR}/overview`);
    expect([overview.status, overview.body['members']]).toEqual([200, { total: EMPLOYEES }]);
  });

  it('has its limit remembered for all replicas, and noted', async () => {
    const file = await exported('application/x-ndjson', fleet.gateways.length - 1);
    expect(exportedIds(file)).toEqual(idsOf(all));
    expect(Math.max(...(await asked()))).toBe(limit);
    await until('the gap is noted', async () => (await gaps()).includes('listMembers data.pageSize limit'));
    expect(await limitLives()).toEqual([expect.any(Number)]);
  });
});

describe('C30 a platform that answers with its last page where there is none', () => {
  useEnlarged({ pagesBeyond: 'last' });

  it.each([{ pageNum: null }, { total: null, pages: null }])(
    'has no members beyond the end: %j',
    async (patch) => {
      await sandbox.fault({ operation: 'listMembers', action: { patch: { data: patch } } });
      const last = await fleet.get(0, `${HARBOUR}/members?page=12&pageSize=20`);
      expect((last.body['items'] as object[]).length).toBe(EMPLOYEES % 20);
      for (const page of [13, 100]) {
        const { status, body, headers } = await fleet.get(0, `${HARBOUR}/members?page=${page}&pageSize=20`);
        expect([status, body['items']]).toEqual([200, []]);
        expect([null, EMPLOYEES]).toContain(body['total']);
        expect(headers.get('link') ?? '').not.toContain('rel="next"');
      }
      const file = await exported();
      expect([file.status, file.isWhole, exportedIds(file)]).toEqual([200, true, idsOf(all)]);
    },
  );
});

describe('a platform that gives pages as asked', () => {
  useEnlarged();

  it.each<[string, number[]]>([
    ['/members?pageSize=20&page=3', [20]],
    ['/members?pageSize=200&page=2', [200]],
    ['/members/mem-harbour-anna', [200]],
    ['/members/mem-more-229', [200, 200]],
    // The member is on the page that showed it last.
    ['/members/mem-more-229', [200]],
    ['/members/mem-nowhere', [200, 200]],
    // The first page also shows whether the platform lists deleted employees.
    ['/overview', [200]],
  ])('is asked no more often than there are pages: %s', async (path, sizes) => {
    expect((await fleet.get(0, HARBOUR + path)).status).toBe(path.endsWith('nowhere') ? 404 : 200);
    expect(await asked()).toEqual(sizes);
  });

  it('is asked once more for the end of each page but the last for an export', async () => {
    expect(exportedIds(await exported())).toEqual(idsOf(all));
    expect(await asked()).toEqual([200, 200, 1]);
    expect(await gaps()).toEqual([]);
    expect(await limitLives()).toEqual([]);
  });

  it('C31 loses members while their list is read: those who stay are all in the export', async () => {
    await sandbox.control('PUT', '/profile', { maxPageSize: 50, largerPages: 'cut' });
    await sandbox.fault({
      operation: 'listMembers',
      skip: 1,
      times: 1,
      phase: 'before',
      action: { delayMs: 300 },
    });
    const file = exported();
    await sandbox.untilSpoiled(1, file);
    for (const id of ['70000', '70001', '70002'])
      await sandbox.control('PATCH', `/state/employees/${id}`, { deleted: true });
    const { status, isWhole, ...streamed } = await file;
    expect([status, isWhole]).toEqual([200, true]);
    const ids = exportedIds({ status, isWhole, ...streamed });
    expect(new Set(ids).size).toBe(ids.length);
    expect(idsOf(await employees()).filter((id) => !ids.includes(id))).toEqual([]);
  });

  it('C31 loses a member and gets another one while their list is read: those who stay are all in the export', async () => {
    await sandbox.control('PUT', '/profile', { maxPageSize: 50, largerPages: 'cut' });
    // The one who joins is the last of the list, and the one who leaves is on its first page.
    const [joining, leaving] = [all.at(-1)?.id, '70000'];
    await sandbox.control('PATCH', `/state/employees/${joining}`, { deleted: true });
    const action = { delayMs: 300 };
    await sandbox.fault({ operation: 'listMembers', skip: 1, times: 1, phase: 'before', action });
    const file = exported();
    await sandbox.untilSpoiled(1, file);
    await sandbox.control('PATCH', `/state/employees/${leaving}`, { deleted: true });
    await sandbox.control('PATCH', `/state/employees/${joining}`, { deleted: false });
    const streamed = await file;
    expect([streamed.status, streamed.isWhole]).toEqual([200, true]);
    const ids = exportedIds(streamed);
    expect(new Set(ids).size).toBe(ids.length);
    expect(idsOf(await employees()).filter((id) => !ids.includes(id))).toEqual([]);
  });

  it('C31 gives the same page again and again: no reader takes it for the list', async () => {
    const list = all.slice(0, 50).map(({ globalId, userName, name }) => ({ globalId, userName, name }));
    const patch = { data: { list, pageSize: 50, isLastPage: false, hasNextPage: true } };
    await sandbox.fault({ operation: 'listMembers', action: { patch } });
    const lines = await exported();
    expect([lines.status, lines.isWhole]).toEqual([200, false]);
    const last = JSON.parse(lines.text.trim().split('\n').at(-1) ?? '') as { problem: { code: string } };
    expect(last.problem).toMatchObject({ code: 'upstream-contract-violation', outcome: 'not_processed' });
    const csv = await exported('text/csv');
    expect([csv.status, csv.isWhole]).toEqual([200, false]);
    expect(csv.text.trim().split('\r\n').at(-1)).toMatch(/^#incomplete,upstream-contract-violation,/);
    const none = await fleet.get(0, `${HARBOUR}/members/mem-nowhere`);
    expect([none.status, none.body['code']]).toEqual([502, 'upstream-contract-violation']);
    expect((await asked()).length).toBeLessThan(20);
  });

  it('C31 counts more members than it shows: pages are served, an export ends with an error, and a gap is noted', async () => {
    await sandbox.fault({ operation: 'listMembers', action: { patch: { data: { total: EMPLOYEES + 50 } } } });
    const page = await fleet.get(0, `${HARBOUR}/members?page=2&pageSize=200`);
    expect([page.status, (page.body['items'] as unknown[]).length]).toEqual([200, EMPLOYEES - 200]);
    expect([page.body['total'], page.headers.get('link')]).toEqual([
      EMPLOYEES,
      expect.not.stringContaining('"next"'),
    ]);
    const file = await exported();
    expect([file.status, file.isWhole]).toEqual([200, false]);
    expect(file.text.trim().split('\n').at(-1)).toContain('The platform counts more members than it shows.');
    expect(await gaps()).toContain('listMembers data.total limit');
    expect((await asked()).length).toBeLessThan(40);
  });

  it('C31 leaves a page in the middle of the list empty: it is read once more, and is then an error', async () => {
    const path = `${HARBOUR}/members?page=2&pageSize=50`;
    const empty = { operation: 'listMembers', action: { patch: { data: { list: [] } } } };
    await sandbox.fault({ ...empty, times: 1 });
    const { status, body } = await fleet.get(0, path);
    const ids = (body['items'] as { memberGlobalId: string }[]).map(({ memberGlobalId }) => memberGlobalId);
    expect([status, ids]).toEqual([200, idsOf(all.slice(50, 100))]);
    await sandbox.fault(empty);
    const missing = await fleet.get(0, path);
    expect([missing.status, missing.body]).toMatchObject([
      502,
      {
        code: 'upstream-contract-violation',
        outcome: 'not_processed',
        upstream: { operation: 'listMembers', status: 200 },
      },
    ]);
  });

  it('C31 fails before the first member: the export is a problem', async () => {
    await sandbox.fault({ operation: 'listMembers', action: { httpStatus: 503 } });
    const { status, text } = await exported();
    expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([503, 'upstream-unavailable']);
  });
});

describe('C31 a platform that shows more members than it counts', () => {
  useEnlarged();

  it.each<[string, object, string]>([
    ['0', { total: 0 }, 'data.total limit'],
    ['half of a page', { total: 100 }, 'data.total limit'],
    ['a page', { total: 200 }, 'data.total limit'],
    ['0, and its pages say nothing else', { ...MUTE, total: 0 }, 'data.total limit'],
    ['a page, and its pages say nothing else', { ...MUTE, total: 200 }, 'data.total limit'],
    ['absent, and each page is page 1', { total: null, pageNum: 1 }, 'data.pageNum wrong-type'],
    ['absent, and each page is page 0', { total: null, pageNum: 0 }, 'data.pageNum wrong-type'],
  ])('has all members for each reader: its total is %s', async (_, patch, gap) => {
    await sandbox.fault({ operation: 'listMembers', action: { patch: { data: patch } } });
    const file = await exported();
    expect([file.status, file.isWhole, exportedIds(file)]).toEqual([200, true, idsOf(all)]);
    for (const pageSize of [100, 200]) {
      const seen: string[] = [];
      let next: string | undefined = `${HARBOUR}/members?pageSize=${pageSize}`;
      while (next !== undefined) {
        const { status, body, headers } = await fleet.get(0, next);
        expect(status).toBe(200);
        seen.push(...(body['items'] as { memberGlobalId: string }[]).map((each) => each.memberGlobalId));
        next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
      }
      expect(seen).toEqual(idsOf(all));
    }
    const last = await fleet.get(0, `${HARBOUR}/members/${all.at(-1)?.globalId}`);
    expect([last.status, last.body['memberGlobalId']]).toEqual([200, all.at(-1)?.globalId]);
    const overview = await fleet.get(0, `${HARBOUR}/overview`);
    expect(overview.body['members']).toEqual({ total: EMPLOYEES });
    await until('the gap is noted', async () => (await gaps()).includes(`listMembers ${gap}`));
    const same = all
      .slice(-230)
      .map(({ userName, name }) => `${userName.replace(/@.*/, '')},not-used-1,${name},,,`);
    expect(await importOf(same, 'upsert')).toMatchObject({ state: 'succeeded', unchanged: 230, failed: 0 });
  });
});

describe('C30 a platform that cuts pages, and whose pages are like those that the gateway asks for', () => {
  useEnlarged();
  // Each gateway begins without knowledge of the platform.
  beforeEach(async () => {
    await fleet.stop();
    fleet = await started();
  });

  const pageIds = async (page: number, pageSize: number): Promise<unknown[]> => {
    const { status, body } = await fleet.get(0, `${HARBOUR}/members?page=${page}&pageSize=${pageSize}`);
    const items = (body['items'] ?? []) as { memberGlobalId: string }[];
    return [status, ...items.map(({ memberGlobalId }) => memberGlobalId)];
  };

  it('has page 2 of a list that begins with page 0', async () => {
    await sandbox.control('PUT', '/profile', { firstPage: 0, maxPageSize: 40, largerPages: 'cut' });
    expect(await pageIds(2, 80)).toEqual([200, ...idsOf(all).slice(80, 160)]);
  });

  it.each([
    ['the requested size', { pageSize: 200 }],
    ['the requested size, and no position', { pageSize: 200, startRow: null, isFirstPage: null }],
    ['nothing but a total', MUTE],
  ])('has a page that is as short as the last one would be: pages state %s', async (_, patch) => {
    await sandbox.control('PUT', '/profile', { maxPageSize: EMPLOYEES - 200, largerPages: 'cut' });
    await sandbox.fault({ operation: 'listMembers', action: { patch: { data: patch } } });
    expect(await pageIds(2, 200)).toEqual([200, ...idsOf(all).slice(200)]);
  });

  it.each([
    ['flags', { pageSize: null }],
    ['no flags', MUTE],
  ])('has all members where a total counts those of its page, and pages have %s', async (_, patch) => {
    await sandbox.control('PUT', '/profile', { maxPageSize: 50, largerPages: 'cut' });
    await sandbox.fault({
      operation: 'listMembers',
      action: { patch: { data: { ...patch, total: 50 } } },
    });
    const file = await exported();
    expect([file.status, file.isWhole, exportedIds(file)]).toEqual([200, true, idsOf(all)]);
    const overview = await fleet.get(0, `${HARBOUR}/overview`);
    expect(overview.body['members']).toEqual({ total: EMPLOYEES });
  });
});

describe('a platform whose flags never say that a page is the last one', () => {
  useEnlarged();

  it.each<[string, object]>([
    ['another page follows', { isLastPage: false, hasNextPage: true }],
    ['contradict each other', { isLastPage: false, hasNextPage: false, total: null }],
  ])('has an end: its flags say that %s', async (_, patch) => {
    await sandbox.fault({ operation: 'listMembers', action: { patch: { data: patch } } });
    const file = await exported();
    expect([file.status, file.isWhole, exportedIds(file)]).toEqual([200, true, idsOf(all)]);
    expect((await asked()).filter((size) => size > 1).length).toBeLessThan(6);
  });
});
