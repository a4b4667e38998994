import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newSecret } from '../../test/support/canary.ts';
import { FaultProxy } from '../../test/support/fault-proxy.ts';
import { orderOf } from '../../test/support/order-body.ts';
import { useStack } from '../../test/support/stack.ts';
import {
  GatewayUnreachable,
  isProblem,
  type Job,
  Licensing,
  OrderNotSettled,
  Problem,
  responseOf,
} from '../src/licensing.ts';
import type { NewBuy, PlaceOrderInput } from '../src/licensing.ts';
import { operations } from '../src/operations.ts';
import { failure } from './support/failure.ts';

const HARBOUR = { enterpriseGlobalId: 'ent-harbour' };
/** The platform carries the order out, and its answer is lost. */
const LOST = { operation: 'batchOrder', times: 1, phase: 'after', action: { reset: 'before-headers' } };

const { sandbox, gateway } = useStack({ environment: { CACHE_TTL_MS: '60000' } });
let licensing: Licensing;
/** This proxy stands between a client and the gateway. */
let proxy: FaultProxy;
let throughProxy: Licensing;

interface DocumentedOperation {
  readonly operationId: string;
  readonly 'x-dry-run-of'?: string;
}

let last = 0;
function newOrder(): PlaceOrderInput & { channelCode: string; channelOrderId: string } {
  return orderOf(`calls-${++last}`) as never;
}

beforeAll(async () => {
  licensing = new Licensing({ baseUrl: gateway.url, apiKey: gateway.key });
  proxy = await FaultProxy.start(Number(new URL(gateway.url).port));
  throughProxy = new Licensing({ baseUrl: proxy.url, apiKey: gateway.key });
});
beforeEach(() => proxy.clear());
afterAll(() => proxy.close());

describe('a client', () => {
  it('refuses what a header or a path cannot carry, by name, and sends nothing', async () => {
    let sent = 0;
    const send: typeof fetch = (...request) => {
      sent++;
      return fetch(...request);
    };
    const { key: apiKey, url: baseUrl } = gateway;
    const own = new Licensing({ baseUrl, apiKey, fetch: send as never });
    const order = newOrder();
    const rows = new Blob(['account']).stream();
    rows.getReader();
    for (const [message, call] of [
      ['the option requestId', () => own.orders.place(order, { requestId: 'a\nb' })],
      ['the option idempotencyKey', () => own.orders.place(order, { idempotencyKey: 'schlüssel-€' })],
      ['the option ifMatch', () => own.assets.list(HARBOUR, { ifMatch: '\u0000' })],
      ['the alias given to as()', () => own.as('änna\r\n').members.list(HARBOUR)],
      ['the id given to withSession()', () => own.withSession('日本').members.list(HARBOUR)],
      ['the stream of rows is being read', () => own.members.import(HARBOUR, rows)],
      ['settleOrder: channelOrderId cannot be in a path', () => settle(own, '..')],
      ['settleOrder: channelOrderId cannot be in a path', () => settle(own, '\ud800')],
      ['settleOrder needs channelOrderId', () => settle(own, '')],
    ] as const) {
      expect([message, await failure(call())]).toEqual([
        message,
        expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) }),
      ]);
    }
    for (const token of [() => 'a\nb', () => '', () => undefined as never]) {
      const refused = new Licensing({ baseUrl, token, fetch: send as never }).callers.me();
      await expect(refused).rejects.toThrow('token() resolves to a JWT');
    }
    expect(sent).toBe(0);
  });
});

function settle(client: Licensing, channelOrderId: string): Promise<unknown> {
  return client.orders.settle({ channelCode: 'crm', channelOrderId, as: 'succeeded', reason: 'seen' });
}

