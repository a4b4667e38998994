import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Maintenance } from '../../src/maintenance/state/maintenance.ts';
import { type LedgerRecord, orderName } from '../../src/order-ledger/ledger-record.ts';
import { ObservedOrderLedger } from '../../src/order-ledger/observed-order-ledger.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import { ledgerBegin } from '../support/ledger-order.ts';
import { onceServed } from '../support/once-served.ts';
import { deletionOfAsset, orderOf } from '../support/order-body.ts';
import { until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** What happens to an order between two steps of the gateway. Each test delays one step until the other thing has happened. */

const ORDERS = '/v1/license-orders';
const DAY_MS = 24 * 3_600_000;
/** The time is longer than a slow machine needs to keep an order before its time. */
const SOON_MS = 1_500;
const sandbox = useSandbox();
let gateway: GatewayInProcess;
let ledger: ObservedOrderLedger;
beforeAll(async () => {
  gateway = await startInProcess(sandbox);
  ledger = gateway.app.get(ObservedOrderLedger);
});
beforeEach(() => sandbox.reset());
/** The steps of the ledger are its own again. */
afterEach(() => {
  for (const step of ['read', 'readDue', 'begin', 'holds'] as const) Reflect.deleteProperty(ledger, step);
});
afterAll(() => gateway.stop());

const at = (ms: number) => new Date(Date.now() + ms).toISOString();
const stateOf = async (of: string) => (await gateway.get(`${ORDERS}/crm/${of}`)).body['state'];
const becomes = (of: string, state: string) =>
  until(`${of} is ${state}`, async () => (await stateOf(of)) === state);
const sent = async () => (await sandbox.journal('batchOrder')).length;

it('A repeat that ends the lease of an order tells operators that the order is in doubt', async () => {
  const told = gateway.logged('order-in-doubt');
  const sender = ledgerBegin('RACE-LEASE', { leaseMs: 1 });
  await ledger.begin(sender);
  await wait(5);
  expect(await ledger.begin({ ...sender, owner: randomUUID() })).toMatchObject({
    kind: 'there',
    record: { state: 'in_doubt' },
  });
  await told;
  expect(gateway.logLines.filter((line) => line.includes('order-in-doubt'))).toEqual([
    expect.stringContaining(`"write":"${sender.name}"`),
  ]);
});

it('An order for a later day whose number is just becoming free is not kept without what it would take away', async () => {
  const of = 'RACE-FREED';
  const rules = await sandbox.fault({ operation: 'batchOrder', action: { delayMs: 500, code: '60000' } });
  const first = onceServed(() => gateway.post(ORDERS, orderOf(of)));
  await until('the first order is being sent', async () => (await sent()) > 0);
  const read = ledger.read.bind(ledger);
  ledger.read = async (...which) => {
    const record = await read(...which);
    if (record?.state === 'sending') await first;
    return record;
  };
  const later = orderOf(of, { items: [deletionOfAsset], notBefore: at(DAY_MS) });
  const refused = await gateway.post(ORDERS, later);
  expect([refused.status, refused.body['code'], refused.headers.get('retry-after')]).toEqual([
    ...[409, 'request-in-progress', '1'],
  ]);
  await sandbox.heal(rules);
  expect((await gateway.post(ORDERS, later)).status).toBe(202);
  const kept = await ledger.read(orderName('crm', of));
  expect(kept?.details.order?.scheduled?.effects).toEqual([
    expect.objectContaining({ kind: 'asset-removed' }),
    expect.objectContaining({ kind: 'product-removed' }),
  ]);
  await gateway.request('DELETE', `${ORDERS}/crm/${of}`);
});

it('A due order that another replica is trying goes on waiting where that replica could not send it', async () => {
  const of = 'RACE-TRIED';
  const name = orderName('crm', of);
  const owner = randomUUID();
  const tried = Promise.withResolvers<void>();
  let given: LedgerRecord | undefined;
  const readDue = ledger.readDue.bind(ledger);
  ledger.readDue = async (which) => {
    const record = await readDue(which);
    if (which !== name || record?.state !== 'scheduled' || record.leftMs > 0 || given) return record;
    given = record;
    // The other replica begins it.
    const { submittedAt: scheduledAt, details } = record;
    const begin = { name, owner, fingerprints: ['k1:any'], leaseMs: 60_000, details, scheduledAt };
    expect(await ledger.begin(begin)).toMatchObject({ kind: 'begun' });
    return record;
  };
  const begin = ledger.begin.bind(ledger);
  ledger.begin = async (write) => {
    const begun = await begin(write);
    if (begun.kind !== 'there' || !given) return begun;
    // This owner cannot send the order, and schedules it again.
    await ledger.move({ name, by: 'owner', owner, to: 'scheduled', details: given.details });
    tried.resolve();
    return begun;
  };
  expect((await gateway.post(ORDERS, orderOf(of, { notBefore: at(SOON_MS) }))).status).toBe(202);
  await tried.promise;
  await until('it has ended', async () => !['scheduled', 'sending'].includes(String(await stateOf(of))));
  expect([await stateOf(of), await sent()]).toEqual(['succeeded', 1]);
});

it("A process that is ahead of the database's clock sends no order early", async () => {
  const of = 'RACE-EARLY';
  const notBefore = at(2_000);
  gateway.app.get(Maintenance).learn(undefined, Date.now() + 60_000);
  const { status } = await onceServed(() => gateway.post(ORDERS, orderOf(of, { notBefore })));
  expect([201, 202]).toContain(status);
  await becomes(of, 'succeeded');
  const [entry] = await sandbox.journal('batchOrder');
  expect(Date.parse(String(entry?.at))).toBeGreaterThanOrEqual(Date.parse(notBefore));
});

it('P8 The lease is checked again where the process was paused while the database said that it lasts', async () => {
  const begin = ledger.begin.bind(ledger);
  ledger.begin = async (write) => {
    const begun = await begin(write);
    // The begin is too long ago to send without another check.
    await wait(60);
    return begun;
  };
  const holds = ledger.holds.bind(ledger);
  let checks = 0;
  ledger.holds = async (...which) => {
    const isHeld = await holds(...which);
    checks++;
    const end = performance.now() + (checks === 1 ? 1_500 : 0);
    while (performance.now() < end);
    return isHeld;
  };
  const { status } = await onceServed(() => gateway.post(ORDERS, orderOf('RACE-PAUSED')));
  expect(status).toBe(201);
  expect(checks).toBeGreaterThan(1);
  expect(await sandbox.commits()).toHaveLength(1);
});
