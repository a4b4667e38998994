import { describe, expect, it } from '@jest/globals';
import { TestGateway } from '../support/gateway.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { orderOf } from '../support/order-body.ts';
import { ask, startRedis } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

/** A platform that differs from its document in small things (docs/api.md, section 7). */

interface Gap {
  readonly operation: string;
  readonly path: string;
  readonly kind: string;
  readonly count: number;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
}

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const fresh = { headers: { 'cache-control': 'no-cache' } };
/** The gaps of this caller are those of all tests so far. */
const callers = [{ name: 'harbour', scopes: ['locks:write'], enterprises: ['ent-harbour'] }];
const { sandbox, gateway } = useStack({ callers });

async function gapsOf(of = gateway): Promise<Gap[]> {
  const { status, body } = await of.get('/v1/gaps?pageSize=1000', fresh);
  expect(status).toBe(200);
  return body['items'] as Gap[];
}

const READS = [
  ASSETS,
  '/v1/customers?channelCode=crm&channelCustomerId=CH-1001',
  '/v1/enterprises/ent-harbour/members',
  '/v1/enterprises/ent-harbour/asset-nums',
  '/v1/enterprises/ent-harbour/lent-locks',
  '/v1/enterprises/ent-harbour/assets/ast-1002/products',
];

it('gaps are empty when the platform responds as its interface says', async () => {
  for (const path of READS) expect((await gateway.get(path, fresh)).status).toBe(200);
  expect((await gateway.get('/v1/enterprises/ent-harbour/overview', fresh)).status).toBe(200);
  expect(await gapsOf()).toEqual([]);
});

it('a platform that is odd in many fields at once is still usable: every read gets a response, and the response fits the document', async () => {
  for (let round = 0; round < 20; round++) {
    await sandbox.fault({ operation: '*', times: READS.length, action: { odd: { share: 0.2 } } });
    for (const path of READS) {
      const { status, body } = await gateway.get(path, fresh);
      if (status === 200) continue;
      // The list itself was removed, or its ids differed at each reading.
      expect(['upstream-contract-violation', 'upstream-unavailable']).toContain(body['code']);
    }
  }
  const all = await gapsOf();
  expect(all.length).toBeGreaterThan(20);
  expect(JSON.stringify(all).length).toBeLessThan(100_000);
});

