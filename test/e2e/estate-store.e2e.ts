import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Database } from '../../src/database/database.ts';
import { DatabaseUnavailable } from '../../src/database/database-unavailable.ts';
import { SealedTexts } from '../../src/database/sealed-texts.ts';
import { sql } from '../../src/database/sql.ts';
import { EventStore } from '../../src/events/log/event-store.ts';
import { allAssetsOf, changesIn, changesOf } from '../../src/estate/estate-changes.ts';
import { EstateEvents } from '../../src/estate/estate-events-store.ts';
import { EstateWatch } from '../../src/estate/estate-watch.ts';
import { EstateListStore, type WantedRows } from '../../src/estate/estate-list-store.ts';
import { type EstateOrder, estateOrders } from '../../src/estate/estate-filters-store.ts';
import { type EstateRow, type HeldAsset, needsProducts } from '../../src/estate/estate-row.ts';
import { EstateRowsStore, type KnownEnterprise, LEFT } from '../../src/estate/estate-rows-store.ts';
import { ESTATE, LOOKS, MIN_GAP_MS } from '../../src/estate/estate-steps-store.ts';
import { EstateWrites } from '../../src/estate/estate-writes.ts';
import { Metrics } from '../../src/observability/metrics.ts';
import { countWrites, groupOf, groupWrites } from '../../src/order-ledger/order-counts-store.ts';
import { end as endTask, takeBy } from '../../src/tasks/task-store.ts';
import type { EstateConfig } from '../../src/config/app-config.ts';
import type { Generations } from '../../src/read-cache/read-keys.ts';
import type { UpstreamClient } from '../../src/upstream/upstream.client.ts';
import type { TaskHold } from '../../src/tasks/task-worker.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { emptyDatabase, engines } from '../support/database.ts';
import { until } from '../support/redis.ts';
import { settings } from '../support/settings.ts';
import { largestRead, MAX_OF_READ, openDatabase } from '../support/use-database.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const heapUsed = () => {
  collect();
  return process.memoryUsage().heapUsed;
};
const SEEN = Date.UTC(2026, 10, 20);
const time = (ms: number) => new Date(ms).toISOString();

interface Made {
  readonly num?: string;
  readonly type?: string;
  readonly ends?: number | null;
  readonly member?: string | null;
  readonly isUnassigned?: boolean;
  readonly products?: readonly {
    readonly uri: string;
    readonly ends?: number;
    readonly nodes?: number;
    readonly name?: string | null;
  }[];
  readonly seenAt?: number;
  /** When the products were read, if it is not `seenAt`. */
  readonly readAt?: number;
  readonly accounts?: readonly string[];
}

function made(assetId: string, more: Made = {}): HeldAsset {
  const { num = `N-${assetId}`, type = 'softkey', ends = null, member = null, isUnassigned = false } = more;
  return {
    asset: {
      ...{ assetId, assetNum: num, licenseType: type, customerId: `Cus-${assetId}`, startsAt: null },
      ...{ endsAt: ends === null ? null : time(ends), updatedAt: null, locked: false, frozen: false },
      ...{ memberGlobalId: member, lent: false, online: false, lastOnlineAt: null, isUnassigned },
    },
    products: (more.products ?? []).map(({ uri, ends: end, nodes = 1, name = uri.toUpperCase() }, at) => ({
      ...{
        productId: `${assetId}-p${at}`,
        productUri: uri,
        productName: name,
        packageNum: null,
      },
      ...{
        startsAt: null,
        endsAt: end === undefined ? null : time(end),
        trial: false,
        limitConcurrent: nodes,
      },
      ...{ licenseOrderId: `Lic-${assetId}`, channelOrderId: `SO-${assetId}`, crmProductId: null },
    })),
    read: { at: more.readAt ?? more.seenAt ?? SEEN, updatedAt: null },
    seenAt: more.seenAt ?? SEEN,
    accounts: more.accounts ?? [],
    isNew: false,
  };
}

