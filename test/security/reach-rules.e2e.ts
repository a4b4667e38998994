import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { scopes } from '../../src/caller/scopes.ts';
import { operations, type OperationName } from '../../src/upstream/operations.ts';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { type CallerEntry, type TestAnswer, TestGateway } from '../support/gateway.ts';
import { type RunningRedis, startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** What a bound caller must name, what else it may name, and what lookups cost (docs/api.md, section 2). */

const entry = (name: string, more: Partial<CallerEntry> = {}): Partial<CallerEntry> & { name: string } => ({
  name,
  scopes: [...scopes],
  enterprises: ['ent-harbour'],
  channels: ['crm', 'partner'],
  users: ['default'],
  ...more,
});
const entries = [
  entry('bound'),
  entry('second'),
  entry('meridian', { enterprises: ['ent-meridian'] }),
  entry('both', { enterprises: ['ent-harbour', 'ent-meridian'] }),
];

const ENCRYPTION_KEYS = newEncryptionKey();

let redis: RunningRedis;
let sandbox: TestSandbox;
let gateway: TestGateway;

beforeAll(async () => {
  redis = await startRedis();
  sandbox = await TestSandbox.start();
  gateway = await start();
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await gateway.stop();
  await sandbox.close();
  await redis.stop();
});

function start(environment: Record<string, string> = {}): Promise<TestGateway> {
  return TestGateway.start(sandbox, { CACHE_TTL_MS: '60000', ...environment }, entries);
}

/** `tester` is not bound. */
const key = (caller: string, at = gateway) => ({ key: at.keys[caller] ?? at.key });

interface Item {
  customer?: object;
  [field: string]: unknown;
}
let orders = 0;
const own = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
const item = (more: Item = {}): Item => ({
  orderType: 'new_buy',
  licenseType: 'softkey',
  customer: own,
  assets: [{ products: [{ productUri: 'draft.pro' }] }],
  ...more,
});
const deletion = (assetNum: string, more: Item = {}): Item =>
  item({ orderType: 'delete_asset', allOrders: true, assets: [{ assetNums: [assetNum] }], ...more });

function place(items: Item[], caller = 'bound', at = gateway, more: object = {}): Promise<TestAnswer> {
  const body = { channelCode: 'crm', channelOrderId: `SO-RR-${++orders}`, items, ...more };
  return at.post('/v1/license-orders', body, key(caller, at));
}

async function calls(): Promise<string[]> {
  return (await sandbox.calls()).map(({ operation }) => String(operation));
}
async function writes(): Promise<string[]> {
  return (await calls()).filter((name) => operations[name as OperationName].effect !== 'read');
}

describe('S1 what an order of a bound caller has to name', () => {
  it.each<[string, Item, string]>([
    [
      'no enterprise',
      item({ customer: { customerId: 'cus-harbour-default' } }),
      '/items/0/customer/enterpriseGlobalId',
    ],
    [
      'no customer',
      item({ customer: { enterpriseGlobalId: 'ent-harbour' } }),
      '/items/0/customer/customerId',
    ],
    [
      'a CRM customer, which no list of the platform has',
      item({ customer: { ...own, crmCustomerId: 'CRM-1001' } }),
      '/items/0/customer/crmCustomerId',
    ],
  ])('%s: 403 with the path of the field, and nothing sent', async (_, order, pointer) => {
    const answer = await place([order]);
    expect([answer.status, answer.body['code']]).toEqual([403, 'forbidden']);
    expect(answer.body['errors']).toMatchObject([{ pointer }]);
    expect(await calls()).toEqual([]);
  });

  it('one item of another enterprise: nothing of the batch is sent', async () => {
    const foreign = item({
      customer: { customerId: 'cus-meridian-default', enterpriseGlobalId: 'ent-meridian' },
    });
    expect((await place([item(), foreign])).status).toBe(403);
    expect(await calls()).toEqual([]);
    // Each item names its own enterprise, and the caller is granted both.
    const crossed = item({ customer: { ...own, enterpriseGlobalId: 'ent-meridian' } });
    const answer = await place([item(), crossed], 'both');
    expect([answer.status, answer.body['code']]).toEqual([404, 'customer-not-found']);
    expect(answer.body['errors']).toMatchObject([{ pointer: '/items/1/customer/customerId' }]);
    expect(await writes()).toEqual([]);
    expect((await place([item(), foreign], 'both')).status).toBe(201);
  });

  it('a customer without assets is found by its number in the channel', async () => {
    const customer = { customerId: 'cus-harbour-reseller', enterpriseGlobalId: 'ent-harbour' };
    const at = { channelCode: 'partner' };
    expect((await place([item({ customer })], 'bound', gateway, at)).status).toBe(404);
    const numbered = { ...customer, channelCustomerId: 'PT-1003' };
    expect((await place([item({ customer: numbered })], 'bound', gateway, at)).status).toBe(201);
    // The same number names no customer in another channel.
    expect((await place([item({ customer: numbered })])).status).toBe(404);
  });

  it('validateOnly reports ids of another enterprise as not found', async () => {
    const body = { channelCode: 'crm', channelOrderId: 'SO-V', items: [deletion('8000002001')] };
    const path = '/v1/license-orders?validateOnly=true';
    expect((await gateway.post(path, body, key('bound'))).status).toBe(404);
    expect(
      (await gateway.post(path, { ...body, items: [deletion('8000001001')] }, key('bound'))).status,
    ).toBe(200);
  });

  it('an order that names a missing id leaves no record', async () => {
    expect((await place([deletion('8000002001')])).status).toBe(404);
    const { status } = await gateway.get(`/v1/license-orders/crm/SO-RR-${orders}`);
    expect(status).toBe(404);
  });
});

describe('S1 a repeat', () => {
  it('of a deletion gets the first response, although the asset is gone and this process never saw it', async () => {
    const shared = { GUARD_REDIS_URL: redis.url, ENCRYPTION_KEYS };
    const first = await start(shared);
    const body = { channelCode: 'crm', channelOrderId: 'SO-GONE', items: [deletion('8000001001')] };
    expect((await first.post('/v1/license-orders', body, key('bound', first))).status).toBe(201);
    await first.stop();
    const second = await start(shared);
    try {
      const again = await second.post('/v1/license-orders', body, key('bound', second));
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
      const other = await second.post(
        '/v1/license-orders',
        { ...body, channelOrderId: 'SO-GONE-2' },
        key('bound', second),
      );
      expect([other.status, other.body['code']]).toEqual([404, 'asset-not-found']);
      expect(await writes()).toEqual(['batchOrder']);
    } finally {
      await second.stop();
    }
  });

  it('of a delete whose outcome is unknown is 204 once the member is gone', async () => {
    await sandbox.fault({
      operation: 'deleteMember',
      phase: 'after',
      action: { reset: 'before-headers' },
      times: 1,
    });
    const path = '/v1/enterprises/ent-harbour/members/mem-harbour-dora';
    const first = await gateway.request('DELETE', path, key('bound'));
    expect(first.body['outcome']).toBe('unknown');
    expect((await gateway.request('DELETE', path, key('bound'))).status).toBe(204);
  });
});

describe('S1 reserved numbers', () => {
  const reserve = async (at: TestGateway, caller = 'bound'): Promise<string> => {
    const { body } = await at.post('/v1/asset-num-reservations', { size: 1 }, key(caller, at));
    return (body['items'] as { keyShellNumber: string }[])[0]?.keyShellNumber as string;
  };
  const onto = (assetNum: string) =>
    item({ assets: [{ assetNums: [assetNum], products: [{ productUri: 'draft.pro' }] }] });

  it('may be in a purchase of the caller that reserved them, and of no other', async () => {
    const number = await reserve(gateway);
    expect((await place([onto(number)], 'second')).body).toMatchObject({ code: 'asset-not-found' });
    expect((await place([deletion(number)])).body).toMatchObject({ code: 'asset-not-found' });
    expect(await writes()).toEqual(['obtainAssetNums']);
    expect((await place([onto(number)])).status).toBe(201);
  });

  describe('S20 that an order used for one enterprise', () => {
    const meridian = { customerId: 'cus-meridian-default', enterpriseGlobalId: 'ent-meridian' };
    const ontoMeridian = (assetNum: string) => ({ ...onto(assetNum), customer: meridian });
    /** What the response says, without the ids of the request. */
    const said = ({ status, body }: TestAnswer, number: string) => [
      status,
      JSON.stringify({ ...body, requestId: '', instance: '' }).replaceAll(number, ''),
    ];
    const isUnknown = async (number: string, items: Item[], at = gateway) => {
      const unknown = '9'.repeat(number.length);
      const other = JSON.parse(JSON.stringify(items).replaceAll(number, unknown)) as Item[];
      const [answer, expected] = [await place(items, 'both', at), await place(other, 'both', at)];
      expect(expected.body).toMatchObject({ code: 'asset-not-found', outcome: 'not_processed' });
      expect(said(answer, number)).toEqual(said(expected, unknown));
    };

    it.each(['in this process', 'in Redis'])('are unknown for each other enterprise (%s)', async (where) => {
      const shared = where === 'in Redis' ? await startRedis() : undefined;
      const environment: Record<string, string> = shared
        ? { GUARD_REDIS_URL: shared.url, ENCRYPTION_KEYS }
        : {};
      const one = await start(environment);
      const two = shared ? await start(environment) : one;
      try {
        const number = await reserve(one, 'both');
        expect((await place([ontoMeridian(number)], 'both', one)).status).toBe(201);
        await isUnknown(number, [onto(number)], two);
        // The grant of the enterprise that has it now is taken away.
        two.callers = two.callers.map((each) =>
          each.name === 'both' ? { ...each, enterprises: ['ent-harbour'] } : each,
        );
        two.writeCallers();
        await until('the grant is gone', async () => {
          const answer = await two.get('/v1/enterprises/ent-meridian/assets', key('both', two));
          return answer.status === 403;
        });
        await isUnknown(number, [onto(number)], two);
      } finally {
        await one.stop();
        if (two !== one) await two.stop();
        await shared?.stop();
      }
    });

    it.each(['in this process', 'in Redis'])(
      'are free again where the platform refused the order, and bound where its outcome is unknown (%s)',
      async (where) => {
        const shared = where === 'in Redis' ? await startRedis() : undefined;
        const one = await start(shared ? { GUARD_REDIS_URL: shared.url, ENCRYPTION_KEYS } : {});
        try {
          const number = await reserve(one, 'both');
          await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '13004' } });
          expect((await place([ontoMeridian(number)], 'both', one)).status).toBe(422);
          await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '500' } });
          expect((await place([onto(number)], 'both', one)).body['outcome']).toBe('unknown');
          await isUnknown(number, [ontoMeridian(number)], one);
        } finally {
          await one.stop();
          await shared?.stop();
        }
      },
    );

    it('and that two items name for two enterprises, are refused before anything is sent', async () => {
      const number = await reserve(gateway, 'both');
      const answer = await place([onto(number), ontoMeridian(number)], 'both');
      expect(answer.body).toMatchObject({ code: 'asset-not-found', outcome: 'not_processed' });
      expect(await writes()).toEqual(['obtainAssetNums']);
      expect((await place([onto(number)], 'both')).status).toBe(201);
    });
  });

  it('are known to every process, and get a problem of the dependency while their store is down', async () => {
    const shared = await startRedis();
    const [one, two] = [
      await start({ GUARD_REDIS_URL: shared.url, ENCRYPTION_KEYS }),
      await start({ GUARD_REDIS_URL: shared.url, ENCRYPTION_KEYS }),
    ];
    try {
      const number = await reserve(one);
      expect((await place([onto(number)], 'bound', two)).status).toBe(201);
      const other = await reserve(one);
      await shared.stop();
      const answer = await place([onto(other)], 'bound', two);
      expect([answer.status, answer.body['outcome']]).toEqual([503, 'not_processed']);
    } finally {
      await Promise.all([one.stop(), two.stop()]);
    }
  });
});

