import { describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

const { sandbox, gateway } = useStack({
  callers: [
    { name: 'viewer', scopes: ['members:read'], enterprises: ['*'], users: ['default'] },
    { name: 'writer', scopes: ['members:write'], enterprises: ['*'], users: ['default'] },
  ],
});

const HARBOUR = '/v1/enterprises/ent-harbour';

interface MemberView {
  memberGlobalId: string;
  userName: string;
  [field: string]: unknown;
}
interface FailedView {
  index: number;
  account: string;
  code: string;
  message: string;
  outcome: string;
  retryable: boolean;
}
interface Added {
  succeeded: MemberView[];
  failed: FailedView[];
}

const PASSWORD = newSecret('m');
const row = (account: string, more: object = {}) => ({
  account,
  password: PASSWORD,
  name: `Name ${account}`,
  ...more,
});
const rows = (count: number) => Array.from({ length: count }, (_, index) => row(`new${index}`));

async function add(members: object[], enterprise = 'ent-harbour'): Promise<{ answer: TestAnswer } & Added> {
  const answer = await gateway.post(`/v1/enterprises/${enterprise}/members`, { members });
  return { answer, ...(answer.body as unknown as Added) };
}

async function list(query = '', enterprise = 'ent-harbour'): Promise<MemberView[]> {
  const answer = await gateway.get(`/v1/enterprises/${enterprise}/members${query}`);
  expect(answer.status).toBe(200);
  return answer.body['items'] as MemberView[];
}

async function itemOf(
  path: string,
  field: string,
  value: string,
): Promise<Record<string, unknown> | undefined> {
  const items = (await gateway.get(path)).body['items'] as Record<string, unknown>[];
  return items.find((item) => item[field] === value);
}

async function sentBodies(operation: string): Promise<unknown[]> {
  return (await sandbox.journal(operation)).map(({ body }) => body);
}

describe('a member', () => {
  it('is added, listed, changed, given a password, numbers and a loan, counted, and deleted', async () => {
    const { answer, succeeded, failed } = await add([
      row('evan', { departmentId: '10', remark: 'Second floor' }),
    ]);
    expect(answer.status).toBe(201);
    expect(failed).toEqual([]);
    expect(succeeded).toEqual([
      expect.objectContaining({
        userName: 'evan@harbour',
        name: 'Name evan',
        departmentId: '10',
        departmentName: 'Design',
        remark: 'Second floor',
        deleted: false,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
      }),
    ]);
    const id = succeeded[0]?.memberGlobalId ?? '';
    const member = `${HARBOUR}/members/${id}`;
    expect((await list('?keyword=evan')).map(({ memberGlobalId }) => memberGlobalId)).toEqual([id]);

    const changes = { account: 'evan', name: 'Evan Hart', departmentId: 10, passwordMobile: '13800000001' };
    const updated = await gateway.request('PATCH', member, { body: changes });
    expect([updated.status, updated.text]).toEqual([204, '']);
    const [changed] = await list('?keyword=evan');
    expect(changed).toMatchObject({
      name: 'Evan Hart',
      passwordMobile: '13800000001',
      remark: 'Second floor',
    });

    const cleared = { account: 'evan', name: 'Evan Hart', remark: '' };
    expect((await gateway.request('PATCH', member, { body: cleared })).status).toBe(204);
    expect((await list('?keyword=evan'))[0]?.['remark'] ?? '').toBe('');

    const reset = await gateway.request('PUT', `${member}/password`, { body: { password: newSecret('m') } });
    expect(reset.status).toBe(204);

    const assigned = await gateway.request('PATCH', `${member}/asset-nums`, {
      body: { assign: ['8000001009'] },
    });
    expect(assigned.body).toEqual({ assigned: ['8000001009'], withdrawn: [], kept: [] });
    expect((await list('?keyword=evan'))[0]).toMatchObject({ assetNums: ['8000001009'], lentLockNum: null });

    const loan = { lentLockNum: '8000001006', assetIds: ['ast-1009'] };
    const lent = await gateway.post(`${member}/loans`, loan);
    expect(lent.status).toBe(204);
    expect(await sentBodies('borrowAssets')).toEqual([
      { borrowedUsbKey: '8000001006', assetIDs: ['ast-1009'] },
    ]);
    expect((await list('?keyword=evan'))[0]).toMatchObject({ lentLockNum: '8000001006' });
    expect(await itemOf(`${HARBOUR}/lent-locks`, 'assetNum', '8000001006')).toEqual({
      assetId: 'ast-1006',
      assetNum: '8000001006',
      lent: true,
      memberGlobalId: id,
    });
    expect(await itemOf(`${HARBOUR}/asset-nums`, 'assetId', 'ast-1009')).toEqual({
      ...{ assetNum: '8000001009', assetId: 'ast-1009', memberGlobalId: id, lent: true, online: false },
    });

    const overview = await gateway.get(`${HARBOUR}/overview`);
    expect(overview.body['members']).toEqual({ total: 7 });

    expect((await gateway.request('DELETE', member)).status).toBe(204);
    expect(await list('?keyword=evan')).toEqual([]);
    const again = await gateway.request('DELETE', member);
    expect(again.status).toBe(404);
    expect(again.body).toMatchObject({ code: 'member-not-found', outcome: 'not_processed' });
  });

  it('keeps a department beyond 2^53 exact, in both directions and in both forms', async () => {
    const department = '9007199254741001';
    const asText = JSON.stringify({ members: [row('one'), row('two', { departmentId: department })] });
    const body = asText.replace('"account":"one"', `"account":"one","departmentId":${department}`);
    const answer = await gateway.request('POST', `${HARBOUR}/members`, { body });
    expect(answer.status).toBe(201);
    const { succeeded } = answer.body as unknown as Added;
    expect(succeeded.map(({ departmentId }) => departmentId)).toEqual([department, department]);
    const found = (await list(`?departmentId=${department}`)).map(({ userName }) => userName);
    expect(found.toSorted()).toEqual(['bo@harbour', 'one@harbour', 'two@harbour']);
  });
});

const ANNA = `${HARBOUR}/members/mem-harbour-anna/asset-nums`;
const set = (assetNums: string[], query = '', headers: Record<string, string> = {}): Promise<TestAnswer> =>
  gateway.request('PUT', ANNA + query, { body: { assetNums }, headers });
const change = (body: object): Promise<TestAnswer> => gateway.request('PATCH', ANNA, { body });

async function numbersOf(memberGlobalId: string): Promise<unknown[]> {
  const answer = await gateway.get(`${HARBOUR}/asset-nums?memberGlobalId=${memberGlobalId}`);
  return (answer.body['items'] as { assetNum: string }[]).map(({ assetNum }) => assetNum);
}

describe('the asset numbers of a member', () => {
  it('are set as a whole: only the difference is sent, and a repeat sends nothing', async () => {
    const first = await set(['8000001009', '8000001001']);
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      assigned: ['8000001009', '8000001001'],
      withdrawn: ['8000001002'],
      kept: [],
    });
    const again = await set(['8000001009', '8000001001']);
    expect(again.body).toEqual({ assigned: [], withdrawn: [], kept: ['8000001009', '8000001001'] });
    const sent = await sandbox.journal('changePrivileges');
    expect(sent.map(({ body }) => body)).toEqual([
      { addAssets: ['8000001009', '8000001001'], deleteAssets: ['8000001002'] },
    ]);
    expect((await numbersOf('mem-harbour-anna')).toSorted()).toEqual(['8000001001', '8000001009']);
  });

  it('are changed, without numbers that the member already has or no longer has', async () => {
    const answer = await change({ assign: ['8000001002', '8000001009'], withdraw: ['8000001001'] });
    expect(answer.body).toEqual({ assigned: ['8000001009'], withdrawn: [], kept: ['8000001002'] });
  });

  it('may be changed again after a lost response, which says that it is retryable', async () => {
    await sandbox.fault({
      operation: 'changePrivileges',
      times: 1,
      phase: 'after',
      action: { reset: 'before-headers' },
    });
    const lost = await change({ assign: ['8000001009'] });
    expect(lost.body).toMatchObject({
      ...{ status: 502, code: 'outcome-unknown', outcome: 'unknown', retryable: true },
    });
    const again = await change({ assign: ['8000001009'] });
    expect(again.status).toBe(200);
    expect(again.body).toEqual({ assigned: [], withdrawn: [], kept: ['8000001009'] });
    expect(await sandbox.journal('changePrivileges')).toHaveLength(1);
  });

  it('of another member are named in a conflict, and nothing is sent', async () => {
    const [taken] = await numbersOf('mem-harbour-bo');
    for (const answer of [await change({ assign: ['8000001009', taken] }), await set([taken as string])]) {
      expect(answer.body).toMatchObject({
        status: 409,
        code: 'asset-assigned-twice',
        outcome: 'not_processed',
        conflicts: [{ assetNum: taken, memberGlobalId: 'mem-harbour-bo' }],
      });
    }
    // A caller that may not read members learns that the number is taken, and not by whom.
    const key = gateway.keys['writer'] as string;
    const body = { assign: [taken] };
    const blind = await gateway.request('PATCH', ANNA, { body, key });
    expect(blind.body).toMatchObject({ status: 409, code: 'asset-assigned-twice', conflicts: [] });
    expect(await sandbox.journal('changePrivileges')).toEqual([]);
  });

  it('of another member, which the platform gave away meanwhile, are named in a conflict', async () => {
    await sandbox.fault({ operation: 'changePrivileges', action: { code: '60028', message: 'twice' } });
    await sandbox.fault({
      operation: 'listAssetNums',
      times: 1,
      skip: 1,
      action: {
        patch: {
          data: [{ assetNum: '8000001009', assetId: 'ast-1009', cloudAccountGlobalId: 'mem-harbour-bo' }],
        },
      },
    });
    const conflict = { status: 409, code: 'asset-assigned-twice', outcome: 'not_processed' };
    const upstream = { operation: 'changePrivileges', code: '60028', status: 299 };
    const given = await change({ assign: ['8000001009'] });
    expect(given.body).toMatchObject({
      ...conflict,
      upstream,
      conflicts: [{ assetNum: '8000001009', memberGlobalId: 'mem-harbour-bo' }],
    });
    await sandbox.fault({ operation: 'listAssetNums', skip: 1, action: { httpStatus: 503 } });
    expect((await change({ assign: ['8000001009'] })).body).toMatchObject({
      ...conflict,
      upstream,
      conflicts: [],
    });
  });

  it('are only compared by a dry run, whose body tells which of the two writes it is of', async () => {
    const effects = async (path: string, body: object) => {
      const { status, body: shown } = await gateway.post(`${ANNA}/dry-run${path}`, body);
      expect([status, shown['plan']]).toEqual([200, null]);
      return (shown['effects'] as { kind: string; assetNum: string; memberGlobalId: string }[]).map(
        ({ kind, assetNum, memberGlobalId }) => [kind, assetNum, memberGlobalId],
      );
    };
    const anna = 'mem-harbour-anna';
    expect(await effects('', { assetNums: ['8000001009'] })).toEqual([
      ['number-assigned', '8000001009', anna],
      ['number-withdrawn', '8000001002', anna],
    ]);
    const changes = { assign: ['8000001002'], withdraw: [] };
    for (const path of ['', '/patch'])
      expect(await effects(path, changes)).toEqual([['number-kept', '8000001002', anna]]);
    const { body: unlisted } = await gateway.post(`${ANNA}/dry-run`, { assetNums: ['8000009999'] });
    expect(unlisted['effects']).toEqual([
      expect.objectContaining({ kind: 'number-assigned', assetNum: '8000009999', readable: false }),
      expect.objectContaining({ kind: 'number-withdrawn', assetNum: '8000001002', readable: true }),
    ]);
    const odd = await gateway.post(`${ANNA}/dry-run`, { assetNums: [], assign: [] });
    expect(odd.body['errors']).toContainEqual({ pointer: '/assetNums', detail: 'is not a known field' });
    expect(await sandbox.journal('changePrivileges')).toEqual([]);
  });

  it('K64 are protected by the ETag of an earlier list, also as a proxy has changed it', async () => {
    const own = `${HARBOUR}/asset-nums?memberGlobalId=mem-harbour-anna`;
    const etag = String((await gateway.get(own)).headers.get('etag'));
    expect((await set(['8000001002', '8000001009'], '', { 'if-match': etag })).status).toBe(200);
    const late = await set([], '', { 'if-match': etag });
    expect(late.body).toMatchObject({ status: 412, code: 'precondition-failed', outcome: 'not_processed' });
    expect((await numbersOf('mem-harbour-anna')).toSorted()).toEqual(['8000001002', '8000001009']);
    const now = String((await gateway.get(own)).headers.get('etag'));
    const compressed = now.replace(/"$/, '-gzip"');
    expect((await set([], '', { 'if-match': compressed })).status).toBe(200);
  });

  it('K64 are as wanted after a lost response, so its repeat with the old ETag is no failure', async () => {
    const own = `${HARBOUR}/asset-nums?memberGlobalId=mem-harbour-anna`;
    const headers = { 'if-match': String((await gateway.get(own)).headers.get('etag')) };
    await sandbox.fault({
      operation: 'changePrivileges',
      times: 1,
      phase: 'after',
      action: { reset: 'before-headers' },
    });
    const lost = await set(['8000001009'], '', headers);
    expect(lost.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown', retryable: true });
    const again = await set(['8000001009'], '', headers);
    expect([again.status, again.body]).toEqual([200, { assigned: [], withdrawn: [], kept: ['8000001009'] }]);
    expect((await set(['8000001002'], '', headers)).body['code']).toBe('precondition-failed');
    expect(await sandbox.journal('changePrivileges')).toHaveLength(1);
  });

  it('are protected by the ETag of an earlier list beyond its first page too', async () => {
    const own = `${HARBOUR}/asset-nums?memberGlobalId=mem-harbour-anna`;
    const all = Array.from({ length: 130 }, (_, at) => `81000${10_000 + at}`);
    const play = async (assetNums: readonly string[]) => {
      const data = assetNums.map((assetNum) => ({
        ...{ assetNum, assetId: `ast-${assetNum}`, cloudAccountGlobalId: 'mem-harbour-anna' },
        ...{ borrowedFlag: false, onlineFlag: false },
      }));
      await sandbox.control('DELETE', '/faults');
      await sandbox.fault({ operation: 'listAssetNums', action: { patch: { data } } });
    };
    await play(all);
    const page = await gateway.get(own);
    expect([page.body['total'], (page.body['items'] as object[]).length]).toEqual([130, 100]);
    const headers = { 'if-match': String(page.headers.get('etag')) };
    expect((await set(all, '', headers)).body).toMatchObject({ assigned: [], withdrawn: [] });
    // The first page and the total stay the same.
    await play(all.with(120, '8100019999'));
    expect((await set(all, '', headers)).body).toMatchObject({ status: 412, code: 'precondition-failed' });
    expect(await sandbox.journal('changePrivileges')).toEqual([]);
  });

  it('are withdrawn once, although the list of the platform has a number twice', async () => {
    const data = ['1', '1', '2'].map((assetNum) => ({
      ...{ assetNum, assetId: `ast-${assetNum}`, cloudAccountGlobalId: 'mem-harbour-anna' },
      ...{ borrowedFlag: false, onlineFlag: false },
    }));
    await sandbox.fault({ operation: 'listAssetNums', action: { patch: { data } } });
    await sandbox.fault({ operation: 'changePrivileges', action: { raw: { text: '{"code":0}' } } });
    const answer = await set([]);
    expect(answer.body).toEqual({ assigned: [], withdrawn: ['1', '2'], kept: [] });
    const [sent] = await sandbox.journal('changePrivileges');
    expect(sent?.body).toEqual({ addAssets: [], deleteAssets: ['1', '2'] });
  });

  it('keep a lock that is lent to the member, which is no right to withdraw', async () => {
    const path = `${HARBOUR}/members/mem-harbour-chen/asset-nums`;
    const answer = await gateway.request('PUT', path, { body: { assetNums: [] } });
    expect(answer.body['withdrawn']).not.toContain('8000001007');
  });
});

it('rows of two accounts of which one begins like the other are not swapped, whatever the platform appends', async () => {
  const succeeded = [{ globalId: 'mem-1', userName: 'annaacme', name: 'Name anna' }];
  for (const userName of ['annacme', 'ann']) {
    const data = { succeeded, failed: [{ userName, message: 'it exists' }] };
    await sandbox.control('DELETE', '/faults');
    await sandbox.fault({ operation: 'addMembers', action: { code: '60027', data } });
    const { answer, ...added } = await add([row('ann'), row('anna')]);
    expect([answer.status, added]).toMatchObject([
      207,
      {
        succeeded: [{ memberGlobalId: 'mem-1', userName: 'annaacme' }],
        failed: [{ index: 0, account: 'ann', outcome: 'not_processed' }],
      },
    ]);
  }
});

describe('a delete', () => {
  const path = `${HARBOUR}/members/mem-harbour-dora`;

  it('with a lost response is 204 when the repeat finds no member, and 404 after that', async () => {
    await sandbox.fault({
      operation: 'deleteMember',
      times: 1,
      phase: 'after',
      action: { reset: 'before-headers' },
    });
    const lost = await gateway.request('DELETE', path);
    expect(lost.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown', retryable: true });
    expect((await gateway.request('DELETE', path)).status).toBe(204);
    expect((await gateway.request('DELETE', path)).status).toBe(404);
  });

  it('of nobody is 404, also while others of the same member are under way', async () => {
    await sandbox.fault({ operation: 'deleteMember', action: { delayMs: 300 } });
    const nobody = `${HARBOUR}/members/mem-never-was`;
    const answers = await Promise.all([1, 2, 3].map(() => gateway.request('DELETE', nobody)));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  });

  it('is 404 for a user who does not see the member, whatever becomes of the delete of another user', async () => {
    gateway.writeUsers({
      default: { username: 'admin@harbour', password: sandbox.seedPassword },
      tim: { username: 'tidewater', password: sandbox.seedPassword },
    });
    const asTim = { headers: { 'x-acting-user': 'tim' } };
    const isKnown = async () =>
      (await gateway.get('/v1/enterprises/ent-tidewater/members', asTim)).status === 200;
    await until('the users are read', isKnown);
    await sandbox.control('PUT', '/profile', { usersSee: 'own' });
    await sandbox.fault({ operation: 'deleteMember', times: 2, action: { delayMs: 300 } });
    const both = await Promise.all([1, 2].map(() => gateway.request('DELETE', path, asTim)));
    expect(both.map(({ status }) => status)).toEqual([404, 404]);
    const lost = { reset: 'before-headers' };
    await sandbox.fault({ operation: 'deleteMember', times: 1, phase: 'after', action: lost });
    expect((await gateway.request('DELETE', path)).body['code']).toBe('outcome-unknown');
    expect((await gateway.request('DELETE', path, asTim)).status).toBe(404);
    expect((await gateway.request('DELETE', path)).status).toBe(204);
  });

  it('that was refused leaves no unknown outcome behind', async () => {
    await sandbox.fault({ operation: 'deleteMember', times: 2, action: { code: '60002' } });
    expect((await gateway.request('DELETE', path)).status).toBe(404);
    expect((await gateway.request('DELETE', path)).status).toBe(404);
    expect((await gateway.request('DELETE', path)).status).toBe(204);
  });
});

describe('adding many members', () => {
  it('reports each of 1,000 when the calls end in all ways', async () => {
    const members = rows(1_000);
    members[350] = row('anna');
    const call = (first: number) => ({ body: { userList: [{ userName: `new${first}` }] } });
    await sandbox.fault({
      operation: 'addMembers',
      match: call(100),
      action: { code: '500', message: 'retry' },
    });
    await sandbox.fault({
      operation: 'addMembers',
      match: call(500),
      phase: 'after',
      action: { reset: 'before-headers' },
    });
    await sandbox.fault({
      operation: 'addMembers',
      match: call(800),
      action: { code: '10004', message: 'bad number' },
    });
    const { answer, succeeded, failed } = await add(members);
    expect(answer.status).toBe(207);
    expect(succeeded).toHaveLength(699);
    const codes = Map.groupBy(failed, ({ code, outcome }) => `${code} ${outcome}`);
    expect([...codes].map(([code, group]) => [code, group.length])).toEqual([
      ['outcome-unknown unknown', 200],
      ['upstream-rejected not_processed', 101],
    ]);
    expect(failed[0]?.account).toBe('new100');
    expect(failed[100]).toMatchObject({
      index: 350,
      account: 'anna',
      message: expect.stringMatching(/exists/),
    });
    expect(failed.at(-1)).toEqual({
      index: 899,
      account: 'new899',
      code: 'upstream-rejected',
      message: 'bad number',
      outcome: 'not_processed',
      retryable: false,
    });
    expect(await sandbox.journal('addMembers')).toHaveLength(10);
    const log = (await gateway.log()).filter((line) => line.includes('"event":"partial-failure"'));
    expect(log.length).toBeGreaterThanOrEqual(3);
  });

  it('sends two calls at a time', async () => {
    await sandbox.fault({ operation: 'addMembers', action: { delayMs: 300 } });
    const atOnce: number[] = [];
    const adding = add(rows(400));
    await until('every call was sent', async () => {
      const sent = await sandbox.journal('addMembers');
      atOnce.push(sent.filter(({ status }) => status === null).length);
      return sent.length === 4;
    });
    expect((await adding).answer.status).toBe(201);
    expect(Math.max(...atOnce)).toBe(2);
  });

  it('reads 60027 in every form, and 0 with failures, as the two lists', async () => {
    for (const form of [{ status: 299 }, { status: 200 }, { status: 200, codeAs: 'integer' }]) {
      await sandbox.reset();
      const succeeded = [{ globalId: 'mem-a', userName: 'a@harbour' }];
      const data = { succeeded, failed: [{ userName: 'b', message: 'taken' }] };
      await sandbox.fault({
        operation: 'addMembers',
        action: { code: '60027', message: 'some', data, ...form },
      });
      const { answer, ...lists } = await add([row('a'), row('b')]);
      expect(answer.status).toBe(207);
      expect(lists).toMatchObject({
        succeeded: [{ memberGlobalId: 'mem-a', userName: 'a@harbour' }],
        failed: [{ index: 1, account: 'b', code: 'upstream-rejected', message: 'taken' }],
      });
    }
  });

  it('tells the rows of calls that failed in different ways apart, when no call succeeded', async () => {
    await sandbox.fault({ operation: 'addMembers', times: 1, action: { code: '60009', message: 'only 5' } });
    await sandbox.fault({ operation: 'addMembers', action: { code: '80001' } });
    const both = await add(rows(200));
    expect(both.answer.status).toBe(207);
    expect(both.succeeded).toEqual([]);
    const codes = both.failed.map(({ code, outcome }) => `${code} ${outcome}`);
    expect(codes.filter((each) => each === 'trial-member-limit not_processed')).toHaveLength(100);
    expect(codes.filter((each) => each === 'outcome-unknown unknown')).toHaveLength(100);
  });

  it.each([
    ['codes', { code: '40008', message: 'refused' }, { code: '40001', message: 'refused' }, 'refused'],
    ['words', { code: '40000', message: 'too long' }, { code: '40000', message: 'too short' }, 'too short'],
    [
      'rows',
      { code: '40000', message: 'userList[3].userName and userList[4].name' },
      { code: '40000', message: 'userList[3].userName and userList[4].name' },
      'members[103].account and members[104].name',
    ],
    [
      'places',
      { code: '40000', message: 'userList[3].userName must not be empty' },
      { code: '40000', message: 'userList[3].userName must not be empty' },
      'account must not be empty (/members/103/account)',
    ],
  ])('tells the rows of calls apart that were refused with other %s', async (_, first, second, words) => {
    const call = (userName: string) => ({ body: { userList: [{ userName }] } });
    await sandbox.fault({ operation: 'addMembers', match: call('new0'), action: first });
    await sandbox.fault({ operation: 'addMembers', match: call('new100'), action: second });
    const { answer, failed } = await add(rows(200));
    expect([answer.status, failed.length]).toEqual([207, 200]);
    expect(failed[199]).toMatchObject({ index: 199, code: 'upstream-rejected', message: words });
  });

  it('responds with the problem itself when every call failed in the same way', async () => {
    await sandbox.fault({ operation: 'addMembers', action: { code: '80001' } });
    const open = await add(rows(200));
    expect(open.answer.body).toMatchObject({ status: 502, code: 'outcome-unknown', outcome: 'unknown' });
    await sandbox.reset();
    const trial = await add(rows(6), 'ent-meridian');
    expect(trial.answer.body).toMatchObject({
      status: 409,
      code: 'trial-member-limit',
      outcome: 'not_processed',
    });
    expect(trial.answer.body['detail']).toMatch(/limited|only/);
  });

  it('never shows a password, with any message of the platform', async () => {
    const data = { succeeded: [], failed: [{ userName: 'a', message: `password ${PASSWORD} is\r\nweak` }] };
    await sandbox.fault({ operation: 'addMembers', times: 1, action: { code: '60027', data } });
    const { failed } = await add([row('a')]);
    expect(failed[0]?.message).toBe('password [secret] is weak');
    await sandbox.fault({
      operation: 'addMembers',
      action: { code: '50003', message: `${PASSWORD} is short` },
    });
    expect((await add([row('a')])).answer.text).not.toContain(PASSWORD);
    expect((await gateway.log()).join('\n')).not.toContain(PASSWORD);
  });
});

describe('a page', () => {
  it('is paged and counted by the platform', async () => {
    const first = await gateway.get(`${HARBOUR}/members?page=1&pageSize=4`);
    const second = await gateway.get(`${HARBOUR}/members?page=2&pageSize=4`);
    const beyond = await gateway.get(`${HARBOUR}/members?page=3&pageSize=4`);
    const counts = { pageSize: 4, total: 6, totalPages: 2 };
    expect(first.body).toMatchObject({ page: 1, ...counts });
    expect(second.body).toMatchObject({ page: 2, ...counts });
    expect(beyond.body).toMatchObject({ page: 3, items: [], ...counts });
    const items = [...(first.body['items'] as []), ...(second.body['items'] as [])] as MemberView[];
    expect(new Set(items.map(({ memberGlobalId }) => memberGlobalId)).size).toBe(6);
    expect(items.find(({ memberGlobalId }) => memberGlobalId === 'mem-harbour-anna')).toMatchObject({
      userName: 'anna@harbour',
      assetNums: ['8000001002'],
      boundUserInfo: null,
    });
    const [asked] = await sandbox.journal('listMembers');
    expect(asked?.query).toMatchObject({ pageNum: '1', pageSize: '4' });
  });

  it('has the first 20 by default, and filters by department and keyword', async () => {
    expect((await gateway.get(`${HARBOUR}/members`)).body).toMatchObject({ page: 1, pageSize: 20 });
    expect((await list('?keyword=ANNA')).map(({ memberGlobalId }) => memberGlobalId)).toEqual([
      'mem-harbour-anna',
    ]);
    for (const { departmentId } of await list('?departmentId=10')) expect(departmentId).toBe('10');
    expect(await list('?departmentId=999')).toEqual([]);
  });
});

it("the products on an asset are returned as products and trees of packages, with the gateway's field names", async () => {
  const { body } = await gateway.get('/v1/enterprises/ent-harbour/assets/ast-1002/products');
  const products = body['products'] as Record<string, unknown>[];
  expect(products[0]).toMatchObject({
    assetId: 'ast-1002',
    trial: false,
    active: true,
    limitType: 'basic',
  });
  const [suite] = body['merchandises'] as {
    merchandiseNum: string;
    children: object[];
    products: object[];
  }[];
  expect(suite).toMatchObject({
    merchandiseNum: 'PKG-SUITE',
    children: [expect.objectContaining({ merchandiseNum: 'PKG-EXTRAS', children: [] })],
  });
  expect(JSON.stringify(body)).not.toMatch(/productInstanceList|activateFlag/);
});

describe('the overview', () => {
  it('counts the members, assets and locks', async () => {
    const { status, body } = await gateway.get(`${HARBOUR}/overview`);
    expect(status).toBe(200);
    expect(body).toEqual({
      enterpriseGlobalId: 'ent-harbour',
      members: { total: 6 },
      assetNums: { total: 12, assigned: 4, free: 8, lent: 2, online: 1 },
      lentLocks: { total: 2 },
      assets: {
        total: expect.any(Number),
        byLicenseType: expect.objectContaining({ softkey: expect.any(Number) }),
        locked: expect.any(Number),
        frozen: expect.any(Number),
        expired: expect.any(Number),
        expiringSoon: 0,
      },
      unreachable: [],
    });
    const { total, byLicenseType } = body['assets'] as {
      total: number;
      byLicenseType: Record<string, number>;
    };
    expect(Object.values(byLicenseType).reduce((sum, count) => sum + count, 0)).toBe(total);
  });

  it('serves the rest when reads fail, and names them; when all fail, responds with the first problem', async () => {
    await sandbox.fault({ operation: 'listAssetNums', action: { code: '60017' } });
    await sandbox.fault({ operation: 'listAssets', action: { httpStatus: 500 } });
    const { status, body } = await gateway.get(`${HARBOUR}/overview`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      members: { total: 6 },
      assetNums: null,
      lentLocks: { total: 2 },
      assets: null,
      unreachable: [
        { section: 'assetNums', code: 'account-not-bound' },
        { section: 'assets', code: 'upstream-unavailable' },
      ],
    });
    await sandbox.fault({ operation: 'listMembers', action: { code: '40000', message: 'page' } });
    await sandbox.fault({ operation: 'listLentLocks', action: { raw: { text: '{' } } });
    const none = await gateway.get(`${HARBOUR}/overview`);
    expect(none.body).toMatchObject({ status: 422, code: 'upstream-rejected' });
  });

  it.each([
    ['locked', 'perhaps'],
    ['freezing', 'perhaps'],
    ['limitEndTime', 'next year'],
  ])('does not count assets whose %s cannot be read', async (field, value) => {
    await sandbox.fault({ operation: 'listAssets', action: { odd: { pointer: `/data/0/${field}`, value } } });
    const { status, body } = await gateway.get(`${HARBOUR}/overview`);
    expect([status, body]).toMatchObject([
      200,
      { assets: null, unreachable: [{ section: 'assets', code: 'upstream-contract-violation' }] },
    ]);
    expect((await gateway.get(`${HARBOUR}/assets`)).status).toBe(200);
  });

  it('also needs the scope of the asset list', async () => {
    const answer = await gateway.get(`${HARBOUR}/overview`, { key: gateway.keys['viewer'] });
    expect(answer.status).toBe(403);
    expect(answer.body['detail']).toBe('The scope orders:read is needed.');
  });
});

it.each<[string, string, unknown, string]>([
  [
    'a department beyond a long',
    'members/m1',
    '{"account":"a","name":"A","departmentId":9223372036854775808}',
    '/departmentId',
  ],
  ['nothing to change', 'members/m1/asset-nums', {}, ''],
  ['empty lists', 'members/m1/asset-nums', { assign: [], withdraw: [] }, ''],
  ['a number in both', 'members/m1/asset-nums', { assign: ['a', 'b'], withdraw: ['b'] }, ''],
])('a change with %s is 400 with a pointer, and nothing is sent', async (_, path, body, pointer) => {
  const { status, body: problem } = await gateway.request('PATCH', `${HARBOUR}/${path}`, { body });
  expect([status, problem['errors']]).toEqual([400, [expect.objectContaining({ pointer })]]);
  expect(await sandbox.calls()).toEqual([]);
});
