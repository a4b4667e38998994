import { describe, expect, it } from '@jest/globals';
import { type Scope, scopes } from '../../src/request/scopes.ts';
import { newApiKey, newEncryptionKey } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { caseOf } from '../support/expected.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { operationCases, send } from '../support/operations.ts';
import { orderOf } from '../support/order-body.ts';
import { useStack } from '../support/stack.ts';

/** What callers may do to the gateway with their keys, scopes, grants and floods. Orders sent again: test/e2e/orders.e2e.ts. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const QUOTA = 50;
const FLOOD = 200;

const ENCRYPTION_KEYS = newEncryptionKey();

const all = { enterprises: ['*'], channels: ['*'] };
/** The callers: for each scope that an operation needs, one with every other scope. */
const incomplete = [...new Set(operationCases.map(({ scopes: [scope] }) => scope as Scope))].map(
  (missing) => ({
    name: `without-${missing.replace(':', '-')}`,
    scopes: scopes.filter((scope) => scope !== missing),
    ...all,
  }),
);
const limited = (name: string, requests: number) => ({
  name,
  scopes: ['orders:read', 'orders:write'],
  enterprises: ['ent-harbour'],
  channels: ['crm'],
  rateLimit: { requests, perSeconds: 3_600 },
});

const stack = useStack({
  redis: true,
  environment: { ENCRYPTION_KEYS },
  callers: [
    ...incomplete,
    { name: 'buyer', scopes: ['orders:write'], ...all },
    { name: 'leaver', scopes: ['orders:read'], ...all },
    { name: 'renewed', scopes: ['orders:read'], ...all },
    {
      name: 'harbour',
      scopes: ['orders:read', 'orders:write'],
      enterprises: ['ent-harbour'],
      channels: ['crm'],
    },
    limited('five', 5),
    limited('one', 1),
    limited('changed', 1),
    limited('flooder', QUOTA),
    limited('neighbour', 1_000_000),
  ],
});
const { sandbox, gateway } = stack;
const { ended } = endings();

const ask = (caller: string, path = ASSETS, at: TestGateway = gateway) =>
  at.get(path, { key: gateway.keys[caller] as string });

/** Writes the callers file, and resolves when the gateway has read it. */
async function callersChanged(): Promise<void> {
  const reloaded = gateway.logged('callers-reloaded');
  gateway.writeCallers();
  await reloaded;
}

