import { describe, expect, it } from '@jest/globals';
import { interfaceCodes } from '../../src/config/taught-codes.ts';
import { document, routes } from '../support/contract.ts';
import { caseOf } from '../support/expected.ts';
import { orderOf } from '../support/order-body.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';
import { refusalCodes } from '../support/upstream-codes.ts';

/**
 * What the shipped gateway tells a newcomer who sent something wrong (where it is, and what is allowed there), what its problems mean, and
 * what its log and its metrics tell of a request.
 */

const CUSTOMERS = '/v1/customers';
const HARBOUR = '/v1/enterprises/ent-harbour';

const { sandbox, gateway } = useStack({ redis: true });

const get = (path: string, headers = {}) => gateway.get(path, { headers });

it.each([
  ['{\n  "channelCode": "s3cret-word",\n  "x" 1\n}', 'at line 3, column 7 there must be `:`'],
  ['{"channelCode": "crm",', 'where it ends (line 1, column 23) there must be the name of a field, in `"`'],
])('K51 a body that is not JSON: the response says where, and repeats nothing of it', async (text, place) => {
  const answer = await gateway.post(CUSTOMERS, text);
  expect(answer.body['errors']).toEqual([{ pointer: '', detail: `must be JSON: ${place}` }]);
  expect(answer.text).not.toContain('s3cret-word');
});

it.each<[string, Readonly<Record<string, string>>, string, string]>([
  [
    CUSTOMERS,
    { 'content-type': 'text/plain' },
    'Content-Type',
    '`application/json` in UTF-8, and is `text/plain`',
  ],
  [
    CUSTOMERS,
    { 'content-encoding': 'gzip' },
    'Content-Encoding',
    'left out: the body is sent without compression',
  ],
  [
    `${HARBOUR}/member-imports/dry-run`,
    { 'content-type': 'text/csv; charset=iso-8859-1' },
    'Content-Type',
    '`text/csv` or `application/x-ndjson` in UTF-8, and is `text/csv; charset=iso-8859-1`',
  ],
])(
  'K52 %s of another type (%j) is 415 with what came and what there is',
  async (path, headers, parameter, must) => {
    const { status, body } = await gateway.post(path, 'x', { headers });
    expect([status, body['errors']]).toEqual([415, [{ parameter, detail: `must be ${must}` }]]);
  },
);

it.each([
  ['assets', 'text/csv', 'must allow `application/json`, and is `text/csv`'],
  [
    'members/export',
    'application/json',
    'must allow `text/csv` or `application/x-ndjson`, and is `application/json`',
  ],
])('K53 %s with Accept: %s is 406 with what there is', async (path, accept, detail) => {
  const { status, body } = await get(`${HARBOUR}/${path}`, { accept });
  expect([status, body['errors']]).toEqual([406, [{ parameter: 'Accept', detail }]]);
});

const WHERE_ALL_ARE = ' `/docs` shows all of them, `/openapi.json` has them for programs.';

describe('K54 a path that no operation has', () => {
  it.each([
    ['of many parts', '/v1/a/b/c/d/e/f/g/h/i/j'],
    ['of many letters', `/v1/${'a'.repeat(2_000)}`],
  ])('%s: the response says where they are', async (_, path) => {
    const { status, body } = await get(path);
    expect([status, body['code'], body['detail']]).toEqual([
      404,
      'not-found',
      `No operation has this path.${WHERE_ALL_ARE}`,
    ]);
  });

  it.each([
    ['with a wrong letter', '/v1/custmers?x=1', '/v1/customers'],
    ['with a slash at its end', `${HARBOUR}/assets/`, '/v1/enterprises/{enterpriseGlobalId}/assets'],
    ['without the version', '/license-orders', '/v1/license-orders'],
  ])('%s: the response names the nearest to a known caller only', async (_, path, nearest) => {
    const { status, body } = await get(path);
    const hint = `The nearest is \`${nearest}\`.`;
    expect([status, body['detail']]).toEqual([404, `No operation has this path. ${hint}${WHERE_ALL_ARE}`]);
    expect((await gateway.get(path, { key: null })).text).not.toContain(nearest);
  });

  it('with another method says which ones it has', async () => {
    const { status, headers, body } = await gateway.request('PUT', CUSTOMERS, { body: {} });
    expect([status, headers.get('allow'), body['detail']]).toEqual([
      405,
      'GET, HEAD, POST',
      'The path exists, but not with PUT. It has GET, HEAD, POST.',
    ]);
  });
});