describe('the methods', () => {
  it('of writes have a dry run each, which sends nothing', async () => {
    const ids = { enterpriseGlobalId: 'ent-harbour', memberGlobalId: 'mem-harbour-dora' };
    const { wouldSend, effects } = await licensing.members.previewDelete(ids);
    expect([wouldSend, effects]).toEqual([[{ operation: 'deleteMember', body: null }], expect.any(Array)]);
    const locks = { enterpriseGlobalId: 'ent-harbour', assetNums: ['8000001003'] };
    const dry = await licensing.locks.previewDisable(locks);
    expect(dry.effects).toMatchObject([{ kind: 'lock-disabled', assetNum: '8000001003', readable: true }]);
    const set = await licensing.members.previewSetAssetNums({ ...ids, assetNums: ['8000001004'] });
    expect(set.effects).toMatchObject([{ kind: 'number-assigned', assetNum: '8000001004' }]);
    const change = await licensing.members.previewChangeAssetNums({ ...ids, assign: ['8000001004'] });
    expect(change.effects).toEqual(set.effects);
    const row = `account,password,name\nzoe,${newSecret('m')},Zoe\n`;
    const { plan } = await licensing.members.previewImport({ enterpriseGlobalId: 'ent-harbour' }, row);
    expect(plan).toMatchObject({ add: 1, impossible: [] });
    expect((await licensing.members.get(ids)).memberGlobalId).toBe(ids.memberGlobalId);
  });

  it('are one for each operation of the document', () => {
    const document = JSON.parse(readFileSync('config/openapi.json', 'utf8')) as {
      paths: Record<string, object>;
    };
    const ids = Object.values(document.paths).flatMap((path) =>
      Object.values(path as Record<string, DocumentedOperation>).flatMap((operation) =>
        operation['x-dry-run-of'] === undefined ? [operation.operationId] : [],
      ),
    );
    // Streams have methods of their own.
    const streams = ['watchJob', 'getJobRows', 'retryJob', 'importMembers', 'exportMembers', 'watchEvents'];
    expect([...Object.keys(operations), ...streams].sort()).toEqual(ids.sort());
    for (const { group, name, each, preview } of Object.values(operations)) {
      const methods = licensing[group as 'assets'] as unknown as Record<string, unknown>;
      const dryRun = preview === true ? `preview${name.charAt(0).toUpperCase()}${name.slice(1)}` : preview;
      for (const method of [name, each, dryRun])
        if (typeof method === 'string')
          expect([group, method, typeof methods[method]]).toEqual([group, method, 'function']);
    }
  });

  it('give what the gateway gives', async () => {
    const page = await licensing.assets.list({ ...HARBOUR, licenseType: 'softkey', pageSize: 1 });
    expect(page.items.map(({ assetId }) => assetId)).toEqual(['ast-1001']);
    const member = await licensing.members.get({ ...HARBOUR, memberGlobalId: 'mem-harbour-bo' });
    // Beyond 2^53, to the last digit.
    expect(member.departmentId).toBe('9007199254741001');
    await licensing.members.update({
      ...HARBOUR,
      memberGlobalId: 'mem-harbour-bo',
      account: 'bo',
      name: 'Bo B.',
    });
    const changed = await licensing.members.get({ ...HARBOUR, memberGlobalId: 'mem-harbour-bo' });
    expect(changed.name).toBe('Bo B.');
    expect(await licensing.health.ready()).toMatchObject({ status: 'ok' });
    expect(await licensing.callers.me()).toMatchObject({ name: 'tester' });
  });

  it('send a number of an order once, and say that a repeat is one', async () => {
    const order = newOrder();
    const first = await licensing.orders.place(order);
    const second = await licensing.orders.place(order);
    expect(second).toEqual(first);
    expect(responseOf(first)).toMatchObject({ status: 201, replayed: false, attempts: 1 });
    expect(responseOf(second)).toMatchObject({ status: 201, replayed: true });
    expect(await sandbox.commits()).toHaveLength(1);
  });

  it('place an order for a later day, find it among those that wait, and cancel it', async () => {
    const notBefore = new Date(Date.now() + 86_400_000).toISOString();
    const order = { ...newOrder(), notBefore };
    expect(await licensing.orders.place(order)).toMatchObject({ state: 'scheduled', notBefore });
    const found = [];
    for await (const each of licensing.orders.each({ state: 'scheduled', sort: 'notBefore' }))
      found.push(each.channelOrderId);
    expect(found).toContain(order.channelOrderId);
    const key = { channelCode: order.channelCode, channelOrderId: order.channelOrderId };
    const answered = Promise.withResolvers<void>();
    const other = new Licensing({
      baseUrl: gateway.url,
      apiKey: gateway.key,
      fetch: (...request) => fetch(...request).finally(answered.resolve),
    });
    const waiting = other.orders.placeAndWait(order, { pollMs: 20 });
    await answered.promise;
    expect(await licensing.orders.cancel(key)).toBeUndefined();
    expect(await licensing.orders.get(key)).toMatchObject({ state: 'cancelled', notBefore });
    expect(await waiting).toMatchObject({ state: 'cancelled', notBefore });
    expect(await sandbox.commits()).toEqual([]);
  });

  it('validate without sending', async () => {
    const preview = await licensing.orders.preview(newOrder());
    expect(preview.wouldSend).toMatchObject([{ operation: 'batchOrder' }]);
    expect(await sandbox.commits()).toEqual([]);
  });

  it('leave every other judgement to the gateway, which names the field', async () => {
    const wrong = { ...HARBOUR, pageSize: 5000, colour: 'red' };
    const refused = await failure(licensing.assets.list(wrong));
    expect(
      isProblem(refused, 'validation-failed') && refused.errors.map(({ parameter }) => parameter),
    ).toEqual(expect.arrayContaining(['pageSize', 'colour']));
  });
});