describe.each(engines)('the copy of the estate: %s', (engine) => {
  let database: Database;
  let rows: EstateRowsStore;
  let lists: EstateListStore;
  let texts: SealedTexts;
  const ends: (() => unknown)[] = [];

  beforeAll(async () => {
    const { url, remove } = await emptyDatabase(engine);
    ({ database } = await openDatabase(url));
    const { database: kept } = settings({ ENCRYPTION_KEYS: newEncryptionKey() });
    texts = new SealedTexts(kept.encryptionKeys, 'platform');
    rows = new EstateRowsStore(database, texts);
    lists = new EstateListStore(database, texts);
    ends.push(() => database.close(), remove);
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  /** Takes the tasks of all enterprises that are due. */
  async function held(count = 100): Promise<ReadonlyMap<string, TaskHold>> {
    const attempt = randomUUID();
    const taken = await database.step(takeBy(), { kind: ESTATE, attempt, count, leaseMs: 60_000 });
    const over = new AbortController().signal;
    return new Map(taken.map(({ name }) => [name, { name, attempt, over }]));
  }
  async function begun(enterprise: string): Promise<TaskHold> {
    await rows.want([enterprise], 'named');
    return (await held()).get(enterprise) as TaskHold;
  }
  const idsOf = async (query: WantedRows, order: EstateOrder = 'endsAt') =>
    (await lists.page(query, order, 0, 100)).found.map(
      ({ asset, product }) => product?.productId ?? asset.assetId,
    );

  it('finds each row by each filter, in each order, and streams the same rows', async () => {
    const enterprise = 'ent-a';
    const hold = await begun(enterprise);
    const [soon, late] = [SEEN + 1_000, SEEN + 2_000];
    const kept = [
      made('a1', {
        products: [
          { uri: 'draft', ends: late },
          { uri: 'cloud', nodes: 5 },
        ],
        member: 'mem-1',
        accounts: [rows.keyOf('Anna@acme')],
      }),
      made('a2', { type: 'cloud_account', ends: soon, isUnassigned: true, seenAt: SEEN - 1 }),
      made('a3', { ends: soon, products: [{ uri: 'draft', ends: late, nodes: -1 }] }),
    ];
    expect(await rows.change(hold, { kept })).toBe(true);
    const of = (query: WantedRows) => idsOf({ enterprise, ...query });
    expect(await of({})).toEqual(['a2', 'a3-p0', 'a1-p0', 'a1-p1']);
    expect(await of({ licenseType: 'cloud_account' })).toEqual(['a2']);
    expect(await of({ productUri: 'draft' })).toEqual(['a3-p0', 'a1-p0']);
    expect(await of({ endsBefore: late })).toEqual(['a2', 'a3-p0']);
    expect(await of({ endsAfter: late })).toEqual(['a1-p0']);
    expect(await of({ unassigned: true })).toEqual(['a2']);
    expect(await of({ unassigned: false })).toEqual(['a3-p0', 'a1-p0', 'a1-p1']);
    expect(await of({ member: 'mem-1', productUri: 'cloud' })).toEqual(['a1-p1']);
    const found: [string, string[]][] = [
      ['n-A1', ['a1-p0', 'a1-p1']],
      ['A3', ['a3-p0']],
      ['anna@ACME', ['a1-p0', 'a1-p1']],
      ['lic-a3', ['a3-p0']],
      ['so-A3', ['a3-p0']],
      ['cus-a2', ['a2']],
      ['%', []],
      ["' OR 1=1 --", []],
    ];
    for (const [find, ids] of found) expect([find, await of({ find })]).toEqual([find, ids]);
    for (const order of estateOrders.words) {
      const ids = await idsOf({ enterprise }, order);
      const pages = await Promise.all([3, 2, 1, 0].map((at) => lists.page({ enterprise }, order, at, 1)));
      expect([order, pages.map(({ found: [row] }) => row?.product?.productId ?? row?.asset.assetId)]).toEqual(
        [order, ids.toReversed()],
      );
      expect([order, ids.toSorted()]).toEqual([order, ['a1-p0', 'a1-p1', 'a2', 'a3-p0']]);
      const streamed: string[] = [];
      for await (const part of lists.all({ enterprise }, order, 1))
        streamed.push(...part.map(({ asset, product }) => product?.productId ?? asset.assetId));
      expect([order, streamed]).toEqual([order, ids]);
      const back = order.startsWith('-') ? order.slice(1) : `-${order}`;
      expect(await idsOf({ enterprise }, back as EstateOrder)).toEqual(ids.toReversed());
    }
    expect((await idsOf({ enterprise }, 'seenAt'))[0]).toBe('a2');
    expect(await lists.sums({ enterprise })).toEqual({
      assets: 3,
      products: 3,
      unassigned: 1,
      endingByMonth: [{ month: '2026-11', products: 2, licences: 2 }],
      byProduct: [
        {
          productUri: 'cloud',
          productName: 'CLOUD',
          assets: 1,
          licences: 5,
          unassigned: 0,
          nextEndsAt: null,
        },
        {
          productUri: 'draft',
          productName: 'DRAFT',
          assets: 2,
          licences: 2,
          unassigned: 0,
          nextEndsAt: null,
        },
      ],
    });
  });

  it('sums a product under its name, also where it is not shown with the first of its assets', async () => {
    const kept = [
      made('n1', { products: [{ uri: 'view', name: null }] }),
      made('n2', { products: [{ uri: 'view', ends: SEEN }] }),
    ];
    await rows.change(await begun('ent-n'), { kept });
    const { byProduct } = await lists.sums({ enterprise: 'ent-n' });
    expect(byProduct.map(({ productName, assets }) => [productName, assets])).toEqual([['VIEW', 2]]);
  });

  it('counts a product without nodes among those that end in its month, and no asset without products', async () => {
    const kept = [
      made('z1', { products: [{ uri: 'view', nodes: 0, ends: SEEN }] }),
      made('z2', { ends: SEEN }),
    ];
    await rows.change(await begun('ent-z'), { kept });
    const { endingByMonth } = await lists.sums({ enterprise: 'ent-z' });
    expect(endingByMonth).toEqual([{ month: '2026-11', products: 1, licences: 0 }]);
  });

  it('E6 sums every product, however many there are', async () => {
    const products = Array.from({ length: 1_001 }, (_, at) => ({ uri: `p${at}` }));
    await rows.change(await begun('ent-s'), { kept: [made('s1', { products })] });
    expect((await lists.sums({ enterprise: 'ent-s' })).byProduct).toHaveLength(1_001);
  });

  it('S31 reads the assets of a page, a stream and an enterprise by 1 MiB, and each asset once', async () => {
    const enterprise = 'ent-u';
    const hold = await begun(enterprise);
    const uris = Array.from({ length: 50 }, (_, at) => `u${at}`);
    const kept = Array.from({ length: 40 }, (_, at) => {
      // Rows of one asset do not lie side by side.
      const products = uris.map((uri, place) => ({ uri, ends: SEEN + 1_000 * (100 * place + at) }));
      return made(`u${at}`, { products, accounts: Array.from({ length: 500 }, () => randomUUID()) });
    });
    for (const each of kept) await rows.change(hold, { kept: [each] });
    const expected = uris.flatMap((_, place) => kept.map((each) => each.products[place]?.productId));
    const idsIn = (found: readonly EstateRow[]) => found.map(({ product }) => product?.productId);
    const streamed: unknown[] = [];
    let page: readonly EstateRow[] = [];
    const largest = await largestRead(database, async () => {
      ({ found: page } = await lists.page({ enterprise }, 'endsAt', 0, 1_000));
      for await (const part of lists.all({ enterprise }, 'endsAt', 500)) streamed.push(...idsIn(part));
      expect((await rows.assets(enterprise)).size).toBe(kept.length);
    });
    expect(idsIn(page)).toEqual(expected.slice(0, 1_000));
    expect(streamed).toEqual(expected);
    expect(largest).toBeLessThan(MAX_OF_READ);
  });

  describe('a search that finds 2,000 assets', () => {
    const find = 'everywhere';
    beforeAll(async () => {
      const hold = await begun('ent-x');
      const accounts = [rows.keyOf(find)];
      const kept = Array.from({ length: 2_000 }, (_, at) => made(`x-with-a-long-name-${at}`, { accounts }));
      for (let from = 0; from < kept.length; from += 100)
        await rows.change(hold, { kept: kept.slice(from, from + 100) });
    });

    it('reads a later page about as quickly as the first one', async () => {
      const quickest = async (offset: number) => {
        const times: number[] = [];
        for (let round = 0; round < 5; round++) {
          const from = performance.now();
          await lists.page({ find }, 'seenAt', offset, 1);
          times.push(performance.now() - from);
        }
        return Math.min(...times);
      };
      expect((await quickest(0)) * 10).toBeGreaterThan(await quickest(1));
    });

    it('keeps little memory for its pages', async () => {
      const pages = async (order: EstateOrder, count: number) => {
        for (let at = 0; at < count; at++) await lists.page({ find }, order, at, 1);
      };
      await pages('endsAt', 5);
      const before = heapUsed();
      await pages('-seenAt', 100);
      expect((heapUsed() - before) / 2 ** 20).toBeLessThan(5);
    });
  });

  it('shows the age of the products where it is that of the oldest part', async () => {
    const kept = [made('t1', { seenAt: SEEN, readAt: SEEN - 1_000, products: [{ uri: 'draft' }] })];
    await rows.change(await begun('ent-t'), { kept });
    const { found } = await lists.page({ enterprise: 'ent-t' }, 'seenAt', 0, 100);
    expect(found.map(({ seenAt }) => seenAt)).toEqual([SEEN - 1_000]);
  });

  it('reads what placed orders named, and nothing of an order that was not placed', async () => {
    const placed = { channel: 'crm', enterpriseGroup: groupOf(['ent-o']), state: 'succeeded', amount: 1 };
    const rejected = { channel: 'typo', enterpriseGroup: groupOf(['ent-p']), state: 'rejected', amount: 1 };
    const ended = { ...placed, enterpriseGroup: groupOf(['ent-q']), amount: 0 };
    await database.step(
      {
        name: 'orders',
        decide: () => ({
          writes: [
            ...groupWrites([['ent-o'], ['ent-p'], ['ent-q']]),
            ...countWrites([placed, rejected, ended]),
          ],
        }),
      },
      undefined,
    );
    const ordered: string[] = [];
    for await (const part of rows.ordered()) ordered.push(...part);
    expect([ordered, await rows.channels()]).toEqual([['ent-o'], ['crm']]);
  });

  it('E6 lists every enterprise, by 1,000, and counts those that are whole', async () => {
    const granted = new Set(Array.from({ length: 1_001 }, (_, at) => `ent-many-${at}`));
    await rows.want(granted, 'named');
    const hold = (await held(2_000)).get('ent-many-7') as TaskHold;
    await rows.change(hold, { state: { state: 'whole', reason: null, seenAt: SEEN } });
    const reading = jest.spyOn(database, 'read');
    const listed = await lists.enterprises({ granted });
    const results = await Promise.all(reading.mock.results.map(({ value }) => value as Promise<object[]>));
    reading.mockRestore();
    expect(new Set(listed.map(({ enterpriseGlobalId }) => enterpriseGlobalId))).toEqual(granted);
    expect(listed.filter(({ state }) => state === 'whole')).toEqual([
      { enterpriseGlobalId: 'ent-many-7', state: 'whole', reason: null, seenAt: SEEN },
    ]);
    expect(results.map((found) => found.length)).toEqual([1_000, 1]);
    expect(await lists.counted({ granted })).toEqual({ known: 1_001, whole: 1 });
    expect(await lists.counted({ granted, enterprise: 'ent-many-7' })).toEqual({ known: 1, whole: 1 });
  });

  it('shows a reader the rows of granted enterprises only', async () => {
    for (const enterprise of ['ent-b', 'ent-c'])
      await rows.change(await begun(enterprise), {
        kept: [made(`of-${enterprise}`, { num: 'N-shared' })],
      });
    const granted = new Set(['ent-b']);
    expect(await idsOf({ granted, find: 'n-shared' })).toEqual(['of-ent-b']);
    expect(await idsOf({ granted })).toEqual(['of-ent-b']);
    expect(await idsOf({ granted, enterprise: 'ent-c' })).toEqual([]);
    expect(await idsOf({ granted: new Set() })).toEqual([]);
    expect((await lists.sums({ granted })).assets).toBe(1);
    const known = await lists.enterprises({ granted });
    expect(known.map(({ enterpriseGlobalId }) => enterpriseGlobalId)).toEqual(['ent-b']);
  });

  it('keeps nothing of an attempt that has lost its task, and replaces an asset as a whole', async () => {
    const hold = await begun('ent-d');
    const state = { state: 'whole', reason: null, seenAt: SEEN } as const;
    await rows.change(hold, { kept: [made('d1', { products: [{ uri: 'a' }, { uri: 'b' }] }), made('d2')] });
    expect(await rows.change({ ...hold, attempt: 'another' }, { gone: ['d1'], state })).toBe(false);
    expect(await idsOf({ enterprise: 'ent-d' })).toEqual(['d1-p0', 'd1-p1', 'd2']);
    const again = made('d1', { products: [{ uri: 'a' }] });
    expect(await rows.change(hold, { kept: [again], gone: ['d2'], state })).toBe(true);
    expect(await idsOf({ enterprise: 'ent-d' })).toEqual(['d1-p0']);
    expect(await rows.assets('ent-d')).toEqual(new Map([['d1', again]]));
    expect(await rows.enterprise('ent-d')).toMatchObject({ enterpriseGlobalId: 'ent-d', ...state });
    await rows.change(hold, { isForgotten: true });
    expect([await rows.enterprise('ent-d'), (await rows.assets('ent-d')).size]).toEqual([undefined, 0]);
  });

  it('forgets a large enterprise in pieces, and all of it', async () => {
    const hold = await begun('ent-large');
    const made450 = Array.from({ length: 450 }, (_, at) => made(`l${at}`, { products: [{ uri: 'a' }] }));
    await rows.change(hold, { kept: made450 });
    const version = sql`SELECT version FROM estate_turns WHERE platform = :platform`.with();
    const [before] = await database.read<{ version: number }>(version);
    expect(await rows.change(hold, { isForgotten: true })).toBe(true);
    const [after] = await database.read<{ version: number }>(version);
    expect(Number(after?.version) - Number(before?.version)).toBe(3);
    const left = sql`
      SELECT enterprise FROM estate_assets WHERE enterprise = 'ent-large' UNION ALL
      SELECT enterprise FROM estate_rows WHERE enterprise = 'ent-large' UNION ALL
      SELECT enterprise FROM estate_keys WHERE enterprise = 'ent-large' UNION ALL
      SELECT enterprise FROM estate_enterprises WHERE enterprise = 'ent-large'`;
    expect(await database.read(left.with())).toEqual([]);
  });

  it('keeps no account and no name in plain, and no detail', async () => {
    const hold = await begun('ent-e');
    const account = 'secretary@acme';
    await rows.change(hold, {
      kept: [made('e1', { products: [{ uri: 'draft' }], accounts: [rows.keyOf(account)] })],
    });
    const kept = await database.read(
      sql`SELECT key, details FROM estate_assets AS own JOIN estate_keys AS known ON known.asset_id = own.asset_id
        WHERE own.platform = :platform AND own.enterprise = 'ent-e'`.with(),
    );
    expect(kept.length).toBeGreaterThan(1);
    expect(JSON.stringify(kept)).not.toMatch(/secretary|draft/);
    expect(await idsOf({ find: account })).toEqual(['e1-p0']);
  });

  it('reads an enterprise that is asked for before all others, and once within a minute', async () => {
    await rows.want(['ent-f', 'ent-g', 'ent-h'], 'named');
    await rows.want(['ent-h'], 'asked');
    const first = await held(1);
    expect([...first.keys()]).toEqual(['ent-h']);
    await rows.want(['ent-h'], 'asked');
    const [task] = await database.read<{ calls: number }>(
      sql`SELECT calls FROM tasks WHERE platform = :platform AND name = 'ent-h'`.with(),
    );
    expect(task?.calls).toBe(2);
  });

  it('E12 An enterprise that is written again and again is read once in 30 s', async () => {
    const hold = await begun('ent-w');
    const state = { state: 'whole', reason: null, seenAt: Date.now() } as const;
    await rows.change(hold, { state });
    await database.step(endTask, { ...hold, kind: ESTATE, calls: 1, inMs: 600_000 });
    await rows.want(['ent-w'], 'written');
    expect((await held()).has('ent-w')).toBe(false);
    const [look] = await database.read<{ name: string; due: number }>(
      sql`SELECT name, due_at AS due FROM tasks WHERE platform = :platform AND kind = :kind`.with({
        kind: LOOKS,
      }),
    );
    expect(look).toEqual({ name: 'written ent-w', due: state.seenAt + 30_000 });
    const ago = sql`UPDATE estate_enterprises SET seen_at = seen_at - 30000 WHERE platform = :platform AND enterprise = 'ent-w'`;
    await database.step({ name: 'ago', decide: () => ({ writes: [ago.with()] }) }, undefined);
    await rows.want(['ent-w'], 'written');
    expect((await held()).has('ent-w')).toBe(true);
  });

  it('E12 An enterprise that is written while it is read is read anew, and one that is refreshed meanwhile is read to its end', async () => {
    const hold = await begun('ent-long');
    const known = (await rows.enterprise('ent-long')) as KnownEnterprise;
    expect(await rows.isWritten(known)).toBe(false);
    // The process that reads it holds its task.
    await rows.want(['ent-long'], 'written');
    expect([await rows.isAsked(), await rows.isWritten(known)]).toEqual([false, true]);
    await rows.want(['ent-long'], 'asked');
    expect(await rows.isWritten(known)).toBe(false);
    await database.step(endTask, { ...hold, kind: ESTATE, calls: 3, inMs: 600_000 });
  });

  it.each([
    [6, 24],
    [13, 26],
    [16, 16],
    [23, 23],
    [24, 24],
    [48, 48],
  ])('reads products about once a day where it reads an enterprise every %i hours', (refresh, expected) => {
    const refreshMs = refresh * 3_600_000;
    const daily = made('daily');
    const updated = { ...daily.asset, updatedAt: time(SEEN) };
    const read = { at: SEEN, updatedAt: updated.updatedAt };
    const isOpenAfter = (hours: number) =>
      needsProducts({ ...daily, asset: updated, read }, SEEN + hours * 3_600_000, 0, refreshMs);
    // A reading that goes on a minute later does not begin with these products again.
    expect(isOpenAfter(1 / 60)).toBe(false);
    let hours = refresh;
    while (!isOpenAfter(hours)) hours += refresh;
    expect(hours).toBe(expected);
  });

  describe('its events', () => {
    let feed: EventStore;
    let events: EstateEvents;
    beforeAll(() => {
      feed = new EventStore(database);
      events = new EstateEvents(database, texts);
    });
    const state = { state: 'whole', reason: null, seenAt: SEEN } as const;
    /** All enterprises are read. */
    async function nowRead(): Promise<void> {
      const read = sql`UPDATE estate_enterprises SET seen_at = :at WHERE platform = :platform`;
      const decide = () => ({ writes: [read.with({ at: Date.now() })] });
      await database.step({ name: 'read', decide }, undefined);
    }
    /** What each event since then tells. */
    async function told(after: string): Promise<string[]> {
      const { found } = await feed.read(after, 100);
      return found.map((move) => {
        const row = events.rowIn(move);
        return `${move.of}.${move.state} ${row?.enterpriseGlobalId} ${row?.productId ?? row?.assetId}`;
      });
    }
    const change = (enterprise: string, before: HeldAsset | undefined, after: HeldAsset | undefined) => ({
      ...(after && { kept: [after] }),
      ...(!after && before && { gone: [before.asset.assetId] }),
      changes: changesOf(enterprise, before, after, SEEN),
    });

    it('E3 What the platform changed is told once, in the transaction that keeps it', async () => {
      const hold = await begun('ent-i');
      const after = await feed.newest();
      const first = made('i1', { products: [{ uri: 'a' }, { uri: 'b' }] });
      await rows.change(hold, { kept: [first], state });
      const second = made('i1', { member: 'mem-i', products: [{ uri: 'a' }] });
      const steps = [change('ent-i', first, second), change('ent-i', second, undefined)];
      for (const step of steps) {
        expect(await rows.change({ ...hold, attempt: 'another' }, step)).toBe(false);
        expect(await rows.change(hold, step)).toBe(true);
      }
      const fresh = { ...made('i2', { products: [{ uri: 'a' }] }), read: null, products: [], isNew: true };
      await rows.change(hold, change('ent-i', undefined, fresh));
      const whole = made('i2', { products: [{ uri: 'a' }] });
      await rows.change(hold, change('ent-i', fresh, whole));
      expect(await told(after)).toEqual([
        'estate.changed ent-i i1-p0',
        'estate.removed ent-i i1-p1',
        'estate.removed ent-i i1-p0',
        'estate.added ent-i i2-p0',
      ]);
    });

    it('tells nothing that a write through the gateway named, at its time or until it is carried out', async () => {
      const hold = await begun('ent-j');
      const now = Date.now();
      const old = (id: string, seenAt = now - 1) => made(id, { seenAt, products: [{ uri: 'a' }] });
      const assets = [old('j1'), old('j2'), old('j3', now + 3_600_000), old('j4', now + 3_600_000)];
      await rows.change(hold, { kept: assets, state });
      const after = await feed.newest();
      // j2 was seen after the write; that of j3 may be carried out for a day, and that of j4 is over.
      await rows.note([
        ['N-J1', 0],
        ['SO-j3', 86_400_000],
        ['j4', 0],
      ]);
      for (const asset of assets) await rows.change(hold, change('ent-j', asset, { ...asset, products: [] }));
      expect(await told(after)).toEqual(['estate.removed ent-j j2-p0', 'estate.removed ent-j j4-p0']);
    });

    it('E5 tells nothing of products that a write changed after they were read, and what the platform changed after the asset was read', async () => {
      const hold = await begun('ent-m');
      const now = Date.now();
      const old = { seenAt: now + 60_000, readAt: now - 60_000, products: [{ uri: 'a' }, { uri: 'b' }] };
      const assets = [made('m1', old), made('m2', old)];
      await rows.change(hold, { kept: assets, state });
      const after = await feed.newest();
      await rows.note([
        ['N-m1', 0],
        ['N-m2', 0],
      ]);
      expect([...(await rows.written('ent-m', assets)).keys()]).toEqual(['m1', 'm2']);
      const [one, two] = assets as [HeldAsset, HeldAsset];
      await rows.change(hold, change('ent-m', one, made('m1', { ...old, products: [{ uri: 'a' }] })));
      await rows.change(hold, change('ent-m', two, made('m2', { ...old, member: 'mem-m' })));
      expect(await told(after)).toEqual(['estate.changed ent-m m2-p0', 'estate.changed ent-m m2-p1']);
    });

    it('E5 finds the assets of a customer for a deletion from all orders', async () => {
      const asset = made('m3');
      expect((await rows.written('ent-m', [asset])).size).toBe(0);
      await rows.note([[allAssetsOf('Cus-m3'), 0]]);
      expect([...(await rows.written('ent-m', [asset])).keys()]).toEqual(['m3']);
    });

    /** Notes the writes of asset numbers that `tell` names. */
    function heardWrites() {
      type Watch = Parameters<UpstreamClient['onWrite']>[0];
      const heard: Watch[] = [];
      const writes = new EstateWrites(
        { refreshMs: 3_600_000 } as EstateConfig,
        rows,
        { onWrite: () => undefined } as unknown as Generations,
        { onWrite: (watch: Watch) => heard.push(watch) } as unknown as UpstreamClient,
      );
      writes.onApplicationBootstrap();
      const tell = (...assetNums: string[]) =>
        heard.forEach((watch) => watch({ ids: {}, body: { assetNums }, mayBeAccepted: true }));
      return { writes, tell };
    }

    it('E20 A write that names very many ids leaves space for the notes of others', async () => {
      const { writes, tell } = heardWrites();
      tell('N-first');
      tell(...Array.from({ length: 10_000 }, (_, at) => `N-many-${at}`));
      tell('N-m4');
      await writes.beforeApplicationShutdown();
      const found = await rows.written('ent-m', [made('first'), made('many-1'), made('m4')]);
      expect([...found.keys()]).toEqual(['first', 'many-1', 'm4']);
    });

    it('E21 A licence order that an operator names in a settlement is no write of its assets', async () => {
      type Watch = Parameters<Generations['onWrite']>[0];
      const heard: Watch[] = [];
      const writes = new EstateWrites(
        { refreshMs: 3_600_000 } as EstateConfig,
        rows,
        { onWrite: (watch: Watch) => heard.push(watch) } as unknown as Generations,
        { onWrite: () => undefined } as unknown as UpstreamClient,
      );
      writes.onApplicationBootstrap();
      const order = (licenseOrderId: string, channelOrderId: string) => ({
        ...{ channelOrderId, ordered: [], enterprises: ['ent-m'], items: [{ sequence: 1, licenseOrderId }] },
      });
      const settlement = { as: 'succeeded', reason: 'found', items: [{ licenseOrderId: 'Lic-m5' }] };
      heard.forEach((watch) => {
        watch([], { ...order('Lic-m5', 'SO-settled'), settlement });
        watch([], order('Lic-m6', 'SO-placed'));
      });
      await writes.beforeApplicationShutdown();
      const assets = ['m5', 'm6'].map((id) => made(id, { products: [{ uri: 'a' }] }));
      expect([...(await rows.written('ent-m', assets)).keys()]).toEqual(['m6']);
    });

    it('Its subject has the slashes of ids percent-encoded', async () => {
      const enterprise = 'ent/s';
      const hold = await begun(enterprise);
      const after = await feed.newest();
      const asset = made('s%2F/1', { products: [{ uri: 'a' }] });
      await rows.change(hold, { kept: [asset], state });
      await rows.change(
        hold,
        change(enterprise, asset, made('s%2F/1', { member: 'mem-s', products: [{ uri: 'a' }] })),
      );
      expect((await feed.read(after, 100)).found.map(({ name }) => name)).toEqual(['ent%2Fs/s%252F%2F1']);
      expect(await told(after)).toEqual(['estate.changed ent/s s%2F/1-p0']);
    });

    it('E17 Writes that the database refuses to note are noted when it takes writes again', async () => {
      const note = jest.spyOn(rows, 'note').mockRejectedValueOnce(new DatabaseUnavailable('read-only'));
      const { writes, tell } = heardWrites();
      tell('N-m7');
      await until('it is noted', async () => (await rows.written('ent-m', [made('m7')])).has('m7'));
      expect(note).toHaveBeenCalledTimes(2);
      note.mockRestore();
      await writes.beforeApplicationShutdown();
    });

    it('E5 tells nothing of what came after a reading from before the notes of writes that are kept', async () => {
      const day = 86_400_000;
      const now = Date.now();
      const old = (id: string, days: number, readDays = days) =>
        made(id, { seenAt: now - days * day, readAt: now - readDays * day, products: [{ uri: 'a' }] });
      const all = [old('n1', 15), old('n2', 13), old('n3', 1, 15)];
      const compared = (since: number, listedAt: number) => ({
        ...{ enterprise: 'ent-n', since: now - since * day, listedAt: now - listedAt * day, wasShown: true },
        ...{ before: new Map(all.map((each) => [each.asset.assetId, each])), startedAt: now },
      });
      const tells = (...given: Parameters<typeof changesIn>) => changesIn(...given).length > 0;
      const [n1, n2, n3] = all as [HeldAsset, HeldAsset, HeldAsset];
      const late = compared(15, 15);
      expect([n1, n2].map((each) => tells(late, each, undefined))).toEqual([false, true]);
      const reread = (each: HeldAsset) => ({ ...each, products: [] });
      const moved = { ...n3, asset: { ...n3.asset, memberGlobalId: 'mem-n' } };
      expect([tells(late, n3, reread(n3)), tells(late, n3, moved)]).toEqual([false, true]);
      // The gateway keeps the lists also if the products of one asset never come.
      const added = old('n4', 0);
      expect([tells(late, undefined, added), tells(compared(15, 1), undefined, added)]).toEqual([
        false,
        true,
      ]);
      await rows.note([
        ['N-n5', 0],
        ['N-n6', 0],
      ]);
      const ago = sql`UPDATE estate_written SET until_at = until_at - :ago WHERE platform = :platform AND key = :key`;
      for (const [id, days] of [['N-n5', 13] as const, ['N-n6', 15] as const]) {
        const query = ago.with({ ago: days * day, key: rows.keyOf(id) });
        await database.step({ name: 'ago', decide: () => ({ writes: [query] }) }, undefined);
      }
      await events.tellEndings();
      const noted = await rows.written('ent-n', [made('n5'), made('n6')]);
      expect([...noted.keys()]).toEqual(['n5']);
    });

    it('E14 tells nothing of an asset that only lacks what an earlier version did not keep', () => {
      const asset = made('u1', { products: [{ uri: 'a' }] });
      const { lastOnlineAt, ...shown } = asset.asset;
      const before = { ...asset, asset: { ...shown, lastOnlineAt } };
      const after = { ...asset, asset: { ...shown, isListed: true, lastOnlineAt } };
      expect(changesOf('ent-u', before, after, SEEN)).toEqual([]);
    });

    it('E4 The end of an asset that comes is told once, with its products', async () => {
      const hold = await begun('ent-l');
      const end = Date.now() + 7 * 86_400_000 - 60_000;
      await rows.change(hold, { state, isFirst: true });
      const after = await feed.newest();
      const of = (id: string) => made(id, { ends: end, member: 'mem-l', products: [{ uri: 'a' }] });
      const fresh = { ...of('l1'), products: [], read: null, isNew: true };
      // The platform showed no products of this asset for a while.
      const alone = { ...of('l2'), products: [] };
      await rows.change(hold, { kept: [fresh, alone] });
      await events.tellEndings();
      await rows.change(hold, { kept: [of('l1'), of('l2')] });
      await events.tellEndings();
      expect(await told(after)).toEqual(['estate.ending ent-l l2', 'estate.ending ent-l l1-p0']);
    });

    it('E4 Each end is told once for each distance, by whichever process, and not of what nobody has', async () => {
      const hold = await begun('ent-k');
      const day = 86_400_000;
      const endIn = (days: number) => Date.now() + days * day - 60_000;
      const of = (id: string, days: number, member: string | null = 'mem-k') =>
        made(id, { member, products: [{ uri: 'a', ends: endIn(days) }] });
      const first = [of('k1', 60)];
      await rows.change(hold, { kept: first, state, isFirst: true });
      const after = await feed.newest();
      await events.tellEndings();
      const kept = [of('k2', 60), of('k3', 30), of('k4', 7), of('k5', 1), of('k6', 20), of('k7', 7, null)];
      await rows.change(hold, { kept });
      await Promise.all([events.tellEndings(), events.tellEndings(), events.tellEndings()]);
      // The same end is told once, also after another reading; another end of the same row is told.
      await rows.change(hold, { kept });
      await events.tellEndings();
      await rows.change(hold, { kept: [of('k3', 7)] });
      await events.tellEndings();
      expect((await told(after)).toSorted()).toEqual(
        ['k2', 'k3', 'k3', 'k4', 'k5'].map((id) => `estate.ending ent-k ${id}-p0`),
      );
    });

    it('E4 The first reading of an enterprise tells no end, also after a time without a gateway', async () => {
      const hold = await begun('ent-first');
      const day = 86_400_000;
      const of = (id: string, days: number) =>
        made(id, { member: 'mem-f', ends: Date.now() + days * day, products: [{ uri: 'a' }] });
      await events.tellEndings();
      const after = await feed.newest();
      const ago = sql`UPDATE estate_turns SET told_at = told_at - 432000000 WHERE platform = :platform`;
      await database.step({ name: 'ago', decide: () => ({ writes: [ago.with()] }) }, undefined);
      await rows.change(hold, { kept: [of('first1', 57), of('first2', 3)] });
      await rows.change(hold, { state: { ...state, seenAt: Date.now() }, isFirst: true });
      await nowRead();
      await events.tellEndings();
      expect((await told(after)).filter((each) => each.includes('ent-first'))).toEqual([]);
    });

    it('E4 A clock of the database that is ahead for a while forgets no end that was told', async () => {
      const hold = await begun('ent-ahead');
      const end = Date.now() + 86_400_000 - 60_000;
      await rows.change(hold, { state });
      await rows.change(hold, {
        kept: [made('ahead1', { member: 'mem-a', ends: end, products: [{ uri: 'a' }] })],
      });
      await events.tellEndings();
      const passed = sql`UPDATE estate_told SET ends_at = ends_at - 86400000 WHERE platform = :platform AND enterprise = 'ent-ahead'`;
      await database.step({ name: 'passed', decide: () => ({ writes: [passed.with()] }) }, undefined);
      await rows.change(hold, { gone: ['ahead1'] });
      const known = async () => {
        const all = sql`SELECT days FROM estate_told WHERE platform = :platform AND enterprise = 'ent-ahead'`;
        return (await database.read(all.with())).length;
      };
      const clock = jest.spyOn(Date, 'now').mockReturnValue(end - 86_400_000 - 1);
      await events.tellEndings();
      clock.mockRestore();
      expect(await known()).toBe(1);
      await events.tellEndings();
      expect(await known()).toBe(0);
    });

    it('E15 Assets that no key opens do not keep back the ends of others', async () => {
      const keys = settings({ ENCRYPTION_KEYS: newEncryptionKey() }).database.encryptionKeys;
      const stranger = new EstateRowsStore(database, new SealedTexts(keys, 'platform'));
      const end = Date.now() + 30 * 86_400_000 - 60_000;
      const of = (id: string) => made(id, { member: 'mem-x', ends: end, products: [{ uri: 'a' }] });
      const [sealed, opened] = [await begun('ent-x1'), await begun('ent-x2')];
      const lost = Array.from({ length: 101 }, (_, at) => of(`x${at}`));
      await rows.change(sealed, { state });
      await stranger.change(sealed, { kept: lost });
      await rows.change(opened, { kept: [of('y')], state });
      const after = await feed.newest();
      await events.tellEndings();
      expect(await told(after)).toEqual(['estate.ending ent-x2 y-p0']);
      await rows.change(sealed, { gone: lost.map(({ asset }) => asset.assetId) });
    });

    it('S31 tells the ends of assets that do not fit into one read together', async () => {
      const hold = await begun('ent-v');
      const accounts = Array.from({ length: 10_000 }, () => randomUUID());
      const end = Date.now() + 30 * 86_400_000 - 60_000;
      const of = (at: number) =>
        made(`v${at}`, { member: 'mem-v', ends: end, products: [{ uri: 'a' }], accounts });
      await rows.change(hold, { state });
      const after = await feed.newest();
      const all = [0, 1, 2, 3, 4].map(of);
      for (const each of all) await rows.change(hold, { kept: [each] });
      await events.tellEndings();
      expect((await told(after)).toSorted()).toEqual(all.map((_, at) => `estate.ending ent-v v${at}-p0`));
    });

    it('E11 An end that came near while no gateway ran is told late, once, and no end that was near before', async () => {
      const hold = await begun('ent-r');
      const day = 86_400_000;
      const of = (id: string, days: number) =>
        made(id, { member: 'mem-r', ends: Date.now() + days * day, products: [{ uri: 'a' }] });
      await rows.change(hold, { kept: [of('r1', 57), of('r2', 50)], state });
      await events.tellEndings();
      const after = await feed.newest();
      const ago = sql`UPDATE estate_turns SET told_at = told_at - 432000000 WHERE platform = :platform`;
      await database.step({ name: 'ago', decide: () => ({ writes: [ago.with()] }) }, undefined);
      // The copy of this enterprise is from before that time.
      await rows.change(hold, { state: { ...state, seenAt: 1 } });
      await events.tellEndings();
      expect(await told(after)).toEqual([]);
      await nowRead();
      await events.tellEndings();
      await events.tellEndings();
      expect(await told(after)).toEqual(['estate.ending ent-r r1-p0']);
    });

    it('E11 An end that came near at several distances while no gateway ran is told once', async () => {
      const hold = await begun('ent-near');
      const day = 86_400_000;
      const asset = made('near1', { member: 'mem-v', ends: Date.now() + 6 * day, products: [{ uri: 'a' }] });
      await rows.change(hold, { state });
      await events.tellEndings();
      await rows.change(hold, { kept: [asset] });
      const after = await feed.newest();
      const ago = sql`UPDATE estate_turns SET told_at = told_at - 5184000000 WHERE platform = :platform`;
      await database.step({ name: 'ago', decide: () => ({ writes: [ago.with()] }) }, undefined);
      await nowRead();
      await events.tellEndings();
      const of = (id: string) => id.includes('ent-near');
      expect((await told(after)).filter(of)).toEqual(['estate.ending ent-near near1-p0']);
    });
  });

  it('counts an enterprise as unread a day after it was to be read, whatever its state and ESTATE_REFRESH', async () => {
    const hold = await begun('ent-late');
    const day = 86_400_000;
    const unread = (refreshMs: number) => new EstateWatch({ refreshMs }, rows, new Metrics()).unread();
    const before = [await unread(day / 4), await unread(2 * day)];
    const counted = async (
      state: 'stale' | 'whole' | 'assets-only',
      reason: string | null,
      ageMs: number,
    ) => {
      await rows.change(hold, { state: { state, reason, seenAt: Date.now() - ageMs } });
      const after = [await unread(day / 4), await unread(2 * day)];
      return after.map((count, at) => count - (before[at] ?? 0));
    };
    expect(await counted('stale', 'away', 2.5 * day)).toEqual([1, 0]);
    expect(await counted('stale', 'away', 3.5 * day)).toEqual([1, 1]);
    // The enterprise never had its turn, as happens where two calls a second are too few.
    expect(await counted('whole', null, 0.9 * day)).toEqual([0, 0]);
    expect(await counted('whole', null, 2.5 * day)).toEqual([1, 0]);
    expect(await counted('assets-only', 'no user', 3.5 * day)).toEqual([1, 1]);
    // Nobody may see it any more, so it is not read, and forgotten after a day.
    expect(await counted('whole', `${LEFT}2026-01-01`, 3.5 * day)).toEqual([0, 0]);
    expect(await counted('assets-only', `${LEFT}2026-01-01`, 3.5 * day)).toEqual([0, 0]);
  });

  it('gives all replicas together two turns a second at most', async () => {
    const waits = await Promise.all([
      rows.turn(0),
      rows.turn(0),
      rows.turn(0),
      rows.turn(2_000),
      rows.turn(0),
    ]);
    const sorted = waits.toSorted((one, other) => one - other);
    expect(sorted[0]).toBeLessThanOrEqual(0);
    // Each is 500 ms after the one before, less the time between the steps.
    expect(sorted[1]).toBeLessThanOrEqual(500);
    expect(sorted[4]).toBeGreaterThan((sorted[1] ?? 0) + 1_000);
  });

  it('goes on with its calls after a clock of the database that was a day ahead', async () => {
    await rows.turn(0);
    const ahead = sql`UPDATE estate_turns SET next_at = next_at + 86400000 WHERE platform = :platform`;
    await database.step({ name: 'ahead', decide: () => ({ writes: [ahead.with()] }) }, undefined);
    expect(await rows.turn(0)).toBeLessThanOrEqual(MIN_GAP_MS);
    expect(await rows.turn(0)).toBeGreaterThan(0);
  });
});