describe('K55 an enterprise that the platform does not know', () => {
  const NOWHERE = '/v1/enterprises/ent-nowhere';

  it('has empty lists, an overview of zeros, and no asset or member with any id', async () => {
    for (const list of ['assets', 'members', 'asset-nums', 'lent-locks']) {
      const { status, body } = await get(`${NOWHERE}/${list}`);
      expect([list, status, body]).toEqual([list, 200, expect.objectContaining({ items: [], total: 0 })]);
    }
    const overview = await get(`${NOWHERE}/overview`);
    expect([overview.status, overview.body]).toEqual([
      200,
      expect.objectContaining({ members: { total: 0 }, assets: expect.anything(), unreachable: [] }),
    ]);
    for (const one of ['asset', 'member']) {
      const { status, body } = await get(`${NOWHERE}/${one}s/1`);
      expect([status, body['code']]).toEqual([404, `${one}-not-found`]);
    }
  });

  it.each([
    ['an empty list', { unknownEnterprise: 'empty' }, undefined],
    ['a code of its own, in words with the id', { unknownEnterprise: 'other-code' }, undefined],
    ['13004 in other words', {}, { code: '13004', message: '企业主账号不存在（跟踪号 7f3a21）' }],
    ['13004 without words', {}, { code: '13004', message: '' }],
    ['a code of its own that is a number', { refusalCode: 'number' }, { code: 13100, message: 'nobody' }],
  ])('has no assets where the platform says so by %s', async (_, profile, action) => {
    await sandbox.control('PUT', '/profile', profile);
    expect((await get(`${HARBOUR}/assets`)).status).toBe(200);
    // The rule of the enterprise that is there changes nothing, and comes first.
    await sandbox.fault({ operation: 'listAssets', match: { path: 'ent-harbour' }, action: { delayMs: 0 } });
    if (action) await sandbox.fault({ operation: 'listAssets', action });
    for (const enterprise of [
      NOWHERE,
      '/v1/enterprises/7',
      '/v1/enterprises/900719925474099312',
      '/v1/enterprises/海港',
    ]) {
      const { status, body } = await get(`${enterprise}/assets?extendCode=site`);
      expect([enterprise, status, body]).toMatchObject([enterprise, 200, { items: [], total: 0 }]);
    }
    const { status, body } = await get(`${NOWHERE}/assets/1`);
    expect([status, body['code']]).toEqual([404, 'asset-not-found']);
    expect((await get(`${NOWHERE}/overview`)).body).toMatchObject({
      assets: { total: 0 },
      unreachable: [],
    });
  });

  it.each([
    ['a parameter', { code: '13004', message: 'extendCode is wrong' }, 422, 'upstream-rejected'],
    ['an enterprise that is blocked', { code: '13004', message: 'is frozen' }, 422, 'upstream-rejected'],
    ['a reason that nobody knows', { code: '13017', message: 'is frozen' }, 502, 'upstream-unmapped-error'],
  ])('is no empty list where the platform refuses because of %s', async (_, action, status, code) => {
    await sandbox.fault({ operation: 'listAssets', match: { path: 'ent-harbour' }, action });
    const answer = await get(`${HARBOUR}/assets?extendCode=site`);
    expect([answer.status, answer.body['code']]).toEqual([status, code]);
    const overview = await get(`${HARBOUR}/overview`);
    expect(overview.body).toMatchObject({ assets: null, unreachable: [{ section: 'assets', code }] });
  });

  it.each(['海港工程有限公司', '--------'])(
    'is no empty list where the platform refuses the assets of %s, an id without a Latin letter or digit',
    async (id) => {
      const path = encodeURIComponent(id);
      const action = { code: '13004', message: 'the enterprise is suspended' };
      await sandbox.fault({ operation: 'listAssets', match: { path: `/${path}/` }, action });
      expect((await get(`${HARBOUR}/assets`)).status).toBe(200);
      for (const part of ['assets', 'assets/1']) {
        const { status, body } = await get(`/v1/enterprises/${path}/${part}`);
        expect([part, status, body['code']]).toEqual([part, 422, 'upstream-rejected']);
      }
      const { body } = await get(`/v1/enterprises/${path}/overview`);
      const code = 'upstream-rejected';
      expect(body).toMatchObject({ assets: null, unreachable: [{ section: 'assets', code }] });
      const asked = (await sandbox.journal('listAssets')).map((call) => decodeURIComponent(call.path));
      expect(asked.filter((each) => !each.includes('ent-harbour') && !each.includes(`/${id}/`))).not.toEqual(
        [],
      );
    },
  );

  it('is no empty list where the platform refuses in the same words what is there', async () => {
    expect((await get(`${HARBOUR}/assets`)).status).toBe(200);
    for (const code of ['13004', '13099']) {
      await sandbox.fault({ operation: 'listAssets', action: { code, message: 'closed for the night' } });
      for (const enterprise of [HARBOUR, NOWHERE]) {
        const { status, body } = await get(`${enterprise}/assets`);
        expect([enterprise, status, body['outcome']]).toEqual([
          enterprise,
          code === '13004' ? 422 : 502,
          'not_processed',
        ]);
      }
      await sandbox.reset();
    }
  });

  it('is no empty list where the platform refuses every call by an unknown code, in words that name the enterprise', async () => {
    const code = 'upstream-unmapped-error';
    const action = { code: '13500', message: 'the query by enterpriseGlobalId timed out' };
    await sandbox.fault({ operation: 'listAssets', action });
    for (const part of ['assets', 'assets/1']) {
      const { status, body } = await get(`${NOWHERE}/${part}`);
      expect([part, status, body['code'], body['outcome']]).toEqual([part, 502, code, 'not_processed']);
    }
    const overview = await get(`${NOWHERE}/overview`);
    expect(overview.body).toMatchObject({ assets: null, unreachable: [{ section: 'assets', code }] });
  });

  it('is no empty list where the platform does not answer the question who is unknown', async () => {
    await sandbox.fault({ operation: 'listAssets', skip: 1, action: { httpStatus: 500 } });
    const { status, body } = await get(`${NOWHERE}/assets`);
    expect([status, body['code']]).toEqual([422, 'upstream-rejected']);
  });

  it('a CRM customer that it does not know: the fault is at the parameter of the path', async () => {
    const change = { body: { customerName: 'x' } };
    const { status, body } = await gateway.request('PATCH', '/v1/crm-customers/CRM-none', change);
    expect([status, body['errors']]).toEqual([
      422,
      [{ parameter: 'crmCustomerId', detail: 'crmCustomerId is unknown' }],
    ]);
  });
});

