import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { endings } from '../support/endings.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import type { TestGateway } from '../support/gateway.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { startRedis } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** A platform that differs from its document in small things (docs/api.md, section 7). */

interface Gap {
  readonly operation: string;
  readonly path: string;
  readonly kind: string;
  readonly count: number;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
}

let sandbox: TestSandbox;
const { ended } = endings();
const fresh = { headers: { 'cache-control': 'no-cache' } };

beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

const start = async (environment: Record<string, string> = {}) =>
  ended(await startInProcess(sandbox, environment));

async function gapsOf(gateway: TestGateway): Promise<Gap[]> {
  const { status, body } = await gateway.get('/v1/gaps', fresh);
  expect(status).toBe(200);
  return body['items'] as Gap[];
}

/** The reads of the gateway, with the path of the platform's response behind each and where it shows a list. */
const READS = [
  ['listAssets', '/v1/enterprises/ent-harbour/assets', '/order/api/order/v1/asset/ent-harbour/list'],
  [
    'findCustomers',
    '/v1/customers?channelCode=crm&channelCustomerId=CH-1001',
    '/order/api/order/v1/enterprise/user/query?channelCode=crm&channelCustomerId=CH-1001&defaultCustomer=N',
  ],
  [
    'listMembers',
    '/v1/enterprises/ent-harbour/members',
    '/me/api/v1/enterprise/ent-harbour/members?pageNum=1&pageSize=20',
  ],
  [
    'listAssetNums',
    '/v1/enterprises/ent-harbour/asset-nums',
    '/me/api/v1/enterprise/ent-harbour/asset/assetNums',
  ],
  [
    'listLentLocks',
    '/v1/enterprises/ent-harbour/lent-locks',
    '/me/api/v1/enterprise/ent-harbour/asset/borrowUsbKeys',
  ],
  [
    'getAssetProducts',
    '/v1/enterprises/ent-harbour/assets/ast-1002/products',
    '/me/api/v1/enterprise/asset/ast-1002/merchandiseProducts',
  ],
] as const;

const UPSTREAM: Readonly<Record<string, string>> = {
  findCustomers: 'queryCustomers',
  getAssetProducts: 'listAssetProducts',
};

/** The platform's own response, without the gateway in between. */
async function platformAnswer(path: string): Promise<unknown> {
  const token = async (form: Record<string, string>): Promise<string> => {
    const answer = await fetch(sandbox.tokenUrl, {
      method: 'POST',
      body: new URLSearchParams({
        ...form,
        client_id: sandbox.appKey,
        client_secret: sandbox.appSecret,
      }),
    });
    return ((await answer.json()) as { access_token: string }).access_token;
  };
  const isMember = path.startsWith('/me/');
  const application = await token({
    grant_type: 'client_credentials',
    scope: isMember ? 'auth_me' : 'auth_order',
  });
  const user = isMember
    ? await token({
        grant_type: 'password',
        username: 'admin@harbour',
        password: sandbox.seedPassword,
      })
    : '';
  const answer = await fetch(
    `${sandbox.url}${path}${path.includes('?') ? '&' : '?'}g_nonce=${randomUUID()}`,
    {
      headers: {
        authorization: `Bearer ${application}`,
        'content-type': 'application/json',
        ...(isMember && { clientToken: application, userToken: user }),
      },
    },
  );
  return ((await answer.json()) as { data: unknown }).data;
}

/** Pointers of all fields below a value; for a list, those of its first items. */
function pointersOf(value: unknown, at = '/data'): string[] {
  if (Array.isArray(value))
    return value.slice(0, 2).flatMap((item, index) => pointersOf(item, `${at}/${index}`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    `${at}/${name}`,
    ...pointersOf(member, `${at}/${name}`),
  ]);
}

const ODD: readonly unknown[] = [
  undefined,
  null,
  '',
  'odd',
  '7',
  -1,
  3,
  1.5,
  true,
  [],
  [null],
  {},
  { more: 1 },
];
/** Without its id an item cannot be found again, and is left out. */
const IDS: Readonly<Record<string, string>> = {
  listAssets: 'id',
  findCustomers: 'customerId',
  listMembers: 'globalId',
  listAssetNums: 'assetNum',
  listLentLocks: 'assetId',
  getAssetProducts: 'id',
};

