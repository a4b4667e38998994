import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { askDatabase } from '../support/postgres.ts';
import type { TestAnswer, TestGateway } from '../support/gateway.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import type { TestSandbox } from '../support/sandbox.ts';
import { useStack } from '../support/stack.ts';

/** Placing orders and following them (docs/api.md, section 3), recorded in PostgreSQL. */

const ORDERS = '/v1/license-orders';
const both = {
  scopes: ['orders:read', 'orders:write'],
  enterprises: ['ent-harbour', 'ent-meridian'],
  channels: ['crm'],
  users: ['*'],
};
const CALLERS = [
  { name: 'north', ...both },
  { name: 'south', ...both },
  {
    name: 'crm',
    scopes: ['orders:read', 'orders:write', 'orders:settle'],
    enterprises: ['*'],
    channels: ['crm'],
  },
  {
    name: 'partner',
    scopes: ['orders:read', 'orders:write'],
    enterprises: ['*'],
    channels: ['partner'],
  },
  { name: 'clerk', scopes: ['orders:write'], channels: ['*'] },
];

let numbers = 0;
const newNumber = () => `SO-${++numbers}`;

const placeOf = (number: string) => `${ORDERS}/crm/${number}`;
const place = (gateway: TestGateway, order: object, options: object = {}) =>
  onceServed(() => gateway.post(ORDERS, order, options));
const settle = (gateway: TestGateway, number: string, body: object, options: object = {}) =>
  gateway.post(`${placeOf(number)}/settlement`, { reason: 'seen in the list of assets', ...body }, options);
const stateOf = async (gateway: TestGateway, number: string) =>
  (await gateway.get(placeOf(number))).body['state'];
const sends = async (sandbox: TestSandbox) => (await sandbox.journal('batchOrder')).length;
const commitsOf = async (sandbox: TestSandbox, number: string) =>
  (await sandbox.commits()).filter(({ channelOrderId }) => channelOrderId === number);
const isReplay = ({ headers }: TestAnswer) => headers.get('idempotent-replayed') === 'true';

/** An order that the platform carried out, with a lost response. */
async function inDoubt(
  sandbox: TestSandbox,
  gateway: TestGateway,
  number: string,
  over: object = {},
): Promise<void> {
  const action = { reset: 'before-headers' };
  await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action });
  expect((await place(gateway, orderOf(number, over))).status).toBe(502);
}

/** Makes the record look this much older, since a test cannot wait 15 minutes. `before` runs in the same statement. */
async function age(url: string, number: string, ms: number, before = 'SELECT 1'): Promise<void> {
  const older = `WITH before AS (${before})
    UPDATE writes SET submitted_at = submitted_at - $2 WHERE name = $1 RETURNING name`;
  expect(await askDatabase(url, older, `order/crm/${number}`, ms)).toHaveLength(1);
}

