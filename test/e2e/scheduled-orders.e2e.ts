import { describe, expect, it } from '@jest/globals';
import { deletionOfAsset, orderOf } from '../support/order-body.ts';
import { onceServed } from '../support/once-served.ts';
import { askDatabase } from '../support/postgres.ts';
import { until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';
import { tell } from '../support/told.ts';

/** Orders for a later day: kept, looked at again, and sent at their time, at most once. */

const ORDERS = '/v1/license-orders';
const DAY_MS = 24 * 3_600_000;
/** The time is longer than a slow machine needs to do what a test does before the time of its order. */
const SOON_MS = 1_500;
const all = { enterprises: ['*'], channels: ['*'], users: ['*'] };
const bound = { enterprises: ['ent-harbour'], channels: ['crm'], users: ['default'] };
const stack = useStack({
  database: 'postgres',
  callers: [
    { name: 'buyer', scopes: ['orders:read', 'orders:write'], ...all },
    { name: 'leaver', scopes: ['orders:read', 'orders:write'], ...all },
    { name: 'mover', scopes: ['orders:read', 'orders:write', 'orders:revoke'], ...bound },
    { name: 'saver', scopes: ['orders:read', 'orders:write'], ...all, budgets: { orders: 1, licences: 5 } },
  ],
});
const { sandbox, gateway } = stack;

let last = 0;
const number = () => `LATER-${++last}`;
const at = (ms: number) => new Date(Date.now() + ms).toISOString();
/** When the budgets of the month after that time begin. */
const monthAfter = (time: string) => {
  const date = new Date(time);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)).toISOString();
};
const soon = (of: string, over: object = {}) => ({ ...orderOf(of, over), notBefore: at(SOON_MS) });
const read = async (of: string) => (await gateway.get(`${ORDERS}/crm/${of}`)).body;
const stateOf = async (of: string) => (await read(of))['state'];
const becomes = (of: string, state: string) =>
  until(`${of} is ${state}`, async () => {
    const now = await stateOf(of);
    tell(`${of} is ${String(now)}`);
    return now === state;
  });
const cancel = (of: string, key = gateway.key) => gateway.request('DELETE', `${ORDERS}/crm/${of}`, { key });
const sent = async (of: string) => {
  const journal = await sandbox.journal('batchOrder');
  return journal.filter(({ body }) => (body as { channelOrderId: string }).channelOrderId === of).length;
};
const typesOf = async (of: string) => {
  const { body } = await gateway.get('/v1/events?limit=1000');
  const items = body['items'] as { subject: string; type: string }[];
  return items.filter(({ subject }) => subject === `crm/${of}`).map(({ type }) => type);
};
/** Whether the gateway looks at the order again only in some hours. */
const waits = async (of: string) => {
  const later = "SELECT FROM tasks WHERE name = $1 AND attempt = '' AND due_at > $2";
  const tasks = await askDatabase(stack.databaseUrl(), later, `order/crm/${of}`, Date.now() + DAY_MS / 2);
  return tasks.length > 0;
};
/** Why a due order waits, as the console says it; null while its time has not come, or nothing hindered it yet. */
const waitsFor = async (of: string) => {
  const response = await fetch(`${gateway.managementUrl}/console/scheduled`);
  const coming = (await response.json()) as { items: { channelOrderId: string; waits: string | null }[] };
  const why = coming.items.find(({ channelOrderId }) => channelOrderId === of)?.waits ?? null;
  return why?.startsWith('It is on its way') ? null : why;
};
/** Orders are stopped meanwhile, however long it takes. */
async function held(work: () => Promise<unknown>): Promise<void> {
  const body = { stops: 'orders', until: at(DAY_MS), reason: 'a test' };
  expect((await gateway.request('PUT', '/v1/maintenance', { body })).status).toBe(200);
  await work();
  expect((await gateway.request('DELETE', '/v1/maintenance')).status).toBe(204);
}

