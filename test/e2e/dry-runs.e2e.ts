import { beforeEach, describe, expect, it } from '@jest/globals';
import { prepareDemo } from '../../scripts/demo-state.ts';
import { routes } from '../support/contract.ts';
import { askDatabase } from '../support/postgres.ts';
import { ask } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

/** `validateOnly` on every write: all of it up to where something would be sent or recorded. */

const HARBOUR = '/v1/enterprises/ent-harbour';
const callers = [
  { name: 'harbour', scopes: ['members:write', 'locks:write'], enterprises: ['ent-harbour'], users: ['*'] },
  { name: 'reader', scopes: ['orders:read'], enterprises: ['*'] },
];
const stack = useStack({
  redis: true,
  database: 'postgres',
  callers,
  environment: { WEBHOOK_HOSTS: '127.0.0.1' },
});
const { sandbox, gateway } = stack;
beforeEach(() => prepareDemo({ gatewayUrl: gateway.url, key: gateway.key, sandboxUrl: sandbox.url }));

const DRY = 'validateOnly=true';
const dry = (method: string, path: string, options: object = {}) =>
  gateway.request(method, `${path}?${DRY}`, options);
const writes = async () => (await sandbox.calls()).filter(({ method }) => method !== 'GET').length;

/** All rows of the database, but for who works on what, and how far the webhook of the demo is; and the sessions, which Redis has. */
async function recorded(): Promise<readonly unknown[]> {
  const moving = '{cursor, last_delivered_at, failing_since, pending, version}';
  return Promise.all([
    ask(stack.redis(), async (client) => (await client.keys('*:ses:*')).sort()),
    askDatabase(
      stack.databaseUrl(),
      `SELECT relname, query_to_xml(
        format('SELECT to_jsonb(kept) - %L::text[] AS kept FROM %I AS kept ORDER BY kept', '${moving}', relname), true, true, '')::text
      FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(current_schema())
        AND relname NOT IN ('tasks', 'deliveries', 'numbers', 'attempts') ORDER BY relname`,
    ),
  ]);
}

/** Answers `validateOnly` in a way of its own. */
const PREVIEWS = ['placeOrder', 'importMembers', 'setMemberAssetNums', 'changeMemberAssetNums'];
const operations = routes.filter(
  ({ method, operation }) => method !== 'GET' && !PREVIEWS.includes(operation.operationId),
);

it('every write of the document takes it', () => {
  const all = routes.filter(({ method }) => method !== 'GET');
  const without = all.filter(
    ({ operation }) => !operation.parameters?.some(({ name }) => name === 'validateOnly'),
  );
  expect(without.map(({ operation }) => operation.operationId)).toEqual([]);
  expect(operations.length).toBeGreaterThan(20);
});

/** The ids that only this gateway has given out. */
async function madeFor(id: string): Promise<Readonly<Record<string, unknown>>> {
  if (id.endsWith('Job'))
    return ((await gateway.get('/v1/jobs')).body['items'] as object[])[0] as Record<string, unknown>;
  if (!/ebhook|redeliver/.test(id)) return {};
  return (await gateway.post('/v1/webhooks', { url: 'http://127.0.0.1:9/hook', types: ['*'] })).body;
}

it.each(operations.map((route) => ({ id: route.operation.operationId, ...route })))(
  '$id: nothing is sent, nothing recorded, and what it would send is shown',
  async ({ id, operation, method, template }) => {
    const values = await madeFor(id);
    const session = operation.parameters?.some(({ name, required }) => name === 'X-Session-Id' && required)
      ? ((await gateway.post('/v1/sessions', { username: 'admin@harbour', password: sandbox.seedPassword }))
          .body as { sessionId: string })
      : undefined;
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(
        String(values[name] ?? operation.parameters?.find((each) => each.name === name)?.example),
      ),
    );
    const [[type, content] = ['', undefined]] = Object.entries(operation.requestBody?.content ?? {});
    const [example] = Object.values(content?.examples ?? {});
    const options = {
      ...(example && { body: id === 'setMaintenance' ? soon : example.value }),
      headers: {
        ...(example && { 'content-type': type }),
        ...(session && { 'x-session-id': session.sessionId }),
        ...(method === 'POST' && { 'idempotency-key': `dry-run-of-${id}` }),
      },
    };
    const [sent, before] = [await writes(), await recorded()];
    const { status, body } = await dry(method, path, options);
    // There is no such delivery: a dry run says so, as the write would.
    if (id === 'redeliver') return expect(status).toBe(404);
    expect([status, body]).toEqual([200, { wouldSend: expect.any(Array), effects: expect.any(Array) }]);
    const called = (body['wouldSend'] as { operation: string }[]).map((each) => each.operation);
    const upstream = operation['x-upstream']?.operation;
    const isLater = id === 'retryJob';
    expect(new Set(called)).toEqual(new Set(upstream === undefined || isLater ? [] : [upstream]));
    expect([await writes(), await recorded()]).toEqual([sent, before]);
  },
);
const soon = { stops: 'orders', until: new Date(Date.now() + 60_000).toISOString(), reason: 'x' };