describe('gaps', () => {
  it('name what is odd and how, with a count and the times, and never the value', async () => {
    const rows: [unknown, string, string][] = [
      [3, 'unknown-word', '/data/0/keyChipType'],
      ['soon', 'wrong-type', '/data/0/createTime'],
      ['', 'empty', '/data/0/limitEndTime'],
      [null, 'null', '/data/0/locked'],
      [undefined, 'missing', '/data/0/assetNum'],
      ['hologram', 'unknown-word', '/data/0/licenseType'],
      [1_767_600_000, 'time-unit', '/data/0/createTime'],
      [1, 'unknown-field', '/data/0/colour'],
      [null, 'null', '/data'],
    ];
    const nameOf = ({ operation, path, kind }: Gap) => `${operation} ${path} ${kind}`;
    const metricOf = async (kind: string) =>
      Number(
        new RegExp(
          `^gateway_upstream_gaps_total\\{operation="listAssets",kind="${kind}"\\} (\\d+)$`,
          'm',
        ).exec(await gateway.metrics())?.[1] ?? 0,
      );
    for (const [value, kind, pointer] of rows) {
      const known = new Map((await gapsOf()).map((gap) => [nameOf(gap), gap]));
      const counted = await metricOf(kind);
      const before = Date.now();
      await sandbox.fault({ operation: 'listAssets', times: 2, action: { odd: { pointer, value } } });
      for (let times = 0; times < 3; times++) expect((await gateway.get(ASSETS, fresh)).status).toBe(200);
      const path = pointer.slice(1).replace('/0/', '[].');
      const changed = (await gapsOf()).filter((gap) => gap.count !== known.get(nameOf(gap))?.count);
      const count = 2 + (known.get(`listAssets ${path} ${kind}`)?.count ?? 0);
      expect(changed).toEqual([
        {
          operation: 'listAssets',
          path,
          kind,
          count,
          firstSeenAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/),
          lastSeenAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/),
        },
      ]);
      expect(Date.parse(changed[0]?.lastSeenAt ?? '')).toBeGreaterThanOrEqual(before);
      expect([kind, await metricOf(kind)]).toEqual([kind, counted + 2]);
    }
  });

  it('are those of the lookups of the gateway too', async () => {
    const [item] = orderOf('').items;
    const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
    const order = orderOf('SO-GAPS', { items: [{ ...item, customer }] });
    expect((await gateway.post('/v1/license-orders', order)).status).toBe(201);
    const odd = { pointer: '/data/productInstanceList/0/installedBy', value: 'x' };
    await sandbox.fault({ operation: 'listAssetProducts', action: { odd } });
    const key = gateway.keys['harbour'] ?? '';
    await sandbox.fault({
      operation: 'listAssets',
      action: { odd: { pointer: '/data/0/shelf', value: 'x' } },
    });
    const locks = { assetNums: ['8000001003'] };
    const disabled = await gateway.post('/v1/enterprises/ent-harbour/locks/disable', locks, { key });
    expect(disabled.status).toBe(200);
    const paths = async () => (await gapsOf()).map(({ path }) => path);
    expect(await paths()).toContain('data[].shelf');
    expect((await gateway.get('/v1/license-orders/crm/SO-GAPS/assets', fresh)).status).toBe(200);
    expect(await paths()).toContain('data.productInstanceList[].installedBy');
  });

  it('are listed also while Redis accepts reads and refuses writes', async () => {
    const redis = await startRedis();
    const environment = { REDIS_URL: redis.url, ENCRYPTION_KEYS: newEncryptionKey(), CACHE_TTL_MS: '0' };
    const replica = await TestGateway.start(sandbox, environment);
    const counts = async () => (await gapsOf(replica)).map(({ path, count }) => [path, count]);
    const meet = async (field: string) => {
      const odd = { pointer: `/data/0/${field}`, value: 1 };
      await sandbox.fault({ operation: 'listAssets', times: 1, action: { odd } });
      await replica.get(ASSETS, fresh);
    };
    await meet('early');
    expect(await counts()).toEqual([['data[].early', 1]]);
    await ask(redis, (client) => client.config('SET', 'min-replicas-to-write', '1'));
    await meet('early');
    await meet('late');
    const all = [
      ['data[].early', 2],
      ['data[].late', 1],
    ];
    expect(await counts()).toEqual(all);
    await ask(redis, (client) => client.config('SET', 'min-replicas-to-write', '0'));
    expect(await counts()).toEqual(all);
    await replica.stop();
    await redis.stop();
  });

  it('are paged, the same on all replicas, outlive them, and need a scope of their own', async () => {
    const redis = await startRedis();
    const environment = { REDIS_URL: redis.url, ENCRYPTION_KEYS: newEncryptionKey(), CACHE_TTL_MS: '0' };
    const one = await TestGateway.start(sandbox, environment);
    for (let field = 0; field < 5; field++) {
      const odd = { pointer: `/data/0/field${field}`, value: 1 };
      await sandbox.fault({ operation: 'listAssets', times: 1, action: { odd } });
      await one.get(ASSETS, fresh);
    }
    // The second list is read while the first one still sends the gaps to Redis.
    const lists = await Promise.all([gapsOf(one), gapsOf(one)]);
    expect(lists.map(({ length }) => length)).toEqual([5, 5]);
    await one.stop();
    const other = await TestGateway.start(sandbox, environment, [
      { name: 'reader', scopes: ['orders:read'] },
    ]);
    const { body, headers } = await other.get('/v1/gaps?page=2&pageSize=2', fresh);
    expect(body).toMatchObject({ page: 2, pageSize: 2, total: 5, totalPages: 3 });
    expect(body['items']).toMatchObject([
      { path: 'data[].field2', count: 1 },
      { path: 'data[].field3', count: 1 },
    ]);
    expect(headers.get('link')).toContain('rel="next"');
    const refused = await other.get('/v1/gaps', { key: other.keys['reader'] ?? '' });
    expect([refused.status, refused.body['code']]).toEqual([403, 'forbidden']);
    await other.stop();
    await redis.stop();
  });

  it('are bounded, also when the platform makes up many fields', async () => {
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
