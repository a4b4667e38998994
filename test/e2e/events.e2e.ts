import { describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { eventTypes } from '../../src/events/event-types.ts';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { askDatabase } from '../support/postgres.ts';
import { endings } from '../support/endings.ts';
import { TestGateway } from '../support/gateway.ts';
import { orderOf } from '../support/order-body.ts';
import { until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

/** The feed of events: each page of it, and the stream. */

const ORDERS = '/v1/license-orders';
const EVENTS = '/v1/events';
const NO_CURSOR = '000000000000000';

interface Event {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly data: Record<string, unknown>;
}

const bound = { scopes: ['events:read'], users: ['*'] };
const callers = [
  { ...bound, name: 'harbour', enterprises: ['ent-harbour'], channels: ['crm'] },
  { ...bound, name: 'meridian', enterprises: ['ent-meridian'], channels: ['*'] },
  { ...bound, name: 'web', enterprises: ['*'], channels: ['web'] },
  { name: 'blind', scopes: ['orders:read'], enterprises: ['*'], channels: ['*'] },
];

let numbers = 0;
/** A number that no other test has, and an order of the enterprise. */
function newOrder(over: object = {}, enterpriseGlobalId = 'ent-harbour') {
  const number = `SO-V${++numbers}`;
  const order = orderOf(number, over);
  const customerId = enterpriseGlobalId === 'ent-harbour' ? 'cus-harbour-default' : 'cus-meridian';
  const items = order.items.map((item) => ({ ...item, customer: { customerId, enterpriseGlobalId } }));
  return { number, order: { ...order, items, ...over } };
}

const ENCRYPTION_KEYS = newEncryptionKey();

describe('events', () => {
  const stack = useStack({ redis: true, database: 'postgres', callers, environment: { ENCRYPTION_KEYS } });
  const { sandbox, gateway } = stack;
  const { atEnd } = endings();
  const inDatabase = (statement: string) => askDatabase(stack.databaseUrl(), statement);

  const page = async (query = '', caller?: string) => {
    const key = caller === undefined ? gateway.key : gateway.keys[caller];
    const { status, body } = await gateway.get(`${EVENTS}?${query}`, { ...(key !== undefined && { key }) });
    expect([status, body]).toEqual([200, expect.objectContaining({ next: expect.any(String) })]);
    return body as unknown as { items: Event[]; next: string };
  };
  /** All events after that cursor, read in pages of seven. */
  async function all(after: string, query = '', caller?: string): Promise<Event[]> {
    const events: Event[] = [];
    for (let next = after; ;) {
      const { items, next: following } = await page(`after=${next}&limit=7&${query}`, caller);
      events.push(...items);
      if (following === next) return events;
      next = following;
    }
  }
  const now = async () => (await page('limit=1000')).next;
  const isOf = ({ subject, type }: Event) => `${subject} ${type}`;
  const lose = () =>
    sandbox.fault({ operation: 'batchOrder', times: 1, action: { reset: 'before-headers' } });

  /** The events of a stream, as they arrive. */
  async function watched(query = '', headers: Record<string, string> = {}, at = gateway) {
    const controller = new AbortController();
    atEnd(() => controller.abort());
    const response = await fetch(`${at.url + EVENTS}/stream?${query}`, {
      headers: { 'x-api-key': at.key, ...headers },
      signal: controller.signal,
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const seen: (Event & { name: string; lastId: string })[] = [];
    const ended = (async () => {
      let rest = '';
      const decoder = new TextDecoder();
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
        rest = parts.pop() ?? '';
        for (const part of parts) {
          const [, lastId = '', name = '', data = ''] =
            /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(part) ?? [];
          if (lastId !== '') seen.push({ ...(JSON.parse(data) as Event), name, lastId });
        }
      }
    })().catch(() => undefined);
    return { seen, ended, close: () => controller.abort() };
  }

  it('has each move of an order with its record as getOrder showed it, and the end of each job', async () => {
    const start = await now();
    const placed = newOrder();
    expect((await gateway.post(ORDERS, placed.order)).status).toBe(201);
    const doubted = newOrder();
    await lose();
    await gateway.post(ORDERS, doubted.order);
    const settled = await gateway.post(`${ORDERS}/crm/${doubted.number}/settlement`, {
      as: 'succeeded',
      reason: 'seen in the list of the platform',
    });
    expect(settled.status).toBe(200);
    const later = newOrder({ syncMode: 'async' });
    await gateway.post(ORDERS, later.order);
    const refused = newOrder();
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '13004' } });
    await gateway.post(ORDERS, refused.order);
    const body = `account,password,name\r\nnewcomer,${newSecret('m')},New\r\n`;
    const job = await gateway.request('POST', '/v1/enterprises/ent-harbour/member-imports', {
      body,
      headers: { 'content-type': 'text/csv' },
    });
    expect(job.status).toBe(202);
    const jobId = String(job.body['jobId']);
    await until('the job has its event', async () =>
      (await all(start)).some(({ subject }) => subject === jobId),
    );

    const events = await all(start);
    expect(events.map(isOf)).toEqual([
      `crm/${placed.number} license-order.succeeded`,
      `crm/${doubted.number} license-order.in-doubt`,
      `crm/${doubted.number} license-order.succeeded`,
      `crm/${later.number} license-order.accepted`,
      `crm/${refused.number} license-order.rejected`,
      `${jobId} job.succeeded`,
    ]);
    const [first, second, third] = events;
    expect(first).toEqual({
      ...{ specversion: '1.0', id: first?.id, source: ORDERS, type: 'license-order.succeeded' },
      ...{ subject: `crm/${placed.number}`, datacontenttype: 'application/json' },
      time: first?.data['settledAt'],
      data: (await gateway.get(`${ORDERS}/crm/${placed.number}`)).body,
    });
    expect([second?.data['state'], second?.data['reason']]).toEqual(['in_doubt', null]);
    expect(third?.data).toEqual(settled.body);
    expect(events.at(-1)?.data).toEqual((await gateway.get(`/v1/jobs/${jobId}`)).body);
    // A repeat of the order is no move.
    await gateway.post(ORDERS, placed.order);
    expect((await all(start)).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(JSON.stringify(events)).not.toContain('new-password');
  });

  it('are read again for 304 while there is nothing new', async () => {
    const path = `/v1/events?after=${await now()}`;
    const first = await gateway.get(path);
    const etag = String(first.headers.get('etag'));
    expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'private, no-cache']);
    const again = () => gateway.get(path, { headers: { 'if-none-match': etag } });
    expect((await again()).status).toBe(304);
    expect((await gateway.post(ORDERS, newOrder().order)).status).toBe(201);
    expect((await again()).status).toBe(200);
  });

  it('S30 names an order whose number has a slash by one subject, which leads to its record', async () => {
    const start = await now();
    const slashed = ['SO/1%2F2', 'SO%2F1/2'];
    for (const channelOrderId of slashed)
      expect((await gateway.post(ORDERS, newOrder({ channelOrderId }).order)).status).toBe(201);
    const events = await all(start);
    expect(events.map(({ subject }) => subject)).toEqual(
      slashed.map((number) => `crm/${encodeURIComponent(number)}`),
    );
    for (const { subject, data } of events)
      expect((await gateway.get(`${ORDERS}/${subject}`)).body).toEqual(data);
  });

  it('are those of orders and jobs that the caller may see', async () => {
    const start = await now();
    const harbour = newOrder();
    const meridian = newOrder({}, 'ent-meridian');
    const both = newOrder();
    both.order.items = [...harbour.order.items, ...meridian.order.items];
    const web = newOrder({ channelCode: 'web' });
    for (const { order } of [harbour, meridian, both, web]) {
      await lose();
      expect((await gateway.post(ORDERS, order)).status).toBe(502);
    }
    const subjectsOf = async (caller?: string, query = '') =>
      (await all(start, query, caller)).map(({ subject }) => subject);
    const [h, m, b, w] = [
      `crm/${harbour.number}`,
      `crm/${meridian.number}`,
      `crm/${both.number}`,
      `web/${web.number}`,
    ];
    expect(await subjectsOf()).toEqual([h, m, b, w]);
    expect(await subjectsOf('harbour')).toEqual([h]);
    expect(await subjectsOf('meridian')).toEqual([m]);
    expect(await subjectsOf('web')).toEqual([w]);
    expect(await subjectsOf(undefined, 'enterpriseGlobalId=ent-meridian')).toEqual([m, b]);
    expect(await subjectsOf(undefined, 'type=license-order.succeeded,job.failed')).toEqual([]);
    expect(await subjectsOf(undefined, 'type=job.failed,license-order.in-doubt')).toEqual([h, m, b, w]);
    const foreign = await gateway.get(`${EVENTS}?enterpriseGlobalId=ent-meridian`, {
      key: gateway.keys['harbour'],
    });
    expect([foreign.status, foreign.body['code']]).toEqual([403, 'forbidden']);
    const blind = await gateway.get(EVENTS, { key: gateway.keys['blind'] });
    expect([blind.status, blind.body['code']]).toEqual([403, 'forbidden']);
    // An empty page has a cursor, too: the reader goes on behind what it may not see.
    const { items, next } = await page(`after=${start}`, 'meridian');
    expect([items.length, next]).toEqual([1, await now()]);
  });

  it.each([
    ['after=1', 'after', 'must be a cursor'],
    [`after=${NO_CURSOR}x`, 'after', 'must be a cursor'],
    ['type=order.gone', 'type', `must be one or more of ${eventTypes.words.join(', ')}`],
    ['type=', 'type', 'must be one or more of'],
    ['limit=0', 'limit', 'from 1 to 1000'],
    ['limit=1001', 'limit', 'from 1 to 1000'],
    ['page=2', 'page', 'is not a known'],
  ])('%s is refused with what is allowed', async (query, parameter, detail) => {
    const { status, body } = await gateway.get(`${EVENTS}?${query}`);
    expect([status, body['errors']]).toEqual([
      400,
      [{ parameter, detail: expect.stringMatching(detail.replaceAll('.', '\\.')) }],
    ]);
  });

  it('stream as they are recorded: from now on, or after the last that the reader has had', async () => {
    const missed = newOrder();
    await gateway.post(ORDERS, missed.order);
    const { seen, close, ended } = await watched();
    const filtered = await watched('type=license-order.in-doubt');
    const placed = newOrder();
    await gateway.post(ORDERS, placed.order);
    await until('the stream has it', async () => seen.length === 1);
    await lose();
    const doubted = newOrder();
    await gateway.post(ORDERS, doubted.order);
    await until('both streams have it', async () => seen.length === 2 && filtered.seen.length === 1);
    expect(seen.map(isOf)).toEqual([
      `crm/${placed.number} license-order.succeeded`,
      `crm/${doubted.number} license-order.in-doubt`,
    ]);
    for (const { id, lastId, type, name } of seen) expect([lastId, name]).toEqual([id, type]);
    expect(filtered.seen).toEqual(seen.slice(1));
    close();
    await ended;
    const [first, second] = seen;
    const again = await watched('', { 'last-event-id': String(first?.id) });
    await until('the rest is there', async () => again.seen.length === 1);
    expect(again.seen).toEqual([second]);
    const wrong = await gateway.get(`${EVENTS}/stream`, { headers: { 'last-event-id': '7' } });
    expect([wrong.status, wrong.body['errors']]).toEqual([
      400,
      [{ parameter: 'Last-Event-ID', detail: 'must be the id of an event' }],
    ]);
  });

  it('stream to at most 100 readers of a caller, no longer than its key and its scope last', async () => {
    const streams = await Promise.all(Array.from({ length: 100 }, () => watched()));
    const one = await gateway.get(`${EVENTS}/stream`);
    expect([one.status, one.body['code'], one.headers.get('retry-after')]).toEqual([503, 'overloaded', '1']);
    streams[0]?.close();
    // The gateway learns it a little later.
    await until('a place is free', async () => {
      const { status, body } = await fetch(`${gateway.url + EVENTS}/stream`, {
        headers: { 'x-api-key': gateway.key },
      });
      await body?.cancel();
      return status === 200;
    });
    gateway.callers = gateway.callers.map((each) =>
      each.name === 'tester' ? { ...each, scopes: ['orders:read'] } : each,
    );
    gateway.writeCallers();
    await Promise.all(streams.map(({ ended }) => ended));
    gateway.callers = gateway.callers.map((each) =>
      each.name === 'tester'
        ? {
            ...each,
            scopes: [
              'orders:read',
              'orders:write',
              'orders:settle',
              'events:read',
              'members:read',
              'members:write',
            ],
          }
        : each,
    );
    gateway.writeCallers();
    await until('the scope is back', async () => (await gateway.get(EVENTS)).status === 200);
  });

  it('stream nothing to who asks for the head alone', async () => {
    const headers = { 'x-api-key': gateway.key };
    for (let time = 0; time < 150; time++) {
      const { status } = await fetch(`${gateway.url + EVENTS}/stream`, { method: 'HEAD', headers });
      expect([time, status]).toEqual([time, 200]);
    }
  });

  it('stream until the process ends, which ends them in order', async () => {
    const other = await TestGateway.start(sandbox);
    const { ended, seen } = await watched('', {}, other);
    await other.stop();
    await ended;
    expect(seen).toEqual([]);
  });

  it('that are older than seven days are 410 with the cursor from which nothing is missed, for pages and streams', async () => {
    await gateway.post(ORDERS, newOrder().order);
    const old = await now();
    const week = 7 * 24 * 3_600_000;
    await inDatabase(`UPDATE events SET at = at - ${week}`);
    // A gateway that starts drops them at once, another one within a minute.
    const stores = { DATABASE_URL: stack.databaseUrl(), ENCRYPTION_KEYS };
    const other = await TestGateway.start(sandbox, stores);
    atEnd(() => other.stop());
    const first = () => gateway.get(`${EVENTS}?after=${NO_CURSOR}`);
    await until('they are dropped', async () => (await first()).status === 410);
    const second = newOrder();
    await gateway.post(ORDERS, second.order);
    for (const path of [EVENTS, `${EVENTS}/stream`]) {
      const gone = await gateway.get(`${path}?after=${NO_CURSOR}`);
      expect([gone.status, gone.body['code'], gone.body['oldest']]).toEqual([410, 'events-expired', old]);
    }
    expect((await all(old)).map(({ subject }) => subject)).toEqual([`crm/${second.number}`]);
  });

  it('are read again after the database could not be read: pages were 503, and streams go on', async () => {
    const { seen } = await watched();
    const next = await now();
    await inDatabase('REVOKE SELECT ON events FROM CURRENT_USER');
    const away = await gateway.get(`${EVENTS}?after=${next}`);
    await inDatabase('GRANT SELECT ON events TO CURRENT_USER');
    expect([away.status, away.body['code']]).toEqual([503, 'dependency-unavailable']);
    const placed = newOrder();
    await gateway.post(ORDERS, placed.order);
    expect((await all(next)).map(({ subject }) => subject)).toEqual([`crm/${placed.number}`]);
    await until('the stream has it', () => seen.length === 1);
  });

  it('are not passed over if the first one is recorded while an empty feed is read', async () => {
    await gateway.post(ORDERS, newOrder().order);
    // The newest event is recorded again, under the next number.
    await inDatabase('CREATE TABLE late AS SELECT * FROM events ORDER BY number DESC LIMIT 1');
    await inDatabase('DELETE FROM events');
    const writer = new Client(stack.databaseUrl());
    await writer.connect();
    atEnd(() => writer.end());
    await writer.query('BEGIN; LOCK TABLE numbers IN ACCESS EXCLUSIVE MODE');
    const asked = page();
    const waiting =
      "SELECT 1 FROM pg_stat_activity WHERE usename = current_user AND wait_event_type = 'Lock' AND query LIKE '%SELECT value AS newest%'";
    await until('the newest number is asked for', async () => (await inDatabase(waiting)).length > 0);
    await writer.query(
      `UPDATE numbers SET value = value + 1 WHERE name = 'feed'; UPDATE late SET number = number + 1;
       INSERT INTO events SELECT * FROM late; COMMIT`,
    );
    const { items, next } = await asked;
    expect([...items, ...(await all(next))]).toHaveLength(1);
  });

  it('D7 that the database has lost are 410 for a page, and the end of a stream', async () => {
    const next = await now();
    const { ended, seen } = await watched();
    await inDatabase("UPDATE numbers SET value = value + 1000 WHERE name = 'feed'");
    await ended;
    const lost = await gateway.get(`${EVENTS}?after=${next}`);
    const oldest = String(Number(next) + 1_000).padStart(15, '0');
    expect([lost.status, lost.body['code'], lost.body['oldest']]).toEqual([410, 'events-expired', oldest]);
    const placed = newOrder();
    await gateway.post(ORDERS, placed.order);
    const found = await all(oldest);
    expect([seen, found.map(({ subject }) => subject)]).toEqual([[], [`crm/${placed.number}`]]);
  });
});
