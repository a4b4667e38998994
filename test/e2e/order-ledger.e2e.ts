import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type BudgetUse, monthOf } from '../../src/budgets/state/budgets.ts';
import type { Database } from '../../src/database/database.ts';
import { SealedTexts } from '../../src/database/sealed-texts.ts';
import { type Query, sql } from '../../src/database/sql.ts';
import { FEED } from '../../src/database/step.ts';
import { EventStore } from '../../src/events/log/event-store.ts';
import {
  type Details,
  type Mover,
  type OrderDetails,
  orderName,
  type ScheduledOrder,
  type State,
  states,
  transitions,
} from '../../src/order-ledger/ledger-record.ts';
import { DatabaseUnavailable } from '../../src/database/database-unavailable.ts';
import { type LoggedMove, MovesDropped } from '../../src/events/log/move-log.ts';
import { Metrics } from '../../src/observability/metrics.ts';
import type { ObservedOrderLedger } from '../../src/order-ledger/observed-order-ledger.ts';
import { WriteRecorder } from '../../src/order-ledger/write-recorder.ts';
import {
  type Begin,
  type Begun,
  type Move,
  type Moved,
  type OrderQuery,
} from '../../src/order-ledger/write-steps.ts';
import { dayOf, MAX_RECORD_BYTES, UseStore } from '../../src/budgets/state/use-store.ts';
import { WindowStore } from '../../src/maintenance/state/window-store.ts';
import { ReservationStore } from '../../src/tenancy/state/reservation-store.ts';
import { OrderListStore } from '../../src/order-ledger/order-list-store.ts';
import { WriteRecords } from '../../src/order-ledger/write-rows.ts';
import { WriteStore } from '../../src/order-ledger/write-store.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { change, openDatabase } from '../support/use-database.ts';
import { emptyDatabase, engines } from '../support/database.ts';
import { ledgerBegin, ledgerOrder } from '../support/ledger-order.ts';
import { until } from '../support/redis.ts';
import { RecordedLog, settings } from '../support/settings.ts';
import { areTestsOver } from '../support/told.ts';

/** One suite for every engine. Each test has a platform of its own, so that it finds nothing of the others. */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
const encryptionKeys = newEncryptionKey();

let numbers = 0;
const newOrder = (given: Partial<Begin> = {}): Begin =>
  ledgerBegin(`SO-${++numbers}`, { leaseMs: MINUTE_MS, ...given });

const newWrite = (given: Partial<Begin> = {}): Begin =>
  newOrder({ name: `write/billing/${++numbers}`, details: { caller: 'billing' }, ...given });

/** The parts of an order whose time comes after this number of ms. A negative number means that it has come. */
const later = (inMs: number): Partial<Begin> & { notBefore: number } => {
  const notBefore = Date.now() + inMs;
  const order = ledgerOrder(`SO-${++numbers}`, { notBefore });
  return { notBefore, details: { caller: 'billing', order }, name: orderName('crm', order.channelOrderId) };
};

/** The parts of such an order with what it needs at its time. */
const laterWith = (inMs: number, scheduled: ScheduledOrder, given: Partial<OrderDetails> = {}): Begin => {
  const { details, ...write } = newOrder(later(inMs));
  const order = details.order as OrderDetails;
  return { ...write, details: { ...details, order: { ...order, ...given, scheduled } } };
};

const byOwner = ({ name, owner }: Begin, to: State, details?: Details) =>
  ({ name, owner, by: 'owner', to, ...(details && { details }) }) as const;

/** Every way through the machine that ends in that state. */
const pathsTo: Readonly<Record<State, readonly (readonly [Mover, State])[]>> = {
  scheduled: [],
  sending: [],
  succeeded: [['owner', 'succeeded']],
  accepted: [['owner', 'accepted']],
  incomplete: [['owner', 'incomplete']],
  rejected: [['owner', 'rejected']],
  not_sent: [['owner', 'not_sent']],
  in_doubt: [['owner', 'in_doubt']],
  not_placed: [
    ['owner', 'in_doubt'],
    ['operator', 'not_placed'],
  ],
  cancelled: [['caller', 'cancelled']],
};
/** These begin with an order for a later day. */
const LATER: readonly State[] = ['scheduled', 'cancelled'];

/** Begins again what the database had no time for: a slow machine takes longer than the gateway waits for a beginning. */
class PatientStore extends WriteStore {
  override async begin(write: Begin): Promise<Begun> {
    for (;;) {
      try {
        return await super.begin(write);
      } catch (error) {
        const isLate = error instanceof DatabaseUnavailable && error.isAway;
        if (!isLate || areTestsOver()) throw error;
      }
    }
  }
}