describe('pages', () => {
  it('are fetched one after the other, as they are needed', async () => {
    const all = await licensing.members.list({ ...HARBOUR, pageSize: 200 });
    const seen: string[] = [];
    for await (const member of licensing.members.each({ ...HARBOUR, pageSize: 2 }))
      seen.push(member.memberGlobalId);
    expect(seen).toEqual(all.items.map(({ memberGlobalId }) => memberGlobalId));
    expect(seen.length).toBeGreaterThan(4);

    const calls = (await sandbox.journal('listMembers')).length;
    for await (const member of licensing.members.each({ ...HARBOUR, pageSize: 2, keyword: 'a' })) {
      expect(member).toBeDefined();
      break;
    }
    expect((await sandbox.journal('listMembers')).length).toBe(calls + 1);
  });

  it('are fetched to the end also where the platform does not count', async () => {
    const all = await licensing.members.list({ ...HARBOUR, pageSize: 200 });
    // Pages that the gateway has not cached yet.
    const data = { total: null, pages: null, isLastPage: null, hasNextPage: null };
    await sandbox.fault({ operation: 'listMembers', action: { patch: { data } } });
    expect(await licensing.members.list({ ...HARBOUR, pageSize: 3 })).toMatchObject({ total: null });
    const seen: string[] = [];
    for await (const member of licensing.members.each({ ...HARBOUR, pageSize: 3 }))
      seen.push(member.memberGlobalId);
    expect(seen).toEqual(all.items.map(({ memberGlobalId }) => memberGlobalId));
  });

  it('of an empty list have no item', async () => {
    for await (const item of licensing.orders.each({ channelCode: 'none' })) expect(item).toBeUndefined();
  });
});

describe('for whom a member operation acts', () => {
  it('is an alias or a session of a view; the client itself stays as it is', async () => {
    const who = async (client: Licensing, keyword: string) => {
      await client.members.list({ ...HARBOUR, keyword });
      return JSON.stringify((await sandbox.journal('listMembers')).at(-1)?.headers);
    };
    expect(await who(licensing.as('anna'), 'anna')).toContain('anna@harbour');
    expect(await who(licensing, 'bo')).toContain('admin@harbour');
    const { sessionId } = await licensing.sessions.create({
      username: 'chen@harbour',
      password: sandbox.seedPassword,
    });
    const chen = licensing.withSession(sessionId);
    expect(await who(chen, 'chen')).toContain('chen@harbour');
    expect(await chen.sessions.get()).toMatchObject({ username: 'chen@harbour' });
    await chen.sessions.delete();
    expect(isProblem(await failure(chen.sessions.get()), 'session-expired')).toBe(true);
  });
});

describe('for whom an order looks things up', () => {
  it('is the alias of a view, for the order and for its dry run', async () => {
    const { orders } = licensing.as('nobody');
    for (const call of [orders.place(newOrder()), orders.preview(newOrder())])
      expect(isProblem(await failure(call), 'forbidden')).toBe(true);
    expect(await sandbox.journal('batchOrder')).toEqual([]);
    expect((await licensing.as('anna').orders.preview(newOrder())).wouldSend).toHaveLength(1);
  });
});

