import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { type DocumentedRoute, routes } from '../support/contract.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { orderOf } from '../support/order-body.ts';
import { until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

/** The audit line of every write of the document, with each outcome that it can have (docs/faults.md, row S19). */

const { sandbox, gateway } = useStack({
  callers: [{ name: 'slow', scopes: ['operate'], rateLimit: { requests: 1, perSeconds: 3600 } }],
  environment: { WEBHOOK_HOSTS: '127.0.0.1', UPSTREAM_DEADLINE_MS: '5000', ESTATE_REFRESH: '6h' },
});

const HARBOUR = '/v1/enterprises/ent-harbour';
const HEADER = 'account,password,name,departmentId,remark,passwordMobile';
const CSV = { 'content-type': 'text/csv' };
let made = 0;
const daysFromNow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
const fresh = (prefix: string) => `${prefix}${++made}`;

interface Request {
  /** Values of ids in the path; the document has examples of the others. */
  readonly ids?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the line names beside the ids in the path. */
  readonly named?: string;
}

const rows = (account: string, department = '10') =>
  [HEADER, `${account},${newSecret('m')},Nina,${department},,`, ''].join('\r\n');

/** An enterprise has one import at a time, and that of another test may still be running. */
async function importOf(text: string): Promise<string> {
  const post = () => gateway.request('POST', `${HARBOUR}/member-imports`, { body: text, headers: CSV });
  let answer = await post();
  await until('no other import runs', async () => {
    if (answer.status === 409) answer = await post();
    return answer.status === 202;
  });
  return String(answer.body['jobId']);
}

async function webhook(): Promise<string> {
  const { body } = await gateway.post('/v1/webhooks', { url: 'http://127.0.0.1:9/hook', types: ['*'] });
  return String(body['webhookId']);
}

/** An order whose response was lost. */
async function orderInDoubt(): Promise<string> {
  const number = fresh('SO-A');
  await sandbox.fault({ operation: 'batchOrder', times: 1, action: { reset: 'before-headers' } });
  expect((await gateway.post('/v1/license-orders', orderOf(number))).status).toBe(502);
  return number;
}

/** A valid request for each write. Made anew for every call, because some writes work once. */
const requests: Readonly<Record<string, () => Request | Promise<Request>>> = {
  setMaintenance: () => ({
    body: { stops: 'orders', from: daysFromNow(1), until: daysFromNow(2), reason: 'a new release' },
  }),
  endMaintenance: () => ({}),
  createSession: () => ({ body: { username: 'anna@harbour', password: sandbox.seedPassword } }),
  deleteSession: async () => {
    const login = { username: 'anna@harbour', password: sandbox.seedPassword };
    const { body } = await gateway.post('/v1/sessions', login);
    return { headers: { 'x-session-id': String(body['sessionId']) } };
  },
  bindCustomer: () => {
    const channelCustomerId = fresh('CH-A');
    const terms = { customerName: 'Nine', enterpriseName: 'Nine', passwordMobile: '13800000001' };
    return { body: { channelCode: 'crm', channelCustomerId, ...terms }, named: `crm/${channelCustomerId}` };
  },
  updateCustomer: () => ({ body: { customerName: 'Harbour', address: '2 Quay Street' } }),
  createEnterprise: () => {
    const crmCustomerId = fresh('CRM-A');
    return { body: { crmCustomerId, customerName: 'Nine' }, named: crmCustomerId };
  },
  placeOrder: () => {
    const number = fresh('SO-A');
    return { body: orderOf(number), named: `crm/${number}` };
  },
  cancelOrder: async () => {
    const number = fresh('SO-A');
    await gateway.post('/v1/license-orders', { ...orderOf(number), notBefore: daysFromNow(1) });
    return { ids: { channelCode: 'crm', channelOrderId: number } };
  },
  refreshEstate: () => ({ body: { enterpriseGlobalId: 'ent-harbour' }, named: 'ent-harbour' }),
  settleOrder: async () => ({
    ids: { channelCode: 'crm', channelOrderId: await orderInDoubt() },
    body: { as: 'succeeded', reason: 'it is there' },
  }),
  disableLocks: () => ({
    body: { assetNums: ['8000001003', '8000001008'], operatorIdentity: 'ops@vendor.example' },
    named: ' assetNums[2] 8000001003,8000001008',
  }),
  enableLocks: () => ({ body: { assetNums: ['8000001003'] }, named: ' assetNums[1] 8000001003' }),
  reserveAssetNums: () => ({ body: { size: 1 } }),
  cancelJob: async () => {
    await sandbox.fault({ operation: 'addMembers', times: 1, action: { delayMs: 1_500 } });
    return { ids: { jobId: await importOf(rows(fresh('nina'))) } };
  },
  retryJob: async () => {
    const account = fresh('nina');
    const match = { body: { userList: [{ userName: account }] } };
    await sandbox.fault({ operation: 'addMembers', match, times: 1, action: { code: '40000' } });
    const text = rows(account);
    const jobId = await importOf(text);
    const state = async () => (await gateway.get(`/v1/jobs/${jobId}`)).body['state'];
    await until('the job has ended', async () => (await state()) === 'completed');
    return { ids: { jobId }, body: text, headers: CSV };
  },
  importMembers: async () => {
    const unfinished = (state: string) => gateway.get(`/v1/jobs?state=${state}`);
    await until('no import is under way', async () => {
      const found = await Promise.all(['queued', 'running'].map(unfinished));
      return found.every(({ body }) => body['total'] === 0);
    });
    return { body: rows(fresh('nina')), headers: CSV };
  },
  addMembers: () => {
    const account = fresh('nina');
    const member = { account, password: newSecret('m'), name: 'Nina', passwordMobile: '13800000001' };
    return { body: { members: [member] }, named: ` members[1] ${account}` };
  },
  updateMember: () => ({ body: { account: 'anna', name: 'Anna Berg', departmentId: '10' } }),
  deleteMember: () => ({}),
  resetMemberPassword: () => ({ body: { password: newSecret('m') } }),
  setMemberAssetNums: () => ({
    body: { assetNums: ['8000001002', '8000001009'] },
    named: ' assetNums[2] 8000001002,8000001009',
  }),
  changeMemberAssetNums: () => ({ body: { assign: ['8000001009'] }, named: ' assign[1] 8000001009' }),
  lendAssets: () => ({
    body: { lentLockNum: '8000001006', assetIds: ['ast-1002'] },
    named: '/8000001006 assetIds[1] ast-1002',
  }),
  createWebhook: () => ({
    body: { url: 'http://127.0.0.1:9/hook', types: ['*'], enterprises: ['ent-harbour'] },
    named: ' enterprises[1] ent-harbour',
  }),
  updateWebhook: async () => ({ ids: { webhookId: await webhook() }, body: { description: 'of the shop' } }),
  deleteWebhook: async () => ({ ids: { webhookId: await webhook() } }),
  rotateWebhookSecret: async () => ({ ids: { webhookId: await webhook() } }),
  testWebhook: async () => ({ ids: { webhookId: await webhook() } }),
  redeliver: async () => {
    const webhookId = await webhook();
    await gateway.post('/v1/license-orders', orderOf(fresh('SO-A')));
    const list = async () =>
      (await gateway.get(`/v1/webhooks/${webhookId}/deliveries`)).body['items'] as { eventId: string }[];
    await until('there is a delivery', async () => (await list()).length > 0);
    return { ids: { webhookId, eventId: (await list())[0]?.eventId ?? '' } };
  },
};

const writes = routes.filter(
  ({ method, operation }) => method !== 'GET' && operation['x-dry-run-of'] === undefined,
);
const byPath = writes.map((route) => ({ id: route.operation.operationId, ...route }));
/** Writes that call the platform before they answer. */
const calling = byPath.filter(
  ({ id, operation }) => operation['x-upstream'] && !['importMembers', 'retryJob'].includes(id),
);
const keyed = byPath.filter(({ operation, id }) =>
  id === 'placeOrder' ? true : operation.parameters?.some(({ name }) => name === 'Idempotency-Key'),
);

const audited = async () =>
  (await gateway.log())
    .filter((line) => line.includes('"event":"audit"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

interface Sent {
  readonly path: string;
  readonly object: string;
  /** What the line names of a request whose body was not checked: the ids in the path, and the length of each list. */
  readonly unchecked: string;
  dryRun(): Promise<TestAnswer>;
  send(query?: string, headers?: Readonly<Record<string, string>>): Promise<TestAnswer>;
}

async function prepared({ method, template, operation }: DocumentedRoute): Promise<Sent> {
  const request = requests[operation.operationId];
  if (!request) throw new Error(`${operation.operationId} has no request in this file`);
  const { ids = {}, body, headers, named = '' } = await request();
  const valueOf = (name: string) =>
    ids[name] ?? String(operation.parameters?.find((each) => each.name === name)?.example);
  const filled = (path: string) =>
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(valueOf(name)));
  const values = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => valueOf(name));
  const path = filled(template);
  const dryRun = routes.find((each) => each.operation['x-dry-run-of'] === operation.operationId);
  return {
    path,
    object: `${values.join('/')}${named}`.trim(),
    unchecked: [values.join('/'), ...(named.match(/\w+\[\d+\]/g) ?? [])].join(' ').trim(),
    send: (query = '', more = {}) =>
      gateway.request(method, path + query, { body, headers: { ...headers, ...more } }),
    dryRun: () => gateway.request('POST', filled(dryRun?.template ?? ''), { body, headers }),
  };
}

/** The line of the last write, whose outcome the answer has too. */
async function expectLine(
  { operation: { operationId: operation } }: DocumentedRoute,
  { object }: Sent,
  { status }: TestAnswer,
  outcome: string,
): Promise<void> {
  const line = (await audited()).at(-1);
  expect(line).toMatchObject({ operation, object, outcome, status });
}

it('S19 every write of the document has a request in this file', () => {
  expect(Object.keys(requests).sort()).toEqual(byPath.map(({ id }) => id).sort());
  expect([calling.length, keyed.length]).toEqual([expect.any(Number), expect.any(Number)]);
  expect(calling.length).toBeGreaterThan(10);
  expect(keyed.length).toBeGreaterThan(8);
});

it('S19 the audit line tells a slash in an order number from the one after the channel', async () => {
  const number = `${fresh('SO-A')}/1%`;
  expect((await gateway.post('/v1/license-orders', orderOf(number))).status).toBe(201);
  expect((await audited()).at(-1)).toMatchObject({ object: `crm/${number.replace('/1%', '%2F1%25')}` });
});

describe('S19 the audit line names the object of the write, and says', () => {
  it.each(byPath)('`processed` of $id that succeeds', async (route) => {
    const sent = await prepared(route);
    const answer = await sent.send();
    expect([answer.status, answer.status < 300 ? '' : answer.text]).toEqual([answer.status, '']);
    await expectLine(route, sent, answer, 'processed');
  });

  it.each(byPath.filter(({ operation }) => operation['x-dry-run']))(
    '`not_processed` of the dry run of $id',
    async (route) => {
      const sent = await prepared(route);
      const answer = await sent.dryRun();
      expect([answer.status, answer.status < 300 ? '' : answer.text]).toEqual([200, '']);
      const line = (await audited()).at(-1);
      const operation = route.operation['x-dry-run'];
      expect(line).toMatchObject({ operation, object: sent.object, outcome: 'not_processed', status: 200 });
    },
  );

  it.each(byPath)('`not_processed` of $id that the gateway refuses', async (route) => {
    const sent = await prepared(route);
    const answer = await sent.send('?nonsense=1');
    expect(answer.status).toBe(400);
    await expectLine(route, { ...sent, object: sent.unchecked }, answer, 'not_processed');
  });

  it.each(calling)('`not_processed` of $id that the platform refuses', async (route) => {
    const sent = await prepared(route);
    const code = route.operation['x-upstream']?.path.startsWith('/order') ? '13004' : '40000';
    await sandbox.fault({ operation: upstreamOf(route), action: { code } });
    const answer = await sent.send();
    expect([answer.status, answer.body['code'] ?? allOf(answer)]).toEqual([
      expect.any(Number),
      'upstream-rejected',
    ]);
    await expectLine(route, sent, answer, 'not_processed');
  });

  it.each(calling)('`unknown` of $id whose answer is lost', async (route) => {
    const sent = await prepared(route);
    await sandbox.fault({ operation: upstreamOf(route), action: { reset: 'before-headers' } });
    const answer = await sent.send();
    expect([answer.status, answer.body['outcome']]).toEqual([502, 'unknown']);
    await expectLine(route, sent, answer, 'unknown');
  });

  it.each(keyed)('`replayed` of $id that is repeated', async (route) => {
    const sent = await prepared(route);
    const key = { 'idempotency-key': randomBytes(16).toString('hex') };
    const first = await sent.send('', key);
    expect([first.status, first.status < 300 ? '' : first.text]).toEqual([first.status, '']);
    const again = await sent.send('', key);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([first.status, 'true']);
    await expectLine(route, sent, again, 'replayed');
  });
});

it('S19 the audit line of a body with a fault has no text of it', async () => {
  const password = newSecret('m');
  // The caller has mixed up account and password, and a reason with a text.
  const members = [{ account: `${password}!`, password: 'nina', name: 'Nina' }];
  expect((await gateway.post(`${HARBOUR}/members`, { members })).status).toBe(400);
  expect((await audited()).at(-1)).toMatchObject({
    operation: 'addMembers',
    object: 'ent-harbour members[1]',
  });
  const settlement = { as: password, reason: password };
  expect((await gateway.post('/v1/license-orders/crm/SO-1/settlement', settlement)).status).toBe(400);
  expect((await audited()).at(-1)).toMatchObject({ operation: 'settleOrder', object: 'crm/SO-1' });
  expect((await audited()).filter((line) => JSON.stringify(line).includes(password))).toEqual([]);
});

it('S19 a write that changed nothing at all is `not_processed`, although its response is no problem', async () => {
  const answer = await gateway.post(`${HARBOUR}/locks/disable`, { assetNums: ['8000009999'] });
  expect([answer.status, answer.body['failed']]).toEqual([207, 1]);
  expect((await audited()).at(-1)).toMatchObject({ operation: 'disableLocks', outcome: 'not_processed' });
});

it('S19 a write of a known caller that the gateway refuses before its body is read has a line too', async () => {
  const key = gateway.keys['slow'] as string;
  await gateway.get('/v1/callers/me', { key });
  expect((await gateway.request('DELETE', '/v1/maintenance', { key })).status).toBe(429);
  expect((await audited()).at(-1)).toMatchObject({
    ...{ operation: 'endMaintenance', caller: 'slow', outcome: 'not_processed', status: 429 },
  });
  const members = [{ account: 'x'.repeat(1_100_000) }];
  expect((await gateway.post(`${HARBOUR}/members`, { members })).status).toBe(413);
  expect((await audited()).at(-1)).toMatchObject({
    ...{ operation: 'addMembers', object: 'ent-harbour', outcome: 'not_processed', status: 413 },
  });
});

describe('S19 an order for a later time', () => {
  it.each([
    ['is placed', undefined, 'processed', 201],
    ['the platform refuses', { code: '13004' }, 'not_processed', 422],
    ['the platform does not answer', { reset: 'before-headers' }, 'unknown', 502],
  ] as const)(
    'that %s has a line of its acceptance and one of its end',
    async (_, action, outcome, status) => {
      const quiet = await startInProcess(sandbox, { LOG_LEVEL: 'warn' });
      try {
        const number = fresh('SO/A');
        if (action) await sandbox.fault({ operation: 'batchOrder', times: 1, action });
        const order = { ...orderOf(number), notBefore: daysFromNow(1.5 / 86_400) };
        expect((await quiet.post('/v1/license-orders', order)).status).toBe(202);
        const lines = () =>
          quiet.logLines.flatMap((line) =>
            line.includes('"event":"audit"') ? [JSON.parse(line) as object] : [],
          );
        await until('the order has ended', async () => lines().length > 1);
        const object = `crm/${number.replace('/', '%2F')}`;
        const ofOrder = { operation: 'placeOrder', caller: 'tester', object };
        expect(lines()).toMatchObject([
          { ...ofOrder, outcome: 'not_processed', status: 202 },
          { ...ofOrder, outcome, status, requestId: expect.stringMatching(/^scheduled-/) },
        ]);
      } finally {
        await quiet.stop();
      }
    },
  );

  it('that its caller may no longer place has a line of its end', async () => {
    const quiet = await startInProcess(sandbox, { LOG_LEVEL: 'warn' });
    try {
      const order = { ...orderOf(fresh('SO-A')), notBefore: daysFromNow(2.5 / 86_400) };
      expect((await quiet.post('/v1/license-orders', order)).status).toBe(202);
      quiet.callers = quiet.callers.map((caller) => ({ ...caller, scopes: ['orders:read'] as const }));
      quiet.writeCallers();
      const last = () => quiet.logLines.filter((line) => line.includes('"event":"audit"'));
      await until('the order has ended', async () => last().length > 1);
      expect(JSON.parse(last()[1] ?? '')).toMatchObject({ outcome: 'not_processed', status: 403 });
    } finally {
      await quiet.stop();
    }
  });
});

it('S19 a read leaves no line, neither as GET nor as HEAD', async () => {
  const before = (await audited()).length;
  for (const method of ['GET', 'HEAD'])
    expect((await gateway.request(method, `${HARBOUR}/assets`)).status).toBe(200);
  // The line of this write comes after any line of theirs.
  expect((await gateway.post('/v1/asset-num-reservations', { size: 1 })).status).toBe(201);
  expect((await audited()).slice(before)).toMatchObject([{ operation: 'reserveAssetNums' }]);
});

it.each([
  ['warn', ['audit']],
  ['fatal', ['audit']],
  ['silent', []],
])('S19 with LOG_LEVEL=%s the lines of requests and writes are %j', async (level, events) => {
  const quiet = await startInProcess(sandbox, { LOG_LEVEL: level });
  try {
    expect((await quiet.post('/v1/asset-num-reservations', { size: 1 })).status).toBe(201);
    expect((await quiet.get(`${HARBOUR}/assets`)).status).toBe(200);
    const lines = quiet.logLines.map((line) => JSON.parse(line) as { event: string });
    expect(lines.map(({ event }) => event).filter((event) => /^(audit|request)$/.test(event))).toEqual(
      events,
    );
  } finally {
    await quiet.stop();
  }
});

function upstreamOf({ operation }: DocumentedRoute): string {
  return operation['x-upstream']?.operation ?? '';
}

function allOf({ body }: TestAnswer): unknown {
  return (body['failed'] as { code: string }[] | undefined)?.[0]?.code;
}