describe('an order for a later time', () => {
  it('is kept, shown, and sent once when it is due; a repeat gets the record', async () => {
    const of = number();
    const body = soon(of);
    const first = await gateway.post(ORDERS, body);
    expect([first.status, first.body['state'], first.body['notBefore']]).toEqual([
      202,
      'scheduled',
      body.notBefore,
    ]);
    expect(first.headers.get('location')).toBe(`${ORDERS}/crm/${of}`);
    await held(async () => {
      // The same time in another form is the same order.
      const again = await gateway.post(ORDERS, { ...body, notBefore: body.notBefore.replace('Z', '+00:00') });
      expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([
        202,
        first.body,
        'true',
      ]);
      for (const other of [
        ...[{ notBefore: at(60_000) }, { notBefore: undefined }, { syncMode: 'async' }],
        { ifEffectsChanged: 'send' },
      ])
        expect((await gateway.post(ORDERS, { ...body, ...other })).body['code']).toBe(
          'idempotency-key-reused',
        );
      expect(await sent(of)).toBe(0);
    });
    await becomes(of, 'succeeded');
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(body.notBefore));
    expect(await sent(of)).toBe(1);
    // An order that does not say what becomes of changed effects is the one that says `reject`.
    for (const repeat of [body, { ...body, ifEffectsChanged: 'reject' }]) {
      const late = await gateway.post(ORDERS, repeat);
      expect([late.status, late.body['state'], late.body['notBefore']]).toEqual([
        201,
        'succeeded',
        body.notBefore,
      ]);
    }
    expect(await typesOf(of)).toEqual(['license-order.scheduled', 'license-order.succeeded']);
  });

  it('does not wait behind the many orders of another caller that are due before it', async () => {
    const [time, later] = [at(2 * SOON_MS), at(2 * SOON_MS + 1)];
    const many = Array.from({ length: 40 }, number);
    const one = number();
    const place = async (of: string, notBefore: string, key?: string) =>
      expect((await gateway.post(ORDERS, { ...orderOf(of), notBefore }, { key })).status).toBe(202);
    await Promise.all(many.map((of) => place(of, time, gateway.keys['buyer'])));
    await place(one, later, gateway.keys['leaver']);
    await sandbox.fault({ operation: 'batchOrder', action: { delayMs: 100 } });
    await becomes(one, 'succeeded');
    const journal = await sandbox.journal('batchOrder');
    const of = journal.map(({ body }) => (body as { channelOrderId: string }).channelOrderId);
    expect(of.indexOf(one)).toBeLessThan(many.length / 2);
    await Promise.all(many.map((each) => becomes(each, 'succeeded')));
  });

  it('that may have been sent before the database was restored counts as sent at its time: it is searched for often, and not settled as not placed too early', async () => {
    const of = number();
    const change = (statement: string) => askDatabase(stack.databaseUrl(), statement);
    const body = soon(of);
    await gateway.post(ORDERS, body);
    await held(async () => {
      // The order was accepted a long time ago.
      await change(
        `UPDATE writes SET submitted_at = submitted_at - ${100 * DAY_MS} WHERE name = 'order/crm/${of}'`,
      );
      await change(`UPDATE identities SET confirmed_at = ${Date.now() + DAY_MS}`);
    });
    await becomes(of, 'in_doubt');
    await change('UPDATE identities SET confirmed_at = 0');
    const settlement = { as: 'not_placed', reason: 'a test' };
    const early = await gateway.post(`${ORDERS}/crm/${of}/settlement`, settlement);
    expect([early.status, early.body['retryable']]).toEqual([409, true]);
    const next = async () => {
      const [task] = await change(
        `SELECT due_at AS due FROM tasks WHERE kind = 'reconciliation' AND name = 'order/crm/${of}'`,
      );
      return Number(task?.['due']);
    };
    const sentAt = Date.parse(body.notBefore);
    await until('the first search is over', async () => (await next()) > sentAt);
    expect(await next()).toBeLessThan(sentAt + DAY_MS);
  });

  it('may be async too: it is accepted at its time', async () => {
    const of = number();
    const body = soon(of, { syncMode: 'async' });
    expect((await gateway.post(ORDERS, body)).body['state']).toBe('scheduled');
    await until('it is accepted', async () => (await typesOf(of)).includes('license-order.accepted'));
    expect(await sent(of)).toBe(1);
  });

  it('is cancelled while it waits, twice as well, and its number is free', async () => {
    const of = number();
    await gateway.post(ORDERS, { ...orderOf(of), notBefore: at(DAY_MS) });
    expect([(await cancel(of)).status, (await cancel(of)).status, await stateOf(of)]).toEqual([
      204,
      204,
      'cancelled',
    ]);
    expect(await typesOf(of)).toEqual(['license-order.scheduled', 'license-order.cancelled']);
    expect((await gateway.post(ORDERS, orderOf(of))).status).toBe(201);
    const refused = await cancel(of);
    expect([refused.status, refused.body['code'], refused.headers.get('location')]).toEqual([
      ...[409, 'order-not-cancellable', `${ORDERS}/crm/${of}`],
    ]);
    expect((await cancel('LATER-NONE')).body['code']).toBe('order-not-found');
  });

  it('is not settled while it waits, and a caller is told to cancel it, not to ask again in a second', async () => {
    const of = number();
    await gateway.post(ORDERS, { ...orderOf(of), notBefore: at(DAY_MS) });
    const settlement = { as: 'not_placed', reason: 'a test' };
    const { status, body, headers } = await gateway.post(`${ORDERS}/crm/${of}/settlement`, settlement);
    expect([status, body['code'], body['retryable'], headers.get('retry-after')]).toEqual([
      ...[409, 'order-not-settleable', false, null],
    ]);
    expect(body['detail']).toContain('cancel');
    await cancel(of);
  });

  it('is not cancelled while it is being sent', async () => {
    const of = number();
    await sandbox.fault({ operation: 'batchOrder', times: 1, phase: 'before', action: { delayMs: 3_000 } });
    await gateway.post(ORDERS, soon(of));
    await becomes(of, 'sending');
    const refused = await cancel(of);
    expect([refused.status, refused.headers.get('location')]).toEqual([409, `${ORDERS}/crm/${of}`]);
    // The order may wait again if nothing is sent.
    expect([refused.body['retryable'], refused.headers.get('retry-after')]).toEqual([true, '1']);
    expect(refused.body['detail']).toContain('waits again');
    await becomes(of, 'succeeded');
    const late = await cancel(of);
    expect([late.status, late.body['retryable'], late.headers.get('retry-after')]).toEqual([
      409,
      false,
      null,
    ]);
  });

  it('with a deletion is cancelled by who may delete, and by nobody who may not see it', async () => {
    const of = number();
    await gateway.post(ORDERS, { ...orderOf(of, { items: [deletionOfAsset] }), notBefore: at(DAY_MS) });
    expect((await cancel(of, gateway.keys['buyer'])).body['code']).toBe('forbidden');
    expect(await stateOf(of)).toBe('scheduled');
    expect((await cancel(of, gateway.keys['mover'])).status).toBe(204);
    const foreign = number();
    await gateway.post(ORDERS, { ...orderOf(foreign), notBefore: at(DAY_MS) });
    expect((await cancel(foreign, gateway.keys['mover'])).body['code']).toBe('order-not-found');
    await cancel(foreign);
  });

  describe('of a number that is cancelled and used again while the gateway looks up what the first order names:', () => {
    const mover = () => ({ key: String(gateway.keys['mover']) });
    /** Resolves once the gateway looks up what a due order deletes, which takes a second. */
    const lookedUp = async (of: string) => {
      expect((await gateway.post(ORDERS, soon(of, { items: [deletionOfAsset] }), mover())).status).toBe(202);
      await sandbox.fault({ operation: 'listAssets', times: 1, phase: 'before', action: { delayMs: 1_000 } });
      return () => sandbox.untilSpoiled(1);
    };

    it('the next order is not rejected for the first', async () => {
      const of = number();
      const inLookup = await lookedUp(of);
      expect((await gateway.post(ORDERS, orderOf(number(), { items: [deletionOfAsset] }))).status).toBe(201);
      await inLookup();
      expect((await cancel(of)).status).toBe(204);
      expect((await gateway.post(ORDERS, orderOf(of, { notBefore: at(DAY_MS) }))).status).toBe(202);
      await until(
        'the gateway waits for the next order',
        async () => (await waits(of)) || (await stateOf(of)) === 'rejected',
      );
      expect([await stateOf(of), (await read(of))['reason'], await sent(of)]).toEqual(['scheduled', null, 0]);
      await cancel(of);
    });

    it('the first order, which was cancelled, is not sent in place of the next', async () => {
      const of = number();
      const inLookup = await lookedUp(of);
      await inLookup();
      expect((await cancel(of)).status).toBe(204);
      expect((await gateway.post(ORDERS, orderOf(of, { notBefore: at(300) }))).status).toBe(202);
      await becomes(of, 'succeeded');
      const bodies = (await sandbox.journal('batchOrder')).map(({ body }) => body);
      expect(bodies).toEqual([
        expect.objectContaining({ orderList: [expect.objectContaining({ orderType: 'new_buy' })] }),
      ]);
    });
  });

  it('is not looked up before its time where an earlier order of its number had a nearer time', async () => {
    const of = number();
    const first = soon(of);
    await gateway.post(ORDERS, first);
    await cancel(of);
    const order = { ...orderOf(of, { items: [deletionOfAsset] }), notBefore: at(DAY_MS) };
    expect((await gateway.post(ORDERS, order)).status).toBe(202);
    const before = (await sandbox.journal('listAssets')).length;
    await until('the time of the first order has passed', () => waits(of));
    expect([await stateOf(of), (await sandbox.journal('listAssets')).length]).toEqual(['scheduled', before]);
    await cancel(of);
  });

  it('is listed by its time where asked, and refused for a time that it cannot have', async () => {
    const [late, early] = [number(), number()];
    await gateway.post(ORDERS, { ...orderOf(late), notBefore: at(3 * DAY_MS) });
    await gateway.post(ORDERS, { ...orderOf(early), notBefore: at(2 * DAY_MS) });
    const list = async (query: string) => {
      const { body } = await gateway.get(`${ORDERS}?${query}`);
      return (body['items'] as { channelOrderId: string }[]).map(({ channelOrderId }) => channelOrderId);
    };
    expect(await list('state=scheduled&sort=notBefore')).toEqual([early, late]);
    expect(await list('state=scheduled&sort=notBefore&page=2&pageSize=1')).toEqual([late]);
    expect(await list('state=scheduled&sort=-submittedAt')).toEqual([early, late]);
    for (const query of ['', `&channelCode=crm&channelOrderId=${late}`])
      expect((await gateway.get(`${ORDERS}?sort=notBefore${query}`)).body['errors']).toEqual([
        { parameter: 'sort', detail: expect.stringContaining('state=scheduled') },
      ]);
    for (const [notBefore, detail] of [
      [at(-DAY_MS), 'past'],
      [at(401 * DAY_MS), '400 days'],
      ['2027-03-01T00:00:00', 'RFC 3339'],
      ['2027-03-01', 'RFC 3339'],
      [null, 'null'],
    ] as const) {
      const order = { ...orderOf(number()), notBefore };
      for (const path of [ORDERS, `${ORDERS}/dry-run`])
        expect((await gateway.post(path, order)).body['errors']).toEqual([
          { pointer: '/notBefore', detail: expect.stringContaining(detail === 'null' ? '' : detail) },
        ]);
    }
    const now = { ...orderOf(number()), notBefore: at(0) };
    expect((await gateway.post(ORDERS, now)).status).toBe(201);
    for (const each of [late, early]) await cancel(each);
  });

  it('waits for a platform that refuses the credentials or is busy, and is sent once it goes on', async () => {
    const of = number();
    const rules = await sandbox.fault({ operation: 'batchOrder', action: { code: '60000' } });
    const body = soon(of);
    await gateway.post(ORDERS, body);
    await until('it was tried', async () => (await sent(of)) > 0);
    await becomes(of, 'scheduled');
    await until('the console says why', async () => (await waitsFor(of)) !== null);
    expect(await waitsFor(of)).toContain("refused the gateway's own credentials");
    // Nothing is placed anew by a repeat.
    expect((await gateway.post(ORDERS, body)).body['state']).toBe('scheduled');
    await sandbox.heal(rules);
    await becomes(of, 'succeeded');
    expect(await sandbox.commits()).toHaveLength(1);
    // An attempt that sent nothing is no news.
    expect(await typesOf(of)).toEqual(['license-order.scheduled', 'license-order.succeeded']);
  });

  it('is rejected with the reason where the platform refuses it; a repeat gets that again', async () => {
    const of = number();
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '13004' } });
    const body = soon(of);
    await gateway.post(ORDERS, body);
    await becomes(of, 'rejected');
    const again = await gateway.post(ORDERS, body);
    expect([again.status, again.body['code']]).toEqual([422, 'upstream-rejected']);
    expect((await read(of))['reason']).toContain(String(again.body['detail']));
    expect(await sent(of)).toBe(1);
  });

  it('waits for the end of a maintenance', async () => {
    const of = number();
    await gateway.post(ORDERS, soon(of));
    const metric = async () =>
      /^gateway_orders_overdue_seconds (\S+)$/m.exec(await gateway.metrics())?.[1] ?? '0';
    await held(async () => {
      expect((await gateway.post(ORDERS, soon(number()))).body['code']).toBe('maintenance');
      await until('it is late', async () => Number(await metric()) > 0);
      expect([await stateOf(of), await sent(of)]).toEqual(['scheduled', 0]);
      expect((await cancel(number())).body['code']).toBe('order-not-found');
    });
    await becomes(of, 'succeeded');
    expect(await sent(of)).toBe(1);
    await until('none is late', async () => Number(await metric()) === 0);
  });
});