describe('conditional reads', () => {
  it('of unchanged content are the same object, and still served by the cache of the gateway', async () => {
    const input = { ...HARBOUR, pageSize: 7 };
    const first = await licensing.assets.list(input);
    const calls = (await sandbox.calls()).length;
    const second = await licensing.assets.list(input);
    expect(second).toEqual(first);
    expect(await licensing.assets.list(input)).toBe(second);
    expect(responseOf(second)?.status).toBe(304);
    // The first belongs to its caller; what several share is frozen.
    expect([Object.isFrozen(first.items), Object.isFrozen(second.items)]).toEqual([false, true]);
    (first.items as unknown[]).length = 0;
    expect(await licensing.assets.list(input)).toBe(second);
    // fetch adds `no-cache` to a conditional request by itself, which would go past the gateway's cache.
    expect((await sandbox.calls()).length).toBe(calls);

    await licensing.assets.list(input, { fresh: true });
    expect((await sandbox.calls()).length).toBe(calls + 1);
  });

  it('of different users are kept apart', async () => {
    const input = { ...HARBOUR, pageSize: 3 };
    const own = await licensing.members.list(input);
    expect(await licensing.as('anna').members.list(input)).not.toBe(own);
  });

  it('guard a write with the ETag of the read', async () => {
    const input = { ...HARBOUR, memberGlobalId: 'mem-harbour-anna' };
    const read = await licensing.assetNums.list(input, { fresh: true });
    const ifMatch = responseOf(read)?.etag;
    expect(ifMatch).toMatch(/^"/);
    const assetNums = read.items.map(({ assetNum }) => assetNum);
    await licensing.members.setAssetNums({ ...input, assetNums: [] }, { ifMatch });
    const late = await failure(licensing.members.setAssetNums({ ...input, assetNums }, { ifMatch }));
    expect(isProblem(late, 'precondition-failed')).toBe(true);
  });
});

describe('credentials', () => {
  it('are a key, or a token that is asked for with each request', async () => {
    let asked = 0;
    const byToken = new Licensing({ baseUrl: gateway.url, token: () => `not-a-token-${++asked}` });
    for (const turn of [1, 2]) {
      const refused = await failure(byToken.callers.me());
      expect(isProblem(refused, 'unauthenticated')).toBe(true);
      expect(asked).toBe(turn);
    }
  });

  it('show in no error and no printed client', async () => {
    const wrong = new Licensing({ baseUrl: gateway.url, apiKey: 'lgw_secret-of-a-test' });
    const refused = await failure(wrong.callers.me());
    const printed =
      inspect([wrong, refused], { depth: 9, showHidden: true }) + JSON.stringify([wrong, refused]);
    expect(printed).not.toContain('secret-of-a-test');
    expect((await new Licensing({ baseUrl: gateway.url, apiKey: 'lgw_wrong' }).health.live()).status).toBe(
      'ok',
    );
  });

  it('and other options that are wrong are refused', () => {
    for (const [options, why] of [
      [{ baseUrl: 'ftp://gateway', apiKey: 'a' }, 'baseUrl is no http or https URL'],
      [{ baseUrl: 'gateway', apiKey: 'a' }, 'baseUrl is no http or https URL'],
      [
        { baseUrl: 'http://user:password@gateway', apiKey: 'a' },
        'baseUrl has neither credentials nor a query',
      ],
      [{ baseUrl: 'http://gateway', apiKey: 'a', token: () => 'b' }, 'Give apiKey or token: each is set'],
      // A variable that is not set gives such options.
      [{ baseUrl: 'http://gateway', apiKey: undefined }, 'apiKey (or LICENSING_API_KEY) is empty'],
      [{ baseUrl: undefined }, 'baseUrl (or LICENSING_URL) is empty'],
      [{ baseUrl: '', apiKey: 'a' }, 'baseUrl is empty'],
      [{ baseUrl: 'http://gateway', apiKey: '' }, 'apiKey is empty'],
      [{ baseUrl: 'http://gateway', apiKey: 'a\n' }, 'apiKey has characters that no key has'],
      [{ baseUrl: 'http://gateway', apiKey: 'a', attempts: 4 }, 'attempts is 1 to 3'],
    ] as const)
      expect(() => new Licensing(options)).toThrow(why);
  });

  it('and the address come from the environment where they are not given', async () => {
    const { env } = process;
    const isFor = async (client: Licensing) => (await client.callers.me()).name;
    try {
      process.env = { ...env, LICENSING_URL: gateway.url, LICENSING_API_KEY: gateway.key };
      expect(await isFor(new Licensing())).toBe('tester');
      expect(await isFor(new Licensing().as('anna'))).toBe('tester');
      process.env['LICENSING_URL'] = 'http://127.0.0.1:9';
      expect(await isFor(new Licensing({ baseUrl: gateway.url }))).toBe('tester');
      // A token takes the place of the key.
      const byToken = new Licensing({ baseUrl: gateway.url, token: () => 'no-token' });
      expect(isProblem(await failure(byToken.callers.me()), 'unauthenticated')).toBe(true);
      process.env['LICENSING_API_KEY'] = '';
      expect(() => new Licensing()).toThrow('apiKey (or LICENSING_API_KEY) is empty');
      process.env['LICENSING_URL'] = '';
      expect(() => new Licensing()).toThrow('baseUrl (or LICENSING_URL) is empty');
    } finally {
      process.env = env;
    }
  });
});

describe('a failure', () => {
  it('a problem says what is known, and narrows by its code', async () => {
    const refused = await failure(
      licensing.assets.get({ ...HARBOUR, assetId: 'ast-none' }, { requestId: 'my-own-id' }),
    );
    expect(refused).toBeInstanceOf(Problem);
    expect(isProblem(refused, 'member-not-found')).toBe(false);
    expect(isProblem(refused, 'member-not-found', 'asset-not-found') && refused.status).toBe(404);
    expect(refused).toMatchObject({
      code: 'asset-not-found',
      outcome: 'not_processed',
      retryable: false,
      requestId: 'my-own-id',
      operation: 'getAsset',
      attempts: 1,
    });
    const [taken] = (await licensing.assetNums.list({ ...HARBOUR, memberGlobalId: 'mem-harbour-anna' }))
      .items;
    const assetNums = [taken?.assetNum ?? 'none'];
    const twice = await failure(
      licensing.members.setAssetNums({ ...HARBOUR, memberGlobalId: 'mem-harbour-bo', assetNums }),
    );
    expect(isProblem(twice, 'asset-assigned-twice') && twice.conflicts).toEqual([
      { assetNum: taken?.assetNum, memberGlobalId: 'mem-harbour-anna' },
    ]);
  });

  it('K45 an order whose answer was lost is asked for again under its number, and placed once', async () => {
    const order = newOrder();
    await proxy.add({ toxic: 'cut_reply', by: 'rst' });
    const cutOnce = new Licensing({
      baseUrl: proxy.url,
      apiKey: gateway.key,
      fetch: async (...request) => {
        try {
          return await fetch(...request);
        } catch (error) {
          await proxy.clear();
          throw error;
        }
      },
    });
    const record = await cutOnce.orders.place(order);
    expect(responseOf(record)?.attempts).toBe(2);
    expect(record.state).toBe('succeeded');
    expect(responseOf(record)?.replayed).toBe(true);
    expect(await sandbox.commits()).toHaveLength(1);
  });

  it('any other write whose answer was lost is not repeated, and the caller is told that it was sent', async () => {
    await proxy.add({ toxic: 'cut_reply', by: 'rst' });
    const lost = await failure(throughProxy.assetNums.reserve({ size: 1 }));
    expect(lost).toBeInstanceOf(GatewayUnreachable);
    expect(lost).toMatchObject({ sent: true, attempts: 1, timedOut: false });
    expect(await sandbox.journal('obtainAssetNums')).toHaveLength(1);
  });

  it('an order in doubt is a problem with its number, and ends when it is settled; it is never sent again', async () => {
    const order = newOrder();
    const { channelCode, channelOrderId } = order;
    await sandbox.fault(LOST);
    const doubt = await failure(licensing.orders.place(order));
    expect(isProblem(doubt, 'outcome-unknown') && doubt.order).toEqual({ channelCode, channelOrderId });
    expect(doubt).toMatchObject({ outcome: 'unknown', attempts: 1 });

    // The wait for it ends with what was seen last.
    const ended = await failure(licensing.orders.placeAndWait(order, { pollMs: 10, timeoutMs: 2_000 }));
    expect(ended).toBeInstanceOf(OrderNotSettled);
    expect(ended).toMatchObject({ record: { state: 'in_doubt' }, order: { channelOrderId } });
    const end = new AbortController();
    const left = new Licensing({
      baseUrl: gateway.url,
      apiKey: gateway.key,
      fetch: (...request) => fetch(...request).finally(() => setTimeout(() => end.abort())),
    });
    const stopped = failure(left.orders.placeAndWait(order, { pollMs: 60_000, signal: end.signal }));
    expect(await stopped).toMatchObject({ name: 'AbortError' });

    const waiting = licensing.orders.placeAndWait(order, { pollMs: 20 });
    const settled = await licensing.orders.settle({
      channelCode,
      channelOrderId,
      as: 'succeeded',
      reason: 'seen at the platform',
    });
    expect(await waiting).toEqual(settled);
    expect(await sandbox.commits()).toHaveLength(1);
    expect(await sandbox.journal('batchOrder')).toHaveLength(1);
  });

  it('a refused order rejects with the refusal, also while it is waited for', async () => {
    await sandbox.fault({ operation: 'batchOrder', action: { code: '13004', message: 'no such product' } });
    const order = newOrder();
    for (const call of [() => licensing.orders.place(order), () => licensing.orders.placeAndWait(order)])
      expect(await failure(call())).toMatchObject({ code: 'upstream-rejected', outcome: 'not_processed' });
  });
});

/** A file with these accounts. */
function file(...accounts: string[]): string {
  return [
    'account,password,name',
    ...accounts.map((account) => `${account},${newSecret('m')},${account}`),
  ].join('\n');
}

describe('an import', () => {
  it('from a stream goes on by itself, is watched up to its end, and tells each row', async () => {
    const stream = new Blob([file('new1', 'anna', 'new2')]).stream();
    const job = await licensing.members.import(HARBOUR, stream);
    const seen: Job[] = [];
    for await (const progress of job) seen.push(progress);
    expect(seen.at(-1)).toMatchObject({
      jobId: job.jobId,
      state: 'completed',
      total: 3,
      done: 3,
      succeeded: 2,
      failed: 1,
    });
    const failed = [];
    for await (const row of job.failedRows()) failed.push([row.row, row.account]);
    expect(failed).toEqual([[2, 'anna']]);
    expect(await licensing.jobs.get({ jobId: job.jobId })).toMatchObject({ state: 'completed' });
    expect((await licensing.jobs.follow(job.jobId).done()).done).toBe(3);
  });

  it('is watched on after the connection was lost', async () => {
    await sandbox.fault({ operation: 'addMembers', action: { delayMs: 1_500 } });
    const job = await throughProxy.members.import(HARBOUR, file('later'));
    const states: string[] = [];
    for await (const { state } of job) {
      states.push(state);
      if (states.length > 1) continue;
      await proxy.add({ toxic: 'down' });
      await proxy.clear();
    }
    expect(states.at(-1)).toBe('succeeded');
    expect(await sandbox.journal('addMembers')).toHaveLength(1);
  });
});

it('an export is a stream of the members', async () => {
  const text = await new Response(
    await licensing.as('anna').members.export(HARBOUR, { format: 'ndjson' }),
  ).text();
  const members = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { memberGlobalId: string });
  expect(members.map(({ memberGlobalId }) => memberGlobalId)).toContain('mem-harbour-anna');
});

