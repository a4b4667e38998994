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
    { name: 'without-customers-write', scopes: ['orders:read', 'orders:write'], ...all },
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

  it('without a key gets that problem first, before every other', async () => {
    for (const body of ['', '{', '[]', { nonsense: true }]) {
      expect((await gateway.post('/v1/customers', body, { key: null })).status).toBe(401);
    }
    expect((await gateway.get('/v1/enterprises/a%2fb/assets?x=1', { key: null })).status).toBe(401);
  });

  it.each(operationCases)('without a scope is refused $id, with the name of the scope', async (each) => {
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
    const { items } = operation('placeOrder').body as { items: object[] };
    const deletion = {
      orderType: 'delete_asset',
      licenseType: 'softkey',
      allOrders: true,
      customer: {},
      assets: [{ assetNums: ['8000001001'] }],
    };
    const body = { channelCode: 'crm', channelOrderId: 'SO-1', items: [...items, deletion] };
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
        items: [
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
  it('and the response show the time that the platform took', async () => {
    await sandbox.fault({ operation: 'listAssets', action: { delayMs: 60 } });
    const answer = await gateway.get('/v1/enterprises/ent-harbour/assets');
    const [, duration] = /^upstream;dur=([\d.]+)$/.exec(answer.headers.get('server-timing') ?? '') ?? [];
    expect(Number(duration)).toBeGreaterThanOrEqual(55);
  });

  it('have one line for each request, of chosen fields, without key, path, query or body', async () => {
    const from = (await gateway.log()).length;
    await gateway.get('/v1/customers?channelCode=crm&channelCustomerId=CH-1001', {
      headers: { 'x-request-id': 'find-me' },
    });
    const lines = (await gateway.log()).slice(from).filter((line) => line.includes('find-me'));
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