describe('S1 lists that cross enterprises', () => {
  it('of customers have only those of granted enterprises', async () => {
    const path = '/v1/customers?channelCode=partner&channelCustomerId=PT-2001';
    const found = async (caller?: string) =>
      (await gateway.get(path, caller ? key(caller) : undefined)).text.includes('cus-meridian-default');
    expect([await found(), await found('meridian'), await found('bound')]).toEqual([true, true, false]);
  });

  it('of order records have those whose items name granted enterprises only', async () => {
    const foreign = item({
      customer: { customerId: 'cus-meridian-default', enterpriseGlobalId: 'ent-meridian' },
    });
    const mixed = await place([item(), foreign], 'both');
    const nameless = await gateway.post('/v1/license-orders', {
      channelCode: 'crm',
      channelOrderId: 'SO-NAMELESS',
      items: [item({ customer: { customerId: 'cus-harbour-default' } })],
    });
    for (const [answer, seen] of [
      [await place([item()]), ['bound', 'both']],
      [mixed, ['both']],
      [nameless, []],
    ] as const) {
      const path = answer.headers.get('location') as string;
      for (const caller of ['bound', 'both', 'meridian']) {
        const status = seen.includes(caller as never) ? 200 : 404;
        expect([path, caller, (await gateway.get(path, key(caller))).status]).toEqual([path, caller, status]);
        const settle = await gateway.post(
          `${path}/settlement`,
          { as: 'succeeded', reason: 'seen' },
          key(caller),
        );
        expect([caller, settle.status === 404]).toEqual([caller, status === 404]);
      }
      expect((await gateway.get(path)).status).toBe(200);
    }
  });
});

