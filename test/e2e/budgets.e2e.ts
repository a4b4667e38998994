import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCommand } from '../../client/test/support/run-command.ts';
import { Fleet } from '../support/fleet.ts';
import { orderOf } from '../support/order-body.ts';
import { askDatabase } from '../support/postgres.ts';
import { until } from '../support/redis.ts';
import { useSandbox, useStack } from '../support/stack.ts';

/** What a caller may have in a month: counted where an order begins, and given back where it is provably not placed. */

const ORDERS = '/v1/license-orders';
const ME = '/v1/callers/me';

let numbers = 0;
const newOrder = (over: object = {}, product: object = {}) => orderOf(`SO-${++numbers}`, over, product);
const nextMonth = () => {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
};

const TESTS_MS = 300_000;
/** The counters begin anew with each month. What would begin in its last minutes waits for the next one. */
beforeAll(async () => {
  const leftMs = Date.parse(nextMonth()) - Date.now();
  if (leftMs < TESTS_MS) await wait(leftMs);
});

const scopes = ['orders:read', 'orders:write', 'orders:revoke', 'orders:settle'];
const rights = { scopes, enterprises: ['*'], channels: ['*'], users: ['*'] };

describe('budgets', () => {
  const callers = [
    { name: 'three', ...rights, budgets: { orders: 3 } },
    { name: 'ten', ...rights, budgets: { orders: 100, licences: 10 } },
    { name: 'careful', ...rights, budgets: { deletions: 2 } },
    { name: 'doubtful', ...rights, budgets: { orders: 1 } },
    { name: 'none', ...rights, budgets: { orders: 0 } },
    { name: 'packer', ...rights, budgets: { licences: 5 } },
  ];
  const { sandbox, gateway } = useStack({ callers });
  const key = (name: string) => ({ key: gateway.keys[name] as string });
  const place = (name: string, order: object = newOrder()) => gateway.post(ORDERS, order, key(name));
  const left = async (name: string) => (await gateway.get(ME, key(name))).body['budgets'];
  const used = async (name: string, budget: string) =>
    ((await left(name)) as Record<string, { used: number }>)[budget]?.used;
  const EXHAUSTED = {
    code: 'budget-exhausted',
    outcome: 'not_processed',
    retryable: false,
    get resetsAt() {
      return nextMonth();
    },
  };

  it('orders are placed up to the budget; the next is 403 with the beginning of the next month, and nothing is sent', async () => {
    expect(await left('three')).toEqual({ orders: { limit: 3, used: 0, resetsAt: nextMonth() } });
    for (let placed = 1; placed <= 3; placed++) {
      expect((await place('three')).status).toBe(201);
      expect(await used('three', 'orders')).toBe(placed);
    }
    const before = (await sandbox.calls()).length;
    const order = newOrder();
    const { status, body } = await place('three', order);
    expect([status, body]).toEqual([403, expect.objectContaining(EXHAUSTED)]);
    const preview = await gateway.post(`${ORDERS}/dry-run`, order, key('three'));
    expect([preview.status, preview.body['code']]).toEqual([403, 'budget-exhausted']);
    expect(await sandbox.calls()).toHaveLength(before);
    expect((await gateway.get(`${ORDERS}/crm/${order.channelOrderId}`)).status).toBe(404);
    // Who has no budget is not limited, and sees none.
    expect((await gateway.get(ME)).body['budgets']).toEqual({});
    expect((await gateway.get(`${ME}/budgets`)).body).toEqual({ months: [] });
    expect((await gateway.post(ORDERS, order)).status).toBe(201);
  });

  it('a repeated order counts once, and gets its record when nothing is left', async () => {
    const order = newOrder();
    const before = Number(await used('ten', 'orders'));
    for (let time = 0; time < 3; time++) expect((await place('ten', order)).status).toBe(201);
    expect(await used('ten', 'orders')).toBe(before + 1);
  });

  it('licences are counted by their number, 1 where there is none; a batch that does not fit is not begun', async () => {
    const start = Number(await used('ten', 'licences'));
    const withLicences = (limitConcurrent: number) => newOrder({}, { limitConcurrent });
    expect((await place('ten', withLicences(4))).status).toBe(201);
    expect((await place('ten')).status).toBe(201);
    expect(await used('ten', 'licences')).toBe(start + 5);
    const rest = 10 - start - 5;
    expect((await place('ten', withLicences(rest + 1))).body).toMatchObject(EXHAUSTED);
    expect((await place('ten', withLicences(rest))).status).toBe(201);
    expect(await used('ten', 'licences')).toBe(10);
  });

  it('licences are counted for each asset that they are bought for, and a package without products counts 1', async () => {
    const [item] = newOrder().items;
    const statusOf = async (...assets: object[]) => {
      const order = newOrder({ items: [{ ...item, assets }] });
      return (await gateway.post(`${ORDERS}/dry-run`, order, key('packer'))).status;
    };
    const products = [{ productUri: 'draft.pro', limitConcurrent: 3 }];
    const pack = { merchandiseNum: 'PKG-SUITE' };
    const assetNums = ['8000001001', '8000001002'];
    expect(await statusOf({ products })).toBe(200);
    expect(await statusOf({ products, assetNums })).toBe(403);
    expect(await statusOf({ products, merchandises: [pack, pack] })).toBe(200);
    expect(await statusOf({ products, merchandises: [pack, { ...pack, children: [pack, pack] }] })).toBe(403);
    expect(await statusOf(...Array.from({ length: 6 }, () => ({ merchandises: [pack] })))).toBe(403);
    const order = newOrder({ items: [{ ...item, assets: [{ merchandises: [pack] }] }] });
    expect((await place('packer', order)).status).toBe(201);
    expect(await used('packer', 'licences')).toBe(1);
  });

  it.each([0, -1, 2_147_483_647])(
    'a number of licences that means no limit (%d) is 403 with its pointer',
    async (limitConcurrent) => {
      const { status, body } = await place('ten', newOrder({}, { limitConcurrent }));
      expect([status, body['code'], body['errors']]).toEqual([
        403,
        'forbidden',
        [{ pointer: '/items/0/assets/0/products/0/limitConcurrent', detail: expect.any(String) }],
      ]);
      expect((await gateway.post(ORDERS, newOrder({}, { limitConcurrent }))).status).toBe(201);
    },
  );

  it('a repeat of an order without a limit gets its record, also once the licences of its caller are limited', async () => {
    const order = newOrder({}, { limitConcurrent: -1 });
    // The gateway recognises a repeated order whichever caller sends it, so a second caller stands for the first with a new entry.
    expect((await gateway.post(ORDERS, order)).status).toBe(201);
    const repeated = await place('ten', order);
    expect([repeated.status, repeated.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
  });

  it('assets and products that are deleted are counted', async () => {
    const deletion = (item: object) =>
      newOrder({
        items: [
          {
            licenseType: 'softkey',
            allOrders: true,
            customer: { customerId: 'cus-harbour-default' },
            ...item,
          },
        ],
      });
    const assets = {
      orderType: 'delete_asset',
      assets: [{ assetNums: ['8000001009', '8000001003', '8000001002'] }],
    };
    expect((await place('careful', deletion(assets))).body).toMatchObject(EXHAUSTED);
    const products = {
      orderType: 'delete_product',
      assets: [
        {
          assetNums: ['8000001009'],
          products: [{ productUri: 'draft.pro' }, { productUri: 'draft.viewer' }],
        },
      ],
    };
    const { status } = await gateway.post(`${ORDERS}/dry-run`, deletion(products), key('careful'));
    expect(status).toBe(200);
    expect(await used('careful', 'deletions')).toBe(0);
  });

  it('what is provably not placed is given back, once; what is in doubt is not, until it is settled as not placed', async () => {
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '13004' } });
    const refused = await place('doubtful');
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(await used('doubtful', 'orders')).toBe(0);
    const order = newOrder();
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { reset: 'before-headers' } });
    expect((await place('doubtful', order)).body['code']).toBe('outcome-unknown');
    expect(await used('doubtful', 'orders')).toBe(1);
    expect((await place('doubtful')).body['code']).toBe('budget-exhausted');
  });

  it('a budget of nothing allows nothing', async () => {
    expect((await place('none')).body).toMatchObject(EXHAUSTED);
  });

  it('a metric has what is used', async () => {
    const isMeasured = async () =>
      /gateway_budget_used_ratio\{caller="three",budget="orders"\} 1$/m.test(await gateway.metrics());
    await until('it is measured', isMeasured);
    expect(await isMeasured()).toBe(true);
  });

  it.each([-1, 1.5, 'many'])(
    'a callers file with a budget of %j is refused, and the old one stays',
    async (wrong) => {
      const text = readFileSync(gateway.callersFile, 'utf8');
      const { callers: entries } = JSON.parse(text) as { callers: Record<string, unknown>[] };
      const at = entries.findIndex(({ name }) => name === 'three');
      entries[at] = { ...entries[at], budgets: { orders: wrong } };
      writeFileSync(gateway.callersFile, JSON.stringify({ callers: entries }));
      try {
        await until('it is refused', () =>
          gateway.logLines.some((line) => line.includes(`callers[${at}]`) && line.includes('budgets.orders')),
        );
        expect((await place('three')).body['code']).toBe('budget-exhausted');
      } finally {
        writeFileSync(gateway.callersFile, text);
      }
    },
  );
});

