import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Fleet, type FleetAnswer } from '../support/fleet.ts';
import { orderOf } from '../support/order-body.ts';
import { askDatabase } from '../support/postgres.ts';
import { until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** How orders end that the platform's answer did not end, at two replicas as they are shipped. */

const ORDERS = '/v1/license-orders';
/** Names no enterprise, so that the gateway does not look for the order at the platform. */
const BUYER = { customerId: 'cus-harbour-default' };
/** Replica 0 waits a day until an accepted order may be settled, replica 1 no time at all. */
const [PATIENT, HASTY] = [0, 1];

const sandbox = useSandbox();
let fleet: Fleet;
let numbers = 0;
const newNumber = () => `SO-E${++numbers}`;
const placeOf = (number: string) => `${ORDERS}/crm/${number}`;
const recordOf = async (number: string) => (await fleet.get(HASTY, placeOf(number))).body;
/** Settles an order, as an operator who repeats what a busy store did not take. */
async function settle(replica: number, number: string, settlement: object): Promise<FleetAnswer> {
  let answer: FleetAnswer | undefined;
  await until('the store takes a settlement', async () => {
    answer = await fleet.post(replica, `${placeOf(number)}/settlement`, settlement);
    return answer.status !== 503;
  });
  return answer as FleetAnswer;
}
const sends = async () => (await sandbox.journal('batchOrder')).length;
const attentionOf = async (replica: number, alert: string) => {
  const state = await fetch(`${fleet.gateways[replica]?.managementUrl}/console/state`);
  const { attention } = (await state.json()) as { attention: { alert: string }[] };
  return attention.filter((each) => each.alert === alert);
};
const metricOf = async (replica: number, name: string): Promise<number> => {
  const text = await (await fetch(`${fleet.gateways[replica]?.managementUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
};

beforeAll(async () => {
  fleet = await Fleet.start(sandbox, 2, {
    redis: ['--appendonly', 'yes', '--appendfsync', 'always'],
    each: [{}, { ACCEPTED_ALERT_AFTER_MS: '1' }],
  });
});
beforeEach(() => sandbox.reset());
afterAll(() => fleet.stop());

/** Places a purchase; `action` changes the platform's answer to it. */
async function placed(number: string, action: object, over: object = {}): Promise<FleetAnswer> {
  await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action } as never);
  return fleet.post(PATIENT, ORDERS, orderOf(number, over));
}

describe('O11 an order is settled a second time', () => {
  const first = {
    as: 'succeeded',
    reason: 'seen in the list of the platform',
    items: [{ sequence: 1, licenseOrderId: 'lic-7001', customerId: 'cus-harbour-default' }],
  };
  const [item] = first.items;

  async function inDoubt(): Promise<string> {
    const number = newNumber();
    expect((await placed(number, { reset: 'before-headers' })).status).toBe(502);
    return number;
  }

  it('in the same way: the record; otherwise: 409 with what stands there, and the record stays', async () => {
    const number = await inDoubt();
    const settled = await settle(PATIENT, number, first);
    expect([settled.status, settled.body['state']]).toEqual([200, 'succeeded']);
    for (const replica of [PATIENT, HASTY]) {
      const same = await settle(replica, number, first);
      expect([same.status, same.body]).toEqual([200, settled.body]);
    }
    for (const other of [
      { as: 'not_placed', reason: first.reason },
      { ...first, reason: 'another reason' },
      { ...first, items: [{ ...item, licenseOrderId: 'lic-7002' }] },
      { ...first, items: [{ ...item, customerId: 'cus-other' }] },
      { ...first, items: [{ sequence: 1, licenseOrderId: 'lic-7001' }] },
      { as: first.as, reason: first.reason },
    ]) {
      const { status, body } = await settle(HASTY, number, other);
      expect([other, status, body['code'], body['outcome'], body['retryable']]).toEqual([
        other,
        409,
        'order-not-settleable',
        'not_processed',
        false,
      ]);
      expect(body['detail']).toBe(
        `An operator has settled the order as succeeded, at ${String(settled.body['settledAt'])}, item 1 as lic-7001. Reason: ${first.reason}`,
      );
    }
    expect(await recordOf(number)).toEqual(settled.body);
  });

  it('at the same moment, at two replicas, with two results: one is taken, the other refused', async () => {
    const number = await inDoubt();
    const results = [first, { ...first, items: [{ ...item, licenseOrderId: 'lic-7002' }] }];
    const answers = await Promise.all(results.map((result, replica) => settle(replica, number, result)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const taken = answers.find(({ status }) => status === 200);
    expect(await recordOf(number)).toEqual(taken?.body);
  });

  it('though the platform itself has answered: 409', async () => {
    const number = newNumber();
    expect((await fleet.post(PATIENT, ORDERS, orderOf(number))).status).toBe(201);
    const { status, body } = await settle(PATIENT, number, { as: 'succeeded', reason: 'seen' });
    expect([status, body['code']]).toEqual([409, 'order-not-settleable']);
    expect(body['detail']).toMatch(/^The order is succeeded already, at \S+Z, item 1 as \S+\.$/);
  });

  it('for the first time, where the platform has named the licence order of one item: the record has it besides what the operator found, and nothing where nothing was placed', async () => {
    const second = { sequence: 2, licenseOrderId: 'lic-7003', customerId: 'cus-harbour-default' };
    const idsOf = ({ body }: FleetAnswer) =>
      (body['items'] as { licenseOrderId: string | null }[]).map(({ licenseOrderId }) => licenseOrderId);
    const incomplete = async () => {
      const number = newNumber();
      const [bought] = orderOf(number).items;
      const { status } = await placed(number, { odd: { pointer: '/data/1' } }, { items: [bought, bought] });
      expect([status, (await recordOf(number))['state']]).toEqual([502, 'incomplete']);
      return number;
    };
    const settled = await settle(PATIENT, await incomplete(), { ...first, items: [second] });
    expect(idsOf(settled)).toEqual([expect.stringMatching(/^(?!lic-700)./), 'lic-7003']);
    const number = await incomplete();
    await askDatabase(
      String(fleet.environment['DATABASE_URL']),
      'UPDATE writes SET submitted_at = submitted_at - 1000000 WHERE name = $1',
      `order/crm/${number}`,
    );
    const freed = await settle(PATIENT, number, { as: 'not_placed', reason: first.reason });
    expect(idsOf(freed)).toEqual([null, null]);
  });

  it('with an item that the order does not have: 400, and nothing is settled', async () => {
    const number = await inDoubt();
    const { status, body } = await settle(PATIENT, number, {
      ...first,
      items: [item, { ...item, sequence: 2 }],
    });
    expect([status, body['errors']]).toEqual([
      400,
      [{ pointer: '/items/1/sequence', detail: expect.stringContaining('1') }],
    ]);
    expect((await recordOf(number))['state']).toBe('in_doubt');
  });
});

describe('O12 an order stays accepted, since nothing shows that the platform has carried it out', () => {
  const deletion = (channelOrderId: string) => ({
    channelCode: 'crm',
    channelOrderId,
    syncMode: 'async',
    items: [
      {
        orderType: 'delete_asset',
        licenseType: 'cloud_account',
        srcLicenseOrderId: 'lic-1009',
        customer: { ...BUYER, enterpriseGlobalId: 'ent-harbour' },
        assets: [{ assetNums: ['8000001009'] }],
      },
    ],
  });
  const accepted = async (): Promise<string> => {
    const number = newNumber();
    const { status, body } = await fleet.post(PATIENT, ORDERS, deletion(number));
    expect([status, body['state']]).toEqual([202, 'accepted']);
    return number;
  };

  it('is settled once it is old enough, before that 409 with Retry-After', async () => {
    const number = await accepted();
    for (const as of ['succeeded', 'not_placed']) {
      const early = await settle(PATIENT, number, { as, reason: 'asked the owner of the platform' });
      expect([early.status, early.body['code'], early.body['retryable']]).toEqual([
        409,
        'order-not-settleable',
        true,
      ]);
      const seconds = Number(early.headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(80_000);
      expect(seconds).toBeLessThanOrEqual(86_400);
    }
    // The number is not free before the platform can no longer carry the order out, however small ACCEPTED_ALERT_AFTER_MS is.
    const notPlaced = await settle(HASTY, number, { as: 'not_placed', reason: 'nothing is seen' });
    expect([notPlaced.status, notPlaced.body['code']]).toEqual([409, 'order-not-settleable']);
    expect(Number(notPlaced.headers.get('retry-after'))).toBeGreaterThan(800);
    expect((await recordOf(number))['state']).toBe('accepted');
    const settled = await settle(HASTY, number, {
      as: 'succeeded',
      reason: 'asked the owner of the platform',
    });
    expect([settled.status, settled.body['state']]).toEqual([200, 'succeeded']);
  });

  it('is counted by every replica, and the console shows it where it is overdue', async () => {
    const number = await accepted();
    for (const replica of [PATIENT, HASTY]) {
      await until(
        'its age is a metric',
        async () => (await metricOf(replica, 'gateway_orders_accepted_oldest_seconds')) > 0,
      );
      expect(await metricOf(replica, 'gateway_orders_accepted')).toBe(1);
    }
    expect(await attentionOf(PATIENT, 'OrdersAccepted')).toEqual([]);
    expect(await attentionOf(HASTY, 'OrdersAccepted')).toMatchObject([
      { level: 'watch', section: 'orders', title: expect.stringContaining('1 order') },
    ]);
    await settle(HASTY, number, { as: 'succeeded', reason: 'asked the owner of the platform' });
    await until(
      'it is not counted any more',
      async () => (await metricOf(PATIENT, 'gateway_orders_accepted_oldest_seconds')) === 0,
    );
  });
});

describe("C29 the platform's answer to an order names another customer than the order", () => {
  const FOREIGN = 'cus-of-another-company';

  it('unknown, without ids of the other company also of its other items, and never sent again', async () => {
    const number = newNumber();
    const [item] = orderOf(number).items;
    const items = [1, 2].map((sequence) => ({ ...item, sequence, customer: BUYER }));
    const odd = { odd: { pointer: '/data/1/customerId', value: FOREIGN } };
    const { status, headers, body } = await placed(number, odd, { items });
    expect([status, body['code'], body['outcome'], body['retryable']]).toEqual([
      502,
      'upstream-contract-violation',
      'unknown',
      false,
    ]);
    expect(headers.get('location')).toBe(placeOf(number));
    const record = await recordOf(number);
    const nothing = { licenseOrderId: null, customerId: null };
    expect(record).toMatchObject({ state: 'in_doubt', items: [nothing, nothing] });
    expect(JSON.stringify([body, record])).not.toContain(FOREIGN);
    const again = await fleet.post(HASTY, ORDERS, orderOf(number, { items }));
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([502, 'true']);
    expect(await sends()).toBe(1);
    expect((await fleet.get(HASTY, `${ORDERS}?state=in_doubt`)).body['total']).toBeGreaterThan(0);
  });

  it('where the order names none: success with the customer that the platform names', async () => {
    const number = newNumber();
    const order = orderOf(number);
    for (const item of order.items as { customer: object }[]) item.customer = { crmCustomerId: 'CRM-1002' };
    const { status, body } = await fleet.post(PATIENT, ORDERS, order);
    expect([status, body['items']]).toMatchObject([201, [{ customerId: 'cus-harbour-yard' }]]);
  });
});
