import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DoubtedOrders } from '../../src/console/doubts.ts';
import { ObservedOrderLedger } from '../../src/order-ledger/observed-order-ledger.ts';
import { orderName } from '../../src/order-ledger/ledger-record.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { TestGateway } from '../support/gateway.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import { AGAIN, quick } from '../support/quick-reconciliation.ts';
import { askDatabase, postgresUrl, startPostgres } from '../support/postgres.ts';
import { attemptsOf } from '../support/reconciliation-attempts.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** Orders with a lost response, which the gateway looks for at the platform. */

const ORDERS = '/v1/license-orders';
const LOST = { operation: 'batchOrder', times: 1, action: { reset: 'before-headers' } };
const HOUR_MS = 3_600_000;
const ENCRYPTION_KEYS = newEncryptionKey();
/** No asynchronous order ends within this time before a test says so. */
const ASYNC_ORDER_MS = 60_000;
let sandbox: TestSandbox;
let elsewhere: GatewayInProcess;
const { ended } = endings();

beforeAll(async () => {
  sandbox = await TestSandbox.start({ asyncOrderMs: ASYNC_ORDER_MS });
  elsewhere = await startInProcess(sandbox);
});
beforeEach(async () => {
  quick.times = AGAIN;
  await sandbox.reset();
});
afterAll(async () => {
  await elsewhere.stop();
  await sandbox.close();
});

/** Starts a gateway. It keeps its orders in memory if no URL is given. */
const newGateway = async (url?: string) =>
  ended(await startInProcess(sandbox, url ? { DATABASE_URL: url, ENCRYPTION_KEYS } : {}));

let last = 7_000;

/** Orders that can be found at the platform: their items name an enterprise. */
function purchaseOf(sequences: number[], over: object = {}) {
  const [item] = orderOf('', {}, { limitConcurrent: 2 }).items;
  const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
  const items = sequences.map((sequence) => ({
    ...item,
    licenseType: 'cloud_account',
    customer,
    ...(sequences.length > 1 || sequence !== 1 ? { sequence } : {}),
  }));
  return orderOf(`SO-${++last}`, { items, ...over });
}

type Body = ReturnType<typeof orderOf>;

const at = ({ channelOrderId }: Body) => `${ORDERS}/crm/${channelOrderId}`;
const recordOf = async (gateway: TestGateway, body: Body) =>
  (await onceServed(() => gateway.get(at(body)))).body;
const stateOf = async (gateway: TestGateway, body: Body) => (await recordOf(gateway, body))['state'];
const isFound = (gateway: TestGateway, body: Body) =>
  until('it is found', async () => (await stateOf(gateway, body)) === 'succeeded');

/** Places an order whose response is lost, before or after the platform has carried it out. */
async function lose(gateway: TestGateway, phase: 'before' | 'after', body = purchaseOf([1])): Promise<Body> {
  await sandbox.fault({ ...LOST, phase });
  const answer = await onceServed(() => gateway.post(ORDERS, body));
  expect([answer.status, answer.body['outcome']]).toEqual([502, 'unknown']);
  return body;
}

/** The same order to the platform once more, from a gateway that has no record of it. */
async function again(body: Body): Promise<void> {
  expect((await onceServed(() => elsewhere.post(ORDERS, body))).status).toBe(201);
}

const notFound = async (gateway: TestGateway) => (await attemptsOf(gateway))['not_found'] ?? 0;

async function callsOf(operation: string): Promise<number> {
  return (await sandbox.journal(operation)).length;
}

/** Makes an order look so much older, and its next attempt come so much earlier: both at once, because an attempt between them would use up its task. */
async function age(url: string, body: Body, ms: number): Promise<void> {
  const AGE = `
    WITH earlier AS (UPDATE tasks SET due_at = due_at - $2 WHERE name = $1 AND lease_until = 0 RETURNING name)
    UPDATE writes SET submitted_at = submitted_at - $2 WHERE name IN (SELECT name FROM earlier) RETURNING name`;
  await until('no attempt is under way', async () => {
    const aged = await askDatabase(url, AGE, orderName('crm', body.channelOrderId), ms);
    return aged.length > 0;
  });
}

/** The first attempt comes at this age, and others soon after it, because a busy machine may spoil one. */
const againAfter = (ms: number) => AGAIN.map((each) => ms + each - 1);