describe('budgets of earlier months', () => {
  const caller = { name: 'steady', ...rights, budgets: { orders: 9, deletions: 5 } };
  const stack = useStack({ callers: [caller], database: 'postgres' });
  const { gateway } = stack;

  it('are shown to their caller, and by the command, as long as they are kept', async () => {
    const key = gateway.keys['steady'] as string;
    const [at, past] = [new Date(), new Date()];
    past.setUTCMonth(at.getUTCMonth() - 12, 1);
    const [month, oldest] = [at, past].map((each) => each.toISOString().slice(0, 7));
    for (const period of [oldest, month]) {
      expect((await gateway.post(ORDERS, newOrder(), { key })).status).toBe(201);
      await askDatabase(
        stack.databaseUrl(),
        `UPDATE uses SET period = $1 WHERE kind = 'orders' AND period = $2`,
        period,
        month,
      );
    }
    const { months: found } = (await gateway.get(`${ME}/budgets`, { key })).body;
    const months = found as { month: string; used: object }[];
    expect([months.length, months[0], months.at(-1)]).toEqual([
      13,
      { month, used: { orders: 1, deletions: 0 } },
      { month: oldest, used: { orders: 1, deletions: 0 } },
    ]);
    const { out } = await runCommand({ LICENSING_URL: gateway.url, LICENSING_API_KEY: key }, ['budgets']);
    expect(out).toMatch(
      new RegExp(
        `^${month} +orders +9 +1 +2.*\\n${month} +deletions +5 +0 +2.*\\n${oldest} +orders +- +1 +-$`,
        'm',
      ),
    );
  });
});

