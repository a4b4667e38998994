import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { scopes } from '../../src/request/scopes.ts';
import { operations, type OperationName } from '../../src/upstream/operations.ts';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { type CallerEntry, type TestAnswer, TestGateway } from '../support/gateway.ts';
import { type RunningPostgres, startPostgres } from '../support/postgres.ts';
import { until } from '../support/redis.ts';
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
const BOTH = ['ent-harbour', 'ent-meridian'];
const entries = [
  entry('bound'),
  entry('second'),
  entry('meridian', { enterprises: ['ent-meridian'] }),
  entry('tidewater', { enterprises: ['ent-tidewater'] }),
  entry('both', { enterprises: BOTH }),
  entry('fading', { enterprises: BOTH }),
];

let postgres: RunningPostgres;
let sandbox: TestSandbox;
/** Keeps everything to itself. */
let gateway: TestGateway;
/** Two that share a database. */
let one: TestGateway;
let two: TestGateway;

beforeAll(async () => {
  [postgres, sandbox] = await Promise.all([startPostgres(), TestSandbox.start()]);
  const shared = { DATABASE_URL: await postgres.newUrl(), ENCRYPTION_KEYS: newEncryptionKey() };
  [gateway, one, two] = (await Promise.all(
    [{}, shared, shared].map((more) =>
      TestGateway.start(sandbox, { CACHE_TTL_MS: '60000', ...more }, entries),
    ),
  )) as [TestGateway, TestGateway, TestGateway];
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await Promise.all([gateway, one, two].map((each) => each.stop()));
  await Promise.all([sandbox.close(), postgres.stop()]);
});

/** `tester` is not bound. */
const key = (caller: string, at = gateway) => ({ key: at.keys[caller] ?? at.key });

interface Item {
  customer?: object;
  [field: string]: unknown;
}
let orders = 0;
const HARBOUR = { enterpriseGlobalId: 'ent-harbour' };
const own = { customerId: 'cus-harbour-default', ...HARBOUR };
const foreign = { customerId: 'cus-meridian-default', enterpriseGlobalId: 'ent-meridian' };
const item = (more: Item = {}): Item => ({
  orderType: 'new_buy',
  licenseType: 'softkey',
  customer: own,
  assets: [{ products: [{ productUri: 'draft.pro' }] }],
  ...more,
});
const deletion = (assetNum: string): Item =>
  item({ orderType: 'delete_asset', allOrders: true, assets: [{ assetNums: [assetNum] }] });
const orderOf = (channelOrderId: string, ...items: Item[]) => ({ channelCode: 'crm', channelOrderId, items });

function place(items: Item[], caller = 'bound', at = gateway, more: object = {}): Promise<TestAnswer> {
  const body = { ...orderOf(`SO-RR-${++orders}`, ...items), ...more };
  return at.post('/v1/license-orders', body, key(caller, at));
}

async function calls(): Promise<string[]> {
  return (await sandbox.calls()).map(({ operation }) => String(operation));
}
async function writes(): Promise<string[]> {
  return (await calls()).filter((name) => operations[name as OperationName].effect !== 'read');
}