describe('an order', () => {
  const { sandbox, gateway } = useStack({ database: 'postgres', callers: CALLERS });

  it.each([
    ['sync', 201, 'succeeded'],
    ['async', 202, 'accepted'],
  ])('that is %s returns its record, which stays readable', async (syncMode, status, state) => {
    const number = newNumber();
    // A password is in no record: the run is searched for it afterwards, and the database too.
    const order = orderOf(number, { syncMode }, { passwords: [newSecret('l')] });
    const placed = await place(gateway, order);
    expect(placed.status).toBe(status);
    expect(placed.headers.get('location')).toBe(placeOf(number));
    expect(isReplay(placed)).toBe(false);
    const [commit] = await commitsOf(sandbox, number);
    expect(placed.body).toMatchObject({
      channelCode: 'crm',
      channelOrderId: number,
      syncMode,
      state,
      reason: null,
    });
    expect(placed.body['items']).toMatchObject([{ sequence: 1, licenseOrderId: commit?.licenseOrderIds[0] }]);
    expect(placed.body['settledAt'] === null).toBe(syncMode === 'async');
    const record = await gateway.get(placed.headers.get('location') as string);
    expect(record.status).toBe(200);
    expect(record.body).toEqual(placed.body);

    const repeated = await place(gateway, order);
    expect(isReplay(repeated)).toBe(true);
    expect([repeated.status, repeated.text]).toEqual([placed.status, placed.text]);
    expect(repeated.headers.get('location')).toBe(placeOf(number));
    expect(await sends(sandbox)).toBe(1);
  });

  it('has a record with the fields that README shows', async () => {
    const [, shown = ''] =
      /```json\n(\{\n {2}"channelCode".+?)```/s.exec(readFileSync('README.md', 'utf8')) ?? [];
    const { body } = await place(gateway, orderOf(newNumber()));
    expect(Object.keys(JSON.parse(shown) as object)).toEqual(Object.keys(body));
  });

  it('K33 with another body under the same number is refused', async () => {
    const number = newNumber();
    await place(gateway, orderOf(number));
    const other = await place(gateway, orderOf(number, {}, { limitConcurrent: 2 }));
    expect(other.status).toBe(422);
    expect(other.body).toMatchObject({ code: 'idempotency-key-reused', outcome: 'not_processed' });
    expect(other.headers.get('location')).toBe(placeOf(number));
    expect(await sends(sandbox)).toBe(1);
  });

  it('K34 is the same one under every Idempotency-Key, and a key belongs to one order', async () => {
    const [one, other] = [newNumber(), newNumber()];
    const key = `key-${randomBytes(12).toString('hex')}`;
    const keyed = (value: string) => ({ headers: { 'idempotency-key': value } });
    expect((await place(gateway, orderOf(one), keyed(key))).status).toBe(201);
    for (const again of [keyed(`"${key}"`), keyed(`${key}-2`), {}])
      expect(isReplay(await place(gateway, orderOf(one), again))).toBe(true);
    const taken = await place(gateway, orderOf(other), keyed(key));
    expect(taken.status).toBe(422);
    expect(taken.body).toMatchObject({ code: 'idempotency-key-reused' });
    expect(await stateOf(gateway, other)).toBeUndefined();
    const wrong = await place(gateway, orderOf(other), keyed('too short'));
    expect(wrong.status).toBe(400);
    expect(wrong.body['errors']).toMatchObject([{ parameter: 'Idempotency-Key' }]);
    expect(await sends(sandbox)).toBe(1);
  });

  it('K34 has the key of a repeat too, if it was placed without one', async () => {
    const [one, other] = [newNumber(), newNumber()];
    const keyed = { headers: { 'idempotency-key': `key-${randomBytes(12).toString('hex')}` } };
    expect((await place(gateway, orderOf(one))).status).toBe(201);
    for (const again of [keyed, keyed, {}])
      expect(isReplay(await place(gateway, orderOf(one), again))).toBe(true);
    const taken = await place(gateway, orderOf(other), keyed);
    expect([taken.status, taken.body['code']]).toEqual([422, 'idempotency-key-reused']);
    expect(await sends(sandbox)).toBe(1);
  });

  it('K34 that is in doubt has the key of a repeat too', async () => {
    const [one, other] = [newNumber(), newNumber()];
    const keyed = { headers: { 'idempotency-key': `key-${randomBytes(12).toString('hex')}` } };
    await inDoubt(sandbox, gateway, one);
    expect((await gateway.post(ORDERS, orderOf(one), keyed)).body['code']).toBe('outcome-unknown');
    const taken = await place(gateway, orderOf(other), keyed);
    expect([taken.status, taken.body['code']]).toEqual([422, 'idempotency-key-reused']);
    expect(await sends(sandbox)).toBe(1);
  });

  it.each(['cancelled', 'not_sent'])(
    'for two enterprises that is %s gives its number to another caller of both',
    async (state) => {
      const [own, other] = ['north', 'south'].map((name) => ({ key: gateway.keys[name] as string }));
      const items = ['harbour', 'meridian'].map((name) => ({
        ...orderOf('').items[0],
        customer: { customerId: `cus-${name}-default`, enterpriseGlobalId: `ent-${name}` },
      }));
      for (const more of [{}, { syncMode: 'async' }]) {
        const order = orderOf(newNumber(), { items });
        const number = order.channelOrderId;
        const notBefore = new Date(Date.now() + 86_400_000).toISOString();
        const first = state === 'cancelled' ? { ...order, notBefore } : order;
        const refusals = { operation: 'batchOrder', action: { code: '60000' } };
        const rules = state === 'cancelled' ? [] : await sandbox.fault(refusals);
        await place(gateway, first, own);
        await sandbox.heal(rules);
        if (state === 'cancelled') await gateway.request('DELETE', placeOf(number), own);
        expect((await gateway.get(placeOf(number), other)).body['state']).toBe(state);
        const again = { ...first, ...more };
        expect((await gateway.post(`${ORDERS}/dry-run`, again, other)).status).toBe(200);
        const { status, body } = await place(gateway, again, other);
        expect([status < 300, body['code']]).toEqual([true, undefined]);
        await gateway.request('DELETE', placeOf(number), other);
      }
    },
  );

  it('that is under way is not sent again, and cannot be settled', async () => {
    const number = newNumber();
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { delayMs: 3_000 } });
    const first = gateway.post(ORDERS, orderOf(number));
    await sandbox.untilSpoiled(1, first);
    expect(await stateOf(gateway, number)).toBe('sending');
    const again = await gateway.post(ORDERS, orderOf(number));
    expect(again.body).toMatchObject({ code: 'request-in-progress', outcome: 'unknown', retryable: true });
    const early = await settle(gateway, number, { as: 'succeeded' });
    expect(early.body).toMatchObject({
      code: 'order-not-settleable',
      outcome: 'not_processed',
      retryable: true,
    });
    for (const answer of [again, early]) {
      expect(answer.status).toBe(409);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(answer.headers.get('location')).toBe(placeOf(number));
    }
    expect((await first).status).toBe(201);
    expect(isReplay(await place(gateway, orderOf(number)))).toBe(true);
    expect(await commitsOf(sandbox, number)).toHaveLength(1);
  });

  it('that the platform refused is refused again without a call, and a corrected one may have the number', async () => {
    const number = newNumber();
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '13004', message: 'not so' } });
    const refused = await place(gateway, orderOf(number));
    const again = await place(gateway, orderOf(number));
    for (const answer of [refused, again]) {
      expect(answer.status).toBe(422);
      expect(answer.body).toMatchObject({
        code: 'upstream-rejected',
        detail: 'not so',
        outcome: 'not_processed',
      });
    }
    expect([isReplay(refused), isReplay(again)]).toEqual([false, true]);
    expect([await sends(sandbox), await stateOf(gateway, number)]).toEqual([1, 'rejected']);
    const corrected = await place(gateway, orderOf(number, {}, { limitConcurrent: 3 }));
    expect([corrected.status, isReplay(corrected)]).toEqual([201, false]);
    expect(await commitsOf(sandbox, number)).toHaveLength(1);
  });

  it('whose response was lost is in doubt until it is settled, and has the result of that', async () => {
    const number = newNumber();
    await inDoubt(sandbox, gateway, number);
    expect((await gateway.get(placeOf(number))).body).toMatchObject({ state: 'in_doubt', settledAt: null });

    const [commit] = await commitsOf(sandbox, number);
    const items = [{ sequence: 1, licenseOrderId: commit?.licenseOrderIds[0] }];
    const settled = await settle(gateway, number, { as: 'succeeded', items });
    expect(settled.status).toBe(200);
    expect(settled.body).toMatchObject({
      state: 'succeeded',
      items,
      reason: 'seen in the list of assets',
      settledAt: expect.any(String),
    });
    const repeated = await place(gateway, orderOf(number));
    expect([repeated.status, isReplay(repeated)]).toEqual([201, true]);
    expect(repeated.body).toEqual(settled.body);
    expect(await sends(sandbox)).toBe(1);
  });

  it('K73 whose settlement is repeated is not shown any more to a caller who has lost its enterprise', async () => {
    const number = newNumber();
    await inDoubt(sandbox, gateway, number);
    const options = {
      key: gateway.keys['crm'] as string,
      headers: { 'idempotency-key': `settles-${number}-${'k'.repeat(16)}` },
    };
    const settles = () => settle(gateway, number, { as: 'succeeded' }, options);
    const grant = async (enterprises: string[]) => {
      const reloaded = gateway.logged('callers-reloaded');
      const entry = gateway.callers.find(({ name }) => name === 'crm') as { enterprises: string[] };
      entry.enterprises = enterprises;
      gateway.writeCallers();
      await reloaded;
    };
    const first = await settles();
    expect(first.status).toBe(200);
    await grant(['ent-meridian']);
    const refused = await settles();
    expect([refused.status, refused.body['code'], refused.text.includes(number)]).toEqual([
      ...[403, 'forbidden', false],
    ]);
    await grant(['*']);
    expect(await settles()).toMatchObject({ status: 200, body: first.body });
  });

  it('K32 submitted 200 times at once is placed once', async () => {
    const number = newNumber();
    const allAtOnce = () =>
      Promise.all(Array.from({ length: 200 }, () => gateway.post(ORDERS, orderOf(number))));
    let answers = await allAtOnce();
    // The gateway may be too late for the order that it began on a busy machine: then it has sent nothing and says so.
    while (answers.every(({ status }) => [409, 503].includes(status))) answers = await allAtOnce();
    const first = answers.filter((answer) => answer.status === 201 && !isReplay(answer));
    expect(first).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === 201) expect(answer.body).toEqual(first[0]?.body);
      else if (answer.status === 503) expect(answer.body['outcome']).toBe('not_processed');
      else expect([answer.status, answer.headers.get('retry-after')]).toEqual([409, '1']);
    }
    expect([await sends(sandbox), (await commitsOf(sandbox, number)).length]).toEqual([1, 1]);
  });

  it('is found by its own number, with any characters, and by callers of its channel only', async () => {
    const number = `№/${newNumber()}?#%2e é`;
    const placed = await place(gateway, orderOf(number));
    expect(placed.status).toBe(201);
    const found = await gateway.get(placed.headers.get('location') as string);
    expect(found.body).toMatchObject({ channelOrderId: number, state: 'succeeded' });
    // One that was only validated is not recorded.
    expect((await gateway.post(`${ORDERS}/dry-run`, orderOf('SO-none'))).status).toBe(200);
    expect((await gateway.get(placeOf('SO-none'))).body).toMatchObject({ code: 'order-not-found' });
    expect((await settle(gateway, 'SO-none', { as: 'succeeded' })).status).toBe(404);
    const foreign = { key: gateway.keys['partner'] };
    expect((await gateway.get(placed.headers.get('location') as string, foreign)).status).toBe(403);
    expect((await settle(gateway, 'SO-none', { as: 'succeeded' }, foreign)).status).toBe(403);
    const long = '😀'.repeat(255);
    expect(
      (await gateway.get(`${ORDERS}/${encodeURIComponent(long)}/${encodeURIComponent(long)}`)).body,
    ).toMatchObject({
      code: 'order-not-found',
    });
    expect((await gateway.get(`${ORDERS}/crm/${'x'.repeat(256)}`)).status).toBe(400);
  });
});