const sizeOf = (value: unknown): number => JSON.stringify(value).length;

describe('a single odd field of a response', () => {
  it.each(READS)('%s: the gateway serves the rest of the response', async (operation, path, wirePath) => {
    const gateway = await start();
    const right = await gateway.get(path, fresh);
    expect(right.status).toBe(200);
    const pointers = pointersOf(await platformAnswer(wirePath));
    expect(pointers.length).toBeGreaterThan(3);
    for (const [index, pointer] of pointers.entries()) {
      // Each field gets some of the values, and each value many fields.
      for (const value of ODD.filter((_, number) => (number + index) % 4 === 0)) {
        await sandbox.fault({
          operation: UPSTREAM[operation] ?? operation,
          times: 1,
          action: { odd: { pointer, value } },
        });
        const odd = await gateway.get(path, fresh);
        const isWholeList =
          pointer === '/data/list' && value !== null && value !== undefined && !Array.isArray(value);
        if (isWholeList) {
          expect(odd.body['code']).toBe('upstream-contract-violation');
          continue;
        }
        expect({ pointer, value, status: odd.status }).toEqual({ pointer, value, status: 200 });
        expectRest(odd.body, right.body, pointer, IDS[operation] ?? '');
      }
    }
  });
});

/** Except for the spoiled field (or the item with the spoiled id) both responses are the same. */
function expectRest(odd: unknown, right: unknown, pointer: string, id: string): void {
  const items = (body: unknown): unknown[] => Object.values(body as object).find(Array.isArray) ?? [];
  const [oddItems, rightItems] = [items(odd), items(right)];
  const isList = /^\/data(\/\w+)?\/\d+\//.test(pointer);
  if (!isList) return;
  const isId = new RegExp(`^/data(/\\w+)?/\\d+/${id}$`).test(pointer);
  // Every other item is unchanged.
  const same = rightItems.filter((item) =>
    oddItems.some((other) => JSON.stringify(other) === JSON.stringify(item)),
  );
  expect(same.length).toBeGreaterThanOrEqual(rightItems.length - 1);
  if (isId) return;
  expect(oddItems).toHaveLength(rightItems.length);
  for (const [index, item] of oddItems.entries()) {
    const before = rightItems[index] as Record<string, unknown>;
    const changed = Object.keys(before).filter(
      (name) => JSON.stringify((item as Record<string, unknown>)[name]) !== JSON.stringify(before[name]),
    );
    expect({ pointer, changed: changed.length <= 1 }).toEqual({ pointer, changed: true });
  }
}

describe('a platform that is odd in many fields at once', () => {
  it('is still usable: every read gets a response, and the response fits the document', async () => {
    const gateway = await start();
    for (let round = 0; round < 20; round++) {
      await sandbox.fault({ operation: '*', times: READS.length, action: { odd: { share: 0.2 } } });
      for (const [, path] of READS) {
        const { status, body } = await gateway.get(path, fresh);
        if (status === 200) continue;
        // The list itself was removed.
        expect(body['code']).toBe('upstream-contract-violation');
      }
    }
    const all = await gapsOf(gateway);
    expect(all.length).toBeGreaterThan(20);
    expect(sizeOf(all)).toBeLessThan(100_000);
  });
});