it('K56 an order whose outcome is unknown: the response says what not to do, and where to look', async () => {
  const action = { reset: 'before-headers' };
  await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action });
  for (const when of ['at once', 'sent again']) {
    const { headers, body } = await gateway.post('/v1/license-orders', orderOf('SO-K56'));
    expect([when, body['code'], headers.get('location')]).toEqual([
      when,
      'outcome-unknown',
      '/v1/license-orders/crm/SO-K56',
    ]);
    expect(body['detail']).toMatch(/Do not send it under another number.*`Location`/);
  }
});

describe('K57 cells that begin like a formula', () => {
  const FORMULAS = ['=1+1', '+49', '-5', '@SUM(A1)', 'a=b', '="x",1', '＝1', 'a;=1', 'a\n=1'];
  const file = [
    'account,password,name,remark',
    ...FORMULAS.map((remark, index) => `cell${index},first-login-1,Cell,"${remark.replaceAll('"', '""')}"`),
  ].join('\n');
  const remarks = async (query: string): Promise<readonly string[]> => {
    const { text } = await get(`${HARBOUR}/members/export?keyword=cell${query}`, { accept: 'text/csv' });
    return text
      .split('\r\n')
      .slice(1, -1)
      .map((line) => /^(?:[^,]*,){5}("(?:[^"]|"")*"|[^,]*),/.exec(line)?.[1] ?? line);
  };

  it('are text on demand in exports and rows, and else as they were', async () => {
    const headers = { 'content-type': 'text/csv', 'x-acting-user': 'default' };
    const made = await gateway.post(`${HARBOUR}/member-imports`, file, { headers });
    expect(made.status).toBe(202);
    const job = made.headers.get('location') ?? '';
    await until('the job has ended', async () => (await get(job)).body['state'] === 'succeeded');
    const exact = ['=1+1', '+49', '-5', '@SUM(A1)', 'a=b', '"=""x"",1"', '＝1', 'a;=1', '"a\n=1"'];
    expect((await remarks('')).toSorted()).toEqual(exact.toSorted());
    expect((await remarks('&cells=exact')).toSorted()).toEqual(exact.toSorted());
    const asText = ["'=1+1", "'+49", "'-5", "'@SUM(A1)", 'a=b', `"'=""x"",1"`, "'＝1", "a;'=1", `"a\n'=1"`];
    expect((await remarks('&cells=text')).toSorted()).toEqual(asText.toSorted());
    const rows = [await get(`${job}/rows`), await get(`${job}/rows?cells=text`)];
    expect(rows.map(({ status }) => status)).toEqual([200, 200]);
    expect(rows[1]?.text).toBe(rows[0]?.text);
  });
});

/** The problems that the document has once for all operations. */
const { Problem } = document.components.responses;
const COMMON = new Set(Object.keys(Problem?.content?.['application/problem+json']?.examples ?? {}));

/** The operations whose own problems the document shows, but for dry runs, which have those of their writes. */
function operationsWith(code: string): string[] {
  const shown = routes.filter(({ operation }) => operation['x-dry-run-of'] === undefined);
  return shown
    .filter(({ operation: { responses } }) =>
      Object.values(responses).some(({ content }) => content?.['application/problem+json']?.examples?.[code]),
    )
    .map(({ operation }) => operation.operationId)
    .sort();
}