describe('a settlement', () => {
  const stack = useStack({
    database: 'postgres',
    callers: CALLERS,
    environment: { CACHE_TTL_MS: '60000', UPSTREAM_ORDER_DEADLINE_MS: '3000' },
  });
  const { sandbox, gateway } = stack;

  it('as not placed waits until no process can still send the order, and frees its number', async () => {
    const number = newNumber();
    await inDoubt(sandbox, gateway, number);
    await age(stack.databaseUrl(), number, 5 * 60_000);
    const early = await settle(gateway, number, { as: 'not_placed' });
    expect(early.status).toBe(409);
    expect(early.body).toMatchObject({
      code: 'order-not-settleable',
      outcome: 'not_processed',
      retryable: true,
    });
    const seconds = Number(early.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(400);
    expect(seconds).toBeLessThanOrEqual(600);
    expect(await stateOf(gateway, number)).toBe('in_doubt');

    await age(stack.databaseUrl(), number, 10 * 60_000);
    const settled = await settle(gateway, number, { as: 'not_placed' });
    expect([settled.status, settled.body['state']]).toEqual([200, 'not_placed']);
    expect((await settle(gateway, number, { as: 'not_placed' })).status).toBe(200);
    const again = await place(gateway, orderOf(number));
    expect([again.status, isReplay(again)]).toEqual([201, false]);
  });

  it('as not placed leaves nothing in the next page of the assets of the order, although its lists are cached', async () => {
    const number = newNumber();
    const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
    const items = orderOf(number).items.map((item) => ({ ...item, customer }));
    await inDoubt(sandbox, gateway, number, { items });
    // The gateway would find the order before the test settles it.
    await age(stack.databaseUrl(), number, 15 * 60_000, 'DELETE FROM tasks WHERE name = $1');
    const total = async () => (await gateway.get(`${placeOf(number)}/assets`)).body['total'];
    expect([await total(), await total()]).toEqual([1, 1]);
    expect((await settle(gateway, number, { as: 'not_placed' })).status).toBe(200);
    expect(await total()).toBe(0);
  });

  it('as something else, or with items that do not fit is 400', async () => {
    const items = ['l', 'm'].map((licenseOrderId) => ({ sequence: 1, licenseOrderId }));
    const wrong: [object, string][] = [
      [{ as: 'rejected' }, '/as'],
      [{ as: 'not_placed', items: items.slice(1) }, '/items'],
      [{ as: 'succeeded', items }, '/items'],
    ];
    for (const [body, pointer] of wrong) {
      const { status, body: problem } = await settle(gateway, 'SO-any', body);
      expect([body, status, problem['errors']]).toMatchObject([body, 400, [{ pointer }]]);
    }
  });

  it("needs its scope, can be repeated under its Idempotency-Key, and lets the next read show the order's changes", async () => {
    const number = newNumber();
    await inDoubt(sandbox, gateway, number);
    const reads = async () => (await sandbox.journal('listAssets')).length;
    const assets = '/v1/enterprises/ent-harbour/assets';
    await gateway.get(assets);
    await gateway.get(assets);
    expect(await reads()).toBe(1);
    const unscoped = { key: gateway.keys['clerk'] };
    expect((await settle(gateway, number, { as: 'succeeded' }, unscoped)).status).toBe(403);
    const headers = { 'idempotency-key': `settle-${number}-${randomBytes(8).toString('hex')}` };
    const settled = await settle(gateway, number, { as: 'succeeded' }, { headers });
    const again = await settle(gateway, number, { as: 'succeeded' }, { headers });
    expect([settled.status, isReplay(settled)]).toEqual([200, false]);
    expect([again.status, again.text, isReplay(again)]).toEqual([200, settled.text, true]);
    await gateway.get(assets);
    expect(await reads()).toBe(2);
  });

  it('O7 as not placed stays when the order appears late, and an alarm tells the operator', async () => {
    const number = newNumber();
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { delayMs: 5_500 } });
    expect((await place(gateway, orderOf(number))).status).toBe(504);
    await age(stack.databaseUrl(), number, 15 * 60_000);
    const told = gateway.logged('order-conflict');
    const settled = await settle(gateway, number, { as: 'not_placed' });
    expect(settled.status).toBe(200);
    await told;
    const [commit] = await commitsOf(sandbox, number);
    expect((await gateway.log()).filter((line) => line.includes('order-conflict'))).toEqual([
      expect.stringContaining(commit?.licenseOrderIds[0] ?? 'none'),
    ]);
    expect((await gateway.get(placeOf(number))).body).toEqual(settled.body);
  });
});