describe('S1 what an order of a bound caller has to name', () => {
  it.each<[string, object, string]>([
    ['no enterprise', { customerId: 'cus-harbour-default' }, 'enterpriseGlobalId'],
    ['no customer', { enterpriseGlobalId: 'ent-harbour' }, 'customerId'],
    [
      'a CRM customer, which no list of the platform has',
      { ...own, crmCustomerId: 'CRM-1001' },
      'crmCustomerId',
    ],
  ])('%s: 403 with the path of the field, and nothing sent', async (_, customer, field) => {
    const answer = await place([item({ customer })]);
    expect([answer.status, answer.body['code']]).toEqual([403, 'forbidden']);
    expect(answer.body['errors']).toMatchObject([{ pointer: `/items/0/customer/${field}` }]);
    expect(await calls()).toEqual([]);
  });

  it('one item of another enterprise: nothing of the batch is sent', async () => {
    const other = item({ customer: foreign });
    expect((await place([item(), other])).status).toBe(403);
    expect(await calls()).toEqual([]);
    // Each item names its own enterprise, and the caller is granted both.
    const crossed = item({ customer: { ...own, enterpriseGlobalId: 'ent-meridian' } });
    const answer = await place([item(), crossed], 'both');
    expect([answer.status, answer.body['code']]).toEqual([404, 'customer-not-found']);
    expect(answer.body['errors']).toMatchObject([{ pointer: '/items/1/customer/customerId' }]);
    expect(await writes()).toEqual([]);
    expect((await place([item(), other], 'both')).status).toBe(201);
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

  it('a number in the channel is found only among the customers of the enterprise, whatever else the platform lists', async () => {
    const numbered = (channelCustomerId: string) => item({ customer: { ...own, channelCustomerId } });
    const ofNoChannel = { enterpriseName: 'N', isDefault: false };
    const row = { channelCode: 'crm', ...ofNoChannel };
    const data = [
      { ...row, customerId: 'cus-harbour-default', channelCustomerId: 'CH-1001', ...HARBOUR },
      { ...row, customerId: 'cus-other', channelCustomerId: 'CH-9001', enterpriseGlobalId: 'ent-meridian' },
      { ...row, customerId: 'cus-2', channelCode: 'partner', channelCustomerId: 'CH-9001', ...HARBOUR },
    ];
    await sandbox.fault({ operation: 'queryCustomers', times: 2, action: { patch: { data } } });
    for (const when of ['while the platform lists more', 'afterwards']) {
      const { status, body } = await place([numbered('CH-9001')]);
      expect([when, status, body['code']]).toEqual([when, 404, 'customer-not-found']);
    }
    const customer = { customerId: 'cus-harbour-default', ...HARBOUR };
    for (const lacking of [
      { ...row, ...customer },
      { ...ofNoChannel, ...customer, channelCustomerId: 'CH-9002' },
    ]) {
      await sandbox.fault({ operation: 'queryCustomers', action: { patch: { data: [lacking] } } });
      const { status, body } = await place([numbered('CH-9002')]);
      expect([lacking, status, body]).toMatchObject([
        lacking,
        502,
        { code: 'upstream-contract-violation', outcome: 'not_processed' },
      ]);
      await sandbox.control('DELETE', '/faults');
    }
    expect(await writes()).toEqual([]);
    // The platform lists all customers of the enterprise for one number of it.
    expect((await place([numbered('CH-1002')])).status).toBe(201);
  });

  it('ids of another enterprise are not found, also by a dry run, and leave no record', async () => {
    const validate = async (assetNum: string) => {
      const path = '/v1/license-orders/dry-run';
      return (await gateway.post(path, orderOf('SO-V', deletion(assetNum)), key('bound'))).status;
    };
    expect([await validate('8000002001'), await validate('8000001001')]).toEqual([404, 200]);
    expect((await place([deletion('8000002001')])).status).toBe(404);
    expect((await gateway.get(`/v1/license-orders/crm/SO-RR-${orders}`)).status).toBe(404);
  });
});

describe('S1 a repeat', () => {
  it('of a deletion gets the first response, although the asset is gone and this process never saw it', async () => {
    const send = (at: TestGateway, id: string) =>
      at.post('/v1/license-orders', orderOf(id, deletion('8000001001')), key('bound', at));
    expect((await send(one, 'SO-GONE')).status).toBe(201);
    const again = await send(two, 'SO-GONE');
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    const other = await send(two, 'SO-GONE-2');
    expect([other.status, other.body['code']]).toEqual([404, 'asset-not-found']);
    expect(await writes()).toEqual(['batchOrder']);
  });

  it('of an order gets the first response while its ids cannot be looked up, and a new order is refused', async () => {
    const send = (at: TestGateway, id: string) =>
      at.post('/v1/license-orders', orderOf(id, item({ customer: foreign })), key('meridian', at));
    expect((await send(one, 'SO-AWAY')).status).toBe(201);
    // The other process has read nothing of this enterprise yet.
    await sandbox.fault({ operation: 'listAssets', action: { code: '500' } });
    const again = await send(two, 'SO-AWAY');
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    const other = await send(two, 'SO-AWAY-2');
    expect([other.status, other.body['outcome']]).toEqual([503, 'not_processed']);
    expect(await writes()).toEqual(['batchOrder']);
  });

  it('of a delete whose outcome is unknown is 204 once the member is gone', async () => {
    const lost = { reset: 'before-headers' };
    await sandbox.fault({ operation: 'deleteMember', phase: 'after', action: lost, times: 1 });
    const path = '/v1/enterprises/ent-harbour/members/mem-harbour-dora';
    const first = await gateway.request('DELETE', path, key('bound'));
    expect(first.body['outcome']).toBe('unknown');
    expect((await gateway.request('DELETE', path, key('bound'))).status).toBe(204);
  });
});

const reserve = async (at: TestGateway, caller: string): Promise<string> => {
  const { body } = await at.post('/v1/asset-num-reservations', { size: 1 }, key(caller, at));
  return (body['items'] as { keyShellNumber: string }[])[0]?.keyShellNumber as string;
};
const onto = (assetNum: string, customer: object = own) =>
  item({ customer, assets: [{ assetNums: [assetNum], products: [{ productUri: 'draft.pro' }] }] });

describe.each([
  ['in this process', () => [gateway, gateway] as const],
  ['in a database of several', () => [one, two] as const],
])('S20 reserved numbers that an order used for one enterprise (%s)', (_, places) => {
  /** What the response says, without the ids of the request. */
  const said = ({ status, body }: TestAnswer, number: string) => [
    status,
    JSON.stringify({ ...body, requestId: '', instance: '' }).replaceAll(number, ''),
  ];
  const isUnknown = async (number: string, asked: Item, caller: string, at: TestGateway) => {
    const unknown = '9'.repeat(number.length);
    const other = JSON.parse(JSON.stringify(asked).replaceAll(number, unknown)) as Item;
    const [answer, expected] = [await place([asked], caller, at), await place([other], caller, at)];
    expect(expected.body).toMatchObject({ code: 'asset-not-found', outcome: 'not_processed' });
    expect(said(answer, number)).toEqual(said(expected, unknown));
  };

  it('are unknown for each other caller and enterprise, also once the grant of the first one is gone', async () => {
    const [here, there] = places();
    const number = await reserve(here, 'fading');
    await isUnknown(number, onto(number), 'second', there);
    expect((await place([onto(number, foreign)], 'fading', here)).status).toBe(201);
    await isUnknown(number, onto(number), 'fading', there);
    there.callers = there.callers.map((each) =>
      each.name === 'fading' ? { ...each, enterprises: ['ent-harbour'] } : each,
    );
    const reloaded = there.logged('callers-reloaded');
    there.writeCallers();
    await reloaded;
    const { status } = await there.get('/v1/enterprises/ent-meridian/assets', key('fading', there));
    expect(status).toBe(403);
    await isUnknown(number, onto(number), 'fading', there);
  });

  it('are free again where the platform refused the order, and bound where its outcome is unknown', async () => {
    const [at] = places();
    const number = await reserve(at, 'both');
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '13004' } });
    expect((await place([onto(number, foreign)], 'both', at)).status).toBe(422);
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '500' } });
    expect((await place([onto(number)], 'both', at)).body['outcome']).toBe('unknown');
    await isUnknown(number, onto(number, foreign), 'both', at);
  });

  it('and that two items name for two enterprises, are refused before anything is sent', async () => {
    const [at] = places();
    const number = await reserve(at, 'both');
    const answer = await place([onto(number), onto(number, foreign)], 'both', at);
    expect(answer.body).toMatchObject({ code: 'asset-not-found', outcome: 'not_processed' });
    expect(await writes()).toEqual(['obtainAssetNums']);
    expect((await place([onto(number)], 'both', at)).status).toBe(201);
  });
});

