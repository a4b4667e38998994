import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newApiKey } from '../support/canary.ts';
import { TestGateway } from '../support/gateway.ts';
import { type OperationCase, operationCases, send } from '../support/operations.ts';
import { TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
let gateway: TestGateway;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  const all = { enterprises: ['*'], channels: ['*'] };
  gateway = await TestGateway.start(sandbox, {}, [
    { name: 'without-orders-read', scopes: ['orders:write', 'locks:write'], ...all },
    { name: 'without-orders-write', scopes: ['orders:read', 'locks:write'], ...all },
    { name: 'without-locks-write', scopes: ['orders:read', 'orders:write'], ...all },
    { name: 'without-members-read', scopes: ['members:write', 'orders:read'], ...all },
    { name: 'without-members-write', scopes: ['members:read', 'orders:read'], ...all },
    { name: 'buyer', scopes: ['orders:write'], ...all },
    {
      name: 'harbour',
      scopes: ['orders:read', 'orders:write'],
      enterprises: ['ent-harbour'],
      channels: ['crm'],
    },
  ]);
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await gateway.stop();
  await sandbox.close();
});

const operation = (id: string) => operationCases.find((each) => each.id === id) as OperationCase;

/** Sends a path byte for byte: fetch would resolve dot segments itself. */
function rawGet(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(gateway.url);
  return new Promise((resolve, reject) => {
    httpRequest({ hostname, port, path, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    })
      .on('error', reject)
      .end();
  });
}

describe('a caller', () => {
  afterEach(async () => {
    expect(await sandbox.calls()).toEqual([]);
  });

  it.each(operationCases)('without a key, or with a wrong one, is refused $id', async (each) => {
    for (const options of [
      { key: null },
      { key: newApiKey().key },
      { key: '' },
      { headers: { 'x-api-key': 'x' }, key: null },
    ]) {
      const answer = await send(gateway, each, options);
      expect(answer.status).toBe(401);
      expect(answer.body).toMatchObject({ code: 'unauthenticated', outcome: 'not_processed' });
    }
  });

  it('without a key is told that first, whatever else is wrong', async () => {
    for (const body of ['', '{', '[]', { nonsense: true }]) {
      expect((await gateway.post('/v1/customers', body, { key: null })).status).toBe(401);
    }
    expect((await gateway.get('/v1/enterprises/a%2fb/assets?x=1', { key: null })).status).toBe(401);
  });

  it.each(operationCases)('lacking a scope is refused $id, and told which', async (each) => {
    const answer = await send(gateway, each, {
      key: gateway.keys[`without-${each.scopes[0]?.replace(':', '-')}`],
    });
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({
      code: 'forbidden',
      detail: `The scope ${each.scopes[0]} is needed.`,
    });
  });

  it('that may order, but not revoke, is refused a batch with a deletion in it', async () => {
    const key = gateway.keys['buyer'];
    const { orders } = operation('placeOrder').body as { orders: object[] };
    const deletion = {
      orderType: 'delete_asset',
      licenseType: 'softkey',
      allOrders: true,
      customer: {},
      assets: [{ assetNums: ['8000001001'] }],
    };
    const body = { channelCode: 'crm', channelOrderId: 'SO-1', orders: [...orders, deletion] };
    const answer = await gateway.post('/v1/license-orders', body, { key });
    expect(answer.status).toBe(403);
    expect(answer.body['detail']).toBe('The scope orders:revoke is needed.');
    expect((await gateway.post('/v1/license-orders?validateOnly=true', body)).status).toBe(200);
  });

  const foreign: [string, string, string, object | undefined][] = [
    ['an enterprise in the path', 'GET', '/v1/enterprises/ent-meridian/assets', undefined],
    [
      'a channel in the query',
      'GET',
      '/v1/customers?channelCode=partner&channelCustomerId=PT-2001',
      undefined,
    ],
    [
      'a channel in the body',
      'POST',
      '/v1/customers',
      { ...operation('bindCustomer').body, channelCode: 'partner' },
    ],
    [
      'a channel of an order',
      'POST',
      '/v1/license-orders',
      { ...operation('placeOrder').body, channelCode: 'partner' },
    ],
    [
      'an enterprise of an order item',
      'POST',
      '/v1/license-orders',
      {
        channelCode: 'crm',
        channelOrderId: 'SO-1',
        orders: [
          {
            orderType: 'new_buy',
            licenseType: 'softkey',
            customer: { enterpriseGlobalId: 'ent-meridian' },
            assets: [{ products: [{ productUri: 'draft.pro' }] }],
          },
        ],
      },
    ],
  ];

  it.each(foreign)('is refused %s that is not its own', async (_, method, path, body) => {
    const key = gateway.keys['harbour'];
    const answer = await gateway.request(method, path, { body, key });
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ code: 'forbidden', outcome: 'not_processed' });
  });
});

