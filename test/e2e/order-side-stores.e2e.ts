import { describe, expect, it } from '@jest/globals';
import type { Database } from '../../src/database/database.ts';
import { DatabaseUnavailable } from '../../src/database/database-unavailable.ts';
import { SealedTexts } from '../../src/database/sealed-texts.ts';
import { sql } from '../../src/database/sql.ts';
import { AttemptStore } from '../../src/reconciliation/attempt-store.ts';
import { ReservationStore } from '../../src/tenancy/state/reservation-store.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { engines } from '../support/database.ts';
import { settings } from '../support/settings.ts';
import { useDatabase } from '../support/use-database.ts';

describe.each(engines)('what orders keep beside their records: %s', (engine) => {
  const { database, change } = useDatabase(engine);

  describe('reserved numbers', () => {
    const use = (assetNum: string, enterprise: string) => ({ assetNum, enterprise });

    it('belong to their caller until an order binds them to its enterprise', async () => {
      const store = new ReservationStore(database());
      await store.add('billing', ['n-1', 'n-2', 'n-2']);
      await store.add('other', ['n-3']);
      const known = (caller: string) => store.known(caller, ['n-1', 'n-2', 'n-3']);
      expect(await known('billing')).toEqual({ reserved: new Set(['n-1', 'n-2']), boundTo: new Map() });
      expect(await store.bind('billing', 'order-1', [use('n-1', 'ent-1')])).toBe(true);
      expect((await known('billing')).boundTo).toEqual(new Map([['n-1', 'ent-1']]));
      expect((await known('other')).boundTo).toEqual(new Map());
    });

    it('are bound all or none, and a number never to a second enterprise', async () => {
      const store = new ReservationStore(database());
      await store.add('thrifty', ['n-1', 'n-2']);
      expect(await store.bind('thrifty', 'a', [use('n-1', 'ent-1')])).toBe(true);
      expect(await store.bind('thrifty', 'b', [use('n-2', 'ent-2'), use('n-1', 'ent-2')])).toBe(false);
      expect(await store.bind('thrifty', 'b', [use('n-9', 'ent-1'), use('n-9', 'ent-2')])).toBe(false);
      expect((await store.known('thrifty', ['n-1', 'n-2', 'n-9'])).boundTo).toEqual(
        new Map([['n-1', 'ent-1']]),
      );
      const attempts = Array.from({ length: 10 }, (_, at) =>
        store.bind('thrifty', `order ${at}`, [use('n-2', `ent-${at % 2}`)]),
      );
      const bound = await Promise.all(attempts);
      expect(bound.filter(Boolean)).toHaveLength(5);
    });

    it('of a caller are 100,000 at most, and those that end first are forgotten first', async () => {
      const store = new ReservationStore(database());
      const names = (from: number, count: number) =>
        Array.from({ length: count }, (_, at) => `n-${from + at}`);
      await store.add('greedy', names(0, 1));
      await new Promise((resolve) => setTimeout(resolve, 2));
      for (let from = 1; from <= 100_000; from += 20_000) await store.add('greedy', names(from, 20_000));
      const [row] = await database().read<{ count: number }>(
        sql`SELECT count(*) AS count FROM reservations WHERE platform = :platform AND caller = 'greedy'`.with(),
      );
      expect(row?.count).toBe(100_000);
      expect((await store.known('greedy', ['n-0', 'n-1'])).reserved).toEqual(new Set(['n-1']));
    });
  });

  it('Attempts to find an order are kept sealed, for the submission that they were made for, for 30 days', async () => {
    const { database: kept } = settings({ ENCRYPTION_KEYS: newEncryptionKey() });
    const store = new AttemptStore(database(), new SealedTexts(kept.encryptionKeys, 'platform'));
    const order = { name: 'order/crm/SO-1', submittedAt: 1_000 };
    const attempt = (at: number) =>
      ({ at, result: 'not_found', licenseOrders: ['licence-order-1'] }) as const;
    const now = Date.now();
    await store.add(order, attempt(now));
    await store.add(order, attempt(now + 1));
    await store.add({ ...order, submittedAt: 2_000 }, attempt(now));
    expect(await store.attemptsFor(order)).toEqual([attempt(now), attempt(now + 1)]);
    const [row] = await database().read<{ attempt: string }>(
      sql`SELECT attempt FROM attempts WHERE platform = :platform LIMIT 1`.with(),
    );
    expect(row?.attempt).not.toContain('licence-order-1');
    const month = 31 * 24 * 3_600_000;
    // The clock of one gateway is a month ahead.
    await store.add({ ...order, submittedAt: 3_000 }, attempt(now + month));
    expect(await store.attemptsFor(order)).toHaveLength(2);
    await change(sql`UPDATE attempts SET at = at - :ms WHERE platform = :platform`.with({ ms: month }));
    await store.add({ ...order, submittedAt: 3_000 }, attempt(now + 2));
    expect(await store.attemptsFor(order)).toEqual([]);
  });

  it('A finding that the database does not keep is no attempt: its search fails, and is repeated', async () => {
    const away: Pick<Database, 'step'> = { step: () => Promise.reject(new DatabaseUnavailable('away')) };
    const { database: kept } = settings({ ENCRYPTION_KEYS: newEncryptionKey() });
    const store = new AttemptStore(away as Database, new SealedTexts(kept.encryptionKeys, 'platform'));
    const add = (licenseOrders: readonly string[]) =>
      store.add(
        { name: 'order/crm/SO-1', submittedAt: 1_000 },
        { at: 1, result: 'incomplete', licenseOrders },
      );
    await expect(add(['licence-order-1'])).rejects.toMatchObject({ reason: 'away' });
    expect(await add([])).toBeUndefined();
  });
});
