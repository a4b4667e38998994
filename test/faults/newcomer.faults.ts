import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Fleet } from '../support/fleet.ts';
import { operationCases } from '../support/operations.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** What the shipped gateway tells a newcomer who sent something wrong: where it is, and what is allowed there. */

const JSON_TYPE = { 'content-type': 'application/json' };
const CUSTOMERS = '/v1/customers';
const IMPORTS = '/v1/enterprises/ent-harbour/member-imports?validateOnly=true';

let sandbox: TestSandbox;
let fleet: Fleet;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  fleet = await Fleet.start(sandbox, 1);
});
afterAll(async () => {
  await fleet.stop();
  await sandbox.close();
});

interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: {
    readonly code?: string;
    readonly detail?: string;
    readonly errors?: readonly { readonly detail: string }[];
    readonly items?: readonly unknown[];
  };
}

async function ask(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<Seen> {
  const response = await fetch(`${fleet.gateways[0]?.url}${path}`, {
    method,
    headers: { 'x-api-key': fleet.key, ...headers },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? (JSON.parse(text) as Seen['body']) : {},
  };
}

it('K51 a body that is not JSON: the response says where and what is expected, and repeats nothing of it', async () => {
  const cut = await ask('POST', CUSTOMERS, JSON_TYPE, '{\n  "channelCode": "s3cret-word",\n  "x" 1\n}');
  expect(cut.body.errors).toEqual([
    { pointer: '', detail: 'must be JSON: at line 3, column 7 there must be `:`' },
  ]);
  expect(cut.text).not.toContain('s3cret-word');
  const ended = await ask('POST', CUSTOMERS, JSON_TYPE, '{"channelCode": "crm",');
  expect(ended.body.errors).toEqual([
    {
      pointer: '',
      detail: 'must be JSON: where it ends (column 23) there must be the name of a field, in `"`',
    },
  ]);
});

describe('K52 a body of another type', () => {
  it.each<[string, string, Readonly<Record<string, string>>, object]>([
    [
      'text',
      CUSTOMERS,
      { 'content-type': 'text/plain' },
      { parameter: 'Content-Type', detail: 'must be `application/json` in UTF-8, and is `text/plain`' },
    ],
    [
      'a type that is none, which the response does not repeat',
      CUSTOMERS,
      { 'content-type': 'Bearer s3cret-word' },
      {
        parameter: 'Content-Type',
        detail: 'must be `application/json` in UTF-8, and has not the form of a type',
      },
    ],
    [
      'a compressed one',
      CUSTOMERS,
      { ...JSON_TYPE, 'content-encoding': 'gzip' },
      {
        parameter: 'Content-Encoding',
        detail: 'must be left out: the body is sent without compression',
      },
    ],
    [
      'a file in Latin-1',
      IMPORTS,
      { 'content-type': 'text/csv; charset=iso-8859-1' },
      {
        parameter: 'Content-Type',
        detail:
          'must be `text/csv` or `application/x-ndjson` in UTF-8, and is `text/csv; charset=iso-8859-1`',
      },
    ],
  ])('%s is 415 with what came and what there is', async (_, path, headers, fault) => {
    const { status, body } = await ask('POST', path, headers, 'x');
    expect([status, body.errors]).toEqual([415, [fault]]);
  });
});

it.each([
  ['/v1/enterprises/ent-harbour/assets', 'text/csv', 'must allow `application/json`, and is `text/csv`'],
  [
    '/v1/enterprises/ent-harbour/members/export',
    'application/json',
    'must allow `text/csv` or `application/x-ndjson`, and is `application/json`',
  ],
])('K53 %s with Accept: %s is 406 with what there is', async (path, accept, detail) => {
  const { status, body } = await ask('GET', path, { accept });
  expect([status, body.errors]).toEqual([406, [{ parameter: 'Accept', detail }]]);
});

describe('K54 a path that no operation has', () => {
  it.each([
    ['/v1/enterprise/ent-harbour/assets', '/v1/enterprises/{enterpriseGlobalId}/assets'],
    ['/v1/enterprises/ent-harbour/assets/', '/v1/enterprises/{enterpriseGlobalId}/assets'],
    ['/enterprises/ent-harbour/assets', '/v1/enterprises/{enterpriseGlobalId}/assets'],
    ['/v1/enterprises/ent-harbour/member', '/v1/enterprises/{enterpriseGlobalId}/members'],
    ['/v1/licence-orders', '/v1/license-orders'],
    ['/v1/licenseOrders/crm/SO-1', '/v1/license-orders/{channelCode}/{channelOrderId}'],
    ['/v1/custmers?x=1', '/v1/customers'],
  ])('%s: the response names %s', async (path, nearest) => {
    const { status, body } = await ask('GET', path);
    expect([status, body.code, body.detail]).toEqual([
      404,
      'not-found',
      expect.stringContaining(`The nearest one is \`${nearest}\`.`),
    ]);
  });

  it.each([
    ['of a robot', '/wp-login.php'],
    ['of many parts', '/v1/a/b/c/d/e/f/g/h/i/j'],
    ['of many letters', `/v1/${'a'.repeat(2_000)}`],
  ])('%s is like none, and the response says where they are', async (_, path) => {
    const { status, body } = await ask('GET', path);
    expect([status, body.detail]).toEqual([
      404,
      expect.stringMatching(/^No operation has this path. `\/docs`/),
    ]);
  });

  it('names no path to a stranger, for whom it costs nothing', async () => {
    const { status, body } = await ask('GET', '/v1/custmers', { 'x-api-key': 'wrong' });
    expect([status, body.detail]).toEqual([404, expect.not.stringContaining('nearest')]);
  });

  it('with another method says which ones it has', async () => {
    const { status, headers, body } = await ask('PUT', CUSTOMERS, JSON_TYPE, '{}');
    expect([status, headers.get('allow'), body.detail]).toEqual([
      405,
      'GET, HEAD, POST',
      'The path exists, but not with PUT. It has GET, HEAD, POST.',
    ]);
  });
});

describe('K55 an enterprise that the platform does not know', () => {
  it.each(['assets', 'members', 'asset-nums', 'lent-locks'])('has no %s: an empty list', async (list) => {
    const { status, body } = await ask('GET', `/v1/enterprises/ent-nowhere/${list}`);
    expect([status, body]).toEqual([200, expect.objectContaining({ items: [], total: 0 })]);
  });

  it('has no asset and no member with any id', async () => {
    const codes = await Promise.all(
      ['assets/1', 'members/1'].map(async (path) => {
        const { status, body } = await ask('GET', `/v1/enterprises/ent-nowhere/${path}`);
        return [status, body.code];
      }),
    );
    expect(codes).toEqual([
      [404, 'asset-not-found'],
      [404, 'member-not-found'],
    ]);
  });

  it('has an overview of zeros', async () => {
    const { status, body } = await ask('GET', '/v1/enterprises/ent-nowhere/overview');
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ members: { total: 0 }, assets: expect.anything(), unreachable: [] }),
    ]);
  });

  it('is no empty list where the platform refuses for another reason', async () => {
    const action = { code: '13004', message: 'extendCode is wrong' };
    await sandbox.fault({ operation: 'listAssets', times: 1, action });
    const { status, body } = await ask('GET', '/v1/enterprises/ent-harbour/assets');
    expect([status, body.code]).toEqual([422, 'upstream-rejected']);
    await sandbox.reset();
  });

  it('a CRM customer that it does not know: the fault is at the parameter of the path', async () => {
    const { status, body } = await ask(
      'PATCH',
      '/v1/crm-customers/CRM-none',
      JSON_TYPE,
      '{"customerName":"x"}',
    );
    expect([status, body.errors]).toEqual([
      422,
      [{ parameter: 'crmCustomerId', detail: 'crmCustomerId is unknown' }],
    ]);
  });
});