it('the catalogue lists every problem and explains each, as JSON and as a page', async () => {
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
  const show = (path: string, headers = {}) => gateway.get(path, { key: null, headers });
  const list = (await show('/problems')).body['items'] as { type: string; code: string; title: string }[];
  expect(list.length).toBeGreaterThan(30);
  for (const { type, code, title } of list) {
    const { body } = await show(type);
    expect(body).toMatchObject({ type, code, title });
    // The operations that the document says, which has common problems once for all.
    expect([code, (body['operations'] as string[]).sort()]).toEqual([
      code,
      COMMON.has(code) ? [] : operationsWith(code),
    ]);
    const page = await show(type, { accept });
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(page.text).toContain(`<code>${code}</code>`);
    const [, example = ''] = /<pre class="wrap"><code>(.*?)<\/code>/s.exec(page.text) ?? [];
    expect(JSON.parse(example.replaceAll('&#60;', '<').replaceAll('&#38;', '&'))).toMatchObject({
      type,
      code,
      title,
    });
    for (const id of body['operations'] as string[]) expect(page.text).toContain(`<a href="/docs#${id}">`);
  }
  expect(operationsWith('effects-changed')).toContain('placeOrder');
  expect((await show('/problems/no-such')).status).toBe(404);
  const { text } = await show('/problems/maintenance', { accept });
  expect(text).toContain('All operations that call the platform.');
});

it('the catalogue has every code of the platform, and what the gateway makes of it', async () => {
  const { body } = await gateway.get('/problems', { key: null });
  const codes = body['codes'] as {
    code: string;
    status: number;
    problem: string | null;
    operations: string[];
  }[];
  expect(codes.map(({ code }) => code).sort()).toEqual(interfaceCodes.filter((code) => code !== '0').sort());
  const told = new Map(codes.map(({ code, status, problem }) => [code, [status, problem]]));
  for (const { code, slug, status } of refusalCodes)
    expect([code, told.get(code)]).toEqual([code, [status, slug]]);
  expect(codes).toContainEqual(
    expect.objectContaining({ code: '60027', status: 207, problem: null, operations: ['addMembers'] }),
  );
  const operationsOf = (code: string) => codes.find((each) => each.code === code)?.operations.toSorted();
  expect(operationsOf('80001')).toEqual(
    ['addMembers', 'updateMember', 'resetMemberPassword', 'deleteMember', 'listMembers'].sort(),
  );
  expect(operationsOf('60005')).toEqual(expect.arrayContaining(['lendAssets', 'listAssetNums']));
  expect(operationsOf('60005')).not.toContain('placeOrder');
  expect(operationsOf('500')).toEqual([]);
  const accept = 'text/html';
  const list = (await gateway.get('/problems', { key: null, headers: { accept } })).text;
  for (const { code } of codes) expect(list).toContain(`<tr id="${code}">`);
  const page = (await gateway.get('/problems/member-not-found', { key: null, headers: { accept } })).text;
  expect([...page.matchAll(/<tr id="(\d+)">/g)].map(([, code]) => code)).toEqual(['60002', '60026']);
});

describe('logs and metrics', () => {
  it('and the response show the time that the platform took', async () => {
    await sandbox.fault({ operation: 'listAssets', action: { delayMs: 60 } });
    const answer = await get(`${HARBOUR}/assets`);
    const timing = (given: TestAnswer) => given.headers.get('server-timing') ?? '';
    const [, duration, total] = /^upstream;dur=([\d.]+), total;dur=([\d.]+)$/.exec(timing(answer)) ?? [];
    expect(Number(duration)).toBeGreaterThanOrEqual(55);
    expect(Number(total)).toBeGreaterThanOrEqual(Number(duration));
    expect(timing(await get('/v1/callers/me'))).toMatch(/^total;dur=\d+\.\d$/);
    const stranger = await gateway.get('/v1/callers/me', { key: null });
    expect([stranger.status, timing(stranger)]).toEqual([401, '']);
  });

  it('have one line for each request, of chosen fields, without key, path, query or body', async () => {
    const { path } = caseOf('findCustomers');
    await get(path, { 'x-request-id': 'find-me' });
    const lines = (await gateway.log()).filter((line) => line.includes('find-me'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] as string)).toEqual({
      level: 'info',
      time: expect.any(String),
      event: 'request',
      requestId: 'find-me',
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      operation: 'findCustomers',
      status: 200,
      durationMs: expect.any(Number),
      upstreamMs: expect.any(Number),
      caller: 'tester',
      msg: 'findCustomers 200',
    });
  });
});