describe('three gateways, one of which is killed again and again', () => {
  const BUDGET = 100;
  const ORDERS_AT_ONCE = 250;
  const sandbox = useSandbox();
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await Fleet.start(sandbox, 3, { caller: { budgets: { orders: BUDGET } } });
  });
  afterAll(() => fleet.stop());

  /** Sends the same order again until its end is known, as a caller does. */
  async function settled(index: number): Promise<number> {
    const order = orderOf(`SO-B${index}`);
    for (let time = index; ; time++) {
      const answer = await fleet.post(time % 3, ORDERS, order).catch(() => undefined);
      if (answer && ![409, 502, 503, 504].includes(answer.status)) return answer.status;
      if (answer?.body['code'] === 'outcome-unknown') return answer.status;
      await wait(50);
    }
  }

  it(`place ${BUDGET} of ${ORDERS_AT_ONCE} orders that come at once, and not one more`, async () => {
    await sandbox.fault({ operation: 'batchOrder', times: 40, action: { code: '13004' } });
    const disturbed = (async () => {
      for (let kill = 0; kill < 3; kill++) {
        const gateway = fleet.gateways[2];
        gateway?.child.kill('SIGKILL');
        await gateway?.ended;
        await fleet.launch({}, undefined, 2);
      }
    })();
    await Promise.all(Array.from({ length: ORDERS_AT_ONCE }, (_, index) => settled(index)));
    await disturbed;
    // What was refused has given back what others were then denied.
    const ends: number[] = [];
    for (let index = 0; index < ORDERS_AT_ONCE; index++) ends.push(await settled(index));
    const placed = new Set((await sandbox.commits()).map(({ channelOrderId }) => channelOrderId)).size;
    const unknown = ends.filter((status) => status >= 500).length;
    expect(placed).toBeLessThanOrEqual(BUDGET);
    expect(placed + unknown).toBeGreaterThanOrEqual(BUDGET);
    const { budgets } = (await fleet.get(0, ME)).body as { budgets: { orders: { used: number } } };
    expect(budgets.orders.used).toBe(BUDGET);
  });
});