it('an export that breaks off rejects as a call whose connection is lost', async () => {
  await sandbox.fault({ operation: 'listMembers', action: { odd: { pointer: '/data/list/2/globalId' } } });
  const lost = await failure(new Response(await licensing.members.export(HARBOUR)).text());
  expect(lost).toBeInstanceOf(GatewayUnreachable);
  expect(lost).toMatchObject({ sent: true, operation: 'exportMembers', attempts: 1 });
});

it('the types hold what a caller may write: compiled, not run', () => {
  expect(typed).toBeInstanceOf(Function);
});
async function typed(client: Licensing): Promise<void> {
  const page = await client.assets.list(HARBOUR);
  const licenseType: string | null | undefined = page.items[0]?.licenseType;
  const item: NewBuy = {
    orderType: 'new_buy',
    licenseType: 'softkey',
    customer: {},
    assets: [{ products: [{ productUri: 'draft.pro' }] }],
  };
  await client.orders.place({ channelCode: 'crm', channelOrderId: '1', items: [item] });
  await client.orders.place({
    channelCode: 'crm',
    channelOrderId: '1',
    // @ts-expect-error `allOrders` belongs to deletions.
    items: [{ ...item, orderType: 'new_buy', allOrders: true }],
  });
  // @ts-expect-error No such licence type in a request.
  await client.assets.list({ ...HARBOUR, licenseType: 'soft' });
  // @ts-expect-error An enterprise is needed.
  await client.assets.list({});
  // @ts-expect-error An id is text.
  await client.assets.get({ ...HARBOUR, assetId: 12 });
  // @ts-expect-error Results are not changed.
  page.items[0] = licenseType;
  const error: unknown = await client.orders
    .get({ channelCode: 'crm', channelOrderId: '1' })
    .catch((reason: unknown) => reason);
  if (isProblem(error, 'asset-assigned-twice', 'member-not-found')) {
    const code: 'asset-assigned-twice' | 'member-not-found' = error.code;
    const holders: readonly string[] = error.conflicts.map(({ memberGlobalId }) => memberGlobalId);
    // @ts-expect-error The code is narrowed.
    if (error.code === 'forbidden') throw new Error(`${code} ${holders.join()}`);
  }
  // @ts-expect-error No such code.
  isProblem(error, 'asset-assigned-thrice');
}