it('K56 an order whose outcome is unknown: the response says what not to do, and where to look', async () => {
  const order = operationCases.find(({ id }) => id === 'placeOrder')?.body as object;
  await sandbox.fault({
    operation: 'batchOrder',
    phase: 'after',
    times: 1,
    action: { reset: 'before-headers' },
  });
  const body = JSON.stringify({ ...order, channelOrderId: 'SO-K56' });
  for (const _ of ['at once', 'sent again']) {
    const answer = await ask('POST', '/v1/license-orders', JSON_TYPE, body);
    expect([answer.body.code, answer.headers.get('location')]).toEqual([
      'outcome-unknown',
      '/v1/license-orders/crm/SO-K56',
    ]);
    expect(answer.body.detail).toMatch(/Do not send it under another number.*`Location`/);
  }
});

describe('K57 cells that begin like a formula', () => {
  const FORMULAS = ['=1+1', '+49', '-5', '@SUM(A1)', 'a=b', '="x",1'];
  const file = [
    'account,password,name,remark',
    ...FORMULAS.map((remark, index) => `cell${index},first-login-1,Cell,"${remark.replaceAll('"', '""')}"`),
  ].join('\n');
  const remarks = async (query: string): Promise<readonly string[]> => {
    const { text } = await ask('GET', `/v1/enterprises/ent-harbour/members/export?keyword=cell${query}`, {
      accept: 'text/csv',
    });
    return text
      .split('\r\n')
      .slice(1, -1)
      .map((line) => /^(?:[^,]*,){5}("(?:[^"]|"")*"|[^,]*),/.exec(line)?.[1] ?? line);
  };

  it('are text on demand in exports and rows, and else as they were', async () => {
    await sandbox.reset();
    const path = '/v1/enterprises/ent-harbour/member-imports';
    const made = await ask('POST', path, { 'content-type': 'text/csv', 'x-acting-user': 'default' }, file);
    expect(made.status).toBe(202);
    const job = made.headers.get('location') ?? '';
    await until('the job has ended', async () =>
      (await ask('GET', job)).text.includes('"state":"succeeded"'),
    );
    const exact = ['=1+1', '+49', '-5', '@SUM(A1)', 'a=b', '"=""x"",1"'];
    expect((await remarks('')).toSorted()).toEqual(exact.toSorted());
    expect((await remarks('&cells=exact')).toSorted()).toEqual(exact.toSorted());
    const asText = ["'=1+1", "'+49", "'-5", "'@SUM(A1)", 'a=b', `"'=""x"",1"`];
    expect((await remarks('&cells=text')).toSorted()).toEqual(asText.toSorted());
    const rows = [await ask('GET', `${job}/rows`), await ask('GET', `${job}/rows?cells=text`)];
    expect(rows.map(({ status }) => status)).toEqual([200, 200]);
    expect(rows[1]?.text).toBe(rows[0]?.text);
  });

  it('take no other word', async () => {
    const { status, body } = await ask('GET', '/v1/enterprises/ent-harbour/members/export?cells=excel');
    expect([status, body.errors]).toEqual([
      400,
      [{ parameter: 'cells', detail: 'must be one of exact, text' }],
    ]);
  });
});