describe('gaps', () => {
  it('are empty when the platform responds as its interface says', async () => {
    const gateway = await start();
    for (const [, path] of READS) expect((await gateway.get(path, fresh)).status).toBe(200);
    expect((await gateway.get('/v1/enterprises/ent-harbour/overview', fresh)).status).toBe(200);
    expect(await gapsOf(gateway)).toEqual([]);
  });

  it.each<[unknown, string, string]>([
    [3, 'unknown-word', '/data/0/keyChipType'],
    ['soon', 'wrong-type', '/data/0/createTime'],
    ['', 'empty', '/data/0/limitEndTime'],
    [null, 'null', '/data/0/locked'],
    [undefined, 'missing', '/data/0/assetNum'],
    ['hologram', 'unknown-word', '/data/0/licenseType'],
    [1_767_600_000, 'time-unit', '/data/0/createTime'],
    [1, 'unknown-field', '/data/0/colour'],
    [null, 'null', '/data'],
  ])('name %j as %s at %s, with a count and the times, and never the value', async (value, kind, pointer) => {
    const gateway = await start();
    const before = Date.now();
    await sandbox.fault({ operation: 'listAssets', times: 2, action: { odd: { pointer, value } } });
    for (let times = 0; times < 3; times++)
      expect((await gateway.get('/v1/enterprises/ent-harbour/assets', fresh)).status).toBe(200);
    const path = pointer.slice(1).replace('/0/', '[].');
    const [gap, ...others] = await gapsOf(gateway);
    expect(others).toEqual([]);
    expect(gap).toEqual({
      operation: 'listAssets',
      path,
      kind,
      count: 2,
      firstSeenAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/),
      lastSeenAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/),
    });
    expect(Date.parse(gap?.firstSeenAt ?? '')).toBeGreaterThanOrEqual(before);
    expect(Date.parse(gap?.lastSeenAt ?? '')).toBeGreaterThanOrEqual(Date.parse(gap?.firstSeenAt ?? ''));
    expect(await gateway.metrics()).toContain(
      `gateway_upstream_gaps_total{operation="listAssets",kind="${kind}"} 2`,
    );
  });

  it('are the same on all replicas, outlive them, and need a scope of their own', async () => {
    const redis = await startRedis();
    ended({ stop: () => redis.stop() });
    const environment = { REDIS_URL: redis.url, ENCRYPTION_KEYS: newEncryptionKey() };
    const one = await start(environment);
    await sandbox.fault({
      operation: 'listAssets',
      times: 1,
      action: { odd: { pointer: '/data/0/locked', value: 'no' } },
    });
    await one.get('/v1/enterprises/ent-harbour/assets', fresh);
    expect(await gapsOf(one)).toHaveLength(1);
    const other = ended(
      await startInProcess(sandbox, environment, [{ name: 'reader', scopes: ['orders:read'] }]),
    );
    expect(await gapsOf(other)).toMatchObject([{ path: 'data[].locked', count: 1 }]);
    const refused = await other.get('/v1/gaps', { headers: { 'x-api-key': other.keys['reader'] ?? '' } });
    expect([refused.status, refused.body['code']]).toEqual([403, 'forbidden']);
  });

  it('are paged', async () => {
    const gateway = await start();
    for (let field = 0; field < 5; field++) {
      await sandbox.fault({
        operation: 'listAssets',
        times: 1,
        action: { odd: { pointer: `/data/0/field${field}`, value: 1 } },
      });
      await gateway.get('/v1/enterprises/ent-harbour/assets', fresh);
    }
    const { body, headers } = await gateway.get('/v1/gaps?page=2&pageSize=2', fresh);
    expect(body).toMatchObject({ page: 2, pageSize: 2, total: 5, totalPages: 3 });
    expect(body['items']).toMatchObject([{ path: 'data[].field2' }, { path: 'data[].field3' }]);
    expect(headers.get('link')).toContain('rel="next"');
  });

  it('are bounded, also when the platform makes up many fields', async () => {
    const gateway = await start();
    for (let round = 0; round < 4; round++) {
      const fields = Object.fromEntries(
        Array.from({ length: 400 }, (_, index) => [`made${round}up${index}`, index]),
      );
      await sandbox.fault({
        operation: 'queryCustomers',
        times: 1,
        action: { odd: { pointer: '/data/0', value: { customerId: 'c', ...fields } } },
      });
      await gateway.get('/v1/customers?channelCode=crm&channelCustomerId=CH-1001', fresh);
    }
    const { body } = await gateway.get('/v1/gaps?pageSize=1000', fresh);
    expect(body['total']).toBe(1_000);
  });
});