describe('at the time of an order its caller is looked at again:', () => {
  /** Resolves once that caller's list of orders gets this status. */
  const reread = (name: string, status: number) => {
    gateway.writeCallers();
    const key = String(gateway.keys[name]);
    return until(
      'the file is read again',
      async () => (await gateway.get(ORDERS, { key })).status === status,
    );
  };

  it('one that was removed places nothing; a key that was replaced does not matter', async () => {
    const [gone, kept] = [number(), number()];
    await gateway.post(ORDERS, soon(gone), { key: String(gateway.keys['leaver']) });
    await gateway.post(ORDERS, soon(kept), { key: String(gateway.keys['buyer']) });
    await held(async () => {
      gateway.callers = gateway.callers
        .filter(({ name }) => name !== 'leaver')
        .map((entry) => (entry.name === 'buyer' ? { ...entry, keys: ['0'.repeat(64)] } : entry));
      await reread('leaver', 401);
    });
    await becomes(gone, 'rejected');
    await becomes(kept, 'succeeded');
    expect([await sent(gone), await sent(kept)]).toEqual([0, 1]);
    expect((await read(gone))['reason']).toContain('caller');
  });

  it('one that lost a scope or an enterprise places nothing', async () => {
    const [scope, grant] = [number(), number()];
    const mover = { key: String(gateway.keys['mover']) };
    const buys = { items: [{ ...(orderOf('x').items[0] as object), customer: deletionOfAsset.customer }] };
    expect((await gateway.post(ORDERS, soon(scope, { items: [deletionOfAsset] }), mover)).status).toBe(202);
    const order = soon(grant, buys);
    expect((await gateway.post(ORDERS, order, mover)).status).toBe(202);
    await held(async () => {
      const rights = { scopes: ['orders:write'], enterprises: ['ent-meridian'] };
      gateway.callers = gateway.callers.map((entry) =>
        entry.name === 'mover' ? { ...entry, ...rights } : entry,
      );
      await reread('mover', 403);
    });
    await becomes(scope, 'rejected');
    await becomes(grant, 'rejected');
    expect((await read(grant))['reason']).toBe(
      'This enterprise is not granted to the caller. (/items/0/customer/enterpriseGlobalId is not granted to the caller)',
    );
    expect([await sent(scope), await sent(grant)]).toEqual([0, 0]);
    // The refusal belongs to another caller, so the number is free.
    const again = () => onceServed(() => gateway.post(ORDERS, order));
    expect((await gateway.post(`${ORDERS}/dry-run`, order)).status).toBe(200);
    for (const isRepeat of ['false', 'true']) {
      const { status, headers } = await again();
      expect([status, headers.get('idempotent-replayed') ?? 'false']).toEqual([201, isRepeat]);
    }
    expect(await sent(grant)).toBe(1);
  });

  it('the budgets are those of that month: taken then, and an order beyond them is rejected', async () => {
    const saver = { key: String(gateway.keys['saver']) };
    const [one, other, next] = [number(), number(), number()];
    const orders = [one, other].map((of) => soon(of));
    const used = async () =>
      ((await gateway.get('/v1/callers/me', saver)).body['budgets'] as { orders: { used: number } }).orders
        .used;
    // Both fit when they are accepted.
    for (const each of orders) expect((await gateway.post(ORDERS, each, saver)).status).toBe(202);
    expect(await used()).toBe(0);
    await until('both have ended', async () => {
      const states = [await stateOf(one), await stateOf(other)].toSorted();
      return states[0] === 'rejected' && states[1] === 'succeeded';
    });
    expect([await used(), (await sent(one)) + (await sent(other))]).toEqual([1, 1]);
    const refusal = async (order: object) => {
      const { status, body } = await gateway.post(ORDERS, order, saver);
      return [status, body['code'], body['resetsAt']];
    };
    const exhausted = (notBefore: string) => [403, 'budget-exhausted', monthAfter(notBefore)];
    expect(await refusal(soon(next))).toEqual(exhausted(at(0)));
    // The one that was rejected at its time is counted anew.
    for (const each of orders)
      if ((await stateOf(each.channelOrderId)) === 'rejected')
        expect(await refusal(each)).toEqual(exhausted(at(0)));
    // Nobody knows what is left of a later month; what never fits is refused at once.
    const far = { notBefore: at(40 * DAY_MS) };
    expect(await refusal(orderOf(next, far, { limitConcurrent: 6 }))).toEqual(exhausted(far.notBefore));
    expect((await gateway.post(ORDERS, orderOf(next, far), saver)).status).toBe(202);
    await cancel(next);
  });
});

