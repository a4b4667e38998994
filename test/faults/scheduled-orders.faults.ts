import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SteppedClock } from '../support/clock-shim.ts';
import { databaseInit } from '../support/database.ts';
import { Fleet } from '../support/fleet.ts';
import type { GatewayProcess } from '../support/gateway-process.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import { askDatabase, type RunningPostgres, startPostgres } from '../support/postgres.ts';
import { until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';
import { tell } from '../support/told.ts';

/** Orders for a later day while processes die, clocks step and the database goes back: each is sent once, none early, none lost. */

const ORDERS = '/v1/license-orders';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const sandbox = useSandbox();
const clock = SteppedClock.make();
let server: RunningPostgres;
let fleet: Fleet;
let environment: Record<string, string>;

beforeAll(async () => {
  server = await startPostgres([], undefined, undefined, clock.environment);
  environment = { DATABASE_URL: await server.newUrl() };
  fleet = await Fleet.start(sandbox, 3, { environment, how: { disturbed: true } });
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await fleet.stop();
  await server.stop();
  clock.stop();
});

let last = 0;
const number = () => `SO-LATER-${++last}`;
/** The difference of the database's clock from the true one. */
let aheadMs = 0;
function stepDatabase(to: number): void {
  aheadMs = to;
  clock.step(to);
}
const later = (of: string, inMs: number) =>
  fleet.post(last % 3, ORDERS, {
    ...orderOf(of),
    notBefore: new Date(Date.now() + aheadMs + inMs).toISOString(),
  });
async function scheduled(count: number, inMs: number): Promise<string[]> {
  const all = Array.from({ length: count }, number);
  // A gateway learns within a second that the clock has stepped.
  for (const each of all)
    await until(`${each} is scheduled`, async () => (await later(each, inMs)).status === 202);
  return all;
}
const stateOf = async (of: string) => (await fleet.get(1, `${ORDERS}/crm/${of}`)).body['state'];
const become = (all: readonly string[], state: string) =>
  until(`${all.length} orders are ${state}`, async () => {
    for (const each of all) {
      const now = await stateOf(each);
      tell(`${each} is ${String(now)}`);
      if (now !== state) return false;
    }
    return true;
  });
const sends = async () =>
  (await sandbox.journal('batchOrder')).map(
    ({ body }) => (body as { channelOrderId: string }).channelOrderId,
  );
const once = async (all: readonly string[]) => expect((await sends()).toSorted()).toEqual(all.toSorted());
const kill = async (index: number) => {
  const gateway = fleet.gateways[index] as GatewayProcess;
  gateway.child.kill('SIGKILL');
  await gateway.ended;
};

it('D45 three processes have a hundred orders that are due at the same moment: each is sent once, none early', async () => {
  const all = await scheduled(100, HOUR_MS);
  expect(await sends()).toEqual([]);
  stepDatabase(aheadMs + HOUR_MS);
  await become(all, 'succeeded');
  await once(all);
});

it('D45 orders that are overdue, because many were due at once, are sent side by side', async () => {
  await sandbox.fault({ operation: 'batchOrder', phase: 'after', action: { hang: true } });
  const all = await scheduled(12, HOUR_MS);
  stepDatabase(aheadMs + HOUR_MS + 30_000);
  await until('all are carried out', async () => (await sandbox.commits()).length === all.length);
  // None waited for the end of another.
  expect(new Set(await Promise.all(all.map(stateOf)))).toEqual(new Set(['sending']));
  await once(all);
  // The reset closes the connections.
  await sandbox.reset();
  await become(all, 'in_doubt');
});

it('D46 a process is killed in the middle of a due order, and before it: the one is in doubt, the others are sent by another process', async () => {
  await sandbox.fault({ operation: 'batchOrder', phase: 'after', times: 1, action: { hang: true } });
  const all = await scheduled(12, HOUR_MS);
  // One process has them all.
  for (const index of [1, 2]) await kill(index);
  stepDatabase(aheadMs + HOUR_MS);
  await until('one is carried out', async () => (await sandbox.commits()).length > 0);
  await kill(0);
  // The leases of what was being sent end.
  stepDatabase(aheadMs + HOUR_MS);
  for (const index of [0, 1, 2]) await fleet.launch(environment, { disturbed: true }, index);
  await until('none waits', async () => {
    const states = await Promise.all(all.map(stateOf));
    return states.every((state) => state === 'succeeded' || state === 'in_doubt');
  });
  expect(new Set(await sends()).size).toBe((await sends()).length);
  const doubted = (await Promise.all(all.map(async (of) => [of, await stateOf(of)] as const))).filter(
    ([, state]) => state === 'in_doubt',
  );
  // What one process sends at a time.
  expect(doubted.length).toBeLessThanOrEqual(4);
  const commits = (await sandbox.commits()).map(({ channelOrderId }) => channelOrderId);
  expect(new Set(commits).size).toBe(commits.length);
});

describe('D47 clocks step by a day, ahead and back:', () => {
  it('that of the database: what becomes due is sent once, and what is not due by it waits', async () => {
    const [due] = await scheduled(1, DAY_MS - HOUR_MS);
    const [far] = await scheduled(1, 3 * DAY_MS);
    const before = aheadMs;
    stepDatabase(before + DAY_MS);
    await become([String(due)], 'succeeded');
    stepDatabase(before);
    const [back] = await scheduled(1, HOUR_MS);
    // The task of the order was due when the clock was ahead, and its time is not there any more.
    await askDatabase(
      String(environment['DATABASE_URL']),
      "UPDATE tasks SET due_at = 0 WHERE kind = 'schedule' AND name = $1",
      `order/crm/${back}`,
    );
    await until('it was looked at', async () => {
      const [row] = await askDatabase(
        String(environment['DATABASE_URL']),
        'SELECT due_at AS due FROM tasks WHERE name = $1',
        `order/crm/${back}`,
      );
      return Number(row?.['due']) > 0;
    });
    expect([await stateOf(String(back)), await stateOf(String(far))]).toEqual(['scheduled', 'scheduled']);
    await once([String(due)]);
    for (const each of [back, far]) await fleet.request('DELETE', 0, `${ORDERS}/crm/${each}`);
  });

  it("those of the processes: nothing is early, since only the database's counts", async () => {
    const all = await scheduled(3, HOUR_MS);
    for (const [index, gateway] of fleet.gateways.entries())
      await gateway.disturb({ clock: (index - 1) * DAY_MS });
    const one = await scheduled(1, 1_000);
    await become(one, 'succeeded');
    expect(await Promise.all(all.map(stateOf))).toEqual(all.map(() => 'scheduled'));
    stepDatabase(aheadMs + HOUR_MS);
    await become(all, 'succeeded');
    await once([...one, ...all]);
    for (const gateway of fleet.gateways) await gateway.disturb({ clock: 0 });
  });
});

it('D48 the database goes back to before an order was sent: it is in doubt and not sent again, and one of a later time is sent', async () => {
  const url = String(environment['DATABASE_URL']);
  const [sent, cancelled] = (await scheduled(2, HOUR_MS)) as [string, string];
  const [far] = (await scheduled(1, DAY_MS)) as [string];
  const names = [sent, cancelled, far].map((of) => `order/crm/${of}`);
  await askDatabase(url, 'CREATE TABLE old_writes AS SELECT * FROM writes WHERE name = ANY($1)', names);
  await askDatabase(url, 'CREATE TABLE old_tasks AS SELECT * FROM tasks WHERE name = ANY($1)', names);
  const [{ begun } = {}] = await askDatabase(url, "SELECT value AS begun FROM numbers WHERE name = 'begun'");
  stepDatabase(aheadMs + HOUR_MS);
  await become([sent, cancelled], 'succeeded');
  // The process that is asked below has seen the newest number: another one may have sent the two.
  const seen = number();
  await until('it has seen them', async () => (await fleet.post(0, ORDERS, orderOf(seen))).status === 201);
  for (const sql of [
    'DELETE FROM writes WHERE name IN (SELECT name FROM old_writes)',
    'INSERT INTO writes SELECT * FROM old_writes',
    'DELETE FROM tasks WHERE name IN (SELECT name FROM old_tasks)',
  ])
    await askDatabase(url, sql);
  await askDatabase(url, "UPDATE numbers SET value = $1 WHERE name = 'begun'", begun);
  await until('orders stop', async () => (await fleet.post(0, ORDERS, orderOf(number()))).status === 503);
  await askDatabase(url, 'INSERT INTO tasks SELECT * FROM old_tasks');
  expect((await databaseInit({ ...fleet.environment, ...environment }, '--yes')).code).toBe(0);
  await become([sent, cancelled], 'in_doubt');
  // A read may still find that the database was away.
  const { body } = await onceServed(() => fleet.get(0, `${ORDERS}/crm/${sent}`));
  expect(body['reason']).toContain('restored');
  expect(await stateOf(far)).toBe('scheduled');
  stepDatabase(aheadMs + DAY_MS);
  await become([far], 'succeeded');
  await once([sent, cancelled, seen, far]);
});

it('D49 the platform is away for a day after the time of an order, and each process that tries it ends: it is not sent, and its number is free', async () => {
  const rules = await sandbox.fault({ operation: 'batchOrder', action: { code: '60000' } });
  const own = await Fleet.start(sandbox, 1, { databaseUrl: await server.newUrl() });
  try {
    const of = number();
    const notBefore = new Date(Date.now() + aheadMs + 1_000).toISOString();
    await until('it is scheduled', async () => {
      return (await own.post(0, ORDERS, orderOf(of, { notBefore }))).status === 202;
    });
    const record = async () => (await own.get(0, `${ORDERS}/crm/${of}`)).body;
    const url = String(own.environment['DATABASE_URL']);
    const taken = "SELECT FROM tasks WHERE kind = 'schedule' AND attempt <> ''";
    for (let hours = 0, before = 0; hours <= 25; hours += 5) {
      await until('it was tried', async () => {
        return (await sends()).length > before && (await askDatabase(url, taken)).length === 0;
      });
      if (hours === 25) break;
      own.gateways[0]?.child.kill('SIGKILL');
      await own.gateways[0]?.ended;
      before = (await sends()).length;
      stepDatabase(aheadMs + 5 * HOUR_MS);
      await own.launch({}, undefined, 0);
    }
    await sandbox.heal(rules);
    await until(
      'its wait is over',
      async () => !['scheduled', 'sending'].includes(String((await record())['state'])),
    );
    const { state, reason } = await record();
    expect([state, reason]).toEqual([
      'not_sent',
      expect.stringContaining("refused the gateway's own credentials"),
    ]);
    await until('it is placed anew', async () => (await own.post(0, ORDERS, orderOf(of))).status === 201);
    expect(await sandbox.commits()).toHaveLength(1);
  } finally {
    await own.stop();
  }
});

it('D50 the lease of a due order ends before its refusal arrives: the order is not sent, its record says why, and its number is free', async () => {
  const refusal = { operation: 'batchOrder', phase: 'before', action: { delayMs: 2_000, code: '60000' } };
  const rules = await sandbox.fault(refusal);
  const [of] = (await scheduled(1, HOUR_MS)) as [string];
  stepDatabase(aheadMs + HOUR_MS);
  await until('it is sent', async () => (await sends()).includes(of));
  stepDatabase(aheadMs + HOUR_MS);
  await become([of], 'not_sent');
  const { body } = await onceServed(() => fleet.get(1, `${ORDERS}/crm/${of}`));
  expect(body['reason']).toContain('not sent');
  await sandbox.heal(rules);
  await until('it is placed anew', async () => (await fleet.post(0, ORDERS, orderOf(of))).status === 201);
  expect(await sandbox.commits()).toHaveLength(1);
});

it('D53 an order is due on a replica that has not read yet that its caller, its enterprise or its user was added, or what the platform takes: it waits, and is sent once the replica has read that', async () => {
  const user = { username: 'admin@harbour', password: sandbox.seedPassword };
  const [item] = orderOf('x').items;
  const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
  const purchase = { ...item, customer };
  const deletion = {
    ...{ orderType: 'delete_asset', licenseType: 'cloud_account', srcLicenseOrderId: 'lic-1009', customer },
    assets: [{ assetNums: ['8000001009'] }],
  };
  /** The items of the order of each caller. */
  const orders = {
    ...{ caller: [purchase], enterprise: [purchase], user: [purchase] },
    // The gateway can neither look up the order from which it deletes nor see what is on the asset without a user.
    deletion: [deletion],
    profile: [purchase, purchase],
  };
  const names = Object.keys(orders) as (keyof typeof orders)[];
  const scopes = ['orders:read', 'orders:write', 'orders:revoke'] as const;
  const own = await Fleet.start(sandbox, 1, {
    databaseUrl: await server.newUrl(),
    users: { default: user, added: user },
    callers: names.map((name) => ({ name, scopes: [...scopes], enterprises: ['ent-harbour'] })),
  });
  try {
    const written = (name: string, content: object) => {
      const path = join(own.folder, name);
      writeFileSync(path, JSON.stringify(content));
      return path;
    };
    const profileOf = (readings: object) => written('profile-before.json', { version: 1, readings });
    const before = own.callers
      .filter(({ name }) => name !== 'caller')
      .map((each) => (each.name === 'enterprise' ? { ...each, enterprises: ['ent-meridian'] } : each));
    await own.launch({
      CALLERS_FILE: written('callers-before.json', { callers: before }),
      UPSTREAM_USERS_FILE: written('users-before.json', {}),
      PLATFORM_PROFILE_FILE: profileOf({ maxOrdersPerBatch: 1 }),
    });
    const notBefore = Date.now() + aheadMs + HOUR_MS;
    for (const name of names) {
      const time = new Date(notBefore).toISOString();
      const response = await fetch(`${own.gateways[0]?.url}${ORDERS}`, {
        method: 'POST',
        headers: {
          ...{ 'content-type': 'application/json', 'x-api-key': String(own.keys[name]) },
          ...(name === 'user' && { 'x-acting-user': 'added' }),
        },
        body: JSON.stringify(orderOf(`SO-${name}`, { notBefore: time, items: orders[name] })),
      });
      expect(response.status).toBe(202);
    }
    // The replica that is left has not read the new content.
    own.gateways[0]?.child.kill('SIGKILL');
    await own.gateways[0]?.ended;
    stepDatabase(aheadMs + HOUR_MS);
    const states = async () => {
      const all = names.map(async (name) => {
        const { body } = await own.get(1, `${ORDERS}/crm/SO-${name}`);
        return [name, body['state']] as const;
      });
      return Object.fromEntries(await Promise.all(all));
    };
    const url = String(own.environment['DATABASE_URL']);
    const tried = "SELECT FROM tasks WHERE kind = 'schedule' AND attempt = '' AND due_at > $1";
    await until('each was tried', async () => {
      const ended = Object.values(await states()).filter((state) => state !== 'scheduled');
      return (await askDatabase(url, tried, notBefore)).length + ended.length === names.length;
    });
    const all = (state: string) => Object.fromEntries(names.map((name) => [name, state]));
    expect(await states()).toEqual(all('scheduled'));
    written('callers-before.json', { callers: own.callers });
    await until('two are sent', async () => (await sends()).length === 2);
    profileOf({});
    await until('three are sent', async () => (await sends()).length === 3);
    expect(await states()).toMatchObject({ user: 'scheduled', deletion: 'scheduled' });
    written('users-before.json', { default: user, added: user });
    await until('none waits', async () => {
      const open = Object.values(await states()).filter((state) =>
        ['scheduled', 'sending'].includes(String(state)),
      );
      return open.length === 0;
    });
    expect(await states()).toEqual(all('succeeded'));
    expect((await sends()).toSorted()).toEqual(names.map((name) => `SO-${name}`).toSorted());
  } finally {
    await own.stop();
  }
});

it('D53 the clock of a replica is an hour ahead, and it has not read yet that the caller of a due order was added: the order waits', async () => {
  const databaseUrl = await server.newUrl();
  const own = await Fleet.start(sandbox, 1, { databaseUrl, callers: [{ name: 'added' }] });
  const fast = SteppedClock.make();
  fast.step(aheadMs + HOUR_MS);
  try {
    const file = join(own.folder, 'callers-before.json');
    writeFileSync(file, JSON.stringify({ callers: own.callers.filter(({ name }) => name === 'fleet') }));
    await own.launch({ ...fast.environment, CALLERS_FILE: file });
    const of = number();
    const placed = await fetch(`${own.gateways[0]?.url}${ORDERS}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': String(own.keys['added']) },
      body: JSON.stringify(orderOf(of, { notBefore: new Date(Date.now() + aheadMs + 3_000).toISOString() })),
    });
    expect(placed.status).toBe(202);
    own.gateways[0]?.child.kill('SIGKILL');
    await own.gateways[0]?.ended;
    const record = async () => (await own.get(1, `${ORDERS}/crm/${of}`)).body;
    const tried = "SELECT FROM tasks, writes WHERE attempt = '' AND due_at > not_before";
    await until('it was tried', async () => {
      return (await record())['settledAt'] !== null || (await askDatabase(databaseUrl, tried)).length > 0;
    });
    expect(await record()).toMatchObject({ state: 'scheduled', reason: null });
    writeFileSync(file, JSON.stringify({ callers: own.callers }));
    await until('it is sent', async () => (await record())['state'] === 'succeeded');
  } finally {
    await own.stop();
    fast.stop();
  }
});