describe('a dry run', () => {
  it('shows every call with its body, and masks secrets', async () => {
    const members = Array.from({ length: 250 }, (_, index) => {
      return { account: `new${index}`, password: 'first-login-1', name: 'New' };
    });
    const { status, body, text } = await dry('POST', `${HARBOUR}/members`, { body: { members } });
    expect(status).toBe(200);
    const calls = body['wouldSend'] as { operation: string; body: { userList: object[] } }[];
    expect(calls.map((call) => [call.operation, call.body.userList.length])).toEqual([
      ['addMembers', 100],
      ['addMembers', 100],
      ['addMembers', 50],
    ]);
    expect(text).not.toContain('first-login-1');
    expect(calls[0]?.body.userList[0]).toMatchObject({ userName: 'new0', password: '[secret]' });
  });

  it('shows the state of locks, the rights that go with a member, and which assets are free', async () => {
    const locks = { assetNums: ['8000001003', '8000009999'] };
    const switched = await dry('POST', `${HARBOUR}/locks/disable`, { body: locks });
    expect(switched.body['effects']).toEqual([{ assetNum: '8000001003', locked: false }]);
    const list = (query: string) => gateway.get(`${HARBOUR}/asset-nums?${query}`);
    const owned = (await list('free=false')).body['items'] as {
      assetNum: string;
      memberGlobalId: string | null;
    }[];
    const owner = owned.find(({ memberGlobalId }) => memberGlobalId !== null)?.memberGlobalId ?? '';
    const gone = await dry('DELETE', `${HARBOUR}/members/${owner}`);
    const its = owned.filter(({ memberGlobalId }) => memberGlobalId === owner);
    expect(its.length).toBeGreaterThan(0);
    expect(gone.body['effects']).toEqual(its.map(({ assetNum }) => ({ assetNum })));
    const all = (await list('')).body['items'] as {
      assetId: string;
      memberGlobalId: string | null;
      lent: boolean;
    }[];
    const assetIds = all.slice(0, 3).map(({ assetId }) => assetId);
    const lent = await dry('POST', `${HARBOUR}/members/${owner}/loans`, {
      body: { lentLockNum: '9000000001', assetIds },
    });
    expect(lent.body['effects']).toEqual(
      all.slice(0, 3).map(({ assetId, memberGlobalId, lent: isLent }) => ({
        assetId,
        free: memberGlobalId === null && !isLent,
      })),
    );
  });

  it('uses up no Idempotency-Key, and the write that follows is made', async () => {
    const headers = { 'idempotency-key': 'a-key-of-a-dry-run-1' };
    const before = await writes();
    expect((await dry('POST', '/v1/asset-num-reservations', { body: { size: 2 }, headers })).status).toBe(
      200,
    );
    const made = await gateway.post('/v1/asset-num-reservations', { size: 2 }, { headers });
    expect([made.status, made.headers.get('idempotent-replayed')]).toEqual([201, null]);
    expect(await writes()).toBe(before + 1);
  });

  it('answers as the write would: form, rules, scope, grants, lookups, and what a service knows', async () => {
    const codeOf = async (answer: ReturnType<typeof dry>) => {
      const { status, body } = await answer;
      return [status, body['code'], body['errors']];
    };
    const key = (name: string) => ({ key: gateway.keys[name] as string });
    const before = await writes();
    expect(await codeOf(dry('POST', `${HARBOUR}/locks/disable`, { body: { assetNums: [] } }))).toEqual([
      ...[400, 'validation-failed', [{ pointer: '/assetNums', detail: expect.any(String) }]],
    ]);
    expect(await codeOf(dry('DELETE', `${HARBOUR}/members/mem-harbour-dora`, key('reader')))).toMatchObject([
      403,
      'forbidden',
    ]);
    const other = '/v1/enterprises/ent-meridian/members/mem-harbour-dora';
    expect(await codeOf(dry('DELETE', other, key('harbour')))).toMatchObject([403, 'forbidden']);
    expect(await codeOf(dry('DELETE', `${HARBOUR}/members/mem-nobody`, key('harbour')))).toMatchObject([
      404,
      'member-not-found',
    ]);
    const hook = { url: 'https://elsewhere.example/', types: ['*'] };
    expect(await codeOf(dry('POST', '/v1/webhooks', { body: hook }))).toEqual([
      400,
      'validation-failed',
      [{ pointer: '/url', detail: expect.any(String) }],
    ]);
    const asked = (query: string) =>
      gateway.request('DELETE', `${HARBOUR}/members/mem-harbour-dora?${query}`);
    expect(await codeOf(asked('validateOnly=yes'))).toEqual([
      ...[400, 'validation-failed', [{ parameter: 'validateOnly', detail: 'must be true or false' }]],
    ]);
    expect(await codeOf(asked('validateOnly=true&validateOnly=true'))).toEqual([
      ...[400, 'validation-failed', [{ parameter: 'validateOnly', detail: 'must be given once' }]],
    ]);
    expect(await writes()).toBe(before);
    expect((await asked('validateOnly=false')).status).toBe(204);
  });
});