describe('S1 lookups', () => {
  it('cost nothing for callers that are not bound', async () => {
    await place([deletion('8000001001')], 'bound');
    await sandbox.reset();
    expect(
      (
        await gateway.post('/v1/license-orders', {
          channelCode: 'crm',
          channelOrderId: 'SO-FREE',
          items: [deletion('8000001001')],
        })
      ).status,
    ).toBe(201);
    expect(await calls()).toEqual(['batchOrder']);
  });

  it('cost one read, and none while it is cached; an id that a cached list lacks is looked up once more', async () => {
    const fresh = await start();
    try {
      const change = (member: string) =>
        fresh.request('PUT', `/v1/enterprises/ent-harbour/members/${member}/password`, {
          body: { password: newSecret('m') },
          ...key('bound', fresh),
        });
      expect((await change('mem-harbour-anna')).status).toBe(204);
      expect((await change('mem-harbour-anna')).status).toBe(204);
      expect(await calls()).toEqual(['listMembers', 'resetPassword', 'resetPassword']);
      await sandbox.reset();
      expect((await change('mem-harbour-nobody')).status).toBe(404);
      expect((await change('mem-harbour-nobody')).status).toBe(404);
      // Added at the platform directly, so the gateway's cached list lacks the member.
      const added = await gateway.post('/v1/enterprises/ent-harbour/members', {
        members: [{ account: 'newcomer', name: 'New', password: newSecret('m') }],
      });
      const [{ memberGlobalId }] = added.body['succeeded'] as [{ memberGlobalId: string }];
      expect((await change(memberGlobalId)).status).toBe(204);
      expect(await calls()).toEqual([
        'listMembers',
        'listMembers',
        'addMembers',
        'listMembers',
        'resetPassword',
      ]);
    } finally {
      await fresh.stop();
    }
  });

  it('that fail give their own problem, and nothing is sent', async () => {
    const fresh = await start();
    try {
      await sandbox.fault({ operation: 'listAssets', action: { code: '500' } });
      const answer = await place([item()], 'bound', fresh);
      expect([answer.status, answer.body['outcome'], answer.body['retryable']]).toEqual([
        503,
        'not_processed',
        true,
      ]);
      expect(await writes()).toEqual([]);
    } finally {
      await fresh.stop();
    }
  });
});

