import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ReconciliationSchedule } from '../../src/reconciliation/schedule.ts';
import { OrderLedgerKeeper } from '../../src/order-ledger/order-ledger-keeper.ts';
import type { OrderSearch, LedgerRecord } from '../../src/order-ledger/ledger-record.ts';
import { OrderLedger } from '../../src/order-ledger/order-ledger.service.ts';
import { orderName } from '../../src/order-ledger/order-ledger-store.ts';
import { toPlacedItems } from '../../src/order/license-order.mapper.ts';
import { newTrace } from '../../src/observability/trace-context.ts';
import type { CallContext } from '../../src/upstream/call-context.ts';
import { UpstreamClient } from '../../src/upstream/upstream.client.ts';
import type { WireBatchOrder, WireOrderItem } from '../../src/upstream/wire/order.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import type { TestGateway } from '../support/gateway.ts';
import { ask, type RunningRedis, startCluster, startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** Orders with a lost response, which the gateway looks for at the platform. */

jest.setTimeout(180_000);

const everything = new Set(['*']);
const LOST = { operation: 'batchOrder', times: 1, action: { reset: 'before-headers' } };
const secrets = { ENCRYPTION_KEYS: newEncryptionKey() };

/** So long that no asynchronous order ends before a test says so. */
const ASYNC_ORDER_MS = 60_000;
let sandbox: TestSandbox;
let redis: RunningRedis;
const { ended } = endings();
let last = 7_000;

beforeAll(async () => {
  sandbox = await TestSandbox.start({ asyncOrderMs: ASYNC_ORDER_MS });
  redis = await startRedis();
});
beforeEach(async () => {
  await sandbox.reset();
  // A gateway looks for every order in doubt, also for those of an earlier test.
  await ask(redis, (client) => client.flushall());
});
afterAll(async () => {
  await redis.stop();
  await sandbox.close();
});

/** A gateway that makes its attempts this long after the send. */
async function newGateway(times: number[], url: string | undefined = redis.url): Promise<GatewayInProcess> {
  const gateway = await startInProcess(sandbox, url ? { GUARD_REDIS_URL: url, ...secrets } : {});
  ended(gateway);
  Object.assign(gateway.app.get(ReconciliationSchedule), { attempts: times });
  return gateway;
}

function purchase(sequence: number): WireOrderItem {
  return {
    sequence,
    orderType: 'new_buy',
    licenseType: 'cloud_account',
    enterpriseGlobalId: 'ent-harbour',
    customerId: 'cus-harbour-default',
    assets: [{ products: [{ productUri: 'draft.pro', limitConcurrent: 2 }] }],
  };
}

const deletion: WireOrderItem = {
  sequence: 1,
  orderType: 'delete_asset',
  licenseType: 'cloud_account',
  customerId: 'cus-harbour-default',
  srcLicenseOrderId: 'lic-1009',
  assets: [{ assetNos: ['8000001009'] }],
};

interface Sent {
  readonly name: string;
  /** The same again, past the order ledger. */
  again(): Promise<unknown>;
  record(): Promise<LedgerRecord | undefined>;
  state(): Promise<string | undefined>;
}

/** Sends an order through the order ledger, as the order area does. */
async function send(
  gateway: GatewayInProcess,
  orderList: WireOrderItem[],
  search?: OrderSearch,
): Promise<Sent> {
  const channelOrderId = `SO-${++last}`;
  const body: WireBatchOrder = { channelCode: 'crm', channelOrderId, syncMode: 'sync', orderList };
  const call: CallContext = {
    requestId: randomUUID(),
    caller: { name: 'tester', grants: { enterprises: everything, channels: everything, users: everything } },
    trace: newTrace(),
    upstreamMs: 0,
  };
  const query = { appKey: sandbox.appKey };
  const upstream = gateway.app.get(UpstreamClient);
  const { store } = gateway.app.get(OrderLedgerKeeper);
  const name = orderName('crm', channelOrderId);
  const record = () => store.read(name);
  const place = () =>
    gateway.app.get(OrderLedger).order(
      {
        caller: 'tester',
        channelCode: 'crm',
        channelOrderId,
        syncMode: 'sync',
        ordered: body.orderList.map(({ sequence }) => ({
          sequence,
          orderType: 'new_buy',
          enterpriseGlobalId: search?.enterpriseGlobalId ?? null,
        })),
        payloadText: JSON.stringify(body),
        idempotencyKey: undefined,
        deadlineMs: 10_000,
        ...(search && { search }),
      },
      (once) =>
        upstream.call('batchOrder', call, { query, body, once }, (data) =>
          toPlacedItems(data, body),
        ) as never,
    );
  // A store that has just begun may refuse the first try, and a cluster may confirm the record too late for the order to be sent. It is
  // recorded as not sent then, a moment after the response.
  await until('the order is sent', async () => {
    await place().catch(() => undefined);
    const state = (await record())?.state ?? 'not_sent';
    return state !== 'sending' && state !== 'not_sent';
  });
  return {
    name,
    again: () => upstream.call('batchOrder', call, { query, body }, () => undefined),
    record,
    state: async () => (await record())?.state,
  };
}

/** Several, because a busy machine may spoil an attempt. */
const AGAIN = [1, 5_000, 10_000, 20_000, 30_000];
const one: OrderSearch = { enterpriseGlobalId: 'ent-harbour', items: 1 };

/** How many attempts are done, by result. */
async function attempts(...gateways: TestGateway[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const gateway of gateways) {
    for (const [, result, count] of (await gateway.metrics()).matchAll(
      /^gateway_order_reconciliation_attempts_total\{result="(\w+)"\} ([1-9]\d*)$/gm,
    ))
      counts[result as string] = (counts[result as string] ?? 0) + Number(count);
  }
  return counts;
}

async function callsOf(operation: string): Promise<number> {
  return (await sandbox.journal(operation)).length;
}

const kinds = [
  ['in Redis, on a queue', () => redis.url],
  ['in the process, on a timer', () => undefined],
] as const;

describe.each(kinds)('an order with a lost response, with its record kept %s', (_, url) => {
  const start = (times: number[]) => newGateway(times, url() ?? '');

  it('is found at the platform, with the licence order that it became', async () => {
    const gateway = await start(AGAIN);
    await sandbox.fault({ ...LOST, phase: 'after' });
    const order = await send(gateway, [purchase(3)], { ...one, sequences: [3] });
    expect(await order.state()).toBe('in_doubt');
    await until('it is found', async () => (await order.state()) === 'succeeded');
    const [commit] = await sandbox.commits();
    const record = await order.record();
    expect(record?.details).toEqual({
      caller: 'tester',
      order: {
        channelCode: 'crm',
        channelOrderId: commit?.channelOrderId,
        syncMode: 'sync',
        items: [
          { sequence: 3, licenseOrderId: commit?.licenseOrderIds[0], customerId: 'cus-harbour-default' },
        ],
        ordered: [{ sequence: 3, orderType: 'new_buy', enterpriseGlobalId: 'ent-harbour' }],
        reason: 'found at the platform',
        search: { ...one, sequences: [3] },
      },
    });
    expect(record?.settledAt).toBeGreaterThanOrEqual(record?.submittedAt as number);
    expect(await callsOf('batchOrder')).toBe(1);
    await until('the attempt is counted', async () => (await attempts(gateway))['settled'] === 1);
  });

  it('stays in doubt while the platform does not show it, and is found when it appears late', async () => {
    const gateway = await start([1, 3_000, 10_000, 20_000]);
    await sandbox.fault({ ...LOST, phase: 'before' });
    const order = await send(gateway, [purchase(1)], one);
    await until('it was looked for', async () => ((await attempts(gateway))['not_found'] ?? 0) >= 1);
    expect(await order.state()).toBe('in_doubt');
    await order.again();
    await until('it is found', async () => (await order.state()) === 'succeeded');
  });

  it('raises an alarm and stays in doubt when the platform placed it twice', async () => {
    const gateway = await start([1]);
    await sandbox.fault({ ...LOST, phase: 'after' });
    // The gateway looks after the second order.
    await sandbox.fault({ operation: 'listAssets', action: { delayMs: 3_000 } });
    const order = await send(gateway, [purchase(1)], one);
    const alarm = gateway.logged('order-placed-twice');
    await order.again();
    await alarm;
    expect(await order.state()).toBe('in_doubt');
    const line = gateway.logLines.find((text) => text.includes('order-placed-twice')) as string;
    expect(JSON.parse(line)).toMatchObject({ level: 'error', write: order.name });
    for (const { licenseOrderIds } of await sandbox.commits()) expect(line).toContain(licenseOrderIds[0]);
    expect(await attempts(gateway)).toEqual({ placed_twice: 1 });
  });

  it('U33 is not confused with one that the platform had under its number before the send', async () => {
    const gateway = await start([1, 3_000]);
    await sandbox.fault({ ...LOST, phase: 'before' });
    const order = await send(gateway, [purchase(1)], one);
    await sandbox.advance(-2 * 60_000);
    await order.again();
    await sandbox.advance(2 * 60_000);
    await until('it was looked for twice', async () => ((await attempts(gateway))['not_found'] ?? 0) >= 2);
    expect(await order.state()).toBe('in_doubt');
  });

  it("U33 is found when the platform's clock is a little behind", async () => {
    const gateway = await start([1, 3_000, 10_000, 20_000]);
    await sandbox.fault({ ...LOST, phase: 'before' });
    const order = await send(gateway, [purchase(1)], one);
    await sandbox.advance(-20_000);
    await order.again();
    await until('it is found', async () => (await order.state()) === 'succeeded');
    const [commit] = await sandbox.commits();
    expect((await order.record())?.details.order?.items[0]?.licenseOrderId).toBe(commit?.licenseOrderIds[0]);
  });

  it('is not looked for when it deletes, or names no enterprise', async () => {
    const gateway = await start([1]);
    await sandbox.fault({ ...LOST, times: 2, phase: 'after' });
    const order = await send(gateway, [deletion]);
    await sandbox.fault({ ...LOST, phase: 'after' });
    const other = await send(gateway, [purchase(1)], one);
    await until('the other is found', async () => (await other.state()) === 'succeeded');
    expect(await order.state()).toBe('in_doubt');
    expect(await callsOf('listAssets')).toBe(1);
  });
});

describe('the reconciliation of an order', () => {
  it('gives the caller the lost result', async () => {
    const gateway = await newGateway(AGAIN);
    await sandbox.fault({ ...LOST, phase: 'after' });
    const body = {
      channelCode: 'crm',
      channelOrderId: `SO-${++last}`,
      items: [
        {
          orderType: 'new_buy',
          sequence: 4,
          licenseType: 'cloud_account',
          customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
          assets: [{ products: [{ productUri: 'draft.pro', limitConcurrent: 2 }] }],
        },
      ],
    };
    const lost = await gateway.post('/v1/license-orders', body);
    expect([lost.status, lost.body['outcome']]).toEqual([502, 'unknown']);
    const place = String(lost.headers.get('location'));
    await until('it is found', async () => (await gateway.get(place)).body['state'] === 'succeeded');
    const [commit] = await sandbox.commits();
    const items = [
      { sequence: 4, licenseOrderId: commit?.licenseOrderIds[0], customerId: 'cus-harbour-default' },
    ];
    const again = await gateway.post('/v1/license-orders', body);
    expect(again.body).toMatchObject({ state: 'succeeded', items });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(await callsOf('batchOrder')).toBe(1);
  });

  it('marks an order that the platform accepted for later as succeeded', async () => {
    const gateway = await newGateway([1, 1_500, 4_000, 10_000, 30_000]);
    const body = {
      channelCode: 'crm',
      channelOrderId: `SO-${++last}`,
      syncMode: 'async',
      items: [
        {
          orderType: 'new_buy',
          licenseType: 'cloud_account',
          customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
          assets: [{ products: [{ productUri: 'draft.pro', limitConcurrent: 2 }] }],
        },
      ],
    };
    const accepted = await gateway.post('/v1/license-orders', body);
    expect([accepted.status, accepted.body['state'], accepted.body['settledAt']]).toEqual([
      202,
      'accepted',
      null,
    ]);
    const place = String(accepted.headers.get('location'));
    await until('a look found nothing', async () => (await callsOf('listAssets')) > 0);
    expect((await gateway.get(place)).body['state']).toBe('accepted');
    await sandbox.advance(ASYNC_ORDER_MS);
    await until('it shows', async () => (await gateway.get(place)).body['state'] === 'succeeded');
    const { body: record } = await gateway.get(place);
    expect(record['items']).toEqual(accepted.body['items']);
    expect(record['settledAt']).not.toBeNull();
    expect(await callsOf('batchOrder')).toBe(1);
  });

  it('O12 finds an order also days after it was sent', async () => {
    const first = await newGateway([60_000]);
    await sandbox.fault({ ...LOST, phase: 'after' });
    const order = await send(first, [purchase(1)], one);
    expect(await order.state()).toBe('in_doubt');
    await ask(redis, async (client) => {
      const [key = ''] = await client.keys(`{*}:${order.name}`);
      const sent = Number(await client.hget(key, 'submittedAt')) - 3 * 24 * 3_600_000;
      await client.hset(key, 'submittedAt', sent);
      const indexes = await client.keys(`${key.slice(0, -order.name.length)}orders*:in_doubt`);
      expect(indexes.length).toBeGreaterThan(1);
      for (const index of indexes) await client.zadd(index, 'XX', sent * 1_000, key);
    });
    // A gateway that starts reads the older orders at once.
    await newGateway([60_000]);
    await until('it is found', async () => (await order.state()) === 'succeeded');
  });

  it('finds every item of a batch, and names the licence orders when it cannot match them to items', async () => {
    const gateway = await newGateway(AGAIN);
    await sandbox.fault({ ...LOST, phase: 'after' });
    const order = await send(gateway, [purchase(1), purchase(2)], { ...one, items: 2 });
    await until('it is found', async () => (await order.state()) === 'succeeded');
    const [commit] = await sandbox.commits();
    const { items, reason } = (await order.record())?.details.order ?? {};
    expect(items).toEqual([]);
    for (const id of commit?.licenseOrderIds ?? ['none']) expect(reason).toContain(id);
  });

  it('continues at the next time when the platform does not respond, and only reads', async () => {
    const gateway = await newGateway([1, 3_000, 10_000, 20_000]);
    await sandbox.fault({ ...LOST, phase: 'after' });
    await sandbox.fault({ operation: 'listAssetProducts', times: 2, action: { code: '500' } });
    const order = await send(gateway, [purchase(1)], one);
    await until('an attempt failed', async () => ((await attempts(gateway))['failed'] ?? 0) >= 1);
    expect(await order.state()).toBe('in_doubt');
    await until('it is found', async () => (await order.state()) === 'succeeded');
    const called = new Set((await sandbox.calls()).map(({ operation }) => operation));
    expect([...called].sort()).toEqual(['batchOrder', 'listAssetProducts', 'listAssets']);
  });

  it('finds it although the platform refuses to show another asset', async () => {
    const gateway = await newGateway(AGAIN);
    await sandbox.fault({ ...LOST, phase: 'after' });
    await sandbox.fault({
      operation: 'listAssetProducts',
      match: { path: 'ast-1001/' },
      action: { code: '60024' },
    });
    const order = await send(gateway, [purchase(1)], one);
    await until('it is found', async () => (await order.state()) === 'succeeded');
    expect(await sandbox.spoiled()).toBe(2);
  });

  it('is done once for all replicas at each time', async () => {
    const gateways = await Promise.all([
      newGateway([1, 8_000]),
      newGateway([1, 8_000]),
      newGateway([1, 8_000]),
    ]);
    await sandbox.fault({ ...LOST, phase: 'before' });
    const order = await send(gateways[0] as GatewayInProcess, [purchase(1)], one);
    await until(
      'it was looked for twice',
      async () => ((await attempts(...gateways))['not_found'] ?? 0) >= 2,
    );
    expect(await callsOf('listAssets')).toBe(2);
    expect(await attempts(...gateways)).toEqual({ not_found: 2 });
    expect(await order.state()).toBe('in_doubt');
  });

  it('works on a cluster', async () => {
    const cluster = ended(await startCluster());
    const gateway = await newGateway(AGAIN, cluster.url);
    await sandbox.fault({ ...LOST, phase: 'after' });
    const order = await send(gateway, [purchase(1)], one);
    // Where the cluster is slow, the gateway records the doubt after its response.
    await until('it is in doubt', async () => (await order.state()) !== 'sending');
    await until('it is found', async () => (await order.state()) === 'succeeded');
    expect(await callsOf('batchOrder')).toBe(1);
  });

  it("keeps only the record's name in the queue", async () => {
    const gateway = await newGateway([1]);
    await sandbox.fault({ ...LOST, phase: 'before' });
    const order = await send(gateway, [purchase(1)], one);
    const { Redis } = await import('ioredis');
    const client = new Redis(redis.url);
    const keys = () => client.keys(`*:reconciliation}:attempts:${order.name}@*`);
    await until('the attempt has ended', async () => {
      const [key = '', ...others] = await keys();
      return others.length === 0 && (await client.hget(key, 'finishedOn')) !== null;
    });
    const [key = '', ...others] = await keys();
    expect(others).toEqual([]);
    expect(await client.hget(key, 'data')).toBe(JSON.stringify({ write: order.name }));
    client.disconnect();
  });
});

describe('the process', () => {
  it('opens the queue only when needed, and with it ends by itself, also during an outage of Redis', async () => {
    const own = await startRedis();
    try {
      // It shares the store, and leaves the reconciliation to the processes.
      const gateway = await newGateway([3_600_000], own.url);
      const environment = {
        ...gateway.environment(sandbox),
        ...secrets,
        GUARD_REDIS_URL: own.url,
        LOG_LEVEL: 'debug',
      };
      const start = () => startGatewayProcess(environment);
      const atWork = () =>
        ask(own, async (client) => String(await client.client('LIST')).includes('cmd=bzpopmin'));
      const there = await start();
      expect(await ask(own, (client) => client.keys('*:reconciliation}*'))).toEqual([]);
      await sandbox.fault({ ...LOST, phase: 'before' });
      const order = await send(gateway, [purchase(1)], one);
      await until('it is looked for', async () => (await callsOf('listAssets')) > 0);
      await until('its worker waits for more', atWork);
      await there.stop();
      const lost = await start();
      await until('its worker waits for more', atWork);
      expect(await order.state()).toBe('in_doubt');
      await own.kill9();
      await lost.stop();
      expect(await Promise.all([there.ended, lost.ended])).toEqual([0, 0]);
      // All output goes through the log.
      for (const line of `${there.output()}${lost.output()}`.trim().split('\n'))
        expect(() => JSON.parse(line) as unknown).not.toThrow();
    } finally {
      await own.stop();
    }
  });
});