/** Everything that a caller can see of a refusal, except the parts that differ in every response. */
function seen({ status, headers, text, body }: TestAnswer): unknown {
  const own = [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date');
  return { status, own, text: text.replace(body['requestId'] as string, '') };
}

describe('K29 a key that is not valid', () => {
  it.each<[string, (key: string) => Record<string, string>, string]>([
    ['a key after Bearer', (key) => ({ authorization: `Bearer ${key}` }), 'X-Api-Key`, without `Bearer'],
    ['Bearer before a key', (key) => ({ 'x-api-key': `Bearer ${key}` }), 'in the header `Authorization`'],
    ['a token for a key', () => ({ 'x-api-key': 'aaaa.bbbb.cccc' }), 'in the header `Authorization`'],
    ['a token', () => ({ authorization: 'Bearer aaaa.bbbb.cccc' }), 'no issuer is configured'],
    ['another scheme', (key) => ({ authorization: `Basic ${key}` }), 'must be `Bearer` and a token'],
    ['two', (key) => ({ 'x-api-key': key, authorization: 'Bearer a.b.c' }), 'Send one of them'],
    ['no credential', () => ({}), 'neither `X-Api-Key` nor `Authorization`'],
    ['a key twice', (key) => ({ 'x-api-key': `${key}, ${key}` }), '`X-Api-Key` more than once'],
    ['an empty key', () => ({ 'x-api-key': '' }), 'is empty'],
    ['a key of no caller', () => ({ 'x-api-key': newApiKey().key }), 'no caller of this gateway has it'],
    [
      "a key beside a proxy's password",
      (key) => ({ 'x-api-key': key, authorization: 'Basic cHJveHk6eA==' }),
      'Send one of them',
    ],
  ])('is told from others: %s', async (_, headersOf, detail) => {
    // Known or not: only the form counts.
    for (const key of [gateway.key, newApiKey().key]) {
      const { status, body } = await gateway.get(ASSETS, { key: null, headers: headersOf(key) });
      expect([status, body['code'], body['detail']]).toEqual([
        401,
        'unauthenticated',
        expect.stringContaining(detail),
      ]);
    }
  });

  it('is 401, with the same response whether it was ever valid or not', async () => {
    const revoked = gateway.keys['leaver'] as string;
    expect((await ask('leaver')).status).toBe(200);
    gateway.callers = gateway.callers.filter(({ name }) => name !== 'leaver');
    await callersChanged();
    await sandbox.reset();
    const own = gateway.key;
    const hash = gateway.callers[0]?.keys[0] as string;
    const unknown = ['x', newApiKey().key, revoked, hash, own.slice(0, -1), `${own}x`, own.toUpperCase()];
    const answers: TestAnswer[] = [];
    for (const key of unknown) answers.push(await gateway.get(ASSETS, { key }));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
    for (const answer of answers) expect(seen(answer)).toEqual(seen(answers[0] as TestAnswer));
    expect(await sandbox.calls()).toEqual([]);
  });
});

describe('a valid key', () => {
  it('without a scope is refused each operation of it, with the name of the scope', async () => {
    const refusals = await Promise.all(
      operationCases.map(async (each) => {
        const key = gateway.keys[`without-${each.scopes[0]?.replace(':', '-')}`] as string;
        const { status, body } = await send(gateway, each, { key });
        return [each.id, status, body['code'], body['detail']];
      }),
    );
    expect(refusals).toEqual(
      operationCases.map((each) => [each.id, 403, 'forbidden', `The scope ${each.scopes[0]} is needed.`]),
    );
    expect(await sandbox.calls()).toEqual([]);
  });

  it('that may order, but not revoke, is refused a batch with a deletion in it', async () => {
    const deletion = {
      orderType: 'delete_asset',
      licenseType: 'softkey',
      allOrders: true,
      customer: {},
      assets: [{ assetNums: ['8000001001'] }],
    };
    const body = orderOf('SO-1', { items: [...orderOf('SO-1').items, deletion] });
    const answer = await gateway.post('/v1/license-orders', body, { key: gateway.keys['buyer'] as string });
    expect([answer.status, answer.body['detail']]).toEqual([403, 'The scope orders:revoke is needed.']);
    expect((await gateway.post('/v1/license-orders/dry-run', body)).status).toBe(200);
    expect(await sandbox.calls()).toEqual([]);
  });

  it('that may order, but not revoke, is told a kind of order that does not exist, and sends nothing', async () => {
    const [item] = orderOf('SO-1').items;
    const key = gateway.keys['buyer'] as string;
    for (const path of ['/v1/license-orders', '/v1/license-orders/dry-run'])
      for (const orderType of ['new_bye', undefined, 7, ['delete_asset']]) {
        const body = orderOf('SO-1', { items: [{ ...item, orderType }] });
        const answer = await gateway.post(path, body, { key });
        expect([path, orderType, answer.status, answer.body['errors']]).toMatchObject([
          ...[path, orderType, 400],
          [{ pointer: '/items/0/orderType' }],
        ]);
      }
    expect(await sandbox.calls()).toEqual([]);
  });

  // Every field of every operation: test/security/tenancy.e2e.ts.
  it('K30 is refused an enterprise that is not its own', async () => {
    const answer = await ask('harbour', '/v1/enterprises/ent-meridian/assets');
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ code: 'forbidden', outcome: 'not_processed' });
    expect(await sandbox.calls()).toEqual([]);
  });

  it('O3 is replaced without a gap: both are valid while both are in the file, the old one is not afterwards', async () => {
    const old = gateway.keys['renewed'] as string;
    const renewed = newApiKey();
    const entry = gateway.callers.find(({ name }) => name === 'renewed') as { keys: string[] };
    const change = async (keys: string[]) => {
      entry.keys = keys;
      await callersChanged();
    };
    const get = (key: string) => gateway.get(ASSETS, { key });
    const statuses = async () => [(await get(old)).status, (await get(renewed.key)).status];
    const [oldHash = ''] = entry.keys;

    expect(await statuses()).toEqual([200, 401]);
    await change([oldHash, renewed.hash]);
    expect(await statuses()).toEqual([200, 200]);
    await sandbox.fault({ operation: caseOf('listAssets').upstream, action: { delayMs: 2_000 }, times: 1 });
    const underWay = get(old);
    await sandbox.untilSpoiled(1, underWay);
    await change([renewed.hash]);
    expect(await statuses()).toEqual([401, 200]);
    // An admitted request gets its response.
    expect((await underWay).status).toBe(200);
  });
});