describe('the reconciliation of an order', () => {
  it('U35 a rate limit that names its waits postpones the attempt, and uses up none', async () => {
    quick.times = [1, 3_600_000];
    const gateway = await newGateway();
    const action = { httpStatus: 429, headers: { 'Retry-After': '1' } };
    await sandbox.fault({ operation: 'listAssets', times: 3, action });
    const lost = await lose(gateway, 'after');
    await isFound(gateway, lost);
    expect(await callsOf('listAssets')).toBeGreaterThan(3);
  });

  it('U35 an attempt goes on after the wait with the asset that it had reached', async () => {
    quick.times = [1, 3_600_000];
    const gateway = await newGateway();
    const action = { httpStatus: 429, headers: { 'Retry-After': '1' } };
    await sandbox.fault({ operation: 'listAssetProducts', skip: 3, times: 2, action });
    await isFound(gateway, await lose(gateway, 'after'));
    const asked = (await sandbox.journal('listAssetProducts')).map(({ path }) => path);
    expect(new Set(asked).size).toBeGreaterThan(4);
    expect(asked).toHaveLength(new Set(asked).size + 2);
    expect(await attemptsOf(gateway)).toMatchObject({ failed: 2, settled: 1 });
  });

  it('finds it at the platform, with the licence order that it became, and its caller gets the lost result', async () => {
    const gateway = await newGateway();
    const body = await lose(gateway, 'after', purchaseOf([3]));
    await isFound(gateway, body);
    const [commit] = await sandbox.commits();
    const name = orderName('crm', body.channelOrderId);
    const record = await gateway.app.get(ObservedOrderLedger).read(name);
    const [licenseOrderId] = commit?.licenseOrderIds ?? [];
    const item = { sequence: 3, licenseOrderId, customerId: 'cus-harbour-default' };
    expect(record?.details).toEqual({
      caller: 'tester',
      order: {
        channelCode: 'crm',
        channelOrderId: commit?.channelOrderId,
        syncMode: 'sync',
        items: [item],
        ordered: [{ sequence: 3, orderType: 'new_buy', enterpriseGlobalId: 'ent-harbour' }],
        reason: 'found at the platform',
      },
    });
    expect(record?.settledAt).toBeGreaterThanOrEqual(record?.submittedAt as number);
    const repeated = await onceServed(() => gateway.post(ORDERS, body));
    expect([repeated.status, repeated.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(repeated.body).toMatchObject({ state: 'succeeded', items: [item] });
    expect(await callsOf('batchOrder')).toBe(1);
    await until('the attempt is counted', async () => (await attemptsOf(gateway))['settled'] === 1);
  });

  it('raises an alarm and leaves the order in doubt when the platform placed it twice', async () => {
    const gateway = await newGateway();
    const unseen = await sandbox.fault({ operation: 'listAssets', action: { code: '500' } });
    const body = await lose(gateway, 'after');
    const alarm = gateway.logged('order-placed-twice');
    await again(body);
    await sandbox.heal(unseen);
    await alarm;
    expect(await stateOf(gateway, body)).toBe('in_doubt');
    const line = (await gateway.log()).find((text) => text.includes('order-placed-twice')) as string;
    const write = orderName('crm', body.channelOrderId);
    expect(JSON.parse(line)).toMatchObject({ level: 'error', write });
    for (const { licenseOrderIds } of await sandbox.commits()) expect(line).toContain(licenseOrderIds[0]);
    expect((await attemptsOf(gateway))['placed_twice']).toBeGreaterThan(0);
    const orders = gateway.app.get(DoubtedOrders);
    await until('the console counts it', async () => (await orders.placedTwice()) === 1);
  });

  it('U33 does not confuse it with one that the platform had under its number before the send', async () => {
    const gateway = await newGateway();
    const body = await lose(gateway, 'before');
    await sandbox.advance(-2 * 60_000);
    await again(body);
    await sandbox.advance(2 * 60_000);
    // The first of them may have begun earlier.
    const before = await notFound(gateway);
    await until('it was looked for twice', async () => (await notFound(gateway)) >= before + 2);
    expect(await stateOf(gateway, body)).toBe('in_doubt');
    const assets = await onceServed(() => gateway.get(`${at(body)}/assets`));
    expect([assets.status, assets.body['items']]).toEqual([200, []]);
  });

  it("U33 finds it when the platform's clock is a little behind", async () => {
    const gateway = await newGateway();
    const body = await lose(gateway, 'before');
    await sandbox.advance(-20_000);
    await again(body);
    await isFound(gateway, body);
    const [commit] = await sandbox.commits();
    const { items } = await recordOf(gateway, body);
    expect(items).toMatchObject([{ licenseOrderId: commit?.licenseOrderIds[0] }]);
  });

  it('does not look for one that deletes, or names no enterprise', async () => {
    const gateway = await newGateway();
    const [item] = purchaseOf([1]).items;
    const deletion = {
      ...item,
      orderType: 'delete_asset',
      srcLicenseOrderId: 'lic-1009',
      assets: [{ assetNums: ['8000001009'] }],
    };
    const open = [purchaseOf([1], { items: [deletion] }), orderOf(`SO-${++last}`)];
    for (const body of open) await lose(gateway, 'after', body);
    await isFound(gateway, await lose(gateway, 'after'));
    for (const body of open) expect([body, await stateOf(gateway, body)]).toEqual([body, 'in_doubt']);
    expect(await callsOf('listAssets')).toBe(1);
  });

  it('marks an order that the platform accepted for later as succeeded', async () => {
    const gateway = await newGateway();
    const body = purchaseOf([1], { syncMode: 'async' });
    const accepted = await onceServed(() => gateway.post(ORDERS, body));
    expect([accepted.status, accepted.body['state'], accepted.body['settledAt']]).toEqual([
      202,
      'accepted',
      null,
    ]);
    await until('a look found nothing', async () => (await notFound(gateway)) > 0);
    expect(await stateOf(gateway, body)).toBe('accepted');
    await sandbox.advance(ASYNC_ORDER_MS);
    await isFound(gateway, body);
    const record = await recordOf(gateway, body);
    expect(record['items']).toEqual(accepted.body['items']);
    expect(record['settledAt']).not.toBeNull();
    expect(await callsOf('batchOrder')).toBe(1);
  });

  const HARBOUR = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
  const deletion = (orderType: string, asset: object, over: object = {}) => ({
    ...{ orderType, licenseType: 'cloud_account', srcLicenseOrderId: 'lic-1009', customer: HARBOUR },
    assets: [{ assetNums: ['8000001009'], ...asset }],
    ...over,
  });
  const [purchase] = purchaseOf([1]).items;

  it.each<[string, () => object[]]>([
    ['deletes an asset', () => [deletion('delete_asset', {})]],
    [
      'deletes an asset with all that is on it',
      () => [
        deletion(
          'delete_asset',
          { assetNums: ['8000001001'] },
          { licenseType: 'softkey', srcLicenseOrderId: undefined, allOrders: true },
        ),
      ],
    ],
    [
      'deletes a product',
      () => [
        deletion(
          'delete_product',
          { assetNums: ['8000001002'], products: [{ productUri: 'cloud.model' }] },
          { srcLicenseOrderId: 'lic-5003' },
        ),
      ],
    ],
    [
      'buys for two enterprises',
      () => [
        { ...purchase, sequence: 1 },
        {
          ...purchase,
          ...{
            sequence: 2,
            customer: { customerId: 'cus-meridian-default', enterpriseGlobalId: 'ent-meridian' },
          },
        },
      ],
    ],
    ['names its customer only', () => [{ ...purchase, customer: { customerId: 'cus-harbour-default' } }]],
    ['buys and deletes', () => [{ ...purchase, sequence: 1 }, deletion('delete_asset', {}, { sequence: 2 })]],
  ])('marks an accepted order as succeeded that %s', async (_, items) => {
    const gateway = await newGateway();
    const body = purchaseOf([1], { syncMode: 'async', items: items() });
    const accepted = await onceServed(() => gateway.post(ORDERS, body));
    expect([accepted.status, accepted.body['state']]).toEqual([202, 'accepted']);
    await until('a look found nothing', async () => (await notFound(gateway)) > 0);
    expect(await stateOf(gateway, body)).toBe('accepted');
    await sandbox.advance(ASYNC_ORDER_MS);
    await isFound(gateway, body);
    expect((await recordOf(gateway, body))['items']).toEqual(accepted.body['items']);
    expect(await callsOf('batchOrder')).toBe(1);
  });

  it('leaves an order accepted whose end the platform does not show', async () => {
    const gateway = await newGateway();
    await sandbox.control('PUT', '/profile', { asyncOrders: 'never' });
    const items = [{ ...purchase, sequence: 1 }, deletion('delete_asset', {}, { sequence: 2 })];
    const body = purchaseOf([1], { syncMode: 'async', items });
    expect((await onceServed(() => gateway.post(ORDERS, body))).status).toBe(202);
    await sandbox.advance(365 * 86_400_000);
    await until('two looks found nothing', async () => (await notFound(gateway)) > 1);
    expect(await stateOf(gateway, body)).toBe('accepted');
  });

  it('finds every item of a batch, and names the licence orders when it cannot match them to items', async () => {
    const gateway = await newGateway();
    const body = await lose(gateway, 'after', purchaseOf([1, 2]));
    await isFound(gateway, body);
    const [commit] = await sandbox.commits();
    const { items, reason } = await recordOf(gateway, body);
    expect(items).toMatchObject([{ licenseOrderId: null }, { licenseOrderId: null }]);
    for (const id of commit?.licenseOrderIds ?? ['none']) expect(reason).toContain(id);
  });

  it('continues at the next time when the platform does not respond, and only reads', async () => {
    const gateway = await newGateway();
    await sandbox.fault({ operation: 'listAssetProducts', times: 2, action: { code: '500' } });
    const body = await lose(gateway, 'after');
    await until('an attempt failed', async () => ((await attemptsOf(gateway))['failed'] ?? 0) >= 1);
    await isFound(gateway, body);
    const called = new Set((await sandbox.calls()).map(({ operation }) => operation));
    expect([...called].sort()).toEqual(['batchOrder', 'listAssetProducts', 'listAssets']);
  });

  it('finds it although the platform refuses to show another asset', async () => {
    const gateway = await newGateway();
    await sandbox.fault({
      operation: 'listAssetProducts',
      match: { path: 'ast-1001/' },
      action: { code: '60024' },
    });
    await isFound(gateway, await lose(gateway, 'after'));
    expect(await sandbox.spoiled()).toBe(2);
  });

  it('finds it although the id of another asset cannot be in a path', async () => {
    const gateway = await newGateway();
    const odd = { pointer: '/data/0/id', value: 'ast/1' };
    await sandbox.fault({ operation: 'listAssets', action: { odd } });
    await isFound(gateway, await lose(gateway, 'after'));
    expect(await callsOf('batchOrder')).toBe(1);
  });

  it('O12 finds an order also days after it was sent', async () => {
    quick.times = [60_000, ...againAfter(3 * 24 * HOUR_MS)];
    const url = await postgresUrl();
    const body = await lose(await newGateway(url), 'after');
    await age(url, body, 3 * 24 * HOUR_MS);
    await isFound(await newGateway(url), body);
    expect(await callsOf('batchOrder')).toBe(1);
  });

  it('is done once for all replicas at each time', async () => {
    quick.times = [1, HOUR_MS];
    const url = await postgresUrl();
    const gateways = [await newGateway(url), await newGateway(url), await newGateway(url)];
    const body = await lose(gateways[0] as GatewayInProcess, 'before');
    for (const count of [1, 2]) {
      await until('it was looked for', async () => (await attemptsOf(...gateways))['not_found'] === count);
      if (count === 1) await age(url, body, HOUR_MS);
    }
    expect(await callsOf('listAssets')).toBe(2);
    expect(await attemptsOf(...gateways)).toEqual({ not_found: 2 });
  });

  it('goes on in another replica at once when the one that searches ends', async () => {
    quick.times = [1, HOUR_MS];
    const url = await postgresUrl();
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { delayMs: HOUR_MS } });
    const first = await newGateway(url);
    const body = await lose(first, 'after');
    await until('it is looked for', async () => (await callsOf('listAssets')) > 0);
    const second = await newGateway(url);
    await first.stop();
    await isFound(second, body);
    expect(await callsOf('listAssets')).toBe(2);
  });

  it('D30 goes on for an order whose task is missing', async () => {
    quick.times = againAfter(HOUR_MS);
    const url = await postgresUrl();
    const body = await lose(await newGateway(url), 'after');
    await age(url, body, HOUR_MS / 2);
    // One statement: a scan between two would add the task before its order is old enough.
    const LOSE_TASK = `
      WITH gone AS (DELETE FROM tasks RETURNING name)
      UPDATE writes SET submitted_at = submitted_at - $1 WHERE name IN (SELECT name FROM gone)`;
    await askDatabase(url, LOSE_TASK, HOUR_MS / 2);
    await isFound(await newGateway(url), body);
    expect(await callsOf('listAssets')).toBe(1);
  });

  it('waits while an operator has stopped everything', async () => {
    quick.times = againAfter(HOUR_MS);
    const url = await postgresUrl();
    const gateway = await newGateway(url);
    const body = await lose(gateway, 'after');
    const end = Date.now() + 3_000;
    const stop = { stops: 'all', until: new Date(end).toISOString(), reason: 'the platform is updated' };
    const stopped = await onceServed(() => gateway.request('PUT', '/v1/maintenance', { body: stop }));
    expect(stopped.status).toBe(200);
    await age(url, body, HOUR_MS);
    await isFound(gateway, body);
    const [search] = await sandbox.journal('listAssets');
    expect(Date.parse(String(search?.at))).toBeGreaterThanOrEqual(end);
  });

  it('stops within a second when an operator stops everything, and begins anew afterwards', async () => {
    quick.times = [1, HOUR_MS];
    const gateway = await newGateway();
    const slow = await sandbox.fault({ operation: 'listAssetProducts', action: { delayMs: 500 } });
    const body = await lose(gateway, 'after');
    await until('it is looked for', async () => (await callsOf('listAssetProducts')) > 0);
    const end = Date.now() + 4_000;
    const stop = { stops: 'all', until: new Date(end).toISOString(), reason: 'the platform is updated' };
    expect((await gateway.request('PUT', '/v1/maintenance', { body: stop })).status).toBe(200);
    const stopped = Date.now() + 1_000;
    await until('the maintenance is over', () => Date.now() >= end);
    await sandbox.heal(slow);
    await isFound(gateway, body);
    const times = (await sandbox.journal('listAssetProducts')).map(({ at: time }) => Date.parse(time));
    expect(times.filter((time) => time > stopped && time < end)).toEqual([]);
    await until('the attempt is counted', async () => (await attemptsOf(gateway))['settled'] === 1);
    expect(await attemptsOf(gateway)).toEqual({ settled: 1 });
  });

  it('asks for no further customer of the order when an operator stops everything', async () => {
    quick.times = [1, HOUR_MS];
    const gateway = await newGateway();
    await sandbox.fault({ operation: 'queryCustomers', times: 1, action: { delayMs: 3_000 } });
    const [item] = purchaseOf([1]).items;
    const items = ['cus-harbour-default', 'cus-harbour-yard'].map((customerId, index) => ({
      ...item,
      ...{ sequence: index + 1, customer: { customerId } },
    }));
    const accepted = await onceServed(() =>
      gateway.post(ORDERS, purchaseOf([1], { syncMode: 'async', items })),
    );
    expect(accepted.status).toBe(202);
    const asked = () => sandbox.journal('queryCustomers');
    await until('a customer is looked for', async () => (await asked()).length > 0);
    const end = Date.now() + 5_000;
    const stop = { stops: 'all', until: new Date(end).toISOString(), reason: 'the platform is updated' };
    expect((await gateway.request('PUT', '/v1/maintenance', { body: stop })).status).toBe(200);
    const stopped = Date.now();
    await until('both are looked for afterwards', async () => (await asked()).length > 2);
    const times = (await asked()).map(({ at: time }) => Date.parse(time));
    expect(times.filter((time) => time > stopped && time < end)).toEqual([]);
  });
});

it('A process that searches for orders ends by itself, also while the database is away', async () => {
  const postgres = ended(await startPostgres());
  let process: GatewayProcess | undefined;
  const environment = { DATABASE_URL: await postgres.newUrl(), ENCRYPTION_KEYS };
  const gateway = await TestGateway.start(
    sandbox,
    environment,
    [],
    async (all) => (process = await startGatewayProcess(all)),
  );
  const body = await lose(gateway, 'before');
  expect(await stateOf(gateway, body)).toBe('in_doubt');
  await postgres.kill();
  await gateway.stop();
  expect(await process?.ended).toBe(0);
  // All output goes through the log.
  for (const line of gateway.logLines) expect(() => JSON.parse(line) as unknown).not.toThrow();
});