describe("S14 the platform's message about a field", () => {
  it("uses the gateway's name and path of the field", async () => {
    const unknown = item({ customer: { customerId: 'cus-nowhere' } });
    const answer = await place([unknown], 'tester');
    expect([answer.status, answer.body['code']]).toEqual([422, 'upstream-rejected']);
    expect(answer.text).not.toContain('orderList');
    expect(answer.body['errors']).toMatchObject([{ pointer: '/items/0/customer/customerId' }]);
  });
});

describe('S1 the time that a refusal takes', () => {
  const ROUNDS = 60;
  const quantile = (times: readonly number[], share: number): number =>
    times.toSorted((a, b) => a - b)[Math.floor(share * (times.length - 1))] ?? 0;

  it.each<[string, (id: string) => Promise<TestAnswer>, foreign: string, unknown: string]>([
    [
      'an asset',
      (id) => gateway.get(`/v1/enterprises/ent-harbour/assets/${id}/products`, key('bound')),
      'ast-2001',
      'ast-9999',
    ],
    [
      'a member',
      (id) =>
        gateway.request('PATCH', `/v1/enterprises/ent-harbour/members/${id}`, {
          body: { account: 'x', name: 'X' },
          ...key('bound'),
        }),
      'mem-meridian-noor',
      'mem-meridian-none',
    ],
    ['an asset number of an order', (id) => place([deletion(id)]), '8000002001', '8000009999'],
  ])('does not tell whether %s is foreign or unknown', async (_, ask, foreign, unknown) => {
    const times: Record<string, number[]> = { [foreign]: [], [unknown]: [] };
    for (let round = -5; round < ROUNDS; round++) {
      // In turns, each first as often as the other.
      for (const id of round % 2 === 0 ? [foreign, unknown] : [unknown, foreign]) {
        const startedAt = performance.now();
        expect((await ask(id)).status).toBe(404);
        if (round >= 0) times[id]?.push(performance.now() - startedAt);
      }
    }
    const [one = [], other = []] = [times[foreign], times[unknown]];
    // What is left between the medians is less than what each varies by itself.
    const noise = Math.max(...[one, other].map((each) => quantile(each, 0.9) - quantile(each, 0.1)));
    expect(Math.abs(quantile(one, 0.5) - quantile(other, 0.5))).toBeLessThan(noise);
  });
});