function standing({ headers }: TestAnswer): { policy: string | null; left: number; ends: number } {
  const [, left, ends] = /^"default";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? [];
  return { policy: headers.get('ratelimit-policy'), left: Number(left), ends: Number(ends) };
}

describe("a caller's rate limit", () => {
  it('K49 is counted down on every response, also of wrong requests, and ends in 429 before the gateway acts', async () => {
    const key = gateway.keys['five'] as string;
    const answers = [
      await ask('five'),
      await ask('five', '/v1/enterprises/ent-meridian/assets'),
      await ask('five', `${ASSETS}?nonsense=1`),
      await ask('five', '/v1/nothing'),
      await gateway.post('/v1/license-orders', 'x'.repeat(1_048_577), { key }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 400, 404, 413]);
    for (const [index, answer] of answers.entries()) {
      const { policy, left, ends } = standing(answer);
      expect({ policy, left }).toEqual({ policy: '"default";q=5;w=3600', left: 4 - index });
      expect(ends).toBeGreaterThan(3_000);
      expect(ends).toBeLessThanOrEqual(3_600);
    }
    const calls = await sandbox.calls();
    for (const refused of [
      await ask('five'),
      await ask('five', '/v1/%'),
      await gateway.post('/v1/license-orders', orderOf('SO-1'), { key }),
    ]) {
      expect(refused.status).toBe(429);
      expect(refused.body).toMatchObject({
        code: 'too-many-requests',
        outcome: 'not_processed',
        retryable: true,
        requestId: refused.headers.get('x-request-id'),
      });
      expect(standing(refused)).toMatchObject({ policy: '"default";q=5;w=3600', left: 0 });
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000);
    }
    expect(await sandbox.calls()).toEqual(calls);
    expect(await gateway.metrics()).toContain('gateway_requests_refused_total{reason="caller-rate"} 3');
  });

  it('does not count what is public, and requests of unknown callers; without a limit it is in no response', async () => {
    for (const path of [
      '/health/live',
      '/health/ready',
      '/problems',
      '/problems/forbidden',
      '/openapi.json',
      '/openapi-3.0.json',
      '/postman-collection.json',
    ]) {
      const answer = await ask('one', path);
      expect([path, answer.status, answer.headers.get('ratelimit')]).toEqual([path, 200, null]);
    }
    const unknown = await gateway.get(ASSETS, { key: 'lgw_nobody' });
    expect([unknown.status, unknown.headers.get('ratelimit-policy')]).toEqual([401, null]);
    expect(standing(await ask('one'))).toMatchObject({ left: 0 });
    const { status, headers } = await gateway.get(ASSETS);
    expect([status, headers.get('ratelimit'), headers.get('ratelimit-policy')]).toEqual([200, null, null]);
  });

  it('follows the callers file', async () => {
    expect((await ask('changed')).status).toBe(200);
    expect((await ask('changed')).status).toBe(429);
    const entry = gateway.callers.find(({ name }) => name === 'changed');
    if (entry) entry.rateLimit = { requests: 2, perSeconds: 60 };
    await callersChanged();
    const answer = await ask('changed');
    expect([answer.status, standing(answer).policy]).toEqual([200, '"default";q=2;w=60']);
    expect(standing(answer).ends).toBeLessThanOrEqual(60);
  });
});

describe('K31 a flood of one caller', () => {
  it('is 429 for it on all replicas, exactly beyond its limit, and the others are served', async () => {
    const shared = { CALLERS_FILE: gateway.callersFile, REDIS_URL: stack.redis().url, ENCRYPTION_KEYS };
    const both = [gateway, ended(await TestGateway.start(sandbox, shared))];
    const over = new AbortController();
    const flooding = Promise.all(
      Array.from({ length: FLOOD }, (_, index) => ask('flooder', ASSETS, both[index % 2])),
    ).finally(() => over.abort());
    const beside: TestAnswer[] = [];
    while (!over.signal.aborted) beside.push(await ask('neighbour', ASSETS, both[beside.length % 2]));
    const answers = await flooding;

    const served = answers.filter(({ status }) => status === 200);
    const places = served.map((answer) => standing(answer).left).sort((a, b) => a - b);
    expect(places).toEqual(Array.from({ length: QUOTA }, (_, place) => place));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(FLOOD - QUOTA);
    expect(refused[0]?.body).toMatchObject({ code: 'too-many-requests', outcome: 'not_processed' });
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(3_000);
    expect(new Set(beside.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await sandbox.journal('listAssets')).toHaveLength(QUOTA + beside.length);
  });
});
