import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../src/database/database.ts';
import { SealedTexts } from '../../src/database/sealed-texts.ts';
import { sql } from '../../src/database/sql.ts';
import { MOVES_KEPT_MS } from '../../src/events/log/move-log.ts';
import { end, type TakenTask } from '../../src/tasks/task-store.ts';
import { newDelivery } from '../../src/webhooks/delivery/delivery-rules.ts';
import type { Delivery, StoredWebhook, Webhook } from '../../src/webhooks/store/webhook-record.ts';
import { WebhookStore } from '../../src/webhooks/store/webhook-store.ts';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { engines } from '../support/database.ts';
import { settings } from '../support/settings.ts';
import { largestRead, MAX_OF_READ, useDatabase } from '../support/use-database.ts';

const MAX_OF_CALLER = 3;
const { encryptionKeys } = settings({ ENCRYPTION_KEYS: newEncryptionKey() }).redis;

describe.each(engines)('the contract of webhooks: %s', (engine) => {
  const { database, other: otherDatabase, change, takeTask } = useDatabase(engine);
  let store: WebhookStore;
  /** The same webhooks as another process has them. */
  let other: WebhookStore;
  let made = 0;

  beforeAll(() => {
    const storeOn = (on: Database) => new WebhookStore(on, new SealedTexts(encryptionKeys, 'platform'));
    [store, other] = [storeOn(database()), storeOn(otherDatabase())];
  });

  const secret = newSecret('m');
  const newWebhook = (given: Partial<Webhook> = {}): Webhook => {
    const webhookId = `webhook-${++made}`;
    return {
      ...{ webhookId, caller: `caller of ${webhookId}`, types: ['*'], enterprises: undefined },
      ...{ url: 'https://hook.example/of-the-shop', description: null, offReason: null, secret },
      ...{ createdAt: made, enabledAt: made },
      ...given,
    };
  };
  const cursorOf = (number: number) => String(number).padStart(15, '0');
  const added = async (given: Partial<Webhook> = {}) => {
    const webhook = newWebhook(given);
    expect(await store.add(webhook, cursorOf(0), MAX_OF_CALLER)).toBe(true);
    return webhook.webhookId;
  };
  const taken = (webhookId: string, leaseMs?: number) => takeTask('webhook', webhookId, leaseMs);
  const called = async (webhookId: string, leaseMs?: number) => {
    await store.call([webhookId]);
    return taken(webhookId, leaseMs);
  };
  const ended = (task: TakenTask) => database().step(end, { ...task, inMs: undefined });
  const progressAt = (number: number) => ({
    ...{ cursor: cursorOf(number), lastDeliveredAt: null, failingSince: null },
  });
  const waits = (lane = 'crm/SO-1'): Delivery => newDelivery('job.failed', lane, 1);
  const delivered: Delivery = {
    ...waits(),
    state: 'delivered',
    attempts: 1,
    lastStatus: 204,
    nextAttemptAt: null,
  };
  const failed: Delivery = {
    ...{ ...waits(), state: 'failed', attempts: 9, postponed: 2, lastStatus: 500, lastError: 'status-500' },
    ...{ firstAttemptAt: 5, lastAttemptAt: 9, nextAttemptAt: null },
  };
  /** Keeps deliveries by the numbers of their events. */
  const keep = (
    by: WebhookStore,
    { name, attempt }: TakenTask,
    cursor: number | undefined,
    changed: Record<number, Delivery | undefined>,
    version?: number,
  ) =>
    by.keep(name, {
      ...{ attempt, version, progress: { lastDeliveredAt: null, failingSince: null } },
      changed: new Map(Object.entries(changed).map(([number, each]) => [cursorOf(Number(number)), each])),
      cursor: cursor === undefined ? undefined : cursorOf(cursor),
    });
  const all = async (webhookId: string) =>
    (await other.deliveries(webhookId, ['delivered', 'pending', 'failed'], 0, 1_000)).found;
  const pendingOf = async (webhookId: string) => (await other.read(webhookId))?.progress.pending;

  it('A caller has its number of webhooks, also where two processes add at once', async () => {
    const caller = 'many';
    const wanted = Array.from({ length: 10 }, () => newWebhook({ caller }));
    const results = await Promise.all(
      wanted.map((each, at) => (at % 2 === 0 ? store : other).add(each, cursorOf(0), MAX_OF_CALLER)),
    );
    expect(results.filter(Boolean)).toHaveLength(MAX_OF_CALLER);
    const own = await other.ofCaller(caller);
    expect(own.map(({ webhook }) => webhook)).toEqual(
      expect.arrayContaining(wanted.filter((_, at) => results[at])),
    );
    // A repeat whose reply was lost changes nothing.
    const [first] = wanted.filter((_, at) => results[at]) as [Webhook];
    expect(await store.add(first, cursorOf(9), MAX_OF_CALLER)).toBe(true);
    expect((await store.read(first.webhookId))?.progress).toMatchObject({ cursor: cursorOf(0) });
    await store.remove(first.webhookId);
    expect(await store.add(newWebhook({ caller }), cursorOf(0), MAX_OF_CALLER)).toBe(true);
    expect(await store.ofCaller(caller)).toHaveLength(MAX_OF_CALLER);
  });

  it('A webhook is read as it was made, and its URL and secret are sealed', async () => {
    const webhook = newWebhook({ description: 'of the shop', enterprises: ['ent-harbour'] });
    await store.add(webhook, cursorOf(7), MAX_OF_CALLER);
    const { webhookId } = webhook;
    const progress = { ...progressAt(7), pending: 0 };
    const stored = { webhook, version: 1, progress };
    expect(await other.read(webhookId)).toEqual({ ...stored, now: expect.any(Function) });
    expect(await other.all()).toContainEqual(stored);
    expect((await other.places()).get(webhookId)).toEqual({ ...progress, version: 1, isHeld: false });
    const rows = await database().read<object>(sql`SELECT * FROM webhooks WHERE platform = :platform`.with());
    const text = JSON.stringify(rows);
    expect([webhookId, secret, 'hook.example', 'of the shop'].map((word) => text.includes(word))).toEqual([
      ...[true, false, false, false],
    ]);
    const keys = settings({ ENCRYPTION_KEYS: newEncryptionKey() }).redis.encryptionKeys;
    const stranger = new WebhookStore(database(), new SealedTexts(keys, 'platform'));
    expect([await stranger.read(webhookId), await stranger.all()]).toEqual([undefined, []]);
  });

  it('The cursor and the deliveries up to it are one step, and what waits is counted', async () => {
    const webhookId = await added();
    const task = await called(webhookId);
    expect((await other.places()).get(webhookId)?.isHeld).toBe(true);
    const triedOften = { ...waits('job-1'), attempts: 8 };
    expect(await keep(store, task, 3, { 1: waits(), 2: triedOften, 3: delivered })).toBe(true);
    expect((await other.read(webhookId))?.progress).toEqual({ ...progressAt(3), pending: 2 });
    expect([...(await other.waiting(webhookId))]).toEqual([
      [cursorOf(1), waits()],
      [cursorOf(2), triedOften],
    ]);
    expect(await keep(store, task, 3, { 1: undefined, 2: failed })).toBe(true);
    expect([...(await all(webhookId))]).toEqual([
      [cursorOf(3), delivered],
      [cursorOf(2), { ...failed, lane: 'job-1' }],
    ]);
    expect(await other.lastError(webhookId)).toBe('status-500');
    const page = await other.deliveries(webhookId, ['delivered', 'failed'], 1, 1);
    expect([[...page.found.keys()], page.total]).toEqual([[cursorOf(2)], 2]);
    expect(await pendingOf(webhookId)).toBe(0);
    await ended(task);
  });

  it('D36 Only the attempt that has the task keeps anything, and what it had not kept is there for the next one', async () => {
    const webhookId = await added();
    const first = await called(webhookId, 1);
    // Nobody has taken the task yet, so what was sent is kept, although the lease has ended.
    expect(await keep(store, first, 1, { 1: waits() })).toBe(true);
    // The process is killed after it has sent the event, and before it has kept that.
    const second = await taken(webhookId);
    expect([...(await other.waiting(webhookId))]).toEqual([[cursorOf(1), waits()]]);
    expect(await keep(store, first, 9, { 1: failed, 9: waits() })).toBe(false);
    expect(await keep(other, second, 2, { 1: delivered })).toBe(true);
    expect([...(await all(webhookId))]).toEqual([[cursorOf(1), delivered]]);
    expect((await store.read(webhookId))?.progress.cursor).toBe(cursorOf(2));
    await ended(second);
    expect(await keep(other, second, 9, {})).toBe(false);
  });

  it('D54 A cursor that was moved for what a webhook wanted before its change is not kept, and what was delivered is', async () => {
    const webhookId = await added({ types: ['job.failed'] });
    const task = await called(webhookId);
    const { version } = (await store.read(webhookId)) ?? {};
    expect(await keep(store, task, 1, { 1: waits() }, version)).toBe(true);
    const changed = await other.change(webhookId, (webhook) => ({ ...webhook, types: ['*'] }));
    expect(await keep(store, task, 9, { 8: waits() }, version)).toBe(false);
    expect(await keep(store, task, undefined, { 1: delivered })).toBe(true);
    expect([...(await all(webhookId))]).toEqual([[cursorOf(1), delivered]]);
    expect((await store.read(webhookId))?.progress.cursor).toBe(cursorOf(1));
    expect(await keep(store, task, 9, { 8: waits() }, changed?.version)).toBe(true);
    expect([await pendingOf(webhookId), (await store.read(webhookId))?.progress.cursor]).toEqual([
      ...[1, cursorOf(9)],
    ]);
    await ended(task);
  });

  it('D36 Of a webhook that is removed while it is worked on nothing is left', async () => {
    const webhookId = await added();
    const task = await called(webhookId);
    await keep(store, task, 1, { 1: waits() });
    await other.remove(webhookId);
    expect(await keep(store, task, 2, { 1: delivered, 2: waits() })).toBe(false);
    await store.redeliver(webhookId, cursorOf(1));
    expect(await store.change(webhookId, (webhook) => webhook)).toBeUndefined();
    expect([await store.read(webhookId), (await all(webhookId)).size]).toEqual([undefined, 0]);
    await ended(task);
  });

  it('Changes that two processes make at once are all made, and each calls the webhook', async () => {
    const webhookId = await added({ types: [] });
    const types = Array.from({ length: 12 }, (_, at) => `type-${at}`);
    await Promise.all(
      types.map((type, at) =>
        (at % 2 === 0 ? store : other).change(webhookId, (webhook) => ({
          ...webhook,
          types: [...webhook.types, type],
        })),
      ),
    );
    const after = await store.read(webhookId);
    expect(after?.webhook.types.toSorted()).toEqual(types.toSorted());
    expect((await other.places()).get(webhookId)?.version).toBe(1 + types.length);
    const task = await taken(webhookId);
    await store.change(webhookId, (webhook) => webhook);
    // The task was called meanwhile, so it is due again.
    await ended(task);
    await ended(await taken(webhookId));
  });

  it('A webhook that is switched on is sent all that was not taken, from the beginning', async () => {
    const webhookId = await added();
    const task = await called(webhookId);
    await keep(store, task, 3, { 1: failed, 2: { ...waits(), attempts: 3, postponed: 1 }, 3: delivered });
    await ended(task);
    await store.change(webhookId, (webhook) => ({ ...webhook, offReason: 'gone' as const }));
    expect(await pendingOf(webhookId)).toBe(1);
    await store.change(webhookId, (webhook) => ({ ...webhook, offReason: null }));
    const found = await all(webhookId);
    const again = { ...waits(), nextAttemptAt: expect.any(Number) };
    expect([1, 2, 3].map((number) => found.get(cursorOf(number)))).toEqual([
      { ...again, lastStatus: 500, lastError: 'status-500', lastAttemptAt: 9 },
      again,
      delivered,
    ]);
    expect(await pendingOf(webhookId)).toBe(2);
    await ended(await taken(webhookId));
  });

  it('An event that is sent again has all its attempts, and the webhook is called', async () => {
    const webhookId = await added();
    const task = await called(webhookId);
    await keep(store, task, 2, { 1: failed, 2: delivered });
    await other.redeliver(webhookId, cursorOf(1));
    await other.redeliver(webhookId, cursorOf(8));
    expect([...(await store.waiting(webhookId))]).toEqual([
      [
        cursorOf(1),
        {
          ...{ ...waits(), lastStatus: 500, lastError: 'status-500', lastAttemptAt: 9 },
          nextAttemptAt: expect.any(Number),
        },
      ],
    ]);
    expect(await store.lastAttemptAt(webhookId)).toBe(9);
    expect([await store.delivery(webhookId, cursorOf(8)), await pendingOf(webhookId)]).toEqual([
      ...[undefined, 1],
    ]);
    await ended(task);
    await ended(await taken(webhookId));
  });

  it('An event that is sent again while an attempt runs is begun anew, unless that attempt delivers it', async () => {
    const webhookId = await added();
    const task = await called(webhookId);
    const tried = { ...failed, state: 'pending' as const, attempts: 8, nextAttemptAt: 1 };
    await keep(store, task, 2, { 1: tried, 2: tried });
    for (const number of [1, 2]) await other.redeliver(webhookId, cursorOf(number));
    const taken204 = { ...delivered, attempts: 9 };
    expect(await keep(store, task, undefined, { 1: failed, 2: taken204 })).toBe(true);
    const found = await all(webhookId);
    expect(found.get(cursorOf(1))).toMatchObject({ state: 'pending', attempts: 0 });
    expect(found.get(cursorOf(2))).toMatchObject({ state: 'delivered' });
    expect(await pendingOf(webhookId)).toBe(1);
    // The attempt after that counts.
    const first = { ...failed, state: 'pending' as const, attempts: 1, nextAttemptAt: 7 };
    await keep(store, task, undefined, { 1: first });
    expect((await all(webhookId)).get(cursorOf(1))).toEqual(first);
    await ended(task);
    await ended(await taken(webhookId));
  });

  it('The last thousand that were delivered are kept, and all that wait or were given up', async () => {
    const webhookId = await added();
    const task = await called(webhookId);
    const numbers = Array.from({ length: 1_005 }, (_, at) => at + 1);
    const others: Record<number, Delivery> = { 2: failed, 3: waits() };
    await keep(
      store,
      task,
      1_005,
      Object.fromEntries(numbers.map((each) => [each, others[each] ?? delivered])),
    );
    await store.trim(webhookId);
    const { total } = await other.deliveries(webhookId, ['delivered'], 0, 1);
    expect([total, [...(await other.waiting(webhookId)).keys()]]).toEqual([1_000, [cursorOf(3)]]);
    const oldest = [1, 2, 4, 5].map((number) => other.delivery(webhookId, cursorOf(number)));
    expect(await Promise.all(oldest)).toEqual([undefined, failed, undefined, undefined]);
    await ended(task);
  });

  it('Deliveries of a week ago are dropped, and no others', async () => {
    const ids = [await added(), await added()] as const;
    for (const webhookId of ids) {
      const task = await called(webhookId);
      await keep(store, task, 2, { 1: waits(), 2: delivered });
      await change(
        sql`UPDATE deliveries SET made_at = made_at - :ms WHERE platform = :platform AND webhook_id = :id AND event_id = :event`.with(
          { ms: MOVES_KEPT_MS, id: webhookId, event: cursorOf(1) },
        ),
      );
      await ended(task);
    }
    await Promise.all([store.sweep(), other.sweep()]);
    for (const webhookId of ids)
      expect([[...(await all(webhookId)).keys()], await pendingOf(webhookId)]).toEqual([[cursorOf(2)], 0]);
  });

  it('S31 reads the webhooks of all callers, and of one, by 1 MiB', async () => {
    const enterprises = Array.from({ length: 4_000 }, (_, at) => `ent-${String(at).padStart(28, '0')}`);
    const ids: string[] = [];
    for (let at = 0; at < 10; at++) {
      const webhook = newWebhook({ caller: 'caller of many', enterprises });
      await store.add(webhook, cursorOf(0), 10);
      ids.push(webhook.webhookId);
    }
    const idsOf = (found: readonly StoredWebhook[]) =>
      found.map(({ webhook }) => webhook.webhookId).toSorted();
    const largest = await largestRead(database(), async () => {
      expect(idsOf(await store.ofCaller('caller of many'))).toEqual(ids.toSorted());
      expect(idsOf(await store.all())).toEqual(expect.arrayContaining(ids));
    });
    expect(largest).toBeLessThan(MAX_OF_READ);
    for (const id of ids) await store.remove(id);
  });

  it('O18 A webhook is sealed anew under the next key, and can then be read with that key alone', async () => {
    const webhookId = await added();
    const { webhook } = (await store.read(webhookId)) ?? {};
    const { encryptionKeys: next } = settings({ ENCRYPTION_KEYS: newEncryptionKey('k2') }).redis;
    const rotated = new WebhookStore(database(), new SealedTexts([...next, ...encryptionKeys], 'platform'));
    await rotated.reseal();
    const alone = new WebhookStore(database(), new SealedTexts(next, 'platform'));
    expect((await alone.read(webhookId))?.webhook).toEqual(webhook);
  });
});