describe('a request that is wrong', () => {
  afterEach(async () => {
    expect(await sandbox.calls()).toEqual([]);
  });

  async function faultsOf(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await gateway.request(method, path, { body });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      code: 'validation-failed',
      outcome: 'not_processed',
      retryable: false,
    });
    return answer.body['errors'];
  }

  const buy = (item: object) => ({
    channelCode: 'crm',
    channelOrderId: 'SO-1',
    orders: [
      {
        orderType: 'new_buy',
        licenseType: 'softkey',
        customer: { customerId: 'c' },
        assets: [{ products: [{}] }],
        ...item,
      },
    ],
  });
  const remove = (item: object) => ({
    channelCode: 'crm',
    channelOrderId: 'SO-1',
    orders: [
      {
        orderType: 'delete_asset',
        licenseType: 'softkey',
        srcLicenseOrderId: 'l',
        customer: {},
        assets: [{ assetNums: ['a'] }],
        ...item,
      },
    ],
  });

  it.each<[string, string, string, unknown, unknown[]]>([
    ['body that is no object', 'POST', '/v1/asset-nums', '[]', ['']],
    ['body that is empty', 'POST', '/v1/asset-nums', '', ['']],
    ['body that is not JSON', 'POST', '/v1/asset-nums', '{"size":', ['']],
    ['body that is not UTF-8', 'POST', '/v1/asset-nums', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), ['']],
    [
      'body that is nested too deep',
      'POST',
      '/v1/asset-nums',
      `{"size":${'['.repeat(40)}${']'.repeat(40)}}`,
      [''],
    ],
    ['repeated field', 'POST', '/v1/asset-nums', '{"size":1,"size":2}', ['/size']],
    [
      'repeated field deep inside',
      'POST',
      '/v1/license-orders',
      '{"orders":[{"customer":{"a":1,"a":1}}]}',
      ['/orders/0/customer/a'],
    ],
    ['field that is unknown', 'POST', '/v1/asset-nums', { size: 1, sise: 2 }, ['/sise']],
    ['field called __proto__', 'POST', '/v1/asset-nums', '{"size":1,"__proto__":{"x":1}}', ['/__proto__']],
    ['field called constructor', 'POST', '/v1/asset-nums', { size: 1, constructor: 1 }, ['/constructor']],
    ['field called toString', 'POST', '/v1/asset-nums', { size: 1, toString: 1 }, ['/toString']],
    ['number in a string', 'POST', '/v1/asset-nums', { size: '5' }, ['/size']],
    ['fraction', 'POST', '/v1/asset-nums', { size: 1.5 }, ['/size']],
    ['number beyond all bounds', 'POST', '/v1/asset-nums', '{"size":1e400}', ['/size']],
    ['boolean for a number', 'POST', '/v1/asset-nums', { size: true }, ['/size']],
    ['number out of range', 'POST', '/v1/asset-nums', { size: 1001 }, ['/size']],
    [
      'null for a text',
      'POST',
      '/v1/customers',
      { ...operation('bindCustomer').body, branchName: null },
      ['/branchName'],
    ],
    [
      'number beyond 2^53 for a text',
      'POST',
      '/v1/customers',
      '{"channelCode":12345678901234567890,"channelCustomerId":"a","customerName":"b","enterpriseName":"c"}',
      ['/channelCode'],
    ],
    [
      'lone surrogate',
      'POST',
      '/v1/customers',
      String.raw`{"channelCode":"a","channelCustomerId":"b","customerName":"\ud800","enterpriseName":"c"}`,
      ['/customerName'],
    ],
    [
      'control character',
      'POST',
      '/v1/customers',
      { ...operation('bindCustomer').body, customerName: 'a\u0007b', enterpriseName: 'a\u202eb' },
      ['/customerName', '/enterpriseName'],
    ],
    ['update of nothing', 'PATCH', '/v1/customers/CRM-1001', {}, ['']],
    ['list of no locks', 'POST', '/v1/locks/disable', { assetNums: [] }, ['/assetNums']],
    ['lock given twice', 'POST', '/v1/locks/disable', { assetNums: ['a', 'a'] }, ['/assetNums']],
    [
      'every field missing',
      'POST',
      '/v1/customers',
      {},
      ['/channelCode', '/channelCustomerId', '/customerName', '/enterpriseName'],
    ],
    [
      'order without items',
      'POST',
      '/v1/license-orders',
      { channelCode: 'crm', channelOrderId: 'x', orders: [] },
      ['/orders'],
    ],
    [
      'order of an unknown type',
      'POST',
      '/v1/license-orders',
      buy({ orderType: 'gift', junk: 1 }),
      ['/orders/0/orderType'],
    ],
    [
      'order that is no object',
      'POST',
      '/v1/license-orders',
      { channelCode: 'crm', channelOrderId: 'x', orders: [null] },
      ['/orders', '/orders/0'],
    ],
    [
      'unknown licence type',
      'POST',
      '/v1/license-orders',
      buy({ licenseType: 'paper' }),
      ['/orders/0/licenseType'],
    ],
    [
      'sequence given twice',
      'POST',
      '/v1/license-orders',
      { ...buy({}), orders: [...buy({ sequence: 2 }).orders, ...buy({}).orders] },
      [''],
    ],
    [
      'purchase of nothing',
      'POST',
      '/v1/license-orders',
      buy({ assets: [{ products: [] }] }),
      ['/orders/0/assets/0'],
    ],
    ['purchase for nobody', 'POST', '/v1/license-orders', buy({ customer: {} }), ['/orders/0']],
    [
      'purchase with a field of a deletion',
      'POST',
      '/v1/license-orders',
      buy({ allOrders: true }),
      ['/orders/0/allOrders'],
    ],
    [
      'day that does not exist',
      'POST',
      '/v1/license-orders',
      buy({ assets: [{ limitEndTime: '2026-02-30T00:00:00Z', products: [{}] }] }),
      ['/orders/0/assets/0/limitEndTime'],
    ],
    [
      'time without a zone',
      'POST',
      '/v1/license-orders',
      buy({ assets: [{ limitEndTime: '2026-02-20T00:00:00', products: [{}] }] }),
      ['/orders/0/assets/0/limitEndTime'],
    ],
    [
      'duration that is no y-m-d',
      'POST',
      '/v1/license-orders',
      buy({ assets: [{ products: [{ timeDurationExpression: 'P1Y' }] }] }),
      ['/orders/0/assets/0/products/0/timeDurationExpression'],
    ],
    [
      'field unknown deep inside',
      'POST',
      '/v1/license-orders',
      buy({ assets: [{ merchandises: [{ children: [{ products: [{ prise: 1 }] }] }] }] }),
      ['/orders/0/assets/0/merchandises/0/children/0/products/0/prise'],
    ],
    [
      'deletion from no order',
      'POST',
      '/v1/license-orders',
      remove({ srcLicenseOrderId: undefined }),
      ['/orders/0'],
    ],
    [
      'deletion from one order and all',
      'POST',
      '/v1/license-orders',
      remove({ allOrders: true }),
      ['/orders/0'],
    ],
    [
      'deletion from all orders of a cloud type',
      'POST',
      '/v1/license-orders',
      remove({ srcLicenseOrderId: undefined, allOrders: true, licenseType: 'cloud_account' }),
      ['/orders/0'],
    ],
    [
      'deletion of no asset',
      'POST',
      '/v1/license-orders',
      remove({ assets: [{ assetNums: [] }] }),
      ['/orders/0/assets/0/assetNums'],
    ],
    [
      'deletion of products without a product',
      'POST',
      '/v1/license-orders',
      remove({ orderType: 'delete_product' }),
      ['/orders/0/assets/0/products'],
    ],
    [
      'deletion of a product without its uri',
      'POST',
      '/v1/license-orders',
      remove({
        orderType: 'delete_product',
        assets: [{ assetNums: ['a'], products: [{ crmProductId: 'p' }] }],
      }),
      ['/orders/0/assets/0/products/0/productUri'],
    ],
  ])('in its body (%s) is 400 with a pointer for each fault', async (_, method, path, body, pointers) => {
    const faults = (await faultsOf(method, path, body)) as { pointer: string; detail: string }[];
    expect(faults.map(({ pointer }) => pointer).sort()).toEqual([...pointers].sort());
    for (const { detail } of faults) expect(detail).toMatch(/^(is|must) /);
  });

  it.each([
    ['an unknown parameter', '/v1/customers?channelCode=crm&channelCustomerId=a&x=1', ['x']],
    ['a parameter where there are none', '/v1/asset-nums?size=1', ['size']],
    ['a missing parameter', '/v1/customers?channelCode=crm', ['channelCustomerId']],
    [
      'a repeated parameter',
      '/v1/customers?channelCode=crm&channelCode=crm&channelCustomerId=a',
      ['channelCode'],
    ],
    [
      'a parameter in brackets',
      '/v1/customers?channelCode=crm&channelCustomerId[]=a',
      ['channelCustomerId', 'channelCustomerId[]'],
    ],
    [
      'a word that is neither true nor false',
      '/v1/customers?channelCode=crm&channelCustomerId=a&defaultOnly=yes',
      ['defaultOnly'],
    ],
    ['a control character', '/v1/enterprises/ent-harbour/assets?extendCode=a%0d%0ab', ['extendCode']],
  ])('in its query (%s) is 400 with the name of each parameter', async (_, path, names) => {
    const method = path.startsWith('/v1/asset-nums') ? 'POST' : 'GET';
    const faults = (await faultsOf(method, path, method === 'POST' ? { size: 1 } : undefined)) as {
      parameter: string;
    }[];
    expect(faults.map(({ parameter }) => parameter).sort()).toEqual([...names].sort());
  });

  it.each([
    '..',
    '.',
    '%2e%2e',
    '%2E',
    '..%2f..',
    'a%2fb',
    '%2e%2e%2f%2e%2e%2fmember',
    '..%5c',
    'a%00b',
    'a%0d%0ab',
    'a;b',
    'a%3fb',
    'a%23b',
    'a%20b',
    '%c3%a9',
    'x'.repeat(65),
  ])('in its path id (%s) never becomes another path upstream', async (id) => {
    const { status, text } = await rawGet(`/v1/enterprises/${id}/assets`, { 'x-api-key': gateway.key });
    expect(text).toContain('"code":"');
    expect(JSON.parse(text)).toMatchObject({
      status: 400,
      code: 'validation-failed',
      errors: [{ parameter: 'enterpriseGlobalId' }],
    });
    expect(status).toBe(400);
  });

  it.each(['%zz', '%', '%e0%a4%a'])('in its percent-encoding (%s) is 400', async (id) => {
    const { status, text } = await rawGet(`/v1/enterprises/${id}/assets`, { 'x-api-key': gateway.key });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ code: 'validation-failed' });
  });
});