describe('a deletion is looked at again before it is sent:', () => {
  const endOf = async (of: string) => {
    await until('it has ended', async () => !['scheduled', 'sending'].includes(String(await stateOf(of))));
    const { state, reason } = await read(of);
    return [state, reason];
  };
  const ofProduct = (productUri: string, more: object) => ({
    ...{ orderType: 'delete_product', licenseType: 'softkey', customer: deletionOfAsset.customer, ...more },
    assets: [{ assetNums: ['8000001001'], products: [{ productUri }] }],
  });

  it('sent where it takes away what it would have', async () => {
    const of = number();
    expect((await gateway.post(ORDERS, soon(of, { items: [deletionOfAsset] }))).status).toBe(202);
    await becomes(of, 'succeeded');
    expect(await sent(of)).toBe(1);
  });

  it('sent also where the platform answers once with something that cannot be read', async () => {
    const of = number();
    expect((await gateway.post(ORDERS, soon(of, { items: [deletionOfAsset] }))).status).toBe(202);
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { raw: { text: '{"code":0}' } } });
    expect([...(await endOf(of)), await sandbox.spoiled()]).toEqual(['succeeded', null, 1]);
  });

  it('sent also where what it takes away could not be read when it was accepted', async () => {
    const of = number();
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { raw: { text: '{"code":0}' } } });
    expect((await gateway.post(ORDERS, soon(of, { items: [deletionOfAsset] }))).status).toBe(202);
    expect(await sandbox.spoiled()).toBe(1);
    await becomes(of, 'succeeded');
    expect(await sent(of)).toBe(1);
  });

  it('and waits while the platform does not show any more what is on the asset', async () => {
    const of = number();
    expect((await gateway.post(ORDERS, soon(of, { items: [deletionOfAsset] }))).status).toBe(202);
    const action = { code: 0, codeAs: 'integer', status: 200, data: null };
    const rules = await sandbox.fault({ operation: 'listAssetProducts', action });
    await sandbox.untilSpoiled(2);
    expect(await sent(of)).toBe(0);
    await sandbox.heal(rules);
    await becomes(of, 'succeeded');
    expect([await sent(of), (await read(of))['reason']]).toEqual([1, null]);
  });

  it('and waits while the platform refuses to show it, and the console says why', async () => {
    const of = number();
    expect((await gateway.post(ORDERS, soon(of, { items: [deletionOfAsset] }))).status).toBe(202);
    const rules = await sandbox.fault({ operation: 'listAssetProducts', action: { code: '60017' } });
    await until(
      'it waits, or has ended',
      async () => (await waitsFor(of)) !== null || (await stateOf(of)) !== 'scheduled',
    );
    expect([await stateOf(of), await waitsFor(of)]).toEqual([
      'scheduled',
      expect.stringContaining('is not bound to an authorization customer'),
    ]);
    await sandbox.heal(rules);
    await becomes(of, 'succeeded');
    expect([await sent(of), (await read(of))['reason']]).toEqual([1, null]);
  });

  it('what it takes away is read once for each enterprise and asset, and a repeat goes on where the platform failed', async () => {
    const { customer } = deletionOfAsset;
    const items = [
      ['normal_recover_usbkey', ['8000001003', '8000001006']],
      ['normal_unrecover_usbkey', ['8000001004']],
    ].map(([licenseType, assetNums]) => ({
      ...{ orderType: 'delete_asset', licenseType, allOrders: true, customer, assets: [{ assetNums }] },
    }));
    const later = orderOf(number(), { items, notBefore: at(DAY_MS) });
    const fault = { operation: 'listAssetProducts', match: { path: 'ast-1004' } };
    const rules = await sandbox.fault({ ...fault, action: { code: '500' } });
    expect((await gateway.post(ORDERS, later)).body['code']).toBe('upstream-unavailable');
    await sandbox.heal(rules);
    expect((await gateway.post(ORDERS, later)).status).toBe(202);
    const readsOf = async (operation: string, path: string) =>
      (await sandbox.journal(operation)).filter((each) => each.path.includes(path)).length;
    expect([
      await readsOf('listAssets', 'ent-harbour'),
      await readsOf('listAssetProducts', 'ast-1003'),
      await readsOf('listAssetProducts', 'ast-1006'),
    ]).toEqual([1, 1, 1]);
    await cancel(later.channelOrderId);
  });

  it('nothing is read where the order is sent whatever is gone', async () => {
    const of = number();
    const body = { ...soon(of, { items: [deletionOfAsset] }), ifEffectsChanged: 'send' };
    expect((await gateway.post(ORDERS, body)).status).toBe(202);
    await becomes(of, 'succeeded');
    expect(await sandbox.journal('listAssets')).toEqual([]);
  });

  it.each<[string, object[], object, RegExp]>([
    [
      'takes another instance of the product too',
      [ofProduct('draft.view', { allOrders: true })],
      { assetId: 'ast-1001', productUri: 'draft.view', limitConcurrent: 50 },
      /draft\.view.* and would take away .*draft\.view.*50 nodes.* now$/,
    ],
    ['takes more nodes', [deletionOfAsset], { limitConcurrent: 77 }, /3 nodes.* and would .*77 nodes.* now$/],
    [
      'takes what ends later',
      [deletionOfAsset],
      { limitEndTime: '2099-06-30T00:00:00.000Z' },
      / and would take away .*2099-06-30.* now$/,
    ],
  ])('rejected where it now %s', async (_, items, change, reason) => {
    const of = number();
    const row = '/state/products/prd-1009-1';
    await sandbox.control('PATCH', row, { limitEndTime: '2098-12-31T00:00:00.000Z' });
    expect((await gateway.post(ORDERS, soon(of, { items }))).status).toBe(202);
    await sandbox.control('PATCH', row, change);
    expect(await endOf(of)).toEqual(['rejected', expect.stringMatching(reason)]);
    expect(await sent(of)).toBe(0);
  });

  it('sent also where a node of it is lent by now', async () => {
    const of = number();
    expect((await gateway.post(ORDERS, soon(of, { items: [deletionOfAsset] }))).status).toBe(202);
    await sandbox.control('PATCH', '/state/assets/ast-1009', { lentInto: 'ast-1006' });
    expect(await endOf(of)).toEqual(['succeeded', null]);
  });

  it('sent also where the only node of one of its instances is lent by now', async () => {
    const of = number();
    const bought = { assetId: 'ast-1009', licenseOrderId: 'lic-1009', limitConcurrent: 1 };
    for (const row of ['prd-1009-1', 'prd-1010-1'])
      await sandbox.control('PATCH', `/state/products/${row}`, bought);
    expect((await gateway.post(ORDERS, soon(of, { items: [deletionOfAsset] }))).status).toBe(202);
    await sandbox.control('PATCH', '/state/assets/ast-1009', { lentInto: 'ast-1006' });
    expect(await endOf(of)).toEqual(['succeeded', null]);
  });

  it('rejected where two items together would now take the last products of an asset', async () => {
    const of = number();
    const third = (assetId: string) =>
      sandbox.control('PATCH', '/state/products/prd-1009-1', { assetId, productUri: 'draft.other' });
    await third('ast-1001');
    const source = { srcLicenseOrderId: 'lic-5001' };
    const items = [ofProduct('draft.pro', source), ofProduct('draft.view', source)];
    expect((await gateway.post(ORDERS, soon(of, { items }))).status).toBe(202);
    await third('ast-1009');
    const reason = / and would take away .*asset-removed 8000001001.* now$/;
    expect(await endOf(of)).toEqual(['rejected', expect.stringMatching(reason)]);
    expect(await sent(of)).toBe(0);
  });

  it('where its effects have changed, it is rejected with both lists, or sent all the same if the order says so', async () => {
    const [of, anyway] = [number(), number()];
    const notBefore = at(2 * SOON_MS);
    const later = { items: [deletionOfAsset], notBefore };
    expect((await gateway.post(ORDERS, orderOf(of, later))).status).toBe(202);
    expect((await gateway.post(ORDERS, orderOf(anyway, { ...later, ifEffectsChanged: 'send' }))).status).toBe(
      202,
    );
    expect((await gateway.post(ORDERS, orderOf(number(), { items: [deletionOfAsset] }))).status).toBe(201);
    await becomes(of, 'rejected');
    const { reason } = await read(of);
    expect(reason).toMatch(/^effects-changed: .*asset-removed 8000001009.* now$/);
    expect(await sent(of)).toBe(0);
    expect(await typesOf(of)).toEqual(['license-order.scheduled', 'license-order.rejected']);
    await until('the other one was sent', async () => (await sent(anyway)) === 1);
    const again = await gateway.post(ORDERS, orderOf(of, later));
    expect([again.status, again.body['code'], again.body['detail']]).toEqual([
      409,
      'effects-changed',
      reason,
    ]);
    const { body } = await gateway.post(ORDERS, orderOf(number(), { ifEffectsChanged: 'always' }));
    expect(body['errors']).toEqual([
      { pointer: '/ifEffectsChanged', detail: expect.stringContaining('send') },
    ]);
  });
});