describe.each(engines)('the order ledger in a database: %s', (engine) => {
  let url: string;
  let remove: () => void;
  let database: Database;
  let store: WriteStore;
  let feed: EventStore;
  let platforms = 0;
  const others: Database[] = [];
  const log = new RecordedLog();

  beforeAll(async () => {
    ({ url, remove } = await emptyDatabase(engine));
  });
  afterAll(() => remove());
  beforeEach(async () => {
    ({ database } = await openDatabase(url, { UPSTREAM_BASE_URL: `http://127.0.0.1:9/${++platforms}` }));
    store = storeOn(database);
    feed = new EventStore(database);
  });
  afterEach(async () => {
    for (const each of [database, ...others.splice(0)]) await each.close();
  });

  function partsFor(keys: string) {
    const { database: config } = settings({ ENCRYPTION_KEYS: keys });
    const texts = new SealedTexts(config.encryptionKeys, 'platform', () => ['gone']);
    return { config, records: new WriteRecords(texts, log.log) };
  }

  const storeOn = (on: Database, keys = encryptionKeys): WriteStore =>
    new PatientStore(on, partsFor(keys).records);

  async function inState(state: State, given: Partial<Begin> = {}): Promise<Begin> {
    const write = newOrder(LATER.includes(state) ? { ...later(DAY_MS), ...given } : given);
    await store.begin(write);
    for (const [by, to] of pathsTo[state])
      await store.move({ name: write.name, by, to, ...(by === 'owner' && { owner: write.owner }) });
    expect((await store.read(write.name))?.state).toBe(state);
    return write;
  }

  it('The step that leaves the end of an order open adds the task that searches for the order', async () => {
    const searched: State[] = [];
    const keyed = newWrite();
    await store.begin(keyed);
    await store.move(byOwner(keyed, 'in_doubt'));
    for (const state of states) {
      const { name } = await inState(state);
      const tasks = await database.read<{ name: string }>(
        sql`SELECT name FROM tasks WHERE platform = :platform AND kind = 'reconciliation'`.with(),
      );
      if (tasks.some((task) => task.name === name)) searched.push(state);
      expect(tasks.map((task) => task.name)).not.toContain(keyed.name);
    }
    // An order that is settled after it was in doubt keeps its task until the next attempt.
    expect(searched).toEqual(['accepted', 'incomplete', 'in_doubt', 'not_placed']);
  });

  it('begins a write once, also of fifty at once, and gives its record to every further attempt', async () => {
    const write = newOrder();
    const first = await store.begin(write);
    expect(first).toMatchObject({ kind: 'begun' });
    // The same owner may ask again: the reply may have been lost.
    expect(await store.begin(write)).toEqual(first);
    const other = await store.begin({ ...write, owner: randomUUID() });
    expect(other).toMatchObject({ kind: 'there', same: true, record: { state: 'sending', settledAt: null } });
    const changed = await store.begin({ ...write, owner: randomUUID(), fingerprints: ['k1:other'] });
    expect(changed).toMatchObject({ kind: 'there', same: false });
    // The payload is recognised under any key that its caller knows.
    const fingerprints = ['k2:other', ...write.fingerprints];
    const rotated = await store.begin({ ...write, owner: randomUUID(), fingerprints });
    expect(rotated).toMatchObject({ kind: 'there', same: true });
    const herd = newOrder();
    const begun = await Promise.all(
      Array.from({ length: 50 }, () => store.begin({ ...herd, owner: randomUUID() })),
    );
    expect(begun.filter(({ kind }) => kind === 'begun')).toHaveLength(1);
  });

  describe('counts what an order takes of budgets', () => {
    const month = monthOf(Date.now());
    const used = async () => (await new UseStore(database).used('billing', [month]))[0]?.used;
    const uses = (orders: number, licences: number): BudgetUse[] => [
      { budget: 'orders', amount: orders, limit: 5 },
      { budget: 'licences', amount: licences, limit: 10 },
    ];
    const exhausted = { kind: 'not_admitted', problem: { slug: 'budget-exhausted' } };

    it('all or nothing, and never beyond them, of fifty at once', async () => {
      expect(await store.begin(newOrder({ budgets: uses(1, 4) }))).toMatchObject({ kind: 'begun' });
      expect(await store.begin(newOrder({ budgets: uses(1, 7) }))).toMatchObject(exhausted);
      expect(await used()).toEqual({ orders: 1, licences: 4, deletions: 0 });
      const begun = await Promise.all(
        Array.from({ length: 50 }, () => store.begin(newOrder({ budgets: uses(1, 1) }))),
      );
      expect(begun.filter(({ kind }) => kind === 'begun')).toHaveLength(4);
      expect(await used()).toEqual({ orders: 5, licences: 8, deletions: 0 });
      // What takes nothing of a budget that is used up goes on.
      expect(await store.begin(newOrder({ budgets: uses(0, 2) }))).toMatchObject({ kind: 'begun' });
      expect(await new UseStore(database).used('other', [month, '2020-01'])).toEqual([
        { month, used: { orders: 0, licences: 0, deletions: 0 } },
        { month: '2020-01', used: { orders: 0, licences: 0, deletions: 0 } },
      ]);
    });

    it.each(['rejected', 'not_sent', 'not_placed'] as const)('gives back what is %s, once', async (state) => {
      await inState('succeeded', { budgets: uses(1, 1) });
      const write = await inState(state, { budgets: uses(2, 3) });
      expect(await used()).toEqual({ orders: 1, licences: 1, deletions: 0 });
      await store.move(byOwner(write, state));
      await store.sweep();
      expect(await used()).toEqual({ orders: 1, licences: 1, deletions: 0 });
      // The number is free for another payload, which counts again.
      const again = { ...write, owner: randomUUID(), fingerprints: ['k1:other'], budgets: uses(1, 2) };
      expect(await store.begin(again)).toMatchObject({ kind: 'begun' });
      expect(await used()).toEqual({ orders: 2, licences: 3, deletions: 0 });
    });

    it.each(['sending', 'succeeded', 'accepted', 'incomplete', 'in_doubt'] as const)(
      'keeps what is %s',
      async (state) => {
        await inState(state, { budgets: uses(2, 3) });
        expect(await used()).toEqual({ orders: 2, licences: 3, deletions: 0 });
      },
    );
  });

  describe('binds reserved numbers to the enterprise of an order', () => {
    const use = (assetNum: string) => ({ assetNum, enterprise: 'ent-1' });
    const bound = async () =>
      [...(await new ReservationStore(database).known('billing', ['n-1', 'n-2'])).boundTo.keys()].toSorted();
    /** An order that uses `n-1`, moved to that state by its own details. `n-2` is used by another order too. */
    const ended = async (state: State) => {
      const reserved = new ReservationStore(database);
      const write = newOrder(LATER.includes(state) ? later(-1) : {});
      const { name, details, owner } = write;
      await store.begin(write);
      await reserved.bind('billing', name, [use('n-1'), use('n-2')]);
      await reserved.bind('billing', 'order/crm/other', [use('n-2')]);
      for (const [by, to] of pathsTo[state])
        await store.move({ name, by, to, details, ...(by === 'owner' && { owner }) });
      expect((await store.read(name))?.state).toBe(state);
    };

    it.each(['rejected', 'not_sent', 'not_placed', 'cancelled'] as const)(
      'until it is %s: then those are free that only this order has used',
      async (state) => {
        await ended(state);
        expect(await bound()).toEqual(['n-2']);
      },
    );

    it('until it waits again for its time', async () => {
      const write = newOrder(later(-1));
      const begun = await store.begin(write);
      if (begun.kind !== 'scheduled') throw new Error(`is ${begun.kind}`);
      const due = { ...write, owner: randomUUID(), notBefore: undefined, scheduledAt: begun.submittedAt };
      expect(await store.begin(due)).toMatchObject({ kind: 'begun' });
      await new ReservationStore(database).bind('billing', write.name, [use('n-1')]);
      await store.move(byOwner(due, 'scheduled', write.details));
      expect(await bound()).toEqual([]);
    });

    it.each(['succeeded', 'accepted', 'incomplete', 'in_doubt'] as const)(
      'also while it is %s',
      async (state) => {
        await ended(state);
        expect(await bound()).toEqual(['n-1', 'n-2']);
      },
    );
  });

  it('is held by the owner that began it, for as long as it is being sent', async () => {
    const write = newOrder();
    expect(await store.holds(write.name, write.owner)).toBe(false);
    await store.begin(write);
    expect(await store.holds(write.name, write.owner)).toBe(true);
    expect(await store.holds(write.name, randomUUID())).toBe(false);
    await store.move(byOwner(write, 'not_sent'));
    expect(await store.holds(write.name, write.owner)).toBe(false);
  });

  it('keeps what is known of the write', async () => {
    const write = newOrder();
    await store.begin(write);
    const { order } = write.details;
    const items = [{ sequence: 1, licenseOrderId: '9007199254740993', customerId: null }];
    const details = { caller: 'billing', order: { ...(order as NonNullable<typeof order>), items } };
    const moved = await store.move(byOwner(write, 'succeeded', details));
    expect(moved).toMatchObject({ kind: 'moved', record: { state: 'succeeded', details } });
    expect(await store.read(write.name)).toEqual((moved as { record: unknown }).record);
  });

  describe('keeps orders for a later day', () => {
    /** When each was scheduled. */
    const times = new Map<string, number>();
    const schedule = async (write: Begin) => {
      const begun = await store.begin(write);
      if (begun.kind === 'scheduled') times.set(write.name, begun.submittedAt);
      return begun;
    };
    const due = (write: Begin, given: Partial<Begin> = {}) => {
      const scheduledAt = times.get(write.name);
      return store.begin({ ...write, owner: randomUUID(), notBefore: undefined, scheduledAt, ...given });
    };
    const stateOf = async ({ name }: Begin) => (await store.read(name))?.state;
    const task = async ({ name }: Begin) =>
      (
        await database.read<{ dueAt: number }>(
          sql`SELECT due_at AS "dueAt" FROM tasks WHERE platform = :platform AND kind = 'schedule' AND name = :name`.with(
            { name },
          ),
        )
      )[0];

    it('with a task that is due at their time, and begins none before it', async () => {
      const write = newOrder(later(DAY_MS));
      const first = await schedule(write);
      expect(first).toMatchObject({ kind: 'scheduled' });
      expect(await store.begin(write)).toEqual(first);
      expect(await task(write)).toEqual({ dueAt: write.notBefore });
      const early = await due(write);
      if (early.kind !== 'early') throw new Error(`is ${early.kind}`);
      expect(early.leftMs).toBeGreaterThan(DAY_MS / 2);
      expect(await stateOf(write)).toBe('scheduled');
      expect((await store.waiting()).scheduled.overdueMs).toBe(0);
      // The sender took the time for one that has come.
      const now = newOrder({ ...later(DAY_MS), notBefore: undefined });
      expect(await store.begin(now)).toMatchObject({ kind: 'early' });
      expect(await store.read(now.name)).toBeUndefined();
    });

    it('and begins each once when its time has come, of fifty at once, or cancels it', async () => {
      for (let round = 0; round < 5; round++) {
        const write = newOrder(later(-MINUTE_MS));
        await schedule(write);
        expect((await store.waiting()).scheduled.overdueMs).toBeGreaterThanOrEqual(MINUTE_MS);
        const cancel = () => store.move({ name: write.name, by: 'caller', to: 'cancelled' });
        const [cancelled, ...begun] = await Promise.all([
          cancel(),
          ...Array.from({ length: 50 }, () => due(write)),
        ]);
        const winners = begun.filter(({ kind }) => kind === 'begun').length;
        expect([winners, cancelled.kind]).toEqual(winners === 1 ? [1, 'refused'] : [0, 'moved']);
        expect(await stateOf(write)).toBe(winners === 1 ? 'sending' : 'cancelled');
      }
      expect((await store.waiting()).scheduled.overdueMs).toBe(0);
    });

    it('takes the budgets when it begins one, and gives them back where it waits again', async () => {
      const month = monthOf(Date.now());
      const orders = async () => (await new UseStore(database).used('billing', [month]))[0]?.used.orders;
      const budgets: BudgetUse[] = [{ budget: 'orders', amount: 1, limit: 1 }];
      const [one, other] = [newOrder(later(-1)), newOrder(later(-1))];
      for (const write of [one, other]) await schedule(write);
      expect(await orders()).toBe(0);
      const owner = randomUUID();
      expect(await due(one, { budgets, owner })).toMatchObject({ kind: 'begun' });
      expect(await due(other, { budgets })).toMatchObject({
        kind: 'not_admitted',
        problem: { slug: 'budget-exhausted' },
      });
      expect(await orders()).toBe(1);
      await store.move({ ...byOwner(one, 'scheduled'), owner });
      expect([await orders(), await stateOf(one)]).toEqual([0, 'scheduled']);
      expect(await due(other, { budgets })).toMatchObject({ kind: 'begun' });
    });

    it('and begins, rejects or cancels none that has taken the number of another since', async () => {
      const write = newOrder(later(-MINUTE_MS));
      await schedule(write);
      const scheduledAt = times.get(write.name) ?? 0;
      await store.move({ name: write.name, by: 'caller', to: 'cancelled' });
      await until('a millisecond has passed', () => Date.now() > scheduledAt + 1);
      await schedule({ ...write, owner: randomUUID(), fingerprints: ['k1:other'] });
      expect(await due(write, { scheduledAt })).toEqual({ kind: 'early', leftMs: 0 });
      for (const [by, to] of [
        ['schedule', 'rejected'],
        ['caller', 'cancelled'],
      ] as const)
        expect(await store.move({ name: write.name, by, to, submittedAt: scheduledAt })).toMatchObject({
          kind: 'refused',
          record: { state: 'scheduled', submittedAt: times.get(write.name) },
        });
      expect(await due(write)).toMatchObject({ kind: 'begun' });
    });

    it('forgets what they would send once it is sent, or not', async () => {
      const order = { order: { items: ['a secret'] }, byToken: [], effects: [] };
      const bodyOf = async ({ name }: Begin) => (await store.read(name))?.details.order?.scheduled;
      for (const to of ['succeeded', 'in_doubt', 'rejected', 'scheduled'] as const) {
        const write = laterWith(-1, order);
        await schedule(write);
        expect(await bodyOf(write)).toEqual(order);
        const owner = randomUUID();
        await due(write, { owner });
        expect(await bodyOf(write)).toBeUndefined();
        await store.move({ ...byOwner(write, to, write.details), owner });
        expect([to, await bodyOf(write)]).toEqual([to, to === 'scheduled' ? order : undefined]);
      }
      const died = laterWith(-1, order);
      await schedule(died);
      await due(died, { leaseMs: 1 });
      await until('its lease has ended', async () => (await store.sweep()).includes(died.name));
      expect([await stateOf(died), await bodyOf(died)]).toEqual(['in_doubt', undefined]);
    });

    it('and begins none that was due before an operator confirmed a database that lacks commits', async () => {
      const [before, after] = [newOrder(later(-MINUTE_MS)), newOrder(later(MINUTE_MS))];
      for (const write of [before, after]) await schedule(write);
      const at = ((await store.read(before.name))?.submittedAt ?? 0) + 1;
      await database.step(
        change,
        sql`UPDATE identities SET confirmed_at = :at WHERE platform = :platform`.with({ at }),
      );
      expect(await due(before)).toEqual({ kind: 'doubtful' });
      expect(await due(after)).toMatchObject({ kind: 'early' });
      const moved = await store.move({ name: before.name, by: 'schedule', to: 'in_doubt' });
      expect(moved.kind).toBe('moved');
      const fresh = newOrder(later(-MINUTE_MS));
      await until('the moment after', () => Date.now() > at);
      await schedule(fresh);
      // The order was accepted since.
      expect(await due(fresh)).toMatchObject({ kind: 'begun' });
    });

    it('and counts the bytes of one that waits again only once', async () => {
      const write = newOrder(later(-MINUTE_MS));
      const counted = async () => {
        const found = sql`SELECT size, (SELECT sum(used) FROM uses WHERE platform = :platform AND kind = 'bytes') AS used
          FROM writes WHERE platform = :platform`;
        const [row] = await database.read<Record<'size' | 'used', number>>(found.with());
        return [Number(row?.size), Number(row?.used)];
      };
      await schedule(write);
      const [size = 0, used] = await counted();
      // The event has the same details as the record.
      expect(used).toBe(2 * size);
      for (let attempt = 0; attempt < 3; attempt++) {
        const owner = randomUUID();
        const begun = await due(write, { owner, scheduledAt: (await store.read(write.name))?.submittedAt });
        expect(begun).toMatchObject({ kind: 'begun' });
        await store.move({ ...byOwner(write, 'scheduled'), owner });
      }
      expect(await counted()).toEqual([size, used]);
    });
  });

  describe('moves', () => {
    const movers: readonly Mover[] = ['owner', 'reconciliation', 'operator', 'schedule', 'caller'];
    const cases = movers.flatMap((by) =>
      states.flatMap((from) => states.filter((to) => to !== 'sending').map((to) => [by, from, to] as const)),
    );
    it('each only as the machine says', async () => {
      for (const [by, from, to] of cases) {
        const write = await inState(from);
        const before = await store.read(write.name);
        const owner = by === 'owner' && { owner: write.owner };
        const moved = await store.move({ name: write.name, by, to, ...owner });
        const allowed = transitions[by][from]?.includes(to) ?? false;
        const after = await store.read(write.name);
        const expected = allowed ? { ...before, state: to, settledAt: after?.settledAt } : before;
        expect([by, from, to, moved.kind, after]).toEqual([
          by,
          from,
          to,
          allowed ? 'moved' : 'refused',
          expected,
        ]);
      }
    });

    it('of what is being sent, or in doubt, are refused to another owner', async () => {
      for (const from of ['sending', 'in_doubt'] as const) {
        const write = await inState(from);
        const moved = await store.move({ ...byOwner(write, 'succeeded'), owner: randomUUID() });
        expect(moved).toMatchObject({ kind: 'refused', record: { state: from } });
      }
    });

    it('are refused while the write is too young for them', async () => {
      const write = await inState('in_doubt');
      const move = { name: write.name, by: 'operator', to: 'not_placed', minAgeMs: MINUTE_MS } as const;
      const early = await store.move(move);
      if (early.kind !== 'early') throw new Error(`is ${early.kind}`);
      expect(early.leftMs).toBeGreaterThan(MINUTE_MS / 2);
      expect(await store.move({ ...move, minAgeMs: 0 })).toMatchObject({ kind: 'moved' });
    });

    it('of nothing are missing', async () => {
      expect(await store.move(byOwner(newOrder(), 'succeeded'))).toEqual({ kind: 'missing' });
      expect(await store.read(newOrder().name)).toBeUndefined();
    });
  });

  it('shows an order only within the enterprises that all of its items name', async () => {
    const named = async (...enterprises: (string | null)[]) => {
      const order = newOrder();
      const ordered = enterprises.map((enterpriseGlobalId, index) => ({
        sequence: index + 1,
        orderType: 'new_buy' as const,
        enterpriseGlobalId,
      }));
      const known = order.details.order as NonNullable<Details['order']>;
      await store.begin({ ...order, details: { ...order.details, order: { ...known, ordered } } });
      return order.name;
    };
    const cases: [string | null, string | null, ...string[]][] = [
      ['a', 'a', 'a'],
      ['a/b é', 'a/b é', 'other', 'a/b é'],
      ['a', 'b', 'a', 'b', 'c'],
      ['a', 'b', 'a'],
      ['a', 'b', 'c'],
      ['a', 'a'],
      [null, null, '', '+'],
      ['a', null, 'a'],
    ];
    for (const [index, [one, other, ...granted]] of cases.entries()) {
      const name = await named(one, other);
      const seen = (await store.read(name, new Set(granted))) !== undefined;
      expect([cases[index], seen]).toEqual([cases[index], index < 3]);
      expect(await store.read(name)).toMatchObject({ name });
    }
    const write = newWrite();
    await store.begin(write);
    expect(await store.read(write.name, new Set(['a']))).toBeUndefined();
    expect(await store.read(newOrder().name, new Set(['a']))).toBeUndefined();
  });

  it('lets a number be used again after an end without an order, after a refusal with a corrected payload only', async () => {
    const rows: [State, same: string, corrected: string][] = [
      ['not_sent', 'begun', 'begun'],
      ['not_placed', 'begun', 'begun'],
      ['cancelled', 'begun', 'begun'],
      ['rejected', 'there', 'begun'],
      ['succeeded', 'there', 'there'],
      ['accepted', 'there', 'there'],
      ['incomplete', 'there', 'there'],
      ['in_doubt', 'there', 'there'],
      ['scheduled', 'there', 'there'],
    ];
    for (const [state, ...expected] of rows) {
      const kinds = [];
      for (const fingerprints of [['k1:payload'], ['k1:corrected']]) {
        const write = await inState(state);
        const order = ledgerOrder(String(write.details.order?.channelOrderId));
        const details = { ...write.details, order };
        const now = { owner: randomUUID(), fingerprints, notBefore: undefined, details };
        const again = await store.begin({ ...write, ...now });
        kinds.push(again.kind);
        const isNow = again.kind === 'begun' ? 'sending' : state;
        expect([state, (await store.read(write.name))?.state]).toEqual([state, isNow]);
      }
      expect([state, kinds]).toEqual([state, expected]);
    }
    // The list has each order once, in its present state.
    expect((await store.list({}, 0, 100)).total).toBe(2 * rows.length);
    expect((await store.list({ states: ['sending'] }, 0, 100)).total).toBe(7);
    expect((await store.list({ states: ['not_sent', 'not_placed', 'cancelled'] }, 0, 100)).total).toBe(0);
  });

  describe('a lease that ran out', () => {
    async function ranOut(): Promise<Begin> {
      const write = newOrder({ leaseMs: 1 });
      await store.begin(write);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return write;
    }

    it('is ended by the sweep, once, and never taken over; one that lasts is left alone', async () => {
      await store.begin(newOrder());
      expect(await store.sweep()).toEqual([]);
      const write = await ranOut();
      expect(await store.sweep()).toEqual([write.name]);
      expect(await store.sweep()).toEqual([]);
      expect(await store.begin({ ...write, owner: randomUUID() })).toMatchObject({
        kind: 'there',
        record: { state: 'in_doubt' },
      });
    });

    it('is over for its owner too, who sends nothing any more and may say what became of the write', async () => {
      for (const state of ['succeeded', 'rejected', 'not_sent'] as const) {
        const write = await ranOut();
        expect(await store.holds(write.name, write.owner)).toBe(false);
        expect(await store.begin(write)).toMatchObject({ kind: 'there', record: { state: 'in_doubt' } });
        expect(await store.move(byOwner(write, 'in_doubt'))).toMatchObject({ kind: 'refused' });
        expect(await store.move(byOwner(write, state))).toMatchObject({ kind: 'moved', record: { state } });
      }
    });
  });

  it('a second name belongs to the write that it was used for first', async () => {
    const first = newOrder({ alias: 'billing/key-1' });
    await store.begin(first);
    expect(await store.begin(newOrder({ alias: 'billing/key-1' }))).toEqual({ kind: 'taken' });
    expect(await store.begin({ ...first, owner: randomUUID() })).toMatchObject({ kind: 'there' });
    expect(await store.begin(newOrder({ alias: 'billing/key-2' }))).toMatchObject({ kind: 'begun' });
  });

  it('a repeat gives its second name to a write without one, and takes none away', async () => {
    const first = newOrder();
    const again = (given: Partial<Begin>) => store.begin({ ...first, owner: randomUUID(), ...given });
    const isTaken = async (alias: string) => (await store.begin(newOrder({ alias }))).kind === 'taken';
    await store.begin(first);
    await again({ alias: 'billing/other', fingerprints: ['of another payload'] });
    expect(await isTaken('billing/other')).toBe(false);
    for (const alias of ['billing/again', 'billing/again-2'])
      expect(await again({ alias })).toMatchObject({ kind: 'there', same: true });
    expect(await isTaken('billing/again')).toBe(true);
    await store.move(byOwner(first, 'succeeded'));
    expect(await again({ alias: 'billing/again' })).toMatchObject({ record: { state: 'succeeded' } });
    expect(await isTaken('billing/again')).toBe(true);
  });

  it('a scheduled write keeps the second name of its repeat when it is sent', async () => {
    const scheduled = newOrder(later(-1));
    await store.begin(scheduled);
    const alias = 'billing/of-a-repeat';
    expect(await store.begin({ ...scheduled, owner: randomUUID(), alias })).toMatchObject({ kind: 'there' });
    const { submittedAt: scheduledAt } = (await store.read(scheduled.name)) ?? {};
    const due = { ...scheduled, owner: randomUUID(), notBefore: undefined, scheduledAt };
    expect(await store.begin(due)).toMatchObject({ kind: 'begun' });
    expect(await store.begin(newOrder({ alias }))).toEqual({ kind: 'taken' });
  });

  it('an order gets no second name from the record that it replaces', async () => {
    const alias = 'billing/of-a-cancelled';
    const scheduled = newOrder({ ...later(DAY_MS), alias });
    await store.begin(scheduled);
    const cancelled = { name: scheduled.name, by: 'caller', to: 'cancelled' } as const;
    expect(await store.move(cancelled)).toMatchObject({ kind: 'moved' });
    const { name } = scheduled;
    expect(await store.begin(newOrder({ name, fingerprints: ['of another payload'] }))).toMatchObject({
      kind: 'begun',
    });
    expect(await store.begin(newOrder({ alias }))).toMatchObject({ kind: 'begun' });
  });

  it('the list has the orders that are asked for, newest first', async () => {
    const placed: [name: string, channel: string, enterprises: (string | null)[], state: State][] = [
      ['one', 'crm', ['ent-1'], 'succeeded'],
      ['other', 'crm', ['ent-2'], 'succeeded'],
      ['both', 'crm', ['ent-2', 'ent-1', 'ent-2'], 'in_doubt'],
      ['none', 'crm', [null], 'succeeded'],
      ['some', 'crm', ['ent-1', null], 'succeeded'],
      ['web', 'web shop', ['ent-1'], 'rejected'],
      ['odd', 'crm', ['ent/3:x\n+'], 'succeeded'],
    ];
    const times: number[] = [];
    for (const [number, channel, enterprises, state] of placed) {
      const ordered = enterprises.map((enterpriseGlobalId, index) => ({
        sequence: index + 1,
        orderType: 'new_buy' as const,
        enterpriseGlobalId,
      }));
      const order = ledgerOrder(number, { channelCode: channel, ordered });
      const name = orderName(channel, number);
      await inState(state, { name, details: { caller: 'billing', order } });
      times.push((await store.read(name))?.submittedAt as number);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await store.begin(newWrite());
    const found = async (query: OrderQuery) => {
      const { records, total } = await store.list(query, 0, 100);
      expect(total).toBe(records.length);
      return records.map(({ details }) => details.order?.channelOrderId).join(' ');
    };

    const [, other, both, none] = times;
    const rows: [string, OrderQuery, string][] = [
      ['everything', {}, 'odd web some none both other one'],
      ['a channel', { channels: new Set(['web shop']) }, 'web'],
      ['one that does not exist', { channels: new Set(['crm', 'none']), states: ['in_doubt'] }, 'both'],
      ['states', { states: ['in_doubt', 'rejected'] }, 'web both'],
      ['an enterprise in any item', { enterprise: 'ent-1' }, 'web some both one'],
      ['an enterprise of one channel', { enterprise: 'ent-1', channels: new Set(['crm']) }, 'some both one'],
      ['nothing but these enterprises', { within: new Set(['ent-1']) }, 'web one'],
      ['both enterprises', { within: new Set(['ent-1', 'ent-2']) }, 'web both other one'],
      ['no enterprise', { within: new Set() }, ''],
      ['one of those', { within: new Set(['ent-1', 'ent-2']), enterprise: 'ent-2' }, 'both other'],
      ['one beside those', { within: new Set(['ent-1']), enterprise: 'ent-2' }, ''],
      ['names with any characters', { within: new Set(['ent/3:x\n+']) }, 'odd'],
      [
        'all of it',
        { within: new Set(['ent-1', 'ent-2']), channels: new Set(['crm']), states: ['succeeded'] },
        'other one',
      ],
      ['from a time on', { from: both as number }, 'odd web some none both'],
      ['between two times', { from: other as number, until: none as number }, 'both other'],
    ];
    for (const [what, query, expected] of rows) expect([what, await found(query)]).toEqual([what, expected]);

    // Page by page, each order once.
    const query = { within: new Set(['ent-1', 'ent-2']) };
    const pages = [];
    for (const offset of [0, 1, 2, 3, 4, 100]) {
      const { records, total } = await store.list(query, offset, 1);
      expect(total).toBe(4);
      pages.push(records.map(({ details }) => details.order?.channelOrderId).join(' '));
    }
    expect(pages).toEqual(['web', 'both', 'other', 'one', '', '']);

    // No more in a state that it has left.
    await store.move({ name: orderName('crm', 'both'), by: 'operator', to: 'succeeded' });
    expect(await found({ states: ['in_doubt'], enterprise: 'ent-1' })).toBe('');
    expect(await found({ states: ['succeeded'], enterprise: 'ent-2' })).toBe('both other');
  });

  it('the list leaves out an order that changes while it is read: settled, or replaced by one of another enterprise', async () => {
    const of = (enterpriseGlobalId: string) => [
      { sequence: 1, orderType: 'new_buy' as const, enterpriseGlobalId },
    ];
    const named = (number: string, enterprise: string) =>
      ({ caller: 'billing', order: ledgerOrder(number, { ordered: of(enterprise) }) }) as const;
    const [kept, settled, replaced] = await Promise.all(
      [1, 2, 3].map(() => {
        const details = named(`SO-${++numbers}`, 'ent-1');
        return inState('in_doubt', { details, name: orderName('crm', details.order.channelOrderId) });
      }),
    );
    const changes = async () => {
      await store.move({ name: String(settled?.name), by: 'operator', to: 'succeeded' });
      const { name, details } = replaced as Begin;
      await store.move({ name, by: 'operator', to: 'not_placed' });
      const other = named(String(details.order?.channelOrderId), 'ent-2');
      const again = { name, details: other, fingerprints: ['of another payload'] };
      expect(await store.begin(newOrder(again))).toMatchObject({ kind: 'begun' });
    };
    let reads = 0;
    const changing = {
      read: async <R>(query: Query) => {
        // The change comes after the reads of the total and of the names.
        if (++reads === 3) await changes();
        return database.read<R>(query);
      },
    } as Database;
    const query = { states: ['in_doubt', 'sending'], within: new Set(['ent-1']) } as const;
    const { records } = partsFor(encryptionKeys);
    const found: string[] = [];
    const total = await new OrderListStore(changing).page(
      query,
      0,
      10,
      (row) => records.opened(row),
      ({ name }) => found.push(name),
    );
    expect([reads, total, found]).toEqual([3, 1, [kept?.name]]);
  });

  describe('K41 a write with a key', () => {
    it('that changed nothing leaves no record and no second name', async () => {
      const write = newWrite({ alias: 'billing/key-9' });
      await store.begin(write);
      expect(await store.move(byOwner(write, 'not_sent'))).toMatchObject({
        kind: 'moved',
        record: { state: 'not_sent' },
      });
      expect(await store.read(write.name)).toBeUndefined();
      expect(await store.begin(newWrite({ alias: 'billing/key-9' }))).toMatchObject({ kind: 'begun' });
    });

    const countedBytes = async () => {
      const found = sql`SELECT sum(used) AS used FROM uses WHERE platform = :platform AND caller = 'billing' AND kind = 'keyed-bytes'`;
      const [row] = await database.read<{ used: number | null }>(found.with());
      return Number(row?.used);
    };

    it('counts the bytes of its response, and nothing where it changed nothing', async () => {
      const write = newWrite();
      await store.begin(write);
      const began = await countedBytes();
      // The row itself counts too.
      expect(began).toBeGreaterThan(1_000);
      const answer = { status: 207, body: 'x'.repeat(100 * 1024) };
      await store.move(byOwner(write, 'succeeded', { caller: 'billing', answer }));
      const ended = await countedBytes();
      expect(ended).toBeGreaterThan(began + 100 * 1024);
      const gone = newWrite();
      await store.begin(gone);
      expect(await countedBytes()).toBeGreaterThan(ended);
      await store.move(byOwner(gone, 'not_sent', { caller: 'billing', answer }));
      expect(await countedBytes()).toBe(ended);
    });

    it('is refused until the first day no longer counts where its caller has too many bytes of them; orders, repeats and other callers are not', async () => {
      const write = newWrite();
      await store.begin(write);
      const used = sql`UPDATE uses SET used = :bytes, period = :day WHERE platform = :platform AND caller = 'billing' AND kind = 'keyed-bytes'`;
      const fill = (day: string) => database.step(change, used.with({ bytes: MAX_RECORD_BYTES, day }));
      await fill(dayOf(Date.now() - 3 * DAY_MS));
      const refused = await store.begin(newWrite());
      expect(refused).toMatchObject({ kind: 'not_admitted', problem: { slug: 'too-many-requests' } });
      const { problem } = refused as Extract<Begun, { kind: 'not_admitted' }>;
      const days = Number(problem.headers['retry-after']) / 86_400;
      expect(days).toBeGreaterThan(2.9);
      expect(days).toBeLessThan(4.1);
      const again = await store.begin({ ...write, owner: randomUUID() });
      expect(again).toMatchObject({ kind: 'there' });
      expect(await store.begin(newOrder())).toMatchObject({ kind: 'begun' });
      expect(await store.begin(newWrite({ details: { caller: 'other' } }))).toMatchObject({ kind: 'begun' });
      await fill(dayOf(Date.now() - 7 * DAY_MS));
      expect(await store.begin(newWrite())).toMatchObject({ kind: 'begun' });
    });
  });

  it('knows how many orders are in doubt or incomplete, how many accepted, and for how long', async () => {
    const none = { count: 0, oldestMs: 0 };
    const scheduled = { count: 0, overdueMs: 0 };
    expect(await store.waiting()).toEqual({ inDoubt: none, accepted: none, scheduled });
    await inState('incomplete');
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (const state of ['in_doubt', 'accepted', 'accepted', 'accepted'] as const) await inState(state);
    const { inDoubt, accepted } = await store.waiting();
    expect([inDoubt.count, accepted.count]).toEqual([2, 3]);
    expect(inDoubt.oldestMs).toBeGreaterThanOrEqual(15);
    expect(inDoubt.oldestMs).toBeGreaterThan(accepted.oldestMs);
    expect(inDoubt.oldestMs).toBeLessThan(60_000);
  });

  it('D52 a write whose begin commits after it was given up is taken back', async () => {
    const firstMove = Promise.withResolvers<Moved>();
    let given: Begin | undefined;
    class GivenUp extends PatientStore {
      override begin(write: Begin): Promise<Begun> {
        given = write;
        return Promise.reject(new DatabaseUnavailable('away'));
      }
      override async move(move: Move): Promise<Moved> {
        const moved = await super.move(move);
        firstMove.resolve(moved);
        return moved;
      }
    }
    const { config, records } = partsFor(encryptionKeys);
    const ledger = new GivenUp(database, records) as WriteStore as ObservedOrderLedger;
    const recorder = new WriteRecorder(config, ledger, log.log, new Metrics());
    const { name, details } = newOrder();
    const write = { name, details, payloadText: '{}', deadlineMs: MINUTE_MS, idempotencyKey: undefined };
    await expect(recorder.begin(write)).rejects.toBeInstanceOf(DatabaseUnavailable);
    expect(await firstMove.promise).toEqual({ kind: 'missing' });
    await store.begin(given as Begin);
    await until('it is taken back', async () => (await store.read(name))?.state === 'not_sent');
  });

  describe('D57 a write whose begin was given up, at the end of the process', () => {
    /** A write that the database has, and of which the process does not know that. */
    async function givenUp() {
      let given: Begin | undefined;
      const away = () => Promise.reject(new DatabaseUnavailable('away'));
      class Away extends PatientStore {
        isAway = true;
        override begin(write: Begin): Promise<Begun> {
          given = write;
          return away();
        }
        override move(move: Move): Promise<Moved> {
          return this.isAway ? away() : super.move(move);
        }
      }
      const { config, records } = partsFor(encryptionKeys);
      const ledger = new Away(database, records);
      const recorder = new WriteRecorder(
        config,
        ledger as WriteStore as ObservedOrderLedger,
        log.log,
        new Metrics(),
      );
      const { name, details } = newOrder();
      const write = { name, details, payloadText: '{}', deadlineMs: MINUTE_MS, idempotencyKey: undefined };
      await expect(recorder.begin(write)).rejects.toBeInstanceOf(DatabaseUnavailable);
      await store.begin(given as Begin);
      return { ledger, recorder, name };
    }

    it('is taken back before the end', async () => {
      const { ledger, recorder, name } = await givenUp();
      const ended = recorder.onApplicationShutdown();
      ledger.isAway = false;
      await ended;
      expect((await store.read(name))?.state).toBe('not_sent');
    });

    it.each(['before', 'while'])(
      'is named in the log once if the database stays away: the process gives up %s the end waits for it',
      async (when) => {
        const { recorder, name } = await givenUp();
        const named = () =>
          log.lines.filter(({ event, write }) => event === 'order-result-not-recorded' && write === name);
        const ended = when === 'while' ? recorder.onApplicationShutdown() : undefined;
        recorder.giveUp();
        expect(named()).toMatchObject([{ found: 'not_sent', reason: 'shutdown' }]);
        await (ended ?? recorder.onApplicationShutdown());
        expect(named()).toHaveLength(1);
      },
    );
  });

  it('moves a record only from the state that the mover has seen', async () => {
    const write = await inState('accepted');
    const settled = { name: write.name, by: 'operator', to: 'succeeded' } as const;
    expect(await store.move({ ...settled, from: 'in_doubt' })).toMatchObject({
      kind: 'refused',
      record: { state: 'accepted' },
    });
    expect(await store.move({ ...settled, from: 'accepted' })).toMatchObject({ kind: 'moved' });
  });

  /** A second gateway of the same platform; in memory there is none. */
  async function another(): Promise<Database> {
    const opened = await openDatabase(url, { UPSTREAM_BASE_URL: `http://127.0.0.1:9/${platforms}` });
    others.push(opened.database);
    return opened.database;
  }
  /** Reads on from a cursor to the end of the feed, as a reader does. */
  async function readOn(after: string | undefined, count = 100): Promise<LoggedMove[]> {
    const moves: LoggedMove[] = [];
    for (let next = after; ;) {
      const { found, last, isEnd } = await feed.read(next, count);
      moves.push(...found);
      next = last ?? next;
      if (isEnd) return moves;
    }
  }
  const manyItems = (bytes: number) =>
    Array.from({ length: Math.ceil(bytes / 70) }, (_, at) => ({
      sequence: at + 1,
      orderType: 'new_buy' as const,
      enterpriseGlobalId: 'ent-1',
    }));
  const largeOrder = (bytes: number): Begin => {
    const write = newOrder();
    const order = write.details.order as NonNullable<Details['order']>;
    return { ...write, details: { ...write.details, order: { ...order, ordered: manyItems(bytes) } } };
  };

  describe('the feed', () => {
    it('has one event for each move, with the record after it, and none for a move that was refused', async () => {
      const write = await inState('in_doubt');
      const before = await feed.newest();
      await store.move(byOwner(write, 'succeeded'));
      await store.move(byOwner(write, 'rejected'));
      await store.begin(newWrite());
      const moves = await readOn(undefined);
      expect(moves.map(({ of, name, state }) => [of, name, state])).toEqual([
        ['order', write.name, 'in_doubt'],
        ['order', write.name, 'succeeded'],
      ]);
      const [first, last] = moves as [LoggedMove, LoggedMove];
      expect([first.id, last.id]).toEqual([before, await feed.newest()]);
      expect(first.id < last.id).toBe(true);
      expect(store.recordIn(last)).toEqual(await store.read(write.name));
      expect(store.recordIn(first)).toMatchObject({ state: 'in_doubt', settledAt: null });
      expect(await readOn(first.id)).toEqual([last]);
      expect(await feed.one(first.id)).toEqual(first);
      const wanted = await feed.read(undefined, 100, ['order:succeeded', 'job:failed']);
      expect(wanted).toEqual({ found: [last], last: last.id, isEnd: true });
      expect(await feed.read(undefined, 1, ['order:succeeded'])).toEqual({
        found: [],
        last: first.id,
        isEnd: false,
      });
    });

    it('skips nothing and repeats nothing while two gateways move orders and a reader goes on', async () => {
      const stores = engine === 'memory' ? [store, store] : [store, storeOn(await another())];
      const start = await feed.newest();
      const seen: string[] = [];
      const names: string[] = [];
      const reading = (async () => {
        for (let next = start; seen.length < 200;) {
          const woken = database.woken(FEED);
          const { found, last } = await feed.read(next, 7);
          seen.push(...found.map(({ name, state }) => `${name} ${state}`));
          next = last ?? next;
          if (found.length === 0) await woken;
        }
      })();
      const moving = stores.flatMap((each) =>
        Array.from({ length: 50 }, async () => {
          const write = newOrder();
          await each.begin(write);
          await each.move(byOwner(write, 'in_doubt'));
          await each.move(byOwner(write, 'succeeded'));
          names.push(`${write.name} in_doubt`, `${write.name} succeeded`);
        }),
      );
      await Promise.all([...moving, reading]);
      expect(seen.toSorted()).toEqual(names.toSorted());
      const cursors = (await readOn(start)).map(({ id }) => Number(id));
      expect(cursors).toEqual(cursors.map((_, at) => (cursors[0] ?? 0) + at));
    });

    it('tells a reader where it goes on after events that were dropped, or that another database had', async () => {
      for (const _ of 'abc') await inState('succeeded');
      const all = await readOn(undefined);
      const [first, second, third] = all as [LoggedMove, LoggedMove, LoggedMove];
      const aged = sql`UPDATE events SET at = 0 WHERE platform = :platform AND number <= :last`;
      await database.step(change, aged.with({ last: Number(second.id) }));
      await feed.trim();
      expect(await readOn(undefined)).toEqual([third]);
      expect(await readOn(second.id)).toEqual([third]);
      await expect(feed.read(first.id, 10)).rejects.toEqual(new MovesDropped(second.id));
      expect(await feed.one(first.id)).toBeUndefined();
      await database.step(change, aged.with({ last: Number(third.id) }));
      await feed.trim();
      expect(await feed.read(undefined, 10)).toEqual({ found: [], last: undefined, isEnd: true });
      expect(await feed.read(third.id, 10)).toEqual({ found: [], last: undefined, isEnd: true });
      await expect(feed.read(second.id, 10)).rejects.toEqual(new MovesDropped(third.id));
      const beyond = third.id.replace(/.$/, '9');
      await expect(feed.read(beyond, 10)).rejects.toEqual(new MovesDropped(third.id));
      expect(await feed.newest()).toBe(third.id);
      // The feed goes on behind numbers that have no event any more after a loss of the database.
      const raised = sql`UPDATE numbers SET value = value + 1000 WHERE platform = :platform AND name = 'feed'`;
      await database.step(change, raised.with());
      const raisedTo = await feed.newest();
      await inState('succeeded');
      await expect(feed.read(third.id, 10)).rejects.toEqual(new MovesDropped(raisedTo));
      const [fourth] = (await readOn(raisedTo)) as [LoggedMove];
      await database.step(change, raised.with());
      const newest = await feed.newest();
      await expect(feed.read(fourth.id, 10)).rejects.toEqual(new MovesDropped(newest));
    });

    it('is read in parts of a MiB, so that records of a thousand items delay nobody', async () => {
      const sizes = [300, 300, 300, 300, 2_000, 300].map((kib) => kib * 1024);
      for (const bytes of sizes) {
        const write = largeOrder(bytes);
        await store.begin(write);
        await store.move(byOwner(write, 'succeeded', write.details));
      }
      const parts: number[] = [];
      for (let after: string | undefined, isEnd = false; !isEnd;) {
        const part = await feed.read(after, 100);
        parts.push(part.found.length);
        after = part.last;
        ({ isEnd } = part);
      }
      expect(parts).toEqual([3, 2, 1]);
      let reads = 0;
      const counted: Pick<Database, 'read'> = {
        read: (query) => {
          reads++;
          return database.read(query);
        },
      };
      const moves = await readOn(undefined);
      const ids = ['999999999999999', ...moves.map(({ id }) => id)];
      const several: LoggedMove[] = [];
      for await (const move of new EventStore(counted as Database).several(ids)) several.push(move);
      expect(several).toEqual(moves);
      // The last read looks for the event that is not there.
      expect(reads).toBe(4);
      const { records, total } = await store.list({}, 0, 100);
      expect([records.length, total]).toEqual([6, 6]);
    });
  });

  describe('a caller cannot fill the database', () => {
    it.each(['rejected', 'not_sent'] as const)('an order that is %s keeps no items', async (state) => {
      const write = largeOrder(100 * 1024);
      await store.begin(write);
      await store.move(byOwner(write, state, write.details));
      const record = await store.read(write.name, new Set(['ent-1']));
      expect(record?.details.order).toMatchObject({ ordered: [], enterprises: ['ent-1'] });
      expect(await store.read(write.name, new Set(['ent-2']))).toBeUndefined();
      const kept = sql`SELECT max(size) AS size, (SELECT sum(used) FROM uses WHERE platform = :platform AND kind = 'bytes') AS used,
        (SELECT max(size) FROM events WHERE platform = :platform) AS event FROM writes WHERE platform = :platform`;
      const [row] = await database.read<Record<'size' | 'used' | 'event', number>>(kept.with());
      expect(Number(row?.size)).toBeLessThan(1_000);
      expect(Number(row?.used)).toBe(Number(row?.size));
      expect(Number(row?.event)).toBeLessThan(1_000);
    });

    it('S32 an order for a later day that is cancelled leaves its event, which has no body and counts', async () => {
      const scheduled = { order: { items: ['a secret'.repeat(40_000)] }, byToken: [], effects: [] };
      const write = laterWith(DAY_MS, scheduled, { ordered: manyItems(100 * 1024) });
      await store.begin(write);
      await store.move({ name: write.name, by: 'caller', to: 'cancelled', details: write.details });
      const [first, last] = (await readOn(undefined)) as [LoggedMove, LoggedMove];
      expect([first.state, last.state]).toEqual(['scheduled', 'cancelled']);
      const { scheduled: _, ...shown } = write.details.order as OrderDetails;
      expect(store.recordIn(first).details.order).toEqual(shown);
      const kept = sql`SELECT size, (SELECT sum(used) FROM uses WHERE platform = :platform AND kind = 'bytes') AS used,
        (SELECT sum(size) FROM events WHERE platform = :platform) AS events FROM writes WHERE platform = :platform`;
      const [row] = await database.read<Record<'size' | 'used' | 'events', number>>(kept.with());
      expect(Number(row?.size)).toBeLessThan(1_000);
      expect(Number(row?.events)).toBeLessThan(200 * 1024);
      expect(Number(row?.used)).toBeGreaterThan(100 * 1024);
    });

    it('whose orders of seven days have too many bytes; the orders of others go on', async () => {
      const used = sql`UPDATE uses SET used = used + :bytes WHERE platform = :platform AND caller = 'billing' AND kind = 'bytes'`;
      await store.begin(newOrder());
      await database.step(change, used.with({ bytes: MAX_RECORD_BYTES }));
      const refused = await store.begin(newOrder());
      expect(refused).toMatchObject({ kind: 'not_admitted', problem: { slug: 'too-many-requests' } });
      const order = newOrder();
      const details = { ...order.details, caller: 'other' };
      expect(await store.begin({ ...order, details })).toMatchObject({ kind: 'begun' });
      expect(await store.begin(newWrite())).toMatchObject({ kind: 'begun' });
      const aged = sql`UPDATE uses SET period = :day WHERE platform = :platform AND caller = 'billing' AND kind = 'bytes'`;
      await database.step(change, aged.with({ day: dayOf(Date.now() - 7 * DAY_MS) }));
      expect(await store.begin(newOrder())).toMatchObject({ kind: 'begun' });
    });
  });

  it('Two gateways take of one budget exactly, from the first order of a month on', async () => {
    const stores = engine === 'memory' ? [store, store] : [store, storeOn(await another())];
    const budgets = [{ budget: 'orders', amount: 1, limit: 20 } as const];
    const begun = await Promise.all(
      Array.from({ length: 60 }, (_, at) => (stores[at % 2] as WriteStore).begin(newOrder({ budgets }))),
    );
    expect(begun.filter(({ kind }) => kind === 'begun')).toHaveLength(20);
    const month = monthOf(Date.now());
    expect((await new UseStore(database).used('billing', [month]))[0]?.used.orders).toBe(20);
  });

  it('Two gateways that begin one order, or one second name, at once begin it once', async () => {
    const stores = engine === 'memory' ? [store, store] : [store, storeOn(await another())];
    const ofBoth = (writeOf: (at: number) => Begin) =>
      Promise.all(Array.from({ length: 20 }, (_, at) => (stores[at % 2] as WriteStore).begin(writeOf(at))));
    const write = newOrder();
    const kinds = (begun: readonly Begun[]) => begun.map(({ kind }) => kind).toSorted();
    const once = ['begun', ...Array.from({ length: 19 }, () => 'there')];
    expect(kinds(await ofBoth(() => ({ ...write, owner: randomUUID() })))).toEqual(once);
    const named = await ofBoth(() => newOrder({ alias: 'billing/at-once' }));
    expect(kinds(named)).toEqual(['begun', ...Array.from({ length: 19 }, () => 'taken')]);
  });

  describe('a maintenance', () => {
    const window = { stops: 'orders', reason: 'moves house', by: 'operator' } as const;
    it('stops orders that begin within it, and no keyed writes', async () => {
      const windows = new WindowStore(database);
      expect(await windows.read()).toMatchObject({ window: undefined });
      const { now } = await windows.read();
      await windows.set({ ...window, from: now + MINUTE_MS, until: now + 2 * MINUTE_MS });
      expect(await store.begin(newOrder())).toMatchObject({ kind: 'begun' });
      const { window: set } = await windows.set({ ...window, from: undefined, until: now + MINUTE_MS });
      expect((await windows.read()).window).toEqual(set);
      const stopped = { kind: 'not_admitted', problem: { slug: 'maintenance' } };
      expect(await store.begin(newOrder())).toMatchObject(stopped);
      expect(await store.begin(newWrite())).toMatchObject({ kind: 'begun' });
      await windows.end();
      expect(await store.begin(newOrder())).toMatchObject({ kind: 'begun' });
    });

    it('lets no order begin after it was set, at another gateway either', async () => {
      const windows = new WindowStore(database);
      const other = engine === 'memory' ? store : storeOn(await another());
      const flooding = new AbortController();
      const flood = Array.from({ length: 20 }, async () => {
        while (!flooding.signal.aborted) await other.begin(newOrder());
      });
      await windows.set({ ...window, from: undefined, until: Date.now() + MINUTE_MS });
      const { total: before } = await store.list({}, 0, 1);
      expect(await other.begin(newOrder())).toMatchObject({ kind: 'not_admitted' });
      flooding.abort();
      await Promise.all(flood);
      expect((await store.list({}, 0, 1)).total).toBe(before);
    });
  });

  it('What was kept for its time is deleted with its second name and leaves every list; what is not settled stays', async () => {
    const over = await inState('succeeded', { alias: 'billing/over' });
    const kept = await inState('not_sent');
    const write = newWrite();
    await store.begin(write);
    await store.move(byOwner(write, 'succeeded'));
    const open: string[] = [];
    for (const state of ['sending', 'accepted', 'incomplete', 'in_doubt'] as const)
      open.push((await inState(state)).name);
    const ends = sql`SELECT name, ends_at FROM writes WHERE platform = :platform AND ends_at IS NOT NULL`;
    const found = await database.read<{ name: string; ends_at: number }>(ends.with());
    const days = new Map(
      found.map(({ name, ends_at }) => [name, Math.round((ends_at - Date.now()) / DAY_MS)]),
    );
    expect(days).toEqual(
      new Map([
        [over.name, 400],
        [kept.name, 7],
        [write.name, 7],
      ]),
    );
    const age = sql`UPDATE writes SET ends_at = 1 WHERE platform = :platform AND name IN (:one, :other)`;
    await database.step(change, age.with({ one: over.name, other: write.name }));
    await store.sweep();
    expect([await store.read(over.name), await store.read(write.name)]).toEqual([undefined, undefined]);
    const { records, total } = await store.list({}, 0, 10);
    expect(total).toBe(5);
    expect(records.map(({ name }) => name).toSorted()).toEqual([kept.name, ...open].toSorted());
    expect(await store.begin(newOrder({ alias: 'billing/over' }))).toMatchObject({ kind: 'begun' });
  });

  it('P16 a record that cannot be read is never a miss', async () => {
    const spoils: [string, Query][] = [
      ['unreadable', sql`UPDATE writes SET state = 'lost' WHERE platform = :platform`.with()],
      ['sealed', sql`UPDATE writes SET details = 'v1.gone.AAAA' WHERE platform = :platform`.with()],
      ['unreadable', sql`UPDATE writes SET details = 'of another form' WHERE platform = :platform`.with()],
    ];
    for (const [reason, spoil] of spoils) {
      const write = await inState('succeeded');
      await database.step(change, spoil);
      log.lines.length = 0;
      await expect(store.begin({ ...write, owner: randomUUID() })).rejects.toMatchObject({ reason });
      await expect(store.read(write.name)).rejects.toBeInstanceOf(DatabaseUnavailable);
      await expect(store.move(byOwner(write, 'in_doubt'))).rejects.toBeInstanceOf(DatabaseUnavailable);
      expect(log.lines).toMatchObject([{ event: 'order-unreadable', write: write.name, reason }]);
      expect((await store.list({}, 0, 10)).records.map(({ name }) => name)).not.toContain(write.name);
    }
  });

  it('What is known of a write is sealed, and opens with a former key and under its own name only', async () => {
    const [write, other] = [await inState('succeeded'), await inState('succeeded')];
    const details = sql`SELECT details FROM writes WHERE platform = :platform AND name = :name`;
    const [row] = await database.read<{ details: string }>(details.with({ name: write.name }));
    expect(row?.details).not.toContain('billing');
    const [, text = ''] = newEncryptionKey().split(':');
    const rotated = storeOn(database, `new:${text},${encryptionKeys}`);
    expect(await rotated.read(write.name)).toEqual(await store.read(write.name));
    const copy = sql`UPDATE writes SET details = :details WHERE platform = :platform AND name = :name`;
    await database.step(change, copy.with({ details: row?.details ?? '', name: other.name }));
    await expect(store.read(other.name)).rejects.toMatchObject({ reason: 'unreadable' });
  });

  it('A database that has lost writes stops orders and reads; what a sender knows of its order is recorded all the same', async () => {
    const write = newOrder();
    await store.begin(write);
    const back = sql`UPDATE numbers SET value = 0 WHERE platform = :platform AND name = 'begun'`;
    await database.step(change, back.with());
    await expect(store.begin(newOrder())).rejects.toMatchObject({ reason: 'stopped' });
    await expect(store.read(write.name)).rejects.toMatchObject({ reason: 'stopped' });
    await expect(store.list({}, 0, 1)).rejects.toMatchObject({ reason: 'stopped' });
    expect(await store.move(byOwner(write, 'succeeded'))).toMatchObject({ kind: 'moved' });
  });

  it('A page is abandoned when its caller hangs up', async () => {
    const caller = new AbortController();
    caller.abort();
    await expect(store.list({}, 0, 1_000, caller.signal)).rejects.toMatchObject({ reason: 'abandoned' });
  });
});