describe('HTTP', () => {
  it.each([
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/json\t;',
    'application/json;charset=gbk',
    'application/jsonx',
  ])('bodies as %s are 415', async (type) => {
    const answer = await gateway.post('/v1/asset-nums', '{"size":1}', { headers: { 'content-type': type } });
    expect(answer.status).toBe(415);
    expect(answer.body).toMatchObject({ code: 'unsupported-media-type', outcome: 'not_processed' });
  });

  it.each(['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset="UTF-8"'])(
    'bodies as %s are fine',
    async (type) => {
      expect(
        (await gateway.post('/v1/asset-nums', '{"size":1}', { headers: { 'content-type': type } })).status,
      ).toBe(201);
    },
  );

  it('bodies over 1 MiB are 413, with and without a declared length', async () => {
    const big = `{"size":1,"x":"${'x'.repeat(1024 * 1024)}"}`;
    const declared = await gateway.post('/v1/asset-nums', big);
    expect(declared.status).toBe(413);
    expect(declared.body).toMatchObject({ code: 'payload-too-large' });
    const response = await fetch(`${gateway.url}/v1/asset-nums`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': gateway.key },
      body: new Blob([big]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(413);
  });

  it('methods that a path does not have are 405 with those that it has', async () => {
    const answer = await gateway.request('DELETE', '/v1/customers', { key: null });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')?.split(', ')).toEqual(expect.arrayContaining(['GET', 'POST']));
    expect(answer.body).toMatchObject({ code: 'method-not-allowed' });
    expect((await gateway.get('/v1/nothing')).status).toBe(404);
    expect((await gateway.get('/V1/customers')).status).toBe(404);
  });

  it('Accept headers that refuse JSON are 406', async () => {
    const path = '/v1/enterprises/ent-harbour/assets';
    expect((await gateway.get(path, { headers: { accept: 'image/png' } })).status).toBe(406);
    expect((await gateway.get(path, { headers: { accept: 'application/json;q=0' } })).status).toBe(406);
    expect((await gateway.get(path, { headers: { accept: 'image/png, application/*;q=0.5' } })).status).toBe(
      200,
    );
  });

  it('request ids are taken over when they are well formed, else made', async () => {
    const given = await gateway.get('/health/live', { headers: { 'x-request-id': 'trace:1.2_3-4' } });
    expect(given.headers.get('x-request-id')).toBe('trace:1.2_3-4');
    for (const odd of ['a b', 'x'.repeat(65), 'a/b', '']) {
      const made = await gateway.get('/v1/nothing', { headers: { 'x-request-id': odd } });
      expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(made.body['requestId']).toBe(made.headers.get('x-request-id'));
    }
  });

  it('answers say how much of the time was upstream', async () => {
    await sandbox.fault({ operation: 'listAssets', action: { delayMs: 60 } });
    const answer = await gateway.get('/v1/enterprises/ent-harbour/assets');
    const [, duration] = /^upstream;dur=([\d.]+)$/.exec(answer.headers.get('server-timing') ?? '') ?? [];
    expect(Number(duration)).toBeGreaterThanOrEqual(55);
  });
});

describe('what HTTP itself refuses', () => {
  /** Sends bytes as they are and returns the whole answer. */
  function raw(text: string): Promise<string> {
    const { hostname, port } = new URL(gateway.url);
    return new Promise((resolve, reject) => {
      let answer = '';
      const socket = connect(Number(port), hostname, () => socket.write(text));
      socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
      socket.on('end', () => resolve(answer)).on('error', reject);
    });
  }

  it.each([
    [
      'headers of 20 kB',
      `GET /health/live HTTP/1.1\r\nHost: a\r\nX-Big: ${'a'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers-too-large',
    ],
    ['a method that is none', 'FOO /health/live HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'validation-failed'],
    [
      'two lengths at once',
      'POST /v1/asset-nums HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'validation-failed',
    ],
  ])('%s is a problem like every other, and ends the connection', async (_, text, status, code) => {
    const answer = await raw(text);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toMatch(/content-type: application\/problem\+json/i);
    const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as object;
    expect(body).toMatchObject({
      status,
      code,
      outcome: 'not_processed',
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  it('a URL of 9 kB is 414, and an id of 101 characters is told what is wrong with it', async () => {
    const long = await gateway.get(`/v1/customers?channelCode=${'a'.repeat(9_000)}`);
    expect([long.status, long.body['code']]).toEqual([414, 'uri-too-long']);
    const id = await gateway.get(`/v1/enterprises/${'a'.repeat(101)}/assets`);
    expect(id.body['errors']).toEqual([
      { parameter: 'enterpriseGlobalId', detail: 'must be 1 to 64 of A-Z a-z 0-9 _ -' },
    ]);
    const number = await gateway.request('PATCH', `/v1/customers/${'7'.repeat(120)}`, {
      body: { address: 'x' },
    });
    expect(number.body).toMatchObject({ code: 'upstream-rejected' });
  });

  it.each(['/docs/..', '/docs/%2e%2e/x', '/docs/../../package.json', '/docs/%00'])(
    '%s is not there',
    async (path) => {
      const { status, text } = await rawGet(path);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
      expect(JSON.parse(text)).toMatchObject({ outcome: 'not_processed' });
    },
  );

  it('a body where there is none to be is 400, and nothing happens', async () => {
    const path = '/v1/enterprises/ent-harbour/members/mem-harbour-bo';
    for (const body of ['{"a":1}', '{{{', '[]']) {
      const answer = await gateway.request('DELETE', path, { body });
      expect(answer.body).toMatchObject({ status: 400, errors: [{ pointer: '', detail: 'must be empty' }] });
    }
    expect(await sandbox.calls()).toEqual([]);
  });

  it('a coded body is 415, and a query that is no UTF-8 is 400', async () => {
    const coded = await gateway.post('/v1/asset-nums', '{"size":1}', {
      headers: { 'content-encoding': 'br' },
    });
    expect(coded.status).toBe(415);
    const query = await rawGet('/v1/enterprises/ent-harbour/members?keyword=%ff', {
      'x-api-key': gateway.key,
    });
    expect(query.status).toBe(400);
  });
});

describe('the problem catalogue', () => {
  it('lists every problem and explains each, as JSON and as a page', async () => {
    const list = (await gateway.get('/problems', { key: null })).body['items'] as {
      type: string;
      code: string;
      title: string;
    }[];
    expect(list.length).toBeGreaterThan(30);
    for (const { type, code, title } of list) {
      const one = await gateway.get(type, { key: null });
      expect(one.body).toMatchObject({ type, code, title });
      const page = await gateway.get(type, {
        key: null,
        headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
      });
      expect(page.headers.get('content-type')).toMatch(/^text\/html/);
      expect(page.text).toContain(`<code>${code}</code>`);
    }
    expect((await gateway.get('/problems/no-such', { key: null })).status).toBe(404);
  });
});

describe('logs and metrics', () => {
  it('have one line a request, of chosen fields, without key, path, query or body', async () => {
    const from = gateway.logLines.length;
    await gateway.get('/v1/customers?channelCode=crm&channelCustomerId=CH-1001', {
      headers: { 'x-request-id': 'find-me' },
    });
    const lines = gateway.logLines.slice(from).filter((line) => line.includes('find-me'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] as string)).toEqual({
      level: 'info',
      time: expect.any(String),
      event: 'request',
      requestId: 'find-me',
      operation: 'findCustomers',
      status: 200,
      durationMs: expect.any(Number),
      upstreamMs: expect.any(Number),
      caller: 'tester',
      msg: 'findCustomers 200',
    });
    const log = gateway.logLines.join('\n');
    for (const secret of [gateway.key, sandbox.appSecret, sandbox.appKey, 'CH-1001'])
      expect(log).not.toContain(secret);
  });

  it('count requests, upstream attempts by outcome, and tokens, on the management port only', async () => {
    await sandbox.fault({ operation: 'bindCustomer', action: { code: '13004' } });
    await send(gateway, operation('bindCustomer'));
    const text = await gateway.metrics();
    expect(text).toMatch(/gateway_requests_total\{operation="bindCustomer",status="422"\} \d+/);
    expect(text).toMatch(/gateway_upstream_attempts_total\{operation="bindCustomer",outcome="refused"\} \d+/);
    expect(text).toMatch(
      /gateway_upstream_attempt_duration_seconds_bucket\{le="0.1",operation="bindCustomer"\} \d+/,
    );
    expect(text).toMatch(/gateway_token_events_total\{principal="application",event="renewed"\} \d+/);
    expect((await gateway.get('/metrics')).status).toBe(404);
  });
});