describe('S1 lists that cross enterprises', () => {
  it('of customers have only those of granted enterprises', async () => {
    const path = '/v1/customers?channelCode=partner&channelCustomerId=PT-2001';
    const found = async (caller: string) =>
      (await gateway.get(path, key(caller))).text.includes('cus-meridian-default');
    expect([await found('tester'), await found('meridian'), await found('bound')]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('of order records have those whose items name granted enterprises only', async () => {
    const nameless = item({ customer: { customerId: 'cus-harbour-default' } });
    for (const [answer, seen] of [
      [await place([item()]), ['bound', 'both']],
      [await place([item(), item({ customer: foreign })], 'both'), ['both']],
      [await place([nameless], 'tester'), []],
    ] as const) {
      const path = answer.headers.get('location') as string;
      for (const caller of ['bound', 'both', 'meridian']) {
        const status = seen.includes(caller as never) ? 200 : 404;
        expect([path, caller, (await gateway.get(path, key(caller))).status]).toEqual([path, caller, status]);
        const settlement = { as: 'succeeded', reason: 'seen' };
        const settle = await gateway.post(`${path}/settlement`, settlement, key(caller));
        expect([caller, settle.status === 404]).toEqual([caller, status === 404]);
      }
      expect((await gateway.get(path)).status).toBe(200);
    }
  });
});

describe('S1 lookups', () => {
  it('cost nothing for callers that are not bound', async () => {
    expect((await place([deletion('8000001001')], 'tester')).status).toBe(201);
    expect(await calls()).toEqual(['batchOrder']);
  });

  it('cost one read, and none while it is cached; an id that a cached list lacks is looked up once more', async () => {
    // The gateway has read no members yet.
    const change = async (member: string) => {
      const path = `/v1/enterprises/ent-harbour/members/${member}/password`;
      const body = { password: newSecret('m') };
      return (await two.request('PUT', path, { body, ...key('bound', two) })).status;
    };
    expect([await change('mem-harbour-anna'), await change('mem-harbour-anna')]).toEqual([204, 204]);
    expect(await calls()).toEqual(['listMembers', 'resetPassword', 'resetPassword']);
    await sandbox.reset();
    expect([await change('mem-harbour-nobody'), await change('mem-harbour-nobody')]).toEqual([404, 404]);
    // Added by another gateway, so the cached list lacks the member.
    const members = [{ account: 'newcomer', name: 'New', password: newSecret('m') }];
    const added = await gateway.post('/v1/enterprises/ent-harbour/members', { members });
    const [{ memberGlobalId }] = added.body['succeeded'] as [{ memberGlobalId: string }];
    expect(await change(memberGlobalId)).toBe(204);
    expect(await calls()).toEqual([
      'listMembers',
      'listMembers',
      'addMembers',
      'listMembers',
      'resetPassword',
    ]);
  });

  it('do not remember customers: one that the enterprise has lost does not exist for the next order', async () => {
    expect((await place([item()])).status).toBe(201);
    const others = [{ id: 'ast-1', assetNum: '8000001001', customerId: 'cus-2', licenseType: 'softkey' }];
    await sandbox.fault({ operation: 'listAssets', action: { patch: { data: others } } });
    const answer = await place([item()]);
    expect([answer.status, answer.body['code']]).toEqual([404, 'customer-not-found']);
    expect(await writes()).toEqual(['batchOrder']);
  });

  it('that fail give their own problem, and nothing is sent', async () => {
    await sandbox.fault({ operation: 'listAssets', action: { code: '500' } });
    // Nobody has read this enterprise yet.
    const customer = { customerId: 'cus-tidewater', enterpriseGlobalId: 'ent-tidewater' };
    const { status, body } = await place([item({ customer })], 'tidewater', two);
    expect([status, body['outcome'], body['retryable']]).toEqual([503, 'not_processed', true]);
    expect(await writes()).toEqual([]);
  });
});

// The last one: it ends the database for a while.
it('S1 reserved numbers may be in a purchase, at every process, while their database is there, and once it is back', async () => {
  const number = await reserve(one, 'bound');
  expect((await place([deletion(number)], 'bound', two)).body).toMatchObject({ code: 'asset-not-found' });
  expect(await writes()).toEqual(['obtainAssetNums']);
  expect((await place([onto(number)], 'bound', two)).status).toBe(201);
  const other = await reserve(one, 'bound');
  await postgres.kill();
  const answer = await place([onto(other)], 'bound', two);
  expect([answer.status, answer.body['outcome']]).toEqual([503, 'not_processed']);
  // The platform has used the number up, so the caller gets it all the same.
  const unshared = one.logged('reservation-not-shared');
  const late = await reserve(one, 'bound');
  expect(late).toMatch(/^\d+$/);
  await unshared;
  await postgres.start();
  const isKnown = async () => (await place([onto(late)], 'bound', two)).status === 201;
  await until('the other process knows the number', isKnown);
});
